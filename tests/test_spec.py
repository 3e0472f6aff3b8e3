"""Sweep files: a corpus of invalid ones, each named after its defect, and of valid ones with their resolved form."""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hpsim import regime
from hpsim.errors import SweepFileError
from hpsim.sweep.estimate import estimate
from hpsim.sweep.file.checks import CHECKS, for_regimes
from hpsim.sweep.file.distribution import Distribution
from hpsim.sweep.file.grid import Each, Grid
from hpsim.sweep.file.pipelines_file import load_pipelines
from hpsim.sweep.file.yaml_file import dump, parse
from hpsim.sweep.json_schema import sweep_json_schema
from hpsim.sweep.spec import Sweep, load_sweep, make_sweep

FILES = Path(__file__).parent / "sweep_files"
INVALID = sorted((FILES / "invalid").glob("*.yaml"))
VALID = sorted((FILES / "valid").glob("*.yaml"))
SHIPPED = ["billion", "hand_crafted", "paper_fuzz", "paper_fuzz_float64", "phase_transition"]
SAMPLED: dict[str, Any] = {"configs": 10, "stages": 3, "tau": 1}


def refused(data: dict[str, Any]) -> SweepFileError:
    with pytest.raises(SweepFileError) as caught:
        make_sweep(data)
    return caught.value


@pytest.mark.parametrize("file", INVALID, ids=lambda file: file.stem)
def test_an_invalid_file_is_refused_at_the_line_and_key_of_its_defect(file: Path) -> None:
    """The first two lines of each invalid file say the place and the parts of the message."""
    place, says = (line.split(": ", 1)[1] for line in file.read_text().splitlines()[:2])
    with pytest.raises(SweepFileError) as caught:
        load_sweep(file)
    assert caught.value.place == f"{file}:{place}"
    message = str(caught.value)
    assert "\n" not in message
    for part in says.split(" | "):
        assert part in message


@pytest.mark.parametrize("file", VALID, ids=lambda file: file.stem)
def test_a_valid_file_resolves_to_what_is_written_beside_it(file: Path) -> None:
    assert load_sweep(file).resolved() == json.loads(file.with_suffix(".json").read_text())


@pytest.mark.parametrize("source", [*map(str, VALID), *SHIPPED], ids=lambda source: Path(source).stem)
def test_the_resolved_form_loads_as_an_equal_sweep(source: str, tmp_path: Path) -> None:
    sweep = load_sweep(source)
    written = tmp_path / "again.yaml"
    written.write_text(dump(sweep.resolved()), encoding="utf-8")
    again = load_sweep(written)
    assert again == sweep
    assert again.resolved() == sweep.resolved()
    assert again.sha256 == sweep.sha256
    assert make_sweep(json.loads(json.dumps(sweep.resolved()))) == sweep


def test_the_hash_of_a_sweep_is_that_of_its_canonical_json() -> None:
    """A change here makes every unfinished run unresumable."""
    canonical = (
        '{"arithmetic":"exact","chunk":32768,"claims":["thm2","thm3","cor5"],"configs":10,"d":0,"edge_cases":0,'
        '"latency":0,"microbatches":[1,2,4,8,16,32,64,100],"name":"sweep","record":"points",'
        '"regimes":["async","blocking"],"resolution":20,"seed":0,"stages":3,"tau":1}'
    )
    assert make_sweep(SAMPLED).sha256 == hashlib.sha256(canonical.encode()).hexdigest()


def test_equal_sweeps_have_equal_hashes_and_others_do_not() -> None:
    spelled = {**SAMPLED, "tau": {"constant": "10/10"}, "regimes": ["blocking", "async"], "microbatches": [100, 1]}
    plain = {**SAMPLED, "microbatches": [1, 100]}
    assert make_sweep(spelled).sha256 == make_sweep(plain).sha256
    assert make_sweep({**plain, "seed": 1}).sha256 != make_sweep(plain).sha256


def test_a_regime_with_partial_is_known_by_the_name_that_the_library_uses() -> None:
    """Every regime name of the library can stand in a sweep."""
    sweep = make_sweep({**SAMPLED, "regimes": list(regime.NAMES), "rho": 0.5})
    assert sweep.regimes == ["free", "async", "blocking", "partial", "rendezvous"]
    assert sweep.claims == ["thm1", "thm2", "thm3", "partial", "rendezvous", "cor5"]


