"""A report as data: sections of paragraphs, figures and tables. ``report.html`` makes a page of them.

All texts are plain; the template escapes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from oospec_async.drawing.webpage import render
from oospec_async.request import Json

_TEMPLATE = Path(__file__).with_name("report.html")


@dataclass(frozen=True)
class Paragraph:
    text: str
    style: str = ""  # a class of the style sheet
    macro: ClassVar[str] = "paragraph"  # of the template


@dataclass(frozen=True)
class Plot:
    """A figure with its caption; ``lead`` are the caption's first words, in bold."""

    figure: dict[str, Json]
    caption: str
    lead: str
    macro: ClassVar[str] = "captioned"


@dataclass(frozen=True)
class Pair:
    """Two figures beside each other."""

    left: Plot
    right: Plot
    macro: ClassVar[str] = "pair"


@dataclass(frozen=True)
class Mark:
    """A cell that is a mark of a style."""

    text: str
    style: str


@dataclass(frozen=True)
class Table:
    """Rows that are only cells have no style."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str | Mark]]
    style: str = ""
    row_styles: Sequence[str] = ()
    macro: ClassVar[str] = "table"


@dataclass(frozen=True)
class Section:
    title: str
    body: Sequence[Paragraph | Plot | Pair | Table] = field(default_factory=tuple)


def page(title: str, sections: Sequence[Section]) -> str:
    """The page as HTML text; the first section stands under the page's own title."""
    return render(_TEMPLATE, title=title, sections=sections)
