"""The steady time per micro-batch against the transfer times: flat, then rising, with the phase transition between.

The slope is measured on the recurrence, (T(M2) - T(M1)) / (M2 - M1) for the two largest M of the run; it is the same
from M = 1 on (Theorems 2 and 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpsim.analysis.database import Database, connect
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
    ax = style.axes(ax)
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
    looks = style.of_regimes(run.regimes)
    for regime in run.regimes:
        look = {**looks[regime], "marker": style.marks(rows, looks[regime]["marker"])}
        x, mean, low, high = (
            [row[key] for row in rows] for key in ("x", f"mean_{regime}", f"low_{regime}", f"high_{regime}")
        )
        ax.fill_between(x, low, high, color=look["color"], alpha=0.2, linewidth=0)
        ax.plot(x, mean, label=regime, **{**look, "markersize": 3})
    if slack is None:
        _against_reach(ax)
    else:
        _against_transfer(ax, run, slack)
    ax.legend(loc="best")
    return ax


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
        f"sum(total_{r}) / sum(n) AS mean_{r}, min(low_{r}) AS low_{r}, max(high_{r}) AS high_{r}" for r in run.regimes
    )
    found = database.execute(f"SELECT sum(x) / sum(n) AS x, {merged} FROM places GROUP BY place ORDER BY 1")
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _slopes(run: Run, configs: str, points: str, x: str, place: str, per: str) -> str:
    """The statement that adds up the slopes at each place, over the configurations of a few parts."""
    before, last = run.sweep["microbatches"][-2:]
    rises = ", ".join(f"sum(CASE M WHEN {last} THEN T_{r} ELSE -T_{r} END) AS rise_{r}" for r in run.regimes)
    slopes = ", ".join(f"rise_{r} / {last - before} / {per} AS slope_{r}" for r in run.regimes)
    added = ", ".join(
        f"sum(slope_{r}) AS total_{r}, min(slope_{r}) AS low_{r}, max(slope_{r}) AS high_{r}" for r in run.regimes
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


def _against_transfer(ax: Axes, run: Run, slack: float) -> None:
    ax.axvline(slack, color=style.BLACK, linewidth=0.8, linestyle=":")
    ax.set_title(f"dotted: smallest slack of a link, {slack:g}{f' {run.unit}' if run.unit else ''}", loc="left")
    ax.set_xlabel(f"transfer time d of every link {style.unit(run)}")
    ax.set_ylabel(f"time per micro-batch {style.unit(run)}")


def _against_reach(ax: Axes) -> None:
    ax.axvline(1, color=style.BLACK, linewidth=0.8, linestyle=":")
    style.plain_log(ax, "x")
    style.plain_log(ax, "y")
    ax.set_title("line: mean, band: all; dotted: phase transition", loc="left")
    ax.set_xlabel(r"largest $\tau_s+d_s$ of a sending stage $/\,\tau_{\max}$")
    ax.set_ylabel(r"time per micro-batch $/\,\tau_{\max}$")
