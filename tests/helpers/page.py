"""A web page as a browser would act on it."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any


class Page(HTMLParser):
    """What a page asks for (``links``), what it draws (``figures``), and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.policy = ""
        self.figures: list[dict[str, Any]] = []
        self.text = ""
        self._kind = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attrs)
        self.links += [str(values[name]) for name in ("src", "href", "data", "action") if name in values]
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = str(values["content"])
        self._kind = (values.get("type") or "code") if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self._kind = ""

    def handle_data(self, data: str) -> None:
        if self._kind == "application/json":
            assert "<" not in data  # nothing in a figure can end its script element
            self.figures.append(json.loads(data))
        elif not self._kind:
            self.text += f"{data}\n"

    def check(self, figures: int) -> None:
        """It needs nothing from a network, and names in it have become no elements."""
        assert not self.links
        assert self.policy.startswith("default-src 'none'")
        assert "http" not in self.policy
        assert "img" not in self.tags
        assert self.tags.count("script") == 2 + figures  # plotly, the page's own, and the data
        assert len(self.figures) == figures
        drawn = json.dumps(self.figures)
        assert not [word for word in ("<img", "NaN", "Infinity") if word in drawn]  # plotly reads some HTML too
