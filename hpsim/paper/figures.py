"""Figures 1 to 5 of the paper. Marks are simulated by the recurrences, lines are closed forms.

Each function draws one plot into ``ax``, or into new axes of a column's width, and returns it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hpsim import formulas
from hpsim.analysis.plots import style
from hpsim.paper.measured import Measured
from hpsim.pipeline import Pipeline
from hpsim.simulation import simulate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TAU = (0.5, 1, 1, 5)  # the paper's illustration; one unit is arbitrary
LEGALONE = (1.13, 2.90, 2.62)  # seconds, the smallest durations that §7.2 prints
LEVELS = (0, 2, 5)  # transfer times for Figure 2; the paper does not print its own
BAND_D = 6  # beyond every slack, so that Figure 4 has a band

_LINE: dict[str, Any] = {"linewidth": 1.3}
_MARKS: dict[str, Any] = {"linestyle": "none", "markersize": 3.5}


def makespans(ax: Axes | None = None) -> Axes:
    """Figure 1, above: the makespan of Theorem 1 beside the classic formula."""
    ax = style.axes(ax)
    colors = style.theme(ax)
    p, M = Pipeline(TAU), np.arange(1, 21)
    marks = M[::2]
    ax.plot(M, formulas.gpipe_makespan(p.tau, M), color=colors.rust, linestyle="--", **_LINE)
    ax.plot(M, formulas.makespan_free(p.tau, M), color=colors.blue, **_LINE)
    ax.plot(marks, simulate([TAU], M=marks.tolist(), regime="free")[0], "o", color=colors.blue, **_MARKS)
    ax.annotate("classic formula\n$(S+M-1)\\,\\tau_{\\max}$", (11.6, 73), color=colors.rust, ha="right", va="bottom")
    ax.annotate("Theorem 1 (line)\nand simulation (dots)", (11.6, 50), color=colors.blue, ha="left", va="top")
    ax.set_ylabel("makespan $T(M)$ [time units]")
    ax.set_ylim(0, 120)
    _microbatches(ax, 20)
    return ax


def overestimate(ax: Axes | None = None) -> Axes:
    """Figure 1, below: by how much the classic formula exceeds the makespan, in per cent of the makespan."""
    ax = style.axes(ax)
    colors = style.theme(ax)
    p, M = Pipeline(TAU), np.arange(1, 21)
    share = 100 * formulas.gpipe_overestimate(p.tau, M)
    ax.plot(M, share, color=colors.blue, marker="D", markersize=3, **_LINE)
    for m in (1, 8):
        ax.annotate(f"{share[m - 1]:.1f} % at $M$ = {m}", (m, share[m - 1]), (6, 3), textcoords="offset points")
    ax.set_ylabel("over-estimate [%]")
    ax.set_ylim(0, 190)
    _microbatches(ax, 20)
    return ax


def parallel_lines(ax: Axes | None = None) -> Axes:
    """Figure 2: asynchronous makespans for three levels of communication, one slope (Theorem 2)."""
    ax = style.axes(ax)
    colors = style.theme(ax)
    looks = ((colors.ink, ":", "D"), (colors.blue, "-", "o"), (colors.rust, "--", "s"))
    M = np.arange(1, 13)
    for level, (color, dashes, mark) in zip(LEVELS, looks, strict=True):
        d = (level,) * (len(TAU) - 1)
        p = Pipeline(TAU, d)
        ax.plot(M, formulas.makespan_async(p.tau, M, p.d), color=color, linestyle=dashes, **_LINE)
        ax.plot(M, simulate([TAU], [d], M=M.tolist())[0], mark, color=color, **_MARKS)
        ax.annotate(f"$\\Sigma d$ = {sum(d)}", (12.25, p.async_(12)), color=color, va="center", annotation_clip=False)
    ax.annotate(f"common slope $\\tau_{{\\max}}$ = {max(TAU)}", (7, 22), va="center")
    ax.set_ylabel("makespan $T_{\\mathrm{async}}(M)$ [time units]")
    ax.set_ylim(0, 85)
    _microbatches(ax, 12)
    ax.set_xlim(0.5, 14.2)
    return ax


def phase_transition(ax: Axes | None = None) -> Axes:
    """Figure 3: the steady time per micro-batch against the transfer time, equal on all links (Corollary 4)."""
    ax = style.axes(ax)
    colors = style.theme(ax)
    looks = style.of_regimes(("async", "blocking"), colors)
    d = np.linspace(0, 8, 33)
    links = np.repeat(d[:, None], len(TAU) - 1, axis=1)
    tau = np.repeat([TAU], len(d), axis=0)
    for regime, mark in (("async", "o"), ("blocking", "s")):
        T = simulate(tau, links, M=[400, 401], regime=regime)
        look = looks[regime]
        slopes = formulas.steady_slope(tau, links, 0 if regime == "blocking" else 1)
        ax.plot(d, slopes, color=look["color"], linestyle=look["linestyle"], **_LINE)
        ax.plot(d[::2], (T[:, 1] - T[:, 0])[::2], mark, color=look["color"], **_MARKS)
    slack = float(min(Pipeline(TAU).slack()))
    ax.axvline(slack, color=colors.quiet, linewidth=0.8, linestyle=(0, (2, 2)))
    ax.annotate(f"slack = {slack:g}", (slack - 0.15, 8.2), ha="right", va="center", color=colors.quiet)
    ax.annotate("blocking\n$\\sigma_{\\max}$", (5.7, 7), ha="right", color=looks["blocking"]["color"])
    ax.annotate("asynchronous $\\tau_{\\max}$", (8, 4.62), ha="right", va="center", color=looks["async"]["color"])
    ax.set_xlabel("transfer time $d$ of every link [time units]")
    ax.set_ylabel("time per micro-batch [time units]")
    ax.set_xlim(-0.2, 8.2)
    ax.set_ylim(4, 9.4)
    return ax


def band(ax: Axes | None = None) -> Axes:
    """Figure 4: between the asynchronous and the blocking makespan lies what overlap can gain (Corollary 5)."""
    ax = style.axes(ax)
    colors = style.theme(ax)
    looks = style.of_regimes(("async", "blocking"), colors)
    d = (BAND_D,) * (len(TAU) - 1)
    p, M = Pipeline(TAU, d), np.arange(1, 21)
    lower, upper = formulas.makespan_async(p.tau, M, p.d), formulas.makespan_blocking(p.tau, M, p.d)
    ax.fill_between(M, lower, upper, color=colors.grid, linewidth=0)
    marks = M[::2].tolist()
    for regime, line in (("blocking", upper), ("async", lower)):
        look = looks[regime]
        ax.plot(M, line, color=look["color"], linestyle=look["linestyle"], **_LINE)
        ax.plot(marks, simulate([TAU], [d], M=marks, regime=regime)[0], look["marker"], color=look["color"], **_MARKS)
    ax.annotate("blocking", (13.5, p.blocking(14) + 3), ha="right", va="bottom", color=looks["blocking"]["color"])
    ax.annotate("asynchronous", (14.5, p.async_(14) - 3), ha="left", va="top", color=looks["async"]["color"])
    ax.annotate(
        "overlap gain\n$(M-1)(\\sigma_{\\max}-\\tau_{\\max})$",
        (12.5, (p.async_(12) + p.blocking(13)) / 2),
        (12.5, 42),
        arrowprops={"arrowstyle": "-", "color": colors.quiet, "linewidth": 0.8, "shrinkA": 1, "shrinkB": 0},
        ha="center",
        va="top",
    )
    ax.set_ylabel("makespan $T(M)$ [time units]")
    ax.set_ylim(0, 175)
    _microbatches(ax, 20)
    return ax


def constant_bias(ax: Axes | None = None) -> Axes:
    """Figure 5, left: the classic formula beside Theorem 1 for the legalone:8b pipeline, apart by one constant."""
    ax = style.axes(ax)
    colors = style.theme(ax)
    p, M = Pipeline(LEGALONE), np.arange(1, 9)
    ax.plot(M, formulas.gpipe_makespan(p.tau, M), color=colors.rust, linestyle="--", **_LINE)
    ax.plot(M, formulas.makespan_free(p.tau, M), color=colors.blue, **_LINE)
    ax.plot(M, simulate([LEGALONE], M=M.tolist(), regime="free")[0], "o", color=colors.blue, **_MARKS)
    arrow = {"arrowstyle": "<->", "color": colors.ink, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", (5, float(p.gpipe(5))), (5, float(p.free(5))), arrowprops=arrow)
    ax.annotate(f"{p.bias():.2f} s at every $M$", (5.2, 16.2), va="top")
    ax.annotate("classic formula", (4.3, 20.2), ha="right", va="bottom", color=colors.rust)
    ax.annotate("Theorem 1 (line) and\nsimulation (dots)", (2.5, 9.6), ha="left", va="top", color=colors.blue)
    ax.set_ylabel("makespan $T(M)$ [s]")
    ax.set_ylim(0, 31)
    _microbatches(ax, 8)
    ax.set_xticks(M)
    return ax


def hosts(measured: Measured, ax: Axes | None = None) -> Axes:
    """Figure 5, right: the median time from end to end of each model on each host against its median service time."""
    ax = style.axes(ax)
    colors = style.theme(ax)
    groups = [group for group in measured.summary.groups if group.median.value > 0]
    x, y = [group.median.value for group in groups], [group.median_total for group in groups]
    low, high = min(x, default=1.0) / 2, max(y, default=1.0) * 2
    ax.plot([low, high], [low, high], color=colors.quiet, linewidth=0.8, linestyle=(0, (2, 2)))
    ax.plot(x, y, "o", color=colors.blue, markersize=4, alpha=0.8)
    ax.set(xlim=(low, high), ylim=(low, high), aspect="equal")
    style.plain_log(ax, "x")
    style.plain_log(ax, "y")
    ax.annotate(
        "$T_{\\mathrm{real}} = T_{\\mathrm{async}}$",
        (0.62, 0.55),
        xycoords="axes fraction",
        color=colors.quiet,
        ha="left",
        va="top",
    )
    counted = f"{len(groups)} pairs of model and host"  # nothing can lie below the diagonal
    ax.annotate(counted, (0.97, 0.05), xycoords="axes fraction", ha="right", color=colors.blue)
    ax.set_xlabel("median service time [s]")
    ax.set_ylabel("median time from end to end [s]")
    return ax


def _microbatches(ax: Axes, most: int) -> None:
    ax.set_xlabel("micro-batches $M$")
    ax.set_xlim(0.5, most + 0.5)
    ax.set_xticks([1, *range(4, most + 1, 4)])
