"""A run in numbers: totals, worst errors, phase transitions, and quantiles over all of its points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hpsim.analysis.database import Database, connect, quoted
from hpsim.analysis.quantiles import quantiles
from hpsim.analysis.run import Run, open_run
from hpsim.sweep.durable import told_plainly
from hpsim.sweep.parquet import read_part

KINDS = ("server", "credit", "window", "link")  # of resources, as in the columns critical_


@dataclass(frozen=True)
class KnobSummary:
    """What a run says about one regime of knobs.

    Attributes
    ----------
    name, against : str
        The regime, and the one that it is compared with: the first with a closed form, or else the first of all.
    ratio : list of dict or None
        For each M: quantiles of T_name / T_against; None for the regime that others are compared with.
    critical : list of dict
        For each S: ``configs``, their ``mean_slope`` in the run's unit, and how many of them each kind of resource
        decides, one entry for each of :data:`KINDS`.
    """

    name: str
    against: str
    ratio: list[dict[str, Any]] | None
    critical: list[dict[str, Any]]


@dataclass(frozen=True)
class Summary:
    """What :func:`summarise` found; the tables are None where the run did not record what they are made from.

    Attributes
    ----------
    run : Run
        The run.
    phase : list of dict or None
        For each S: ``configs``, those ``in_transition``, and their ``share``.
    bias : list of dict or None
        For each S: quantiles of the homogeneity bias sum(tau_max - tau), in the run's unit.
    overlap_gain : list of dict or None
        For each S and M: quantiles of T_blocking / T_async; None without these two regimes.
    gpipe_overestimate : list of dict or None
        For each S and M: quantiles of T_gpipe / T - 1, with T the makespan in the regime ``gpipe_against``.
    gpipe_against : str
        The first of the run's regimes, in the order free, async, blocking, partial.
    knobs : list of KnobSummary or None
        One for each regime that the sweep gives by its knobs.
    """

    run: Run
    phase: list[dict[str, Any]] | None
    bias: list[dict[str, Any]] | None
    overlap_gain: list[dict[str, Any]] | None
    gpipe_overestimate: list[dict[str, Any]] | None
    gpipe_against: str
    knobs: list[KnobSummary] | None

    def as_dict(self) -> dict[str, Any]:
        """The summary in plain JSON types, without the violations themselves."""
        run = self.run
        return {
            "run": str(run.path),
            "name": run.sweep["name"],
            "status": "unfinished" if run.unfinished else "complete",
            "parts_done": run.parts_done,
            "parts_total": run.parts_total,
            "parts_lost": run.parts_lost,
            "arithmetic": run.sweep["arithmetic"],
            "regimes": run.regimes,
            "claims": run.sweep["claims"],
            "unit": run.unit,
            **asdict(run.totals),
            "phase_transition": self.phase,
            "homogeneity_bias": self.bias,
            "overlap_gain": self.overlap_gain,
            "gpipe_overestimate": self.gpipe_overestimate,
            "gpipe_overestimate_against": self.gpipe_against,
            "knob_regimes": None if self.knobs is None else [asdict(regime) for regime in self.knobs],
        }


def summarise(path: str | Path) -> Summary:
    """Summarise the run folder ``path``, finished or not, out of core.

    Every quantile is exact and a value that occurs (see :mod:`hpsim.analysis.quantiles`). Totals and worst errors are
    those of the parts' records, so they cover all points even where only violations were kept. 100 million points take
    less than half a gigabyte of memory.

    Raises
    ------
    RunFolderError
        When it is no run folder, or cannot be read.
    MissingExtraError
        When DuckDB is not installed.
    """
    run = open_run(path)
    against = run.regimes[0]
    if "points" not in run.tables:
        return Summary(run, None, None, None, None, against, None)
    with told_plainly(run.path), connect(run) as database:
        gain = None
        if {"async", "blocking"} <= set(run.regimes):
            gain = quantiles(database, "points", "T_blocking / T_async", ["S", "M"], around=1)
        excess = quantiles(database, "points", f"T_gpipe / {quoted(f'T_{against}')} - 1", ["S", "M"])
        bias = quantiles(database, "configs", "bias", ["S"])
        knobs = [_of_knobs(database, run, name) for name in run.regimes if name not in run.closed_regimes]
        return Summary(run, phase_by_stages(database), bias, gain, excess, against, knobs)


def _of_knobs(database: Database, run: Run, name: str) -> KnobSummary:
    against = (run.closed_regimes or run.regimes)[0]
    ratio = (
        None
        if name == against
        else quantiles(database, "points", f"{quoted(f'T_{name}')} / {quoted(f'T_{against}')}", ["M"], around=1)
    )
    critical, slope = quoted(f"critical_{name}"), quoted(f"slope_{name}")
    counts = ", ".join(f"count(*) FILTER ({critical} LIKE '{kind}%') AS {quoted(kind)}" for kind in KINDS)
    found = database.execute(
        f"SELECT S, count(*) AS configs, favg({slope}) AS mean_slope, {counts} FROM configs GROUP BY S ORDER BY S"
    )
    names = [column[0] for column in found.description]
    return KnobSummary(name, against, ratio, [dict(zip(names, row, strict=True)) for row in found.fetchall()])


def phase_by_stages(database: Database) -> list[dict[str, Any]]:
    """How many configurations of each S are in phase transition (Corollary 4)."""
    rows = database.execute("SELECT S, count(*), count(*) FILTER (phase) FROM configs GROUP BY S ORDER BY S")
    return [{"S": S, "configs": n, "in_transition": k, "share": k / n} for S, n, k in rows.fetchall()]


def stored_violations(run: Run) -> Iterator[dict[str, Any]]:
    """Each stored violation, its row of the table, in the order of the sweep; one part in memory at a time."""
    with told_plainly(run.path):
        for file in run.files["violations"]:
            yield from read_part(file, run.schema("violations"), run.rows[file]).to_pylist()
