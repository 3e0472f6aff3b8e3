"""Sweep files: a corpus of invalid ones, each named after its defect, and of valid ones with their resolved form."""

from __future__ import annotations

import hashlib
import json
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
    ],
)
def test_a_wrong_setting_is_refused_at_its_key(setting: str, place: str, part: str, tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_text("configs: 5\nstages: 3\ntau: {uniform: [1, 2]}\nname: mine\n")
    with pytest.raises(SweepFileError) as caught:
        load_sweep(file, [setting])
    assert caught.value.place == place.format(file=file)
    assert part in str(caught.value)


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
