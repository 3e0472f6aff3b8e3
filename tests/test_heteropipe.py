"""A user of heteropipe, the paper's reference tool, finds every name, key, value and flag again; and what is added."""

from __future__ import annotations

import inspect
import json
import math
import random
from collections.abc import Callable, Generator, Sequence
from fractions import Fraction
from typing import Any

import heteropipe
import heteropipe.cli
import numpy as np
import pytest
import simpy
from click.testing import CliRunner
from conftest import slow

from hpsim import formulas
from hpsim.cli import cli
from hpsim.errors import HpsimError, PipelineError
from hpsim.pipeline import Pipeline

FUNCTIONS = [name for name in heteropipe.core.__all__ if name not in ("__version__", "validate_pipeline")]


def draw(rng: random.Random, *, dyadic: bool) -> tuple[list[float], list[float], int, float]:
    """tau, d, M and rho over two decades and more, some of them zero or tied; ``dyadic``: sums of them are exact."""
    S, M = rng.randint(1, 7), rng.choice((1, 2, 3, 8, 100, 1000))
    if dyadic:
        tau, d = ([rng.choice((0, 1, rng.randint(0, 2**16))) / 2**8 for _ in range(n)] for n in (S, S - 1))
        return (tau if any(tau) else [1.0, *tau[1:]]), d, M, rng.randint(0, 16) / 16
    tau, d = ([10 ** rng.uniform(-1, 1.3) for _ in range(n)] for n in (S, S - 1))
    return tau, d, M, rng.random()


def same(ours: object, theirs: object, scale: float) -> bool:
    """Equal, numbers up to the rounding of sums of the size of ``scale``."""
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(lambda a, b: same(a, b, scale), ours, theirs))
    if isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=1e-13 * scale)
    return ours == theirs


@pytest.mark.parametrize("dyadic", [True, slow(False)])
def test_analyze_agrees_on_ten_thousand_pipelines(rng: random.Random, dyadic: bool) -> None:
    """On 10,000 random pipelines each key is there with its value: to the last bit where sums are exact in float64."""
    for _ in range(5000):
        tau, d, M, rho = draw(rng, dyadic=dyadic)
        ours, theirs = Pipeline(tau, d).analyze(M, rho), heteropipe.Pipeline(tau, d).analyze(M, rho)
        scale = 0 if dyadic else theirs["T_block"]
        for key, value in theirs.items():
            if key.startswith(("asymptotic", "crossover")):
                assert same(ours[key], value, 0), key
            else:
                assert ours[key] == value if dyadic else same(ours[key], value, scale), key
        assert list(theirs) == [key for key in ours if key in theirs]


def test_each_method_agrees(rng: random.Random) -> None:
    """On 1,000 random pipelines each method and property gives the same, ``overlap_ratio`` where it is defined."""
    for _ in range(1000):
        tau, d, M, rho = draw(rng, dyadic=True)
        ours, theirs = Pipeline(tau, d), heteropipe.Pipeline(tau, d)
        for name in ("S", "tau", "d", "tau_max", "sigma", "sigma_max"):
            assert getattr(ours, name) == getattr(theirs, name)
        for name in ("free", "async_", "block", "gpipe", "overlap_gap"):
            assert getattr(ours, name)(M) == getattr(theirs, name)(M)
        for name in ("bias", "full_bias", "phase", "slope"):
            assert getattr(ours, name)() == getattr(theirs, name)()
        assert ours.slope(rho) == theirs.slope(rho)
        assert math.isclose(ours.crossover(), theirs.crossover(), rel_tol=1e-15)
        for blocking in (False, True):
            assert ours.throughput(blocking) == theirs.throughput(blocking)
        if ours.phase() and M > 1:
            measured = theirs.async_(M) + 3 * theirs.overlap_gap(M) / 8
            assert math.isclose(ours.overlap_ratio(measured, M), theirs.overlap_ratio(measured, M), abs_tol=1e-9)


def test_its_names_and_arguments_exist() -> None:
    """Every public method has the same arguments in the same order here; so has every function of its ``core``."""
    public = [name for name in dir(heteropipe.Pipeline) if not name.startswith("_")]
    assert "analyze" in public
    places = [(heteropipe.Pipeline, Pipeline, public), (heteropipe.core, formulas, FUNCTIONS)]
    for theirs, ours, names in places:
        for name in names:
            if callable(getattr(theirs, name)):
                wanted = list(inspect.signature(getattr(theirs, name)).parameters)
                assert list(inspect.signature(getattr(ours, name)).parameters)[: len(wanted)] == wanted, name
    assert list(inspect.signature(Pipeline).parameters)[:2] == list(inspect.signature(heteropipe.Pipeline).parameters)
    assert Pipeline(tau=(1, 2), d=()).d == heteropipe.Pipeline(tau=(1, 2), d=()).d


