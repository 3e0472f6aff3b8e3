"""One figure of a run, by its kind, as a file."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hpsim.analysis.export import file_to_write
from hpsim.analysis.extras import require
from hpsim.errors import HpsimError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpsim.analysis.run import Run

KINDS = {
    "error": "worst relative error of recurrence and closed form against M",
    "bias": "homogeneity bias by S",
    "phase": "share of configurations in phase transition by S",
    "overlap": "overlap gain T_blocking / T_async against M",
    "slope": "time per micro-batch against transfer times",
}
# Files without the time of day: the same figure is the same file.
_METADATA: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def draw(run: Run, kind: str, ax: Axes | None = None) -> Axes:
    """Draw ``run`` as ``kind`` (a key of ``KINDS``) into ``ax``, or into new axes of a column's width.

    Raises
    ------
    MissingExtraError
        When DuckDB or Matplotlib is not installed.
    HpsimError
        When there is no such kind, or (RunFolderError) the run lacks what it needs.
    """
    if kind not in KINDS:
        raise HpsimError("kind", repr(kind), f"one of {', '.join(KINDS)}")
    if run.parts_done == 0:
        raise HpsimError(str(run.path), "has no finished part to draw", "wait until `hpsim sweep run` has finished one")
    require("matplotlib", "plot")
    from matplotlib import rc_context

    from hpsim.analysis.plots.style import LOOK

    plot = getattr(importlib.import_module(f"hpsim.analysis.plots.{kind}"), f"plot_{kind}")
    with rc_context(LOOK if ax is None else {}):
        drawn: Axes = plot(run, ax)
    return drawn


def save(run: Run, kind: str, out: Path) -> None:
    """Draw ``run`` as ``kind`` into the file ``out``, whose ending says how: png, svg or pdf.

    Raises
    ------
    HpsimError
        As :func:`draw`; and when the ending is another one, or the file cannot be written.
    """
    form = out.suffix.lower().removeprefix(".")
    if form not in _METADATA:
        raise HpsimError(str(out), f"the ending {out.suffix or 'is missing'}", "a file that ends in .png, .svg or .pdf")
    ax = draw(run, kind)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from hpsim.analysis.plots.style import LOOK

    with file_to_write(out, run.path) as target, rc_context(LOOK):
        cast(Figure, ax.figure).savefig(target, format=form, metadata=_METADATA[form])
