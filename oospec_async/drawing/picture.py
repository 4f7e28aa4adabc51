"""One figure as a file: a web page, or an SVG or PNG image where kaleido is installed."""

from __future__ import annotations

from html import escape
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap

from oospec_async.console.command import visible
from oospec_async.drawing.colours import FAINT_INK
from oospec_async.drawing.look import note
from oospec_async.drawing.webpage import render
from oospec_async.errors import OospecError
from oospec_async.files.writing import check_writable, write_atomically
from oospec_async.request import Json

IMAGES = (".svg", ".png")
_WIDTH, _LINE = 1050, 15  # pixels of an image, of a line of the caption
_CAPTION_WIDTH = 165  # characters
_TEMPLATE = Path(__file__).with_name("picture.html")


def check_picture(path: Path, what: str) -> None:
    """Raises OospecError, before a long run, for a file that cannot be drawn after it."""
    if path.suffix.lower() not in (*IMAGES, ".html"):
        raise OospecError(f"{what} {path}: ends in none of .html, {', '.join(IMAGES)}; name one of these")
    check_image(path, what)
    check_writable(path, what)


def check_image(path: Path, what: str) -> None:
    """Raises OospecError where an image is asked for and nothing can draw one."""
    if path.suffix.lower() in IMAGES and find_spec("kaleido") is None:
        raise OospecError(f"{what} {path}: takes kaleido; pip install '.[bench]' brings it, or name a file in .html")


def write_picture(figure: dict[str, Json], path: Path, what: str, caption: str) -> None:
    """``figure``: plotly's data and layout, with height and margins. ``caption``: what stands behind it, in plain text.

    Raises OospecError if the file cannot be made.
    """
    drawn = _captioned(figure, visible(caption))
    if path.suffix.lower() in IMAGES:
        write_atomically(path, _image(drawn, path, what), what)
    else:
        write_atomically(path, render(_TEMPLATE, title=caption, figure=drawn), what)


def _captioned(figure: dict[str, Json], caption: str) -> dict[str, Json]:
    """With the caption in small letters at the bottom."""
    before, lines = figure["layout"], wrap(caption, _CAPTION_WIDTH)
    foot = _LINE * len(lines) + 10
    margin = {**before["margin"], "b": before["margin"]["b"] + foot}
    place = {"x": 0, "y": 0, "xref": "paper", "yref": "paper", "yanchor": "bottom"}
    shift = {"xshift": 10 - margin["l"], "yshift": 8 - margin["b"]}
    text = "<br>".join(escape(line, quote=False) for line in lines)
    said = note(text, font={"size": 11, "color": FAINT_INK}, **place, **shift)
    layout = {"height": before["height"] + foot, "margin": margin, "annotations": [*before["annotations"], said]}
    return {**figure, "layout": before | layout}


def _image(figure: dict[str, Json], path: Path, what: str) -> bytes:
    from plotly import io

    kind = path.suffix.lower().removeprefix(".")
    try:
        image: bytes = io.to_image(figure, format=kind, width=_WIDTH, height=figure["layout"]["height"], validate=False)
    except (RuntimeError, ValueError, OSError) as error:  # kaleido lacks a browser, or it does not start
        said = " ".join(str(error).split()) or type(error).__name__
        raise OospecError(f"{what} {path}: cannot be drawn: {said}; name a file in .html") from None
    return image
