"""By how much the GPipe formula is wrong, against the number of micro-batches and against heterogeneity."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hpsim.analysis.database import Database, connect, quoted
from hpsim.analysis.plots import style
from hpsim.analysis.quantiles import quantiles
from hpsim.errors import RunFolderError
from hpsim.long_run import makespan
from hpsim.regime import Regime

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpsim.analysis.run import Run
    from hpsim.pipeline import Pipeline

_RATIO = "CASE WHEN list_min(tau) > 0 THEN tau_max / list_min(tau) ELSE 'inf'::DOUBLE END"
_EDGES = (1.0, 2.0, 5.0, 20.0)  # of the classes of max(tau) / min(tau), where a run has more than five values of it
_WRONG = "GPipe formula off by [%]"
_REMARK = "median by slowest / fastest stage"
_MARGIN = 0.25  # share of the axis left of the first M, for names
_COUNTS = (*range(1, 17), 20, 24, 28, 32, 40, 48, 56, 64, 80, 100)  # micro-batches of a curve, as far as it goes


def plot_gpipe(run: Run, ax: Axes | None = None) -> Axes:
    """Draw the median of T_gpipe / T - 1 against M, one line for each class of heterogeneity max(tau) / min(tau).

    T is the makespan by recurrence in the first of the run's regimes that has transfers, or else in free. Where
    transfers make a difference, a panel above shows the error without any, with T by Corollary 1. Above 0 the
    formula promises too long a makespan, below 0 too short a one.

    Raises
    ------
    RunFolderError
        When the run kept violations only, or no makespan is above 0.
    """
    run.need("points", "the plot of GPipe's error")
    regime = next((name for name in run.regimes if name != "free"), "free")
    with connect(run) as database:
        names = _classify(database)
        found = _medians(database, quoted(f"T_{regime}"))
        alone = _medians(database, "T_gpipe - bias")  # Corollary 1
    if not found:
        raise RunFolderError(str(run.path), "has no makespan above 0", "an error is a share of a makespan")
    if all(math.isclose(alone.get(at, math.inf), error, abs_tol=1e-6) for at, error in found.items()):
        ax = style.axes(ax)
        _classes(ax, found, names)
        style.microbatch_axis(ax, _counts(found))
        ax.set_ylabel(_WRONG)
        style.remark(ax, f"{_REMARK}; against T_{style.plain(regime)}")
        _name_classes(ax, found, names)
        return ax
    ax, part, places = style.panels(ax, 2, "panels", columns=1)
    for place, rows, title in zip(
        places, (alone, found), ("without transfers", f"against T_{style.plain(regime)}, with transfers"), strict=True
    ):
        _classes(place, rows, names)
        place.set_title(title, loc="left")
    style.microbatch_axis(places[1], _counts(found))
    style.common_labels(part, _REMARK, "", _WRONG)
    for place, rows in zip(places, (alone, found), strict=True):
        _name_classes(place, rows, names)
    return ax


def _medians(database: Database, makespan: str) -> dict[tuple[int, int], float]:
    """The median error in per cent by class and M, against what the SQL expression ``makespan`` says."""
    joined = f"(SELECT M, class, T_gpipe, {makespan} AS T FROM points JOIN classes USING (config_id))"
    errors = f"(SELECT M, class, 100 * (T_gpipe / T - 1) AS error FROM {joined} WHERE T > 0)"
    return {(row["class"], row["M"]): row["median"] for row in quantiles(database, errors, "error", ["class", "M"])}


def _counts(medians: Iterable[tuple[int, int]]) -> list[int]:
    return sorted({M for _, M in medians})


def _of_classes(ax: Axes, medians: dict[tuple[int, int], float]) -> dict[int, str]:
    """Class → colour, the more heterogeneous the stronger."""
    classes, shades = sorted({k for k, _ in medians}), style.theme(ax).shades
    steps = max(len(classes) - 1, 1)
    return {k: shades[-1 - round((len(shades) - 1) * (len(classes) - 1 - n) / steps)] for n, k in enumerate(classes)}


def _classes(ax: Axes, medians: dict[tuple[int, int], float], names: Sequence[str]) -> None:
    counts = _counts(medians)
    for k, color in _of_classes(ax, medians).items():
        x, y = zip(*((M, medians[k, M]) for M in counts if (k, M) in medians), strict=True)
        ax.plot(x, y, color=color, marker=style.marks(counts, "o"), markersize=3, label=names[k])
    _zero(ax)


def _name_classes(ax: Axes, medians: dict[tuple[int, int], float], names: Sequence[str]) -> None:
    """Names stand where lines begin: all of them end near 0."""
    counts = _counts(medians)
    if len(counts) > 1:
        ax.set_xlim(counts[0] * (counts[0] / counts[-1]) ** _MARGIN, counts[-1] * 1.15)
    first = {k: min(M for other, M in medians if other == k) for k, _ in medians}
    colors = _of_classes(ax, medians)
    style.name_lines(ax, [(M, medians[k, M], names[k], colors[k]) for k, M in first.items()], left=True)


def _classify(database: Database) -> list[str]:
    """Make the table ``classes`` with the class of each configuration, and return what the classes are called.

    Up to five ratios that occur are classes of their own.
    """
    found = database.execute(f"SELECT DISTINCT {_RATIO} AS ratio FROM configs ORDER BY 1 LIMIT {style.MOST_LINES + 1}")
    ratios = [row[0] for row in found.fetchall()]
    if len(ratios) <= style.MOST_LINES:
        label = "list_position(?::DOUBLE[], ratio) - 1"
        values: list[Any] = [ratios]
        names = [_times(ratio) for ratio in ratios]
    else:
        label = " + ".join(["(ratio > ?)::INTEGER", *["(ratio >= ?)::INTEGER"] * (len(_EDGES) - 1)])
        values = [*_EDGES]
        between = [f"{low:g}–{high:g}×" for low, high in itertools.pairwise(_EDGES)]
        names = ["1×", *between, f"≥ {_EDGES[-1]:g}×"]
    database.execute(
        f"CREATE TEMP TABLE classes AS SELECT config_id, bias, ({label})::UTINYINT AS class "
        f"FROM (SELECT config_id, bias, {_RATIO} AS ratio FROM configs)",
        values,
    )
    return names


def _times(ratio: float) -> str:
    return "∞" if math.isinf(ratio) else f"{ratio:.3g}×"


def plot_pipelines(
    named: Sequence[tuple[str, Pipeline]], M: int, regime: Regime | None = None, ax: Axes | None = None
) -> Axes:
    """Draw T_gpipe / T - 1 of each pipeline against the number of micro-batches, with a mark at ``M``.

    Parameters
    ----------
    named : sequence of (str, Pipeline)
        Names and pipelines; those of more than ``style.MOST_LINES`` have a panel each, with the others behind.
    M : int
        The curves reach at least to 100 micro-batches, and to ``M``.
    regime : Regime, optional
        What T is the makespan of; by default asynchronous.
    ax : Axes, optional
        Where to draw; by default in new axes of a column's width.

    Raises
    ------
    HpsimError
        When there are more pipelines than a figure has panels.
    """
    counts = sorted({*_COUNTS, M, *(2**k for k in range(7, M.bit_length()))})
    curves = [[_error(pipeline, count, regime) for count in counts] for _, pipeline in named]
    at = counts.index(M)
    text = f"● {M:,} micro-batch{'' if M == 1 else 'es'}, against " + (
        "T_async" if regime is None else "T in the regime"
    )
    if len(named) <= style.MOST_LINES:
        ax = style.axes(ax)
        ends = []
        for (name, _), curve, color in zip(named, curves, style.theme(ax).lines.values(), strict=False):
            _curve(ax, counts, curve, at, color)
            words = [*([style.folded(name, most=2)] if name else []), _per_cent(curve[at])]
            ends.append((float(counts[-1]), curve[-1], "\n".join(words), color))
        _zero(ax)
        style.microbatch_axis(ax, counts)
        ax.set_ylabel(_WRONG)
        style.remark(ax, text)
        style.name_lines(ax, ends)
        return ax
    ax, part, places = style.panels(ax, len(named), "pipelines")
    colors = style.theme(ax)
    for place, (name, _), curve in zip(places, named, curves, strict=True):
        for other in curves:
            place.plot(list(map(float, counts)), other, color=colors.quiet, linewidth=0.5, alpha=0.6)
        _curve(place, counts, curve, at, colors.blue)
        _zero(place)
        place.annotate(
            _per_cent(curve[at]), (0.98, 0.94), xycoords="axes fraction", ha="right", va="top", color=colors.blue
        )
        place.set_title(style.folded(name, style.PANEL, 2), loc="left")
    style.microbatch_axis(places[0], counts, small=True)
    style.common_labels(part, f"{text}; grey: the others", "micro-batches M", _WRONG)
    return ax


def _error(pipeline: Pipeline, M: int, regime: Regime | None) -> float:
    """The error in per cent of the makespan."""
    T: Any = pipeline.async_(M) if regime is None else makespan(pipeline, M, regime)
    return 100 * float(Fraction(pipeline.gpipe(M)) / Fraction(T) - 1)


def _curve(ax: Axes, counts: Sequence[int], curve: Sequence[float], at: int, color: str) -> None:
    ax.plot(list(map(float, counts)), curve, color=color)
    ax.plot(float(counts[at]), curve[at], "o", color=color)


def _count(M: int) -> str:
    if M < 10**9:
        return f"{M:,}"
    digits, power = f"{M:.2e}".split("e")
    return rf"${digits}\times10^{{{int(power)}}}$"


def _per_cent(error: float) -> str:
    return f"{error:+z.1f} %"


def _zero(ax: Axes) -> None:
    """Where the formula is right."""
    ax.axhline(0, color=style.theme(ax).ink, linewidth=0.8)
