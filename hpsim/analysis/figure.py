"""A run, or a list of pipelines, as a figure in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hpsim.analysis.export import file_to_write
from hpsim.analysis.extras import require
from hpsim.errors import HpsimError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hpsim.analysis.run import Run
    from hpsim.pipeline import Pipeline
    from hpsim.regime import Regime

KINDS = {
    "error": "worst relative error of recurrence and closed form against M",
    "bias": "homogeneity bias by S",
    "phase": "share of configurations in phase transition by S",
    "overlap": "T / T_async of blocking and every other regime against M",
    "slope": "time per micro-batch against transfer times",
    "gpipe": "error of the GPipe formula against M and heterogeneity",
}
FORMS = ("light", "dark")


def _plots() -> dict[str, Callable[[Run, Axes | None], Axes]]:
    """What draws each of ``KINDS``."""
    from hpsim.analysis.plots.bias import plot_bias
    from hpsim.analysis.plots.error import plot_error
    from hpsim.analysis.plots.gpipe import plot_gpipe
    from hpsim.analysis.plots.overlap import plot_overlap
    from hpsim.analysis.plots.phase import plot_phase
    from hpsim.analysis.plots.slope import plot_slope

    return {
        "error": plot_error,
        "bias": plot_bias,
        "phase": plot_phase,
        "overlap": plot_overlap,
        "slope": plot_slope,
        "gpipe": plot_gpipe,
    }


def draw(run: Run, kind: str, ax: Axes | None = None, form: str = "light") -> Axes:
    """Draw ``run`` as ``kind`` (a key of ``KINDS``) into ``ax``, or into new axes of a column's width.

    New axes have the form ``light`` or ``dark``; given ones say by their background which colours they get. Where
    there are too many lines, small axes take the place of ``ax``, which is returned empty.

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
    with _settings(None if ax else form):
        return _plots()[kind](run, ax)


def save(run: Run, kind: str, out: Path, form: str = "light") -> None:
    """Draw ``run`` as ``kind`` into the file ``out``, whose ending says how: png, svg or pdf.

    Raises
    ------
    HpsimError
        As :func:`draw`; and when the ending is another one, or the file cannot be written.
    """
    _write(out, form, lambda: draw(run, kind, form=form), run.path)


def save_pipelines(
    named: Sequence[tuple[str, Pipeline]], M: int, regime: Regime | None, out: Path, form: str = "light"
) -> None:
    """Draw the GPipe formula's error of each pipeline into the file ``out``; see ``plots.gpipe.plot_pipelines``.

    Raises
    ------
    MissingExtraError
        When Matplotlib is not installed.
    HpsimError
        When there are too many pipelines for a figure, the ending is another one, or the file cannot be written.
    """
    from hpsim.analysis.plots.gpipe import plot_pipelines

    _write(out, form, lambda: plot_pipelines(named, M, regime))


def _write(out: Path, form: str, plot: Callable[[], Axes], run_folder: Path | None = None) -> None:
    from hpsim.analysis.plots.style import METADATA, image

    kind = out.suffix.lower().removeprefix(".")
    if kind not in METADATA:
        raise HpsimError(str(out), f"the ending {out.suffix or 'is missing'}", "a file that ends in .png, .svg or .pdf")
    require("matplotlib", "plot")
    with _settings(form):
        content = image(cast("Figure", plot().figure), kind)
    with file_to_write(out, run_folder) as target:
        target.write(content)


def _settings(form: str | None) -> Any:
    """Matplotlib's settings for a new figure of this form; with None those of the caller."""
    from matplotlib import rc_context

    from hpsim.analysis.plots.style import look

    return rc_context(look(form) if form else {})