def test_the_checks_of_a_sweep_are_those_whose_regimes_it_has() -> None:
    assert list(CHECKS) == ["thm1", "thm2", "thm3", "partial", "rendezvous", "cor5"]
    assert for_regimes(["async"]) == ["thm2"]
    assert for_regimes(["blocking", "async"]) == ["thm2", "thm3", "cor5"]
    assert for_regimes(["free", "partial"]) == ["thm1", "partial"]


@pytest.mark.parametrize(
    ("stem", "name"),
    [("my_sweep", "my-sweep"), ("a b!c", "a-b-c"), ("...", "sweep"), ("CON", "sweep"), ("研究", "研究")],
)
def test_the_name_comes_from_the_file(stem: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / f"{stem}.yaml"
    file.write_text("grid: {tau: [[1]]}\n")
    assert load_sweep(file).name == name


def test_numbers_are_kept_exactly() -> None:
    """0.1 is a tenth and not the nearest double; text is a fraction."""
    sweep = make_sweep({"grid": {"tau": [[0.1, "1/3"]], "d": [Fraction(1, 7)]}})
    assert sweep.grid is not None
    assert str(sweep.grid.tau) == "((Fraction(1, 10), Fraction(1, 3)),)"
    assert sweep.grid.scale == 210
    assert sweep.resolved()["grid"] == {"tau": [[0.1, "1/3"]], "d": ["1/7"], "latency": [0]}


def test_bounds_of_a_distribution() -> None:
    lognormal = Distribution("lognormal", (Fraction(2), Fraction(1, 2)))
    assert float(lognormal.high) == pytest.approx(2 * math.exp(4.15), rel=1e-14)
    assert float(lognormal.low) == pytest.approx(2 * math.exp(-4.15), rel=1e-14)
    choice = Distribution("choice", (Fraction(3), Fraction(1), Fraction(2)))
    assert [choice.low, choice.high] == [1, 3]


def test_chunks_cover_every_configuration_once() -> None:
    sweep = make_sweep({**SAMPLED, "chunk": 4})
    assert sweep.n_chunks == 3
    assert [list(sweep.chunk_range(index)) for index in range(3)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_the_grid_of_the_readme_has_the_size_that_it_says() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    example, size = re.findall(r"^`(grid: .*)` is .* = (\d+) configurations", readme, flags=re.MULTILINE)[0]
    data, _ = parse(example, "README.md")
    assert isinstance(data, dict)
    assert make_sweep(data).n_configs == int(size)


def test_sizes_of_a_grid_count_every_combination() -> None:
    """2 and 3 stages, two service times, three transfer times, two latencies, two shares."""
    axes = {"stages": [2, 3], "tau": {"each": [1, 2]}, "d": {"each": [0, 1, 2]}, "latency": [0, 5], "rho": [0, 1]}
    sweep = make_sweep({"grid": axes, "regimes": ["async", "partial"], "microbatches": [1, 10]})
    assert sweep.grid is not None
    assert sweep.grid.tau == Each((Fraction(1), Fraction(2)))
    assert sweep.grid.count(2) == 2**2 * 3 * 2 * 2
    assert sweep.grid.count(3) == 2**3 * 3**2 * 2 * 2
    size = estimate(sweep)
    assert (size.configs, size.points) == (48 + 288, 2 * 336)
    assert size.cells == (48 * 2 + 288 * 3) * 10 * 2


def test_a_grid_can_be_made_from_python_values() -> None:
    both = Each((Fraction(1), Fraction(2)))
    grid = Grid.model_validate({"stages": [2], "tau": both, "d": both})
    assert grid.resolved() == {"stages": [2], "tau": {"each": [1, 2]}, "d": {"each": [1, 2]}, "latency": [0]}


def test_vectors_of_a_grid_are_grouped_by_length_in_the_order_of_appearance() -> None:
    sweep = make_sweep({"grid": {"tau": [[1, 2, 3], [1, 2], [3, 2, 1]], "d": [0, 1]}})
    assert sweep.grid is not None
    assert sweep.grid.stages == (3, 2)
    assert [sweep.grid.count(S) for S in (3, 2)] == [4, 2]


def test_a_range_has_exact_levels_up_to_its_stop() -> None:
    sweep = make_sweep({"grid": {"tau": [[1, 2]], "d": {"range": [0, 0.3, 0.1]}}})
    assert sweep.grid is not None
    assert sweep.grid.d == tuple(Fraction(level, 10) for level in range(4))


def test_the_sampled_estimate_is_the_expected_number_of_steps() -> None:
    sweep = make_sweep({**SAMPLED, "configs": 1000, "stages": {"uniform": [2, 8]}, "microbatches": [1, 50]})
    assert estimate(sweep).cells == 1000 * 5 * 50 * 2


def test_totals_may_reach_2_to_the_53_and_no_further() -> None:
    """One stage, T_gpipe = M·tau: exactly 2^53 units pass, one more unit does not, and partial takes four bits."""
    pipelines = {"pipelines": [{"name": "one", "tau": [2**52]}], "microbatches": [2]}
    assert make_sweep(pipelines).n_configs == 1
    refused({**pipelines, "microbatches": [3]})
    refused({**pipelines, "regimes": ["partial"], "rho": 0.5})
    eased = {"pipelines": [{"name": "one", "tau": [2**48]}], "microbatches": [2], "regimes": ["partial"], "rho": 0.5}
    assert make_sweep(eased).n_configs == 1


def test_the_bound_of_a_sampled_sweep_is_the_blocking_makespan_with_latency() -> None:
    """S = 2, M = 3, tau = t, d = 4t, latency = 8t make 2t + 4t + 8t + 2·5t = 24t; 24·2^48 < 2^53 < 24·2^49."""
    data = {**SAMPLED, "stages": 2, "microbatches": [3], "resolution": 40}
    assert make_sweep({**data, "tau": 2**8, "d": 2**10, "latency": 2**11}).resolution == 40
    error = refused({**data, "tau": 2**9, "d": 2**11, "latency": 2**12})
    assert "1.351e+16 grid units" in error.found


def test_a_pipeline_is_scaled_by_its_own_common_denominator() -> None:
    sweep = make_sweep({"pipelines": [{"name": "a", "tau": ["1/3", 0.5]}, {"name": "b", "tau": [1, 2], "d": [0.01]}]})
    assert sweep.pipelines is not None
    assert [entry.scale for entry in sweep.pipelines] == [6, 100]
    assert sweep.pipelines[0].d == [0]


@pytest.mark.parametrize(
    ("setting", "key", "value"),
    [
        ("tau.loguniform=[0.1,10]", "tau", {"loguniform": [0.1, 10]}),
        ("tau=1e-3", "tau", 0.001),
        ("microbatches=8", "microbatches", [8]),
        ("regimes=[blocking]", "regimes", ["blocking"]),
        ("d.times=max_tau", "d", {"uniform": [0, 2], "times": "max_tau"}),
        ("name=other", "name", "other"),
    ],
)
def test_a_setting_beats_the_file(setting: str, key: str, value: object, tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_text("configs: 5\nstages: 3\ntau: {uniform: [1, 2]}\nd: {uniform: [0, 2]}\nchunk: 7\n")
    assert load_sweep(file, [setting]).resolved()[key] == value


@pytest.mark.parametrize(
    ("setting", "place", "part"),
    [
        ("tua=1", "--set tua", "did you mean 'tau'?"),
        ("tau.uniform=[2,1]", "--set tau.uniform", "an empty range"),
        ("tau={uniform: [1, .nan]}", "--set tau", "'.nan' is not a number"),
        ("tau", "--set tau", "not key=value"),
        ("=1", "--set =1", "not key=value"),
        ("tau..x=1", "--set tau..x=1", "not key=value"),
        ("tau=[1", "--set tau", "not YAML"),
        ("tau={constant: 1, constant: 2}", "--set tau", "a second time"),
        ("configs=", "--set configs", "no value; give a value"),
        ("seed= ~", "--set seed", "no value"),
        ("tau={constant: }", "--set tau", "no value at constant"),
        ("name.x=1", "--set name.x", "found a mapping (x)"),
        ("name.x.y=1", "--set name.x.y", "found a mapping (x)"),
        ("tau=!!float 1", "--set tau", "the YAML tag"),
        ("seed.x=1", "--set seed.x", "found a mapping (x)"),
        (
            "tau.uniform.0=1",
            "--set tau.uniform.0",
            "a key inside the list tau.uniform; give all of it: tau.uniform=[…]",
        ),
        (".".join("a" * 2000) + "=1", f"--set {'a.' * 30}...", "a key of 2000 parts; at most 40"),
        ("a" * 2000 + "=1", f"--set {'a' * 60}...", "unknown key"),
        ("a\nb=1", "--set 'a\\nb'", "unknown key"),
        ("seed=" + "9" * 100_000, "--set seed", "within the range of float64"),
        ("tau=" + "[" * 100_000, "--set tau", "not YAML"),
        ("name=" + "x" * 100_000, "--set name", "allowed: letters, digits"),
        ("microbatches=[" + "1," * 300_000 + "]", "--set microbatches", "more than 250,000 values"),
    ],
)
def test_a_wrong_setting_is_refused_at_its_key(setting: str, place: str, part: str, tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_text("configs: 5\nstages: 3\ntau: {uniform: [1, 2]}\nname: mine\n")
    with pytest.raises(SweepFileError) as caught:
        load_sweep(file, [setting])
    assert caught.value.place == place.format(file=file)
    assert part in str(caught.value)


def test_settings_beyond_a_thousand_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_text("configs: 5\nstages: 3\ntau: 1\n")
    assert load_sweep(file, [f"seed={n}" for n in range(1000)]).seed == 999
    with pytest.raises(SweepFileError, match="--set: 1001 settings; at most 1000"):
        load_sweep(file, ["seed=1"] * 1001)


def test_a_setting_takes_the_place_of_every_line_below_it(tmp_path: Path) -> None:
    """What the file said of a replaced list is not where a mistake in the new one is told."""
    file = tmp_path / "file.yaml"
    file.write_text("pipelines:\n- name: a\n  tau: [1, 2]\nseed: -1\n")
    with pytest.raises(SweepFileError) as caught:
        load_sweep(file, ["seed=3", "pipelines=[{name: a, tau: [1, x]}]"])
    assert caught.value.place == "--set pipelines"


def test_the_first_mistake_of_a_file_is_the_one_told(tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_text("configs: 5\nstages: 3\ntau: fast\nseed: -1\nunknown: 1\n")
    with pytest.raises(SweepFileError) as caught:
        load_sweep(file)
    assert caught.value.place == f"{file}:3: tau"


def test_a_pipelines_path_is_relative_to_the_sweep_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("unit: ms\npipelines:\n  - {name: a, tau: [1, 2]}\n")
    file = tmp_path / "sweep.yaml"
    file.write_text("pipelines: mine.yaml\n")
    sweep = load_sweep(file)
    assert sweep.unit == "ms"
    assert sweep.resolved()["pipelines"] == [{"name": "a", "tau": [1, 2], "d": [0], "latency": [0]}]


def test_the_unit_of_a_sweep_is_that_of_its_pipelines_file_where_it_has_one(tmp_path: Path) -> None:
    """Equal units agree; a pipelines file without a unit leaves the word to the sweep."""
    pipelines = tmp_path / "mine.yaml"
    file = tmp_path / "sweep.yaml"
    file.write_text("pipelines: mine.yaml\n")
    pipelines.write_text("unit: ms\npipelines:\n  - {name: a, tau: [1, 2]}\n")
    assert load_sweep(file, ["unit=ms"]).unit == "ms"
    with pytest.raises(SweepFileError) as caught:
        load_sweep(file, ["unit=s"])
    assert str(caught.value) == (
        f"--set unit: 's', but the times of {pipelines} are in 'ms'; leave unit out, or give that one"
    )
    pipelines.write_text("pipelines:\n  - {name: a, tau: [1, 2]}\n")
    assert load_sweep(file).unit is None
    assert load_sweep(file, ["unit=h"]).unit == "h"


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("", ":1", "the file is empty; a mapping of keys, for example `pipelines: [{name: a, tau: [1, 2]}]`"),
        (
            "pipelines: 1\n",
            ":1: pipelines",
            "found 1; allowed: a list of pipelines, for example [{name: a, tau: [1, 2]}]",
        ),
    ],
)
def test_a_pipelines_file_without_pipelines_is_told_how_one_looks(
    text: str, place: str, part: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(SweepFileError) as caught:
        load_pipelines(file)
    assert str(caught.value) == f"{file}{place}: {part}"


def test_a_chunk_of_the_default_size_is_never_too_large() -> None:
    """The largest S, every regime; recording violations only, a chunk is evaluated in tiles and may be of any size."""
    largest = {**SAMPLED, "configs": 10_000_000, "stages": 1024, "regimes": list(regime.NAMES), "rho": 0.5}
    assert make_sweep(largest).chunk == 4096  # 2·1024 + 8·16 numbers each, at most 2^24
    assert make_sweep({**largest, "stages": 8}).chunk == 32768
    assert make_sweep({**largest, "microbatches": list(range(1, 701))}).chunk == 1024
    assert make_sweep({**largest, "chunk": 2**22, "record": "violations"}).chunk == 2**22
    assert make_sweep({**largest, "chunk": 2**22, "configs": 100}).n_chunks == 1


def test_a_mistake_in_the_pipelines_file_is_told_at_its_own_place(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("pipelines:\n  - name: a\n    tau: [1, x]\n")
    file = tmp_path / "sweep.yaml"
    file.write_text("pipelines: mine.yaml\n")
    with pytest.raises(SweepFileError) as caught:
        load_sweep(file)
    assert caught.value.place == f"{tmp_path / 'mine.yaml'}:3: pipelines[0].tau[1]"


def test_the_shipped_sweeps_are_what_the_paper_counts() -> None:
    fuzz = load_sweep("paper_fuzz")
    assert (fuzz.n_configs, fuzz.n_points, fuzz.arithmetic) == (20_000, 160_000, "exact")
    assert fuzz.regimes == ["async", "blocking", "partial"]
    assert load_sweep("paper_fuzz_float64.yaml").tolerance == 1e-9
    billion = load_sweep("billion")
    assert (billion.n_configs, billion.n_points, billion.record) == (125_000_000, 1_000_000_000, "violations")
    assert load_sweep("hand_crafted").n_configs == 11
    assert load_sweep("phase_transition").n_configs == 65


def test_the_shipped_pipelines_have_the_numbers_of_the_paper() -> None:
    """The bias of each, sum of tau_max - tau, as the paper states it."""
    bias = {
        entry.name: float(sum(max(entry.tau) - tau for tau in entry.tau))
        for entry in load_pipelines("paper_clusters").pipelines
    }
    assert bias == {
        "table1-1.0x": 0,
        "table1-1.5x": 0.8,
        "table1-4x": 3.5,
        "table1-10x": 12.5,
        "table1-50x": 14.4,
        "illustrative": 12.5,
        "legalone-8b": 2.05,
        "qwen2.5-7b-five-hosts": 119.8,
    }


def test_the_hand_crafted_set_covers_the_description_in_the_paper() -> None:
    """Homogeneous and not; links uniform and not; transfers below, near and above the slack; bottlenecks; ties."""
    entries = load_pipelines("hand_crafted").pipelines
    assert len(entries) == 11
    slack = [[max(e.tau) - tau for tau in e.tau[:-1]] for e in entries]
    heads = {tuple(s for s, tau in enumerate(e.tau) if tau == max(e.tau)) for e in entries}
    assert {len(set(e.tau)) == 1 for e in entries} == {True, False}
    assert {len(set(e.d)) == 1 for e in entries} == {True, False}
    assert any(
        all(0 < 100 * d <= gap for d, gap in zip(e.d, gaps, strict=True))
        for e, gaps in zip(entries, slack, strict=True)
    )
    assert any(
        all(gap * 0.99 < d <= gap for d, gap in zip(e.d, gaps, strict=True))
        for e, gaps in zip(entries, slack, strict=True)
    )
    assert any(
        all(d >= 10 * gap for d, gap in zip(e.d, gaps, strict=True)) for e, gaps in zip(entries, slack, strict=True)
    )
    assert {(0,), (2,), (3,)} < heads
    assert any(1 < len(where) < 4 for where in heads)
    assert all(e.note is not None and e.note.startswith("Reconstruction.") for e in entries)


def test_a_pipeline_of_a_file_can_be_computed_with() -> None:
    """T(1) = 7.5 for the illustrative pipeline (section 3.1)."""
    illustrative = load_pipelines("paper_clusters").pipelines[5]
    assert illustrative.stages == ["RTX 5090 Laptop", "RTX 3090", "RTX 3090", "GTX 1070"]
    assert illustrative.pipeline().free(1) == Fraction(15, 2)


def _descriptions(schema: object) -> list[str]:
    if isinstance(schema, list):
        return [text for item in schema for text in _descriptions(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema["description"]] if isinstance(schema.get("description"), str) else []
    return own + [text for value in schema.values() for text in _descriptions(value)]


def test_the_descriptions_of_the_schema_are_plain_words() -> None:
    """An editor shows them as they are: no roles, no double backticks, no sections, one line each."""
    schema = sweep_json_schema()
    descriptions = _descriptions(schema)
    assert len(descriptions) > len(Sweep.model_fields)
    assert not [text for text in descriptions if any(sign in text for sign in (":class:", "``", "---", "\n"))]
    assert schema["$defs"]["Grid"]["description"] == "Every combination of the given values."
    assert "one of its stages gets the upper end" in schema["properties"]["tau"]["description"]


KEYS = st.sampled_from([*Sweep.model_fields, "uniform", "loguniform", "choice", "times", "each", "range", "stagse"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.fractions() | st.text(max_size=6) | st.just("async"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, VALUES, max_size=6))
@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_any_data_is_a_sweep_or_one_clear_error(data: dict[str, Any]) -> None:
    try:
        sweep = make_sweep({**data, "grid": data.get("grid", {"tau": [[1, 2]]})})
    except SweepFileError as error:
        lines = str(error).splitlines()
    else:
        lines = ["fine"]
        assert make_sweep(sweep.resolved()) == sweep
    assert len(lines) == 1


FULL: dict[str, dict[str, Any]] = {
    "": {
        "name": "a", "unit": "s", "seed": 1, "configs": 10, "stages": 3, "tau": 1, "d": 0, "latency": 0, "rho": 1,
        "edge_cases": 0, "pipelines": [{"name": "a", "tau": [1]}], "grid": {"tau": [[1]]}, "microbatches": 1,
        "regimes": "async", "arithmetic": "exact", "tolerance": 1e-9, "resolution": 20, "claims": "paper",
        "record": "points", "chunk": 1,
    },
    "tau": {"constant": 1, "uniform": [1, 2], "loguniform": [1, 2], "lognormal": [1, 1], "integers": [1, 2],
            "choice": [1], "times": "mean_tau"},
    "grid": {"tau": [[1, 2]], "stages": 2, "d": 0, "latency": 0, "rho": 0},
    "grid.d": {"each": [1], "range": [0, 1, 1]},
    "pipelines[0]": {"name": "a", "tau": [1], "d": [], "latency": [], "stages": ["s"], "note": "n"},
    "regimes[0]": {"name": "a", "like": "async", "overlap": 0, "buffers": 1, "channels": 1, "window": 1, "feedback": 0},
}  # fmt: skip
EMPTY = [(where, key) for where, keys in FULL.items() for key in keys]


def _with_nothing_at(where: str, key: str) -> dict[str, Any]:
    """A sweep with one key of None, in the mapping at ``where``."""
    source = "configs" if key == "configs" else where.split("[")[0].split(".")[0]
    data: dict[str, Any] = {"pipelines": {}, "grid": {"grid": {"tau": [[1, 2]]}}}.get(source, dict(SAMPLED))
    match where:
        case "":
            data[key] = None
        case "grid":
            data["grid"] = {"tau": [[1, 2]], key: None}
        case "grid.d":
            data["grid"] = {"tau": [[1, 2]], "d": {key: None}}
        case "pipelines[0]" | "regimes[0]":
            data[source] = [{"name": "a", "tau": [1]} if source == "pipelines" else {"name": "a", "overlap": 0}]
            data[source][0][key] = None
        case _:
            data[where] = {"uniform": [1, 2], key: None}
    return data


@pytest.mark.parametrize(("where", "key"), EMPTY, ids=[f"{where}.{key}".lstrip(".") for where, key in EMPTY])
def test_none_for_a_key_is_refused_as_an_empty_key_of_a_file_is(where: str, key: str) -> None:
    """In the same words, at its key, however deep; no default takes its place."""
    error = refused(_with_nothing_at(where, key))
    assert error.place == f"sweep:1: {f'{where}.{key}' if where else key}"
    assert (error.found, error.allowed) == ("no value", "write a value, or leave the key out")


def test_the_keys_tried_with_none_are_all_that_there_are() -> None:
    schema = sweep_json_schema()
    assert set(FULL[""]) == set(schema["properties"])
    for where, definition in [("grid", "Grid"), ("pipelines[0]", "PipelineEntry")]:
        assert set(FULL[where]) == set(schema["$defs"][definition]["properties"])
    assert set(FULL["tau"]) == set(schema["properties"]["tau"]["anyOf"][-1]["properties"])
    assert set(FULL["grid.d"]) == set(schema["$defs"]["Grid"]["properties"]["d"]["anyOf"][-1]["properties"])
    assert set(FULL["regimes[0]"]) == set(schema["properties"]["regimes"]["anyOf"][0]["anyOf"][-1]["properties"])


@pytest.mark.parametrize("key", ["d", "edge_cases", "tolerance", "unit", "resolution"])
def test_none_is_refused_by_the_model_itself(key: str) -> None:
    with pytest.raises(ValidationError, match="no value; write a value, or leave the key out"):
        Sweep(**{**SAMPLED, key: None})


@pytest.mark.parametrize(
    ("change", "place", "part"),
    [
        ({"seed": 10**5000}, "seed", "found a number of very many digits"),
        ({"tau": Fraction(10**5000, 3)}, "tau", "a number of very many digits is beyond"),
        ({"arithmetic": 10**5000}, "arithmetic", "found a number of very many digits; allowed: exact, float64"),
        ({"unit": "\ud800"}, "unit", "allowed: text of whole characters"),
        ({"tau": {None: 1}}, "tau", "the key nothing; allowed: keys that are text"),
    ],
)
def test_what_only_python_can_say_is_refused_too(change: dict[str, Any], place: str, part: str) -> None:
    error = refused({**SAMPLED, **change})
    assert error.place == f"sweep:1: {place}"
    assert part in str(error)


def _one_pipeline(tau: list[Any]) -> dict[str, Any]:
    return {"pipelines": [{"name": "a", "tau": tau}]}


_DENOMINATORS = [f"1/{10**9 + n}" for n in range(1000)]  # a common denominator of more than 6,000 digits


@pytest.mark.parametrize(
    ("data", "place", "part"),
    [
        (_one_pipeline([1] * 4000), "pipelines[0].tau", "found a list of 4000; allowed: at most 1024 values"),
        (_one_pipeline(_DENOMINATORS), "pipelines[0]", "common denominator has more than 4000 digits"),
        (_one_pipeline(_DENOMINATORS) | {"arithmetic": "float64"}, "pipelines[0]", "more than 4000 digits"),
        ({"grid": {"tau": [_DENOMINATORS]}}, "grid", "common denominator has more than 4000 digits"),
        ({"grid": {"tau": [[1] * 4000]}}, "grid.tau[0]", "4000 stages; allowed: at most 1024"),
        (
            {"grid": {"stages": 1024, "tau": {"each": list(range(1, 20_001))}}},
            "grid",
            "10^4404 configurations or more",
        ),
        (
            {**SAMPLED, "regimes": [{"name": f"r{n}", "overlap": 0} for n in range(1001)]},
            "regimes",
            "1001 regimes; allowed: at most 1000",
        ),
        (
            {**SAMPLED, "claims": [f"T_async <= T_blocking + {n}" for n in range(1001)]},
            "claims",
            "1001 claims; allowed: at most 1000",
        ),
        (
            {**SAMPLED, "claims": [f"M >= 1{' or M >= 1' * 900} or M >= {n}" for n in range(20)]},
            "claims",
            "characters in all; allowed: at most 100000",
        ),
        (
            {**SAMPLED, "claims": ["M >= 1" + " or M >= 1" * 1000]},
            "claims[0]",
            "10006 characters; allowed: at most 10000",
        ),
        ({**SAMPLED, "claims": ["M >= " + "(" * 1000 + "1" + ")" * 1000]}, "claims[0]", "nested deeper than 100"),
        (
            {**SAMPLED, "regimes": [*({"name": f"r{n}"} for n in range(900)), {"name": "z", "like": "y"}]},
            "regimes[900].like",
            "no regime 'y' stands before; allowed: r0, r1, ",
        ),
    ],
)
def test_what_is_too_large_is_refused_with_its_limit(data: dict[str, Any], place: str, part: str) -> None:
    error = refused(data)
    assert error.place == f"sweep:1: {place}"
    assert part in str(error)
    assert len(str(error)) < 600


def test_a_long_chain_of_regimes_each_like_the_one_before() -> None:
    first: dict[str, Any] = {"name": "r0", "overlap": 0, "buffers": 0}
    rest = [{"name": f"r{n}", "like": f"r{n - 1}", "buffers": "+1"} for n in range(1, 1000)]
    sweep = make_sweep({**SAMPLED, "regimes": [first, *rest]})
    assert sweep.knob_regimes["r999"].buffers == 999


SHAPES: dict[str, tuple[int, Callable[[int], dict[str, Any]]]] = {
    "each": (4000, lambda n: {"grid": {"stages": 1, "tau": {"each": [f"{k}/7" for k in range(1, n + 1)]}}}),
    "levels": (4000, lambda n: {"grid": {"tau": [[1, 2]], "d": list(range(n))}}),
    "vectors": (4000, lambda n: {"grid": {"tau": [[k + 1] for k in range(n)]}}),
    "microbatches": (10_000, lambda n: {**SAMPLED, "microbatches": list(range(1, n + 1))}),
    "choice": (10_000, lambda n: {**SAMPLED, "tau": {"choice": list(range(1, n + 1))}}),
    "pipelines": (1000, lambda n: {"pipelines": [{"name": f"p{k}", "tau": [k + 0.5, 1]} for k in range(n)]}),
    "feedback": (
        1000,
        lambda n: {
            "pipelines": [{"name": f"p{k}", "tau": [f"1/{k + 1}"]} for k in range(n)],
            "regimes": [{"name": f"r{k}", "window": 1, "feedback": 1} for k in range(n // 10)],
            "microbatches": 1,
        },
    ),
    "regimes": (60, lambda n: {**SAMPLED, "regimes": [{"name": f"r{k}", "buffers": 1} for k in range(n)]}),
    "claims": (60, lambda n: {**SAMPLED, "claims": [f"T_async <= T_blocking + {k}" for k in range(n)]}),
}


def _least_time(data: dict[str, Any]) -> float:
    """Seconds of the processor, the least of three."""
    times = []
    for _ in range(3):
        start = time.process_time()
        make_sweep(data)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize("shape", SHAPES)
def test_four_times_as_much_takes_about_four_times_as_long(shape: str) -> None:
    """Quadratic work would take 16 times as long; 10 leaves room for the noise of a busy machine."""
    n, data = SHAPES[shape]
    assert _least_time(data(4 * n)) < 10 * _least_time(data(n))


@pytest.mark.parametrize(
    "data",
    [
        {**SAMPLED, "microbatches": ["a"] * 100_000},
        {"pipelines": [{"name": "a", "tau": ["a"] * 1000}] * 100},
        {"grid": {"stages": 1, "tau": {"each": ["a"] * 100_000}}},
        {"grid": {"tau": [["a"]] * 100_000}},
        {**SAMPLED, "regimes": ["asink"] * 100_000},
    ],
)
def test_a_list_is_read_up_to_its_first_mistake(data: dict[str, Any]) -> None:
    """A hundred thousand mistakes would take half a gigabyte to collect; one is told."""
    tracemalloc.start()
    refused(data)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20e6
