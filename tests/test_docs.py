"""The commands in the documents are commands that exist."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path

import click
import pytest

from oospec_async.commands.cli import command
from oospec_async.training.cli import command as training
from sim.cli import command as simulator

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def shell_lines() -> list[tuple[str, str]]:
    lines = []
    for document in DOCUMENTS:
        for block in re.findall(r"```sh\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL):
            joined = block.replace("\\\n", " ")
            commands = [part.strip() for line in joined.splitlines() for part in line.split(" && ")]
            lines += [(document.name, part) for part in commands if part and not part.startswith("#")]
    return lines


def test_there_are_commands_to_check() -> None:
    assert len(shell_lines()) > 5


@pytest.mark.parametrize(("document", "line"), shell_lines())
def test_a_documented_command_exists(document: str, line: str) -> None:
    words = shlex.split(line.split(" #")[0].split(" > ")[0])
    words = [word for word in words if not re.fullmatch(r"\[.*|.*\]|…", word)]  # [optional parts] of a synopsis
    program = Path(words[0]).name
    if program == "oospec-run":
        command.make_context("oospec-run", words[1:], resilient_parsing=False).close()
    elif program == "oospec-sim":
        part = simulator.commands.get(words[1])
        (part or simulator).make_context(words[1], words[2:] if part else words[1:]).close()
    elif program == "oospec-train" and words[1] != "STAGE":
        training.commands[words[1]].make_context(words[1], words[2:]).close()
    elif program == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert set(words[1:]) <= set(targets)
    elif program in ("python", "python3"):
        assert words[1] == "-m"
        tool = importlib.import_module(words[2]).command
        part, rest = (tool.commands[words[3]], words[4:]) if isinstance(tool, click.Group) else (tool, words[3:])
        part.make_context(words[2], rest).close()
    else:
        assert program in ("git", "cd", "pytest", "pip", "oospec-train")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), target
