"""The steady time per micro-batch against the transfer times: flat, then rising, with the phase transition between.

The slope is measured on the recurrence, (T(M2) - T(M1)) / (M2 - M1) for the two largest M of the run; it is the same
from M = 1 on (Theorems 2 and 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpsim.analysis.database import Database, connect, quoted
from hpsim.analysis.plots import style
from hpsim.errors import RunFolderError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpsim.analysis.run import Run

_LINK = "[tau[i] + d[i] FOR i IN range(1, len(d) + 1)]"  # occupancy of each stage that sends, when blocking
_REACH = f"list_max({_LINK}) / tau_max"
_ONE_PIPELINE = "min(tau) = max(tau) AND min(d) < max(d) AND bool_and(list_min(d) = list_max(d))"
_CONFIGS_AT_ONCE = 2**18
_FEW = 2000  # transfer times that are drawn one by one
_BIN = f"CASE WHEN {_REACH} > 0 THEN round(16 * log2({_REACH})) END"  # without a place: not on a logarithmic axis


def plot_slope(run: Run, ax: Axes | None = None) -> Axes:
    """Draw the slope of every regime: its mean, and a band over all configurations at the same place.

    When the run varies one transfer time d on all links of one pipeline, the slope stands against d, in the run's unit
    (Figure 3 of the paper). Otherwise pipelines are made comparable: the slope stands against the largest
    tau[s] + d[s] over links, both in units of tau_max; the phase transition is where that passes 1.

    Raises
    ------
    RunFolderError
        When the run kept violations only, has a single M, or no pipeline with a link.
    """
    run.need("points", "the plot of slopes")
    counts = run.sweep["microbatches"]
    if len(counts) < 2:
        raise RunFolderError(str(run.path), f"has M = {counts[0]} only", "a slope needs two numbers of micro-batches")
    with connect(run) as database:
        if (
            _one(database, f"SELECT {_ONE_PIPELINE} FROM configs")
            and _one(database, "SELECT count(DISTINCT d) FROM configs") <= _FEW
        ):
            rows = _rows(database, run, "d[1]", "d[1]", "1")
            slack = _one(database, "SELECT tau_max - list_max(tau[:-2]) FROM configs LIMIT 1")
        else:
            slack = None
            rows = _rows(database, run, _REACH, _BIN, "tau_max")
    if not rows:
        raise RunFolderError(
            str(run.path), "has no pipeline with a link and a time above 0", "a slope stands against transfer times"
        )
    if len(run.regimes) <= style.MOST_LINES:
        return _together(run, rows, slack, style.axes(ax))
    return _apart(run, rows, slack, ax)


def _together(run: Run, rows: list[dict[str, Any]], slack: float | None, ax: Axes) -> Axes:
    """A line and a band for each regime, in the same axes."""
    looks = style.of_regimes(run.regimes, style.theme(ax))
    for regime, look in looks.items():
        _band(ax, rows, regime, look["color"])
        _line(ax, rows, regime, **look)
    _transition(ax, slack)
    text, x, y = _texts(run, slack)
    ax.set(xlabel=x, ylabel=y)
    style.remark(ax, text)
    ends = [(rows[-1]["x"], rows[-1][f"mean_{r}"], style.folded(r), look["color"]) for r, look in looks.items()]
    style.name_lines(ax, ends)
    return ax


def _apart(run: Run, rows: list[dict[str, Any]], slack: float | None, ax: Axes | None) -> Axes:
    """A panel for each regime, with the lines of all others behind its own."""
    ax, part, places = style.panels(ax, len(run.regimes), "regimes")
    colors = style.theme(ax)
    for regime, place in zip(run.regimes, places, strict=True):
        for other in run.regimes:
            _line(place, rows, other, color=colors.quiet, linewidth=0.5, alpha=0.6)
        _band(place, rows, regime, colors.blue)
        _line(place, rows, regime, color=colors.blue, linewidth=1.6)
        _transition(place, slack, small=True)
        place.set_title(style.folded(regime, style.PANEL), loc="left")
    text, x, y = _texts(run, slack)
    style.common_labels(part, f"{text}; grey: the others", x, y)
    return ax


def _line(ax: Axes, rows: list[dict[str, Any]], regime: str, **look: Any) -> None:
    look["marker"] = style.marks(rows, look.get("marker", ""))
    x, mean = ([row[key] for row in rows] for key in ("x", f"mean_{regime}"))
    ax.plot(x, mean, label=regime, **{**look, "markersize": 3})


def _band(ax: Axes, rows: list[dict[str, Any]], regime: str, color: str) -> None:
    x, low, high = ([row[key] for row in rows] for key in ("x", f"low_{regime}", f"high_{regime}"))
    ax.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)


def _transition(ax: Axes, slack: float | None, *, small: bool = False) -> None:
    """The line where blocking begins to cost throughput, and the scales of the axes."""
    ax.axvline(1 if slack is None else slack, color=style.theme(ax).ink, linewidth=0.8, linestyle=":")
    if slack is None:
        style.plain_log(ax, "x", small=small)
        style.plain_log(ax, "y", small=small)


def _texts(run: Run, slack: float | None) -> tuple[str, str, str]:
    """What the marks mean, and what stands on the axes."""
    if slack is None:
        return (
            "line: mean, band: all, dotted: phase transition",
            r"largest $\tau_s+d_s$ of a sending stage $/\,\tau_{\max}$",
            r"time per micro-batch $/\,\tau_{\max}$",
        )
    return (
        f"dotted: smallest slack of a link, {slack:g}{f' {style.plain(run.unit)}' if run.unit else ''}",
        f"transfer time d of every link {style.unit(run)}",
        f"time per micro-batch {style.unit(run)}",
    )


def _of(what: str, regime: str) -> str:
    """The column of a regime, in SQL."""
    return quoted(f"{what}_{regime}")


def _one(database: Database, sql: str) -> Any:
    row = database.execute(sql).fetchone()
    return None if row is None else row[0]


def _rows(database: Database, run: Run, x: str, place: str, per: str) -> list[dict[str, Any]]:
    """Slopes of all configurations at the same ``place``, from left to right, each divided by ``per``.

    A configuration and its points are in parts of the same number, so a few parts at a time are joined: a join of all
    of them would go over the disk.
    """
    step = max(1, _CONFIGS_AT_ONCE * run.parts_done // run.totals.configs)
    for start in range(0, run.parts_done, step):
        configs, points = (database.parts(table, start, start + step) for table in ("configs", "points"))
        into = "INSERT INTO places" if start else "CREATE TEMP TABLE places AS"
        database.execute(f"{into} {_slopes(run, configs, points, x, place, per)}")
    merged = ", ".join(
        f"sum({_of('total', r)}) / sum(n) AS {_of('mean', r)}, min({_of('low', r)}) AS {_of('low', r)}, "
        f"max({_of('high', r)}) AS {_of('high', r)}"
        for r in run.regimes
    )
    found = database.execute(f"SELECT sum(x) / sum(n) AS x, {merged} FROM places GROUP BY place ORDER BY 1")
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _slopes(run: Run, configs: str, points: str, x: str, place: str, per: str) -> str:
    """The statement that adds up the slopes at each place, over the configurations of a few parts."""
    before, last = run.sweep["microbatches"][-2:]
    rises = ", ".join(
        f"sum(CASE M WHEN {last} THEN {_of('T', r)} ELSE -{_of('T', r)} END) AS {_of('rise', r)}" for r in run.regimes
    )
    slopes = ", ".join(f"{_of('rise', r)} / {last - before} / {per} AS {_of('slope', r)}" for r in run.regimes)
    added = ", ".join(
        f"sum({_of('slope', r)}) AS {_of('total', r)}, min({_of('slope', r)}) AS {_of('low', r)}, "
        f"max({_of('slope', r)}) AS {_of('high', r)}"
        for r in run.regimes
    )
    return f"""
        WITH rises AS (
            SELECT config_id, {rises} FROM {points} WHERE M IN ({before}, {last}) GROUP BY config_id
        ),
        slopes AS (
            SELECT {x} AS x, {place} AS place, {slopes}
            FROM {configs} JOIN rises USING (config_id)
            WHERE place IS NOT NULL
        )
        SELECT place, count(*) AS n, sum(x) AS x, {added} FROM slopes GROUP BY place
    """
