"""The figures of the paper as PNG and SVG, each the same bytes whenever it is drawn."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from hpsim.paper import figures
from hpsim.paper.measured import Measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 3.35  # inches, the 8.5 cm of a column
HEIGHT = 2.5  # of a plot

WITH_LOG = ("figure5-right.png", "figure5-right.svg")

_METADATA: dict[str, dict[str, None]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


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
        plots["figure5-right"] = (partial(figures.hosts, measured),)
    for name, panels in plots.items():
        for form, image in _drawn(panels):
            yield f"{name}.{form}", image


def _drawn(panels: Sequence[Callable[[Axes], Axes]]) -> Iterator[tuple[str, bytes]]:
    """The panels, one above the other."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from hpsim.analysis.plots.style import LOOK

    with rc_context(LOOK):
        figure = Figure(figsize=(WIDTH, HEIGHT * len(panels)), layout="constrained")
        for panel, ax in zip(panels, figure.subplots(len(panels), squeeze=False)[:, 0], strict=True):
            panel(ax)
        for form, metadata in _METADATA.items():
            image = io.BytesIO()
            figure.savefig(image, format=form, metadata=metadata)
            yield form, image.getvalue()
