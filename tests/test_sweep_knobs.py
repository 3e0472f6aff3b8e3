"""Sweeps over regimes of knobs: every makespan against the plain twin, every draw and slope against its own twin."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from conftest import scaled

from hpsim.errors import SweepFileError
from hpsim.reference import event_graph, sampling
from hpsim.regime import Regime
from hpsim.sweep import columns
from hpsim.sweep.chunk import run_chunk
from hpsim.sweep.knobs import drawn_for
from hpsim.sweep.spec import Sweep, load_sweep, make_sweep
from hpsim.throughput_law import steady_slope

Row = dict[str, Any]

KNOBS: list[Any] = [
    "async",
    "rendezvous",
    {"name": "tight", "overlap": 0, "buffers": 1},
    {"name": "roomy", "like": "tight", "buffers": "+1"},
    {"name": "half", "overlap": "1/2", "buffers": {"integers": [0, 3]}},
    {"name": "more", "like": "half", "buffers": "+2", "window": 5},
    {"name": "narrow", "channels": {"choice": [1, 2, 5]}, "buffers": {"integers": [0, 2]}},
    {"name": "decode", "window": {"integers": [1, 6]}, "feedback": 2},
    {"name": "quarter", "overlap": "1/4"},  # a chain
    {"name": "none", "like": "free", "buffers": 0},
]
SAMPLED: Row = {
    "configs": scaled(300),
    "seed": 5,
    "stages": {"uniform": [1, 5]},
    "tau": {"loguniform": [0.1, 10]},
    "d": {"loguniform": [0.01, 20], "times": "mean_tau"},
    "latency": {"choice": [0, 0, 1.5]},
    "edge_cases": 0.3,
    "microbatches": [1, 2, 3, 8, 21],
    "regimes": KNOBS,
}


def knobs_of(sweep: Sweep, config: Row, name: str) -> Row:
    """The knobs of regime ``name`` at one configuration, as the table ``configs`` tells them; None: unlimited."""
    fixed = sweep.knob_regimes[name]
    counts = {knob: config[f"{knob}_{name}"] for knob in ("buffers", "channels", "window")}
    return counts | {"overlap": fixed.overlap, "feedback": fixed.feedback}


def times(config: Row) -> Iterator[list[Fraction]]:
    """tau, d and latency of a row of ``configs``, as they were written or drawn."""
    for name in ("tau", "d", "latency"):
        scale = config["scale"]
        yield [Fraction(x) if scale == 1 else Fraction(round(Fraction(x) * scale), scale) for x in config[name]]


def check_against_the_twins(sweep: Sweep, index: int = 0) -> int:
    """Compare every makespan and slope of a chunk with the twins; how many makespans there were."""
    tables = run_chunk(sweep, index).tables
    configs = {row["config_id"]: row for row in tables["configs"].to_pylist()}
    compared = 0
    for row in tables["points"].to_pylist():
        config = configs[row["config_id"]]
        tau, d, latency = times(config)
        for name, knobs in sweep.knob_regimes.items():
            given = knobs_of(sweep, config, name)
            links = (d, latency) if knobs.communication else (None, None)
            T = event_graph.makespan(tau, links[0], row["M"], latency=links[1], **given)
            assert row[f"T_{name}"] == float(T), (config, name, row["M"])
            compared += 1
        T = event_graph.makespan(tau, d, row["M"], latency=latency, overlap=0, buffers=0)
        assert row["T_rendezvous"] == row["closed_rendezvous"] == float(T)
    for config in configs.values():
        tau, d, latency = times(config)
        for name, knobs in sweep.knob_regimes.items():
            regime = Regime(communication=knobs.communication, **knobs_of(sweep, config, name))
            assert config[f"slope_{name}"] == float(steady_slope(tau, d, latency, regime))
    return compared


def test_every_makespan_and_slope_of_a_sampled_sweep_is_that_of_the_twins() -> None:
    """Fixed, derived and drawn knobs, one to five stages, exactly."""
    sweep = make_sweep(SAMPLED)
    assert check_against_the_twins(sweep) == sweep.n_points * len(sweep.knob_regimes)


def test_every_makespan_of_listed_pipelines_and_grids_is_that_of_the_twins() -> None:
    """Pipelines of different common denominators, in one batch, with a feedback time that each of them can hold."""
    pipelines = [
        {"name": "a", "tau": [0.5, 1, 1.5], "d": [0.25, 2]},
        {"name": "b", "tau": [3, 1, 2], "d": [0, 1]},
        {"name": "c", "tau": ["1/2", "1/4", 2], "d": [1, 1], "latency": [0, "1/8"]},
    ]
    assert check_against_the_twins(make_sweep({"pipelines": pipelines, "microbatches": [1, 4, 9], "regimes": KNOBS}))
    grid = {"stages": 2, "tau": {"each": [1, "1/3"]}, "d": [0, 0.1, 0.7]}
    assert check_against_the_twins(make_sweep({"grid": grid, "microbatches": [1, 4, 9], "regimes": KNOBS}))


def test_lists_of_knobs_hold_for_each_stage_and_link() -> None:
    """A list is checked against the number of stages, and used stage by stage."""
    given = {"name": "lists", "overlap": [1, 0.5], "buffers": [7, 0, "unlimited"]}
    sweep = make_sweep({**SAMPLED, "configs": scaled(50), "stages": 3, "regimes": [given]})
    tables = run_chunk(sweep, 0).tables
    configs = tables["configs"].to_pylist()
    for row in tables["points"].to_pylist():
        config = configs[row["config_id"]]
        tau, d, latency = times(config)
        T = event_graph.makespan(
            tau, d, row["M"], latency=latency, overlap=[Fraction(1), Fraction(1, 2)], buffers=[None, 0, None]
        )
        assert row["T_lists"] == T
    assert all(config["buffers_lists"] is None for config in configs)


def test_what_is_drawn_depends_on_seed_configuration_and_regime_alone() -> None:
    """The draws of the plain twin; a derived regime shares them; other chunks, workers and regimes change nothing."""
    sweep = make_sweep(SAMPLED)
    for config_id in range(0, sweep.n_configs, 7):
        drawn = drawn_for(sweep, config_id)
        regimes = list(sweep.knob_regimes)
        draw = 2**20 + 4 * regimes.index("half")
        half = sweep.knob_regimes["half"].draws[0].distribution
        twin = (half.kind, half.values, None)
        assert drawn["half"]["buffers"] == sampling.quantile(twin, sampling.uniform(5, config_id, draw))
        assert drawn["more"]["buffers"] == drawn["half"]["buffers"] + 2
        assert 1 <= drawn["decode"]["window"] <= 6
    cut = make_sweep({**SAMPLED, "chunk": 3})
    whole = run_chunk(sweep, 0).tables["configs"]
    assert run_chunk(cut, 1).tables["configs"].equals(whole.slice(3, 3))


def test_tables_follow_the_declared_schema() -> None:
    """The columns of regimes of knobs are there, in their place and type, and nothing else is."""
    sweep = make_sweep(SAMPLED)
    for name, table in run_chunk(sweep, 0).tables.items():
        assert table.schema == columns.schema(name, sweep.regime_names)
    names = columns.schema("points", sweep.regime_names).names
    assert names[:4] == ["config_id", "S", "M", "T_gpipe"]
    assert names[-1] == "T_none"
    assert "closed_tight" not in names


def test_the_resolved_form_is_the_same_sweep() -> None:
    """Loading what was printed gives an equal sweep, increments included."""
    sweep = make_sweep(SAMPLED)
    again = make_sweep(sweep.resolved())
    assert again == sweep
    assert again.sha256 == sweep.sha256
    assert make_sweep({**SAMPLED, "regimes": KNOBS[:3]}).sha256 != sweep.sha256


@pytest.mark.parametrize("name", ["buffers", "window", "links"])
def test_shipped_sweeps_agree_with_the_twins(name: str) -> None:
    """The first configurations of each shipped sweep over knobs, exactly."""
    sweep = load_sweep(name, [f"configs={scaled(40)}", "microbatches=[1, 2, 16]"])
    tables = run_chunk(sweep, 0).tables
    configs = tables["configs"].to_pylist()
    for row in tables["points"].to_pylist():
        config = configs[row["config_id"]]
        tau, d, latency = times(config)
        for regime in sweep.knob_regimes:
            given = knobs_of(sweep, config, regime)
            assert row[f"T_{regime}"] == event_graph.makespan(tau, d, row["M"], latency=latency, **given)


def test_a_violation_tells_what_was_drawn() -> None:
    """A stored violation holds the counts of its configuration, so that it can be understood alone."""
    claim = "T(half) < T_async"
    sweep = make_sweep({**SAMPLED, "configs": scaled(50), "claims": [claim]})
    tables = run_chunk(sweep, 0).tables
    configs = tables["configs"].to_pylist()
    rows = tables["violations"].to_pylist()
    assert rows
    for row in rows:
        for name in sweep.knob_regimes:
            for knob in ("buffers", "channels", "window"):
                assert row[f"{knob}_{name}"] == configs[row["config_id"]][f"{knob}_{name}"]


def test_limits_too_wide_to_remember_are_refused_when_the_sweep_is_loaded() -> None:
    """From the upper end of what may be drawn, and not when it happens to be drawn; unless the run is short."""
    wide = [{"name": "w", "buffers": {"integers": [0, 200_000]}}]
    make_sweep({**SAMPLED, "regimes": wide, "microbatches": [1000], "resolution": 4})
    with pytest.raises(SweepFileError, match=r"regimes\[0\].buffers: 800,004 micro-batches to remember"):
        make_sweep({**SAMPLED, "regimes": wide, "microbatches": [300_000], "resolution": 4})


def test_totals_that_leave_the_grid_are_refused() -> None:
    """With limits a run may take one micro-batch after the other, which is checked when the sweep is loaded."""
    tall = {**SAMPLED, "stages": 1, "tau": 1, "d": 0, "latency": 0, "edge_cases": 0, "microbatches": [2**32]}
    make_sweep({**tall, "regimes": ["async"]})
    with pytest.raises(SweepFileError, match="totals may reach"):
        make_sweep({**tall, "regimes": [{"name": "w", "window": 1, "feedback": 3}]})