def test_its_functions_agree(rng: random.Random) -> None:
    """On 1,000 random pipelines each function of its ``core`` gives the same number under the same name."""
    for _ in range(1000):
        tau, d, M, rho = draw(rng, dyadic=True)
        given = {"tau": tau, "d": d, "M": M, "rho": rho, "T_real": formulas.makespan_async(tau, M, d), "blocking": True}
        for name in FUNCTIONS:
            theirs, ours = getattr(heteropipe.core, name), getattr(formulas, name)
            if name == "overlap_ratio" and (M == 1 or not heteropipe.core.phase_transition(tau, d)):
                continue  # undefined: a deviation, below
            arguments = {word: given[word] for word in inspect.signature(theirs).parameters}
            assert ours(**arguments) == pytest.approx(theirs(**arguments), rel=1e-14, abs=0), name


def test_the_command_line_agrees(rng: random.Random, capsys: pytest.CaptureFixture[str]) -> None:
    """On 300 random command lines ``hpsim calc`` prints JSON with the same keys and values."""
    for _ in range(300):
        tau, d, M, rho = draw(rng, dyadic=False)
        line = ["--tau", ",".join(f"{time:.4g}" for time in tau)]
        line += rng.choice(([], ["--d", ",".join(f"{time:.3e}" for time in d)]))
        line += rng.choice(([], [f"--M={M}"])) + rng.choice(([], ["--rho", f"{rho:.3f}"])) + ["--json"]
        assert heteropipe.cli.main(line) == 0
        theirs = json.loads(capsys.readouterr().out)
        result = CliRunner().invoke(cli, ["calc", *line], catch_exceptions=False)
        assert result.exit_code == 0
        ours = json.loads(result.stdout)
        decided_in_binary = {"phase_transition"} if theirs["sigma_max"] == theirs["tau_max"] else set()
        for key in theirs.keys() - decided_in_binary:
            assert same(ours[key], theirs[key], theirs["T_block"]), (line, key)


def test_the_command_line_refuses_what_the_reference_tool_refuses() -> None:
    """Where the reference command ends with an error, so does ours, with exit code 2."""
    for line in (["--tau", "1,x"], ["--tau", "1,-1"], ["--tau", "1,2", "--d", "1,2"], ["--tau", "1", "--M", "0"]):
        with pytest.raises(SystemExit) as end:
            raise SystemExit(heteropipe.cli.main(line))
        assert end.value.code not in (0, None)
        assert isinstance(CliRunner().invoke(cli, ["calc", *line]).exception, HpsimError)


def test_deviation_nan_and_infinity_are_refused() -> None:
    """NaN and infinity pass through the reference tool; here they are errors."""
    for odd in (math.nan, math.inf):
        assert not math.isfinite(heteropipe.Pipeline([1.0, odd]).bias())
        for arguments in (([1.0, odd],), ([1.0, 2.0], [odd])):
            with pytest.raises(PipelineError, match="not a finite number"):
                Pipeline(*arguments)


def test_deviation_a_numpy_integer_is_a_number_of_micro_batches() -> None:
    """The reference tool refuses it; here it counts like any whole number."""
    with pytest.raises(ValueError, match="positive integer"):
        heteropipe.Pipeline([1.0, 2.0]).free(np.int64(8))
    assert Pipeline([1, 2]).free(np.int64(8)) == 17


def test_deviation_all_zero_service_times_are_refused() -> None:
    """The reference tool divides by zero; here it is an error that says what is allowed."""
    with pytest.raises(ZeroDivisionError):
        heteropipe.Pipeline([0.0, 0.0]).crossover()
    with pytest.raises(PipelineError, match="at least one above 0"):
        Pipeline([0.0, 0.0])


@pytest.mark.parametrize(("tau", "d", "M"), [([1.0, 2.0], [5.0], 1), ([1.0, 2.0], [0.5], 8)])
def test_deviation_an_undefined_overlap_ratio_is_refused(tau: list[float], d: list[float], M: int) -> None:
    """At M = 1 and without a phase transition rho is 0/0: 1.0 there, an error here."""
    assert heteropipe.Pipeline(tau, d).overlap_ratio(4.0, M) == 1.0
    with pytest.raises(PipelineError, match="0/0"):
        Pipeline(tau, d).overlap_ratio(4.0, M)


def test_deviation_a_decimal_tie_is_no_phase_transition() -> None:
    """0.1 + 0.2 exceeds 0.3 in binary, and only there."""
    assert heteropipe.Pipeline([0.1, 0.3], [0.2]).phase()
    assert heteropipe.Pipeline([0.1, 0.3], [0.2]).overlap_gap(100) > 0
    assert not Pipeline([0.1, 0.3], [0.2]).phase()
    assert Pipeline([0.1, 0.3], [0.2]).overlap_gap(100) == 0


def rendezvous(tau: Sequence[int], d: Sequence[int], M: int, latency: Sequence[int]) -> int:
    """A discrete-event simulation: a stage is one place, taken from the start of a transfer to it until it has sent."""
    environment = simpy.Environment()
    places = [simpy.Resource(environment) for _ in tau]
    ends: list[int] = []

    def micro_batch() -> Generator[simpy.Event, object, None]:
        held = places[0].request()
        yield held
        for s, time in enumerate(tau):
            yield environment.timeout(time)
            if s == len(tau) - 1:
                places[s].release(held)
                break
            after = places[s + 1].request()
            yield after
            yield environment.timeout(d[s])
            places[s].release(held)
            yield environment.timeout(latency[s])
            held = after
        ends.append(environment.now)

    for _ in range(M):
        environment.process(micro_batch())
    environment.run()
    return ends[-1]


