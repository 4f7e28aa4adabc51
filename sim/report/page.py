"""The page around a report's sections: self-contained HTML, with plotly inside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from oospec_async.request import Json
from oospec_async.timeline.webpage import document, embedded

_STYLE = """
:root { color-scheme: light; }
body { margin: 0 auto; padding: 34px 36px 72px; max-width: 1120px; background: #FFFFFF; color: INK;
       font: 15px/1.55 "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif; }
h1 { font-size: 24px; font-weight: 600; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 17px; font-weight: 600; margin: 40px 0 6px; }
p { margin: 0 0 10px; max-width: 66em; }
.faint, figcaption { color: FAINT; }
figure { margin: 10px 0 26px; break-inside: avoid; }
figcaption { padding-top: 6px; }
figcaption { font-size: 13.5px; max-width: 66em; }
figcaption b { color: INK; font-weight: 600; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 26px; }
@media (max-width: 860px) { .pair { grid-template-columns: 1fr; } }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13.5px; font-variant-numeric: tabular-nums; margin: 8px 0 14px;
        border-top: 1.5px solid INK; border-bottom: 1.5px solid INK; }
th { font-weight: 600; text-align: right; border-bottom: 1px solid INK; vertical-align: bottom; }
th, td { padding: 3px 10px; }
td { text-align: right; white-space: nowrap; }
th:first-child, td:first-child, .words td, .words th { text-align: left; }
.words td { white-space: normal; vertical-align: top; border-bottom: 1px solid GRID; }
.in td:first-child { padding-left: 26px; color: FAINT; }
tr.head td { padding-top: 9px; }
.kind { border: 1px solid; border-radius: 3px; padding: 0 5px; font-size: 12px; white-space: nowrap; }
.recorded { color: #12756B; } .modelled { color: #B0461F; }
.holds { color: #12756B; font-weight: 600; } .fails { color: #B3261E; font-weight: 600; }
@media print { body { padding: 0; } }
"""

_SCRIPT = """
const config = {responsive: true, displaylogo: false, modeBarButtons: [["toImage", "resetScale2d"]],
                toImageButtonOptions: {format: "svg"}};
document.querySelectorAll(".plot").forEach(plot => {
  const figure = JSON.parse(plot.nextElementSibling.textContent);
  Plotly.newPlot(plot, figure.data, figure.layout, config);
});
"""


@dataclass(frozen=True)
class Section:
    """``body`` is HTML whose names are escaped."""

    title: str
    body: Sequence[str] = field(default_factory=tuple)


def page(title: str, sections: Sequence[Section]) -> str:
    """The page as HTML text; the first section stands under the page's own title."""
    lead, *others = sections
    body = "\n".join(
        f"<section><h2>{escape(section.title)}</h2>\n" + "\n".join(section.body) + "</section>" for section in others
    )
    head = f'<h1>{escape(title)}</h1>\n<p class="faint">{escape(lead.title)}</p>\n{"".join(lead.body)}'
    return document(title, _STYLE, _SCRIPT, f"{head}\n{body}")


def paragraph(text: str, style: str = "") -> str:
    return f'<p class="{style}">{escape(text)}</p>' if style else f"<p>{escape(text)}</p>"


def plot(figure: dict[str, Json], caption: str, lead: str = "") -> str:
    """A figure with its caption; ``lead`` are the caption's first words, in bold."""
    said = f"<b>{escape(lead)}</b> {escape(caption)}" if lead else escape(caption)
    return f"<figure>{embedded(figure)}<figcaption>{said}</figcaption></figure>"


def pair(left: str, right: str) -> str:
    """Two figures beside each other."""
    return f'<div class="pair">{left}{right}</div>'


def table(heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], style: str = "") -> str:
    """Rows are (class, cells); cells are HTML."""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(f'<tr class="{kind}">{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>' for kind, cells in rows)
    return (
        f'<div class="scroll"><table class="{style}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )
