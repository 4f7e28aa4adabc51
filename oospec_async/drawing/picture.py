"""One figure as a file: a web page, or an SVG or PNG image where kaleido is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from oospec_async.drawing.webpage import render
from oospec_async.errors import OospecError
from oospec_async.files.writing import check_writable, write_atomically
from oospec_async.request import Json

IMAGES = (".svg", ".png")
_WIDTH = 1050  # pixels of an image
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


def write_picture(figure: dict[str, Json], path: Path, what: str, title: str = "") -> None:
    """``figure``: plotly's data and layout, with a height. Raises OospecError if the file cannot be made."""
    if path.suffix.lower() in IMAGES:
        write_atomically(path, _image(figure, path, what), what)
    else:
        write_atomically(path, render(_TEMPLATE, title=title, figure=figure), what)


def _image(figure: dict[str, Json], path: Path, what: str) -> bytes:
    from plotly import io

    kind = path.suffix.lower().removeprefix(".")
    try:
        image: bytes = io.to_image(figure, format=kind, width=_WIDTH, height=figure["layout"]["height"], validate=False)
    except (RuntimeError, ValueError, OSError) as error:  # kaleido lacks a browser, or it does not start
        said = " ".join(str(error).split()) or type(error).__name__
        raise OospecError(f"{what} {path}: cannot be drawn: {said}; name a file in .html") from None
    return image