def test_rendezvous_equals_a_simulation(rng: random.Random) -> None:
    """Where a transfer holds both ends the closed form gives the simulated makespan, latency included."""
    for _ in range(1500):
        S, M, largest = rng.randint(1, 6), rng.randint(1, 9), rng.choice((1, 3, 50))
        tau, d, latency = ([rng.randint(0, largest) for _ in range(n)] for n in (S, S - 1, S - 1))
        tau[rng.randrange(S)] += 1
        if rng.random() < 0.5:
            latency = [0] * (S - 1)
        makespan = rendezvous(tau, d, M, latency)
        assert Pipeline(tau, d, latency).rendezvous(M) == makespan, (tau, d, latency, M)
        arrays = (np.array([tau, tau], dtype=float), M, np.array([d, d], dtype=float), np.array([latency, latency]))
        assert formulas.makespan_rendezvous(*arrays).tolist() == [makespan, makespan]
        blocking = Pipeline(tau, d, latency).block(M)
        assert makespan >= blocking
        assert any(latency) or makespan <= 2 * blocking


def test_rendezvous_of_published_cases(shared_case: Callable[[str], Any]) -> None:
    """The stated makespans of pipelines whose transfers hold both ends, where all micro-batches are alike."""
    cases = {case["id"]: case for case in shared_case("pipeline/forward_blocking_dev.json")["cases"]}
    for name in ("pp1-serial", "pp2-blocking-communication"):
        batches = cases[name]["microbatches"]
        assert all(batch == batches[0] for batch in batches)
        p = Pipeline(batches[0]["compute"], batches[0]["comm"])
        assert p.rendezvous(len(batches)) == cases[name]["stated"]["makespan"]


def test_rendezvous_by_hand() -> None:
    """Two micro-batches through tau = [1, 2], d = [1] take 7, and 6 where only the sender is held."""
    assert Pipeline([1, 2], [1]).rendezvous(2) == 7
    assert Pipeline([1, 2], [1]).block(2) == 6
    assert Pipeline([1, 5, 1], [2, 2]).rendezvous(16) == 146
    assert Pipeline([1, 2], [1], latency=[10]).rendezvous(2) == 27
    assert Pipeline([3]).rendezvous(4) == 12
    assert Pipeline(["1/2", "1/3"], ["1/6"]).rendezvous(3) == Fraction(1) + 2 * Fraction(2, 3)


def test_two_slopes_that_are_not_the_same() -> None:
    """``rho`` blends the makespans, ``overlap`` is the share of each transfer; by hand on tau = [1, 5, 1]."""
    p = Pipeline([1, 5, 1], ["9/2", "1/10"])
    assert p.slope(rho="1/2") == p.slope("1/2") == Fraction(21, 4)
    assert p.slope(overlap="1/2") == Fraction(101, 20)
    assert p.slope(overlap=["0", 1]) == Fraction(11, 2)
    assert p.slope(overlap=0) == p.slope(rho=0) == p.sigma_max == Fraction(11, 2)
    assert p.slope(overlap=1) == p.slope(rho=1) == p.slope() == 5
    assert p.slope(overlap="1/2") == p.partial(2, "1/2") - p.partial(1, "1/2")


def test_a_slope_takes_one_of_them() -> None:
    """Both at once, and shares outside 0…1 or of another number, are errors that name the argument."""
    p = Pipeline([1, 5, 1], [4, 1])
    for arguments, place in (
        ({"rho": 1, "overlap": 1}, "slope"),
        ({"overlap": 1.5}, "overlap"),
        ({"overlap": [1, 1, 1]}, "overlap"),
        ({"overlap": "some"}, "overlap"),
        ({"rho": -1}, "rho"),
    ):
        with pytest.raises(PipelineError) as fault:
            p.slope(**arguments)
        assert fault.value.place == place


def test_bubble() -> None:
    """1 minus the mean utilization: the classic ratio for equal stages without transfers, more with them."""
    for S, M in ((1, 1), (4, 1), (4, 8), (7, 100)):
        assert Pipeline(["1/3"] * S).bubble(M) == Fraction(S - 1, S + M - 1)
    assert Pipeline([1, 1], [2]).bubble(4) == pytest.approx(1 - 4 / 7)
    assert Pipeline(["1", "3"]).bubble(2) == 1 - Fraction(2 + 6, 2 * 7)
    with pytest.raises(PipelineError, match="M"):
        Pipeline([1, 1]).bubble(0)


def test_the_peer_is_the_release_that_the_readme_speaks_of() -> None:
    """The deviations listed are those of heteropipe 0.1.0."""
    assert heteropipe.__version__ == "0.1.0"
