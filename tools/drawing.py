"""What pictures have in common: SVG or PNG by matplotlib, the same bytes for the same figures."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from oospec_async.console.command import visible
from oospec_async.drawing.colours import FAINT_INK, GRID, INK
from oospec_async.errors import OospecError
from oospec_async.files.writing import check_writable, write_atomically

_FORMATS = (".svg", ".png")
_STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"], "font.size": 10, "text.color": INK, "axes.labelcolor": FAINT_INK,
    "xtick.color": FAINT_INK, "ytick.color": INK, "svg.hashsalt": "oospec",
    "text.parse_math": False,  # a name may hold dollars
}  # fmt: skip


def check_picture(path: Path, option: str) -> None:
    """Raises OospecError, before a long run, for a file that cannot be drawn after it."""
    if path.suffix.lower() not in _FORMATS:
        raise OospecError(f"{option} {path}: ends in neither {' nor '.join(_FORMATS)}; name one of these")
    check_writable(path, option)
    if find_spec("matplotlib") is None:
        raise OospecError(f"{option} needs matplotlib; pip install '.[bench]' brings it")


def write_picture(path: Path, option: str, make: Callable[[], Any], **saving: Any) -> None:
    """Draw the figure that ``make`` makes. Raises OospecError if the file cannot be written."""
    import matplotlib

    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)  # drawn as a box
        data, kind = io.BytesIO(), path.suffix.lower().removeprefix(".")
        metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {}
        make().savefig(data, format=kind, dpi=160, metadata=metadata, **saving)
    write_atomically(path, data.getvalue(), option)


def dress(axes: Any, labels: Sequence[str]) -> None:
    """Lanes from above with their labels, a grid behind them, and no frame."""
    axes.set_yticks(range(len(labels)), list(map(visible, labels)))
    axes.set_ylim(len(labels) - 0.45, -0.55)
    axes.tick_params(length=0)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
