"""The figures of the paper as PNG and SVG, and in dark as SVG, each the same bytes whenever it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from hpsim.paper import figures
from hpsim.paper.measured import Measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 3.35  # inches, the 8.5 cm of a column
HEIGHT = 2.5  # of a plot

_FILES = {".png": "light", ".svg": "light", "-dark.svg": "dark"}  # what stands behind a figure's name → its form
_WITH_LOG = "figure5-right"
WITH_LOG = tuple(_WITH_LOG + ending for ending in _FILES)


def pictures(measured: Measured | None) -> Iterator[tuple[str, bytes]]:
    """File name and content of every figure; the right half of Figure 5 only with a request log."""
    plots: dict[str, Sequence[Callable[[Axes], Axes]]] = {
        "figure1": (figures.makespans, figures.overestimate),
        "figure2": (figures.parallel_lines,),
        "figure3": (figures.phase_transition,),
        "figure4": (figures.band,),
        "figure5-left": (figures.constant_bias,),
    }
    if measured is not None:
        plots[_WITH_LOG] = (partial(figures.hosts, measured),)
    for name, panels in plots.items():
        for ending, form in _FILES.items():
            yield name + ending, _drawn(panels, form, ending.rpartition(".")[2])


def _drawn(panels: Sequence[Callable[[Axes], Axes]], form: str, kind: str) -> bytes:
    """The panels, one above the other, in the form ``light`` or ``dark`` as a file of this kind."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from hpsim.analysis.plots.style import image, look

    with rc_context(look(form)):
        figure = Figure(figsize=(WIDTH, HEIGHT * len(panels)), layout="constrained")
        for panel, ax in zip(panels, figure.subplots(len(panels), squeeze=False)[:, 0], strict=True):
            panel(ax)
        return image(figure, kind)
