"""``simulate``: every way to give pipelines, every regime, any thread count, and every mistake told in one line."""

from __future__ import annotations

import random
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import children
import numpy as np
import pytest
from conftest import SIZE, scaled, slow
from peers.systems import PIPELINES, REGIMES, System, alike, draw, table

from hpsim import ASYNC, BLOCKING, FREE, PARTIAL, Pipeline, Regime, simulate
from hpsim.errors import HpsimError, PipelineError, RegimeError
from hpsim.reference import chain

NAMED = {"free": FREE, "async": ASYNC, "blocking": BLOCKING}


def shares(systems: list[System]) -> list[float]:
    """One share for each pipeline, the same on all its links."""
    return [system.share[0] / 16 if system.share else 0.5 for system in systems]


def right_values(systems: list[System], regime: str, M: list[int]) -> list[list[Fraction]]:
    """Makespans on rationals; in ``partial`` each pipeline has the share of :func:`shares`."""
    values = []
    for system, share in zip(systems, shares(systems), strict=True):
        everywhere = System(system.tau, system.d, system.latency, [int(16 * share)] * len(system.d))
        values.append([everywhere.makespans(regime, max(M))[m - 1] for m in M])
    return values


def floats(shape: tuple[int, int], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Service and transfer times that no grid holds."""
    generator = np.random.default_rng(seed)
    return generator.uniform(0.1, 10, shape), generator.uniform(0, 20, (shape[0], shape[1] - 1))


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("n", [1, 65, *map(slow, PIPELINES[1:-1])] if SIZE == 1 else [1, 3])
def test_arrays_equal_the_twin_on_fractions(regime: str, n: int, rng: random.Random) -> None:
    """Equal S, one share a pipeline, latency, M in any order and repeated: equal as rationals."""
    for S in (1, 2, 5, 16, 17):
        systems = alike(rng, S, n)
        M = [9, 1, 2, 9, 4, 3]
        rho = shares(systems) if regime == "partial" else None
        tau, d, latency = (table(systems, name) for name in ("tau", "d", "latency"))
        found = simulate(tau, d, M, regime, rho=rho, latency=latency)
        assert found.dtype == np.float64
        assert found.tolist() == right_values(systems, regime, M)


@pytest.mark.parametrize("regime", REGIMES)
def test_pipelines_of_different_length(regime: str, rng: random.Random) -> None:
    """Mixed S as lists, as tuples of arrays and as Pipelines give the same makespans, in the order given."""
    systems = [draw(rng, rng.choice((1, 1, 2, 3, 7, 16, 17, 25))) for _ in range(max(6, scaled(150)))]
    M = [5, 1, 8]
    rho = shares(systems) if regime == "partial" else None
    right = right_values(systems, regime, M)
    lists = {name: [getattr(system, name) for system in systems] for name in ("tau", "d", "latency")}
    arrays = {name: tuple(np.array(row, dtype=np.int64) for row in rows) for name, rows in lists.items()}
    pipelines = [Pipeline(system.tau, system.d, system.latency) for system in systems]
    assert simulate(**lists, M=M, regime=regime, rho=rho).tolist() == right
    assert simulate(**arrays, M=M, regime=regime, rho=rho).tolist() == right
    assert simulate(pipelines, M=M, regime=regime, rho=rho).tolist() == right
    assert simulate(tuple(pipelines), M=M, regime=regime, rho=rho).tolist() == right


def test_a_pipeline_is_written_in_many_ways() -> None:
    """One Pipeline, one list, one row, integers, text and rationals: always T = 7 and T = 19 of the same pipeline."""
    for tau, d in (
        (Pipeline([1, 2, 3], [1, 0]), None),
        ([Pipeline(["1", 2.0, "6/2"], ["0.5", 0], ["0.5", 0])], None),
        ([1, 2, 3], [1, 0]),
        ([[1, 2, 3]], [[1, 0]]),
        (np.array([1, 2, 3]), np.array([1, 0])),
        ((Fraction(1), Fraction(2), Fraction(3)), (1, 0)),
        ([np.float32(1), np.int8(2), 3], [1, 0]),
        (range(1, 4), [1, 0]),
    ):
        assert simulate(tau, d, [1, 5]).tolist() == [[7, 19]]
    assert simulate([[0.5, 1, 1, 5]], M=[1, 8], regime="free").tolist() == [[7.5, 42.5]]


def test_the_shape_follows_M() -> None:
    """One number of micro-batches gives (N,), a sequence (N, len(M)); the default is 8."""
    tau = [[1, 2], [3, 1], [1, 1]]
    assert simulate(tau).tolist() == simulate(tau, M=8).tolist() == [17, 25, 9]
    for one in (8, np.int64(8), np.array(8)):
        assert simulate(tau, M=one).shape == (3,)
    for several in ([8], (8,), np.array([8]), np.array([8], dtype=np.uint8), range(8, 9)):
        assert simulate(tau, M=several).shape == (3, 1)
    assert simulate([1, 2], M=[3, 1, 3]).tolist() == [[7, 3, 7]]


@pytest.mark.parametrize("nothing", [None, (), [], np.array([]), [[], []], np.zeros((2, 0))])
def test_no_transfer_times_means_none(nothing: object) -> None:
    """Nothing, in whatever form, is no communication, also where pipelines differ in length."""
    assert simulate([[1, 2], [3, 1]], nothing, 2, "blocking", latency=nothing).tolist() == [5, 7]
    assert simulate([[1, 2], [3, 1, 1]], nothing, 2, "blocking", latency=nothing).tolist() == [5, 8]


def test_regime_objects_are_the_named_regimes(rng: random.Random) -> None:
    """A Regime and its name agree; ``free`` ignores transfers and latencies."""
    systems = alike(rng, 5, 20)
    given = {name: table(systems, name) for name in ("tau", "d", "latency")}
    for name, regime in NAMED.items():
        assert np.array_equal(simulate(**given, M=[1, 6], regime=name), simulate(**given, M=[1, 6], regime=regime))
    for rho in (0.25, "1/4", Fraction(1, 4)):
        named = simulate(**given, M=6, regime="partial", rho=rho)
        assert np.array_equal(named, simulate(**given, M=6, regime=PARTIAL(rho)))
        assert np.array_equal(named, simulate(**given, M=6, regime="partial", rho=[0.25] * 20))
    free = simulate(given["tau"], M=6, regime="free")
    assert np.array_equal(free, simulate(**given, M=6, regime="free"))


def test_overlap_per_link(rng: random.Random) -> None:
    """A share for each link of its own, in every position, equals the twin on rationals."""
    share = [0, 4, 16, 9]
    systems = [System(s.tau, s.d, s.latency, share) for s in alike(rng, 5, max(3, scaled(100)))]
    regime = Regime(overlap=[Fraction(x, 16) for x in share])
    tau, d, latency = (table(systems, name) for name in ("tau", "d", "latency"))
    found = simulate(tau, d, [1, 7], regime, latency=latency)
    assert found.tolist() == [[T[0], T[6]] for T in (system.makespans("partial", 7) for system in systems)]


def test_inputs_of_any_kind_are_read_and_left_alone() -> None:
    """Other dtypes, byte orders, strides and read-only arrays give the same result, and no input changes."""
    tau = np.arange(1, 181, dtype=np.float64).reshape(36, 5) % 7 + 1
    d = np.arange(1, 145, dtype=np.float64).reshape(36, 4) % 5
    right = simulate(tau, d, [1, 9], "blocking")
    read_only = tau.copy()
    read_only.setflags(write=False)
    wide = np.zeros((72, 10))
    wide[::2, ::2] = tau
    views = [tau.astype(kind) for kind in ("i1", "u2", "i4", "u8", "f4", ">f8", ">i4", "longdouble", object)]
    views += [
        read_only,
        wide[::2, ::2],
        np.asfortranarray(tau),
        tau[::-1][::-1],
        tau.tolist(),
        [*tau],
        [*map(tuple, tau)],
    ]
    for view in views:
        before = np.array(view, copy=True)
        assert np.array_equal(simulate(view, d, [1, 9], "blocking"), right)
        assert np.array_equal(np.array(view), before)
    assert np.array_equal(simulate(tau, np.asfortranarray(d), [1, 9], "blocking"), right)
    bytes_ = np.zeros(tau.nbytes + 1, dtype=np.uint8)
    unaligned = bytes_[1:].view(np.float64).reshape(tau.shape)
    unaligned[:] = tau
    assert np.array_equal(simulate(unaligned, d, [1, 9], "blocking"), right)
    same = np.broadcast_to(2.0, d.shape)
    assert np.array_equal(simulate(tau, same, [1, 9], "blocking"), simulate(tau, same.copy(), [1, 9], "blocking"))


def test_very_many_numbers_of_microbatches() -> None:
    """Fifty thousand of them, backwards and some twice: each the closed form's."""
    M = [*range(50_000, 0, -1), 7, 49_999]
    found = simulate([[3, 5, 2]], M=M)[0]
    assert found.tolist() == [10 + 5 * (m - 1) for m in M]


@pytest.mark.parametrize("regime", REGIMES)
def test_the_number_of_threads_changes_nothing(regime: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On 1, 2, 5 and all threads, more threads than blocks too: the same bits, on and off any grid."""
    monkeypatch.setattr("hpsim.simulation.SMALL", 0)
    for n in (1, 32, 33, 97, max(100, scaled(2000))):
        tau, d = floats((n, 4), seed=n)
        rho = np.linspace(0, 1, n) if regime == "partial" else None
        M = [1, 2, 33] if SIZE == 1 else [1, 3]
        one = simulate(tau, d, M, regime, rho=rho, latency=d / 3, workers=1)
        for workers in (2, 5, 64, None):
            several = simulate(tau, d, M, regime, rho=rho, latency=d / 3, workers=workers)
            assert several.tobytes() == one.tobytes()


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, -np.inf])
def test_a_wrong_time_is_told_wherever_it_stands(
    value: float, workers: int, monkeypatch: pytest.MonkeyPatch, rng: random.Random
) -> None:
    """In any row, stage and argument, on one thread and on several, beside a row that serves nobody: it is named."""
    monkeypatch.setattr("hpsim.simulation.SMALL", 0)
    for name in ("tau", "d", "latency"):
        for S in (2, 5, 17):
            given = {"tau": np.ones((200, S)), "d": np.ones((200, S - 1)), "latency": np.zeros((200, S - 1))}
            given["tau"][199] = 0
            row, s = rng.randrange(200), rng.randrange(S - 1)
            given[name][row, s] = value
            for regime in NAMED:
                with pytest.raises(PipelineError) as caught:
                    simulate(**given, M=3, regime=regime, workers=workers)
                assert caught.value.place == f"{name}[{row}][{s}]"
                assert caught.value.found == str(value)


@pytest.mark.parametrize("workers", [1, 3])
def test_an_idle_pipeline_is_told_wherever_it_stands(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of several rows of zeros, among rows with a zero in each of the other places."""
    monkeypatch.setattr("hpsim.simulation.SMALL", 0)
    tau = 1 - np.tile(np.eye(5), (40, 1))
    assert simulate(tau, M=1, workers=workers).tolist() == [4.0] * 200
    tau[[77, 150]] = 0
    tau[78] = -0.0
    with pytest.raises(PipelineError, match=r"tau\[77\]: every service time is 0"):
        simulate(tau, M=2, workers=workers)


def test_a_wrong_time_in_a_run_of_hours_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one block nor the other threads run to the end first."""
    monkeypatch.setattr("hpsim.lanes.CELLS_PER_CALL", 1_000_000 if SIZE == 1 else 1000)
    with pytest.raises(PipelineError, match=r"tau\[32\]\[1\]: -1"):
        simulate([[1, 1]] * 32 + [[1, -1]] * 200, M=2**50, workers=7)


def test_threads_with_pipelines_of_different_length(monkeypatch: pytest.MonkeyPatch, rng: random.Random) -> None:
    """Mixed S on three threads: the same bits as on one."""
    tau = [[rng.random() + 0.1 for _ in range(rng.randint(1, 6))] for _ in range(max(40, scaled(400)))]
    one = simulate(tau, M=[1, 7], workers=1)
    monkeypatch.setattr("hpsim.simulation.SMALL", 0)
    assert simulate(tau, M=[1, 7], workers=3).tobytes() == one.tobytes()


def test_calls_from_several_threads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight threads that simulate different pipelines at the same time each get their own result."""
    monkeypatch.setattr("hpsim.simulation.SMALL", 0)
    jobs = [(floats((70, S), seed=S), regime) for S in (1, 2, 3, 5, 8, 17) for regime in NAMED]
    M = [1, 2, 50] if SIZE == 1 else [1, 2]

    def job(number: int) -> bytes:
        (tau, d), regime = jobs[number]
        return simulate(tau, d, M, regime, workers=2).tobytes()

    alone = [job(number) for number in range(len(jobs))]
    repeated = [*range(len(jobs))] * (5 if SIZE == 1 else 1)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(job, repeated)) == [alone[number] for number in repeated]


def test_floats_stay_within_rounding_of_the_rational_value(rng: random.Random) -> None:
    """Off the grid: within 1e-13 of the makespan on the rationals that the doubles are."""
    for _ in range(scaled(100)):
        S = rng.randint(1, 8)
        tau = [rng.uniform(0.1, 10) for _ in range(S)]
        d = [10 ** rng.uniform(-3, 1) for _ in range(S - 1)]
        rho = rng.random()
        exact = [[Fraction(x) for x in vector] for vector in (tau, d)]
        right = chain.makespan(exact[0], exact[1], 20, "partial", Fraction(rho))
        assert simulate(tau, d, 20, "partial", rho=rho)[0] == pytest.approx(float(right), rel=1e-13)


def test_a_long_run_of_one_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    """M = 200,000 beside small M, in calls of bounded size: sum(tau) + sum(d) + (M-1)·tau_max, exactly."""
    M = scaled(200_000)
    right = [[5.5 + 2.5 * (m - 1) for m in (M, 1, 2, M - 1)]]
    assert simulate([1, 2.5, 0.5], [1, 0.5], [M, 1, 2, M - 1]).tolist() == right
    monkeypatch.setattr("hpsim.lanes.CELLS_PER_CALL", 1_000_000)
    assert simulate([1, 2.5, 0.5], [1, 0.5], [M, 1, 2, M - 1]).tolist() == right


TWO = [[1, 2], [3, 4]]
P = Pipeline([1, 2])

MISTAKES: list[tuple[str, Callable[[], object], type[HpsimError], str]] = [
    ("negative", lambda: simulate([[1, 2], [-1, 2]]), PipelineError, "tau[1][0]"),
    ("nan", lambda: simulate([[1, 2], [1, np.nan]]), PipelineError, "tau[1][1]"),
    ("infinite", lambda: simulate([[1, np.inf]]), PipelineError, "tau[0][1]"),
    ("missing value", lambda: simulate([[1, None]]), PipelineError, "tau[0][1]"),
    ("all zero", lambda: simulate([[1, 2], [0, 0]]), PipelineError, "tau[1]"),
    ("all zero, one stage", lambda: simulate([[1, 2], [0]]), PipelineError, "tau[1]"),
    ("negative, mixed", lambda: simulate([[1, 2, 3], [1, -2]]), PipelineError, "tau[1][1]"),
    ("negative d", lambda: simulate(TWO, [[0], [-1]]), PipelineError, "d[1][0]"),
    ("nan d, mixed", lambda: simulate([[1], [1, 2, 3]], [[], [1, np.nan]]), PipelineError, "d[1][1]"),
    ("negative latency", lambda: simulate(TWO, latency=[[-1], [0]]), PipelineError, "latency[0][0]"),
    ("text", lambda: simulate([["a", "b"]]), PipelineError, "tau[0]"),
    ("a text", lambda: simulate("1,2"), PipelineError, "tau"),
    ("bytes", lambda: simulate(b"12"), PipelineError, "tau"),
    ("complex list", lambda: simulate([[1 + 2j, 2]]), PipelineError, "tau[0]"),
    ("complex array", lambda: simulate(np.array([[1 + 2j, 2]])), PipelineError, "tau"),
    ("dates", lambda: simulate(np.array([[1, 2]], dtype="datetime64[s]")), PipelineError, "tau"),
    ("huge integer", lambda: simulate([[10**400, 1]]), PipelineError, "tau[0]"),
    ("nothing", lambda: simulate(None), PipelineError, "tau"),
    ("a number", lambda: simulate(3.0), PipelineError, "tau"),
    ("a mapping", lambda: simulate({"tau": [1]}), PipelineError, "tau"),
    ("empty", lambda: simulate([]), PipelineError, "tau"),
    ("no stage", lambda: simulate([[1], []]), PipelineError, "tau[1]"),
    ("no pipeline", lambda: simulate(np.zeros((0, 3))), PipelineError, "tau"),
    ("no stage, array", lambda: simulate(np.zeros((3, 0))), PipelineError, "tau"),
    ("three axes", lambda: simulate(np.ones((2, 2, 2))), PipelineError, "tau"),
    ("three levels", lambda: simulate([[[1, 2], [3, 4]]]), PipelineError, "tau[0]"),
    ("a Pipeline among lists", lambda: simulate([P, [1, 2]]), PipelineError, "tau[0]"),
    ("numbers among lists", lambda: simulate([[1, 2], 3]), PipelineError, "tau[1]"),
    ("d beside Pipelines", lambda: simulate([P], [[1]]), PipelineError, "d"),
    ("latency beside Pipelines", lambda: simulate([P], latency=[[1]]), PipelineError, "latency"),
    ("d too short", lambda: simulate([[1, 2, 3]], [[1]]), PipelineError, "d"),
    ("d as long as tau", lambda: simulate(TWO, TWO), PipelineError, "d"),
    ("d a number", lambda: simulate(TWO, 1.0), PipelineError, "d"),
    ("d of one pipeline for two", lambda: simulate(TWO, [[1]]), PipelineError, "d"),
    ("d of different length", lambda: simulate(TWO, [[1], [2, 3]]), PipelineError, "d[1]"),
    ("latency of different length", lambda: simulate(TWO, latency=[[1], [2, 3]]), PipelineError, "latency[1]"),
    ("d wrong for mixed S", lambda: simulate([[1], [1, 2]], [[], [1, 2]]), PipelineError, "d[1]"),
    ("d too few for mixed S", lambda: simulate([[1], [1, 2]], [[1]]), PipelineError, "d"),
    ("d a number for mixed S", lambda: simulate([[1], [1, 2]], 3), PipelineError, "d"),
    ("M 0", lambda: simulate(TWO, M=0), PipelineError, "M"),
    ("M -1", lambda: simulate(TWO, M=[3, -1]), PipelineError, "M"),
    ("M 1.5", lambda: simulate(TWO, M=1.5), PipelineError, "M"),
    ("M 8.0", lambda: simulate(TWO, M=[8.0]), PipelineError, "M"),
    ("M nan", lambda: simulate(TWO, M=float("nan")), PipelineError, "M"),
    ("M true", lambda: simulate(TWO, M=True), PipelineError, "M"),
    ("M many", lambda: simulate(TWO, M="many"), PipelineError, "M"),
    ("M a text in a list", lambda: simulate(TWO, M=[1, "2"]), PipelineError, "M"),
    ("M nothing", lambda: simulate(TWO, M=None), PipelineError, "M"),
    ("M empty", lambda: simulate(TWO, M=[]), PipelineError, "M"),
    ("M two axes", lambda: simulate(TWO, M=[[1, 2], [3, 4]]), PipelineError, "M"),
    ("M ragged", lambda: simulate(TWO, M=[1, [2]]), PipelineError, "M"),
    ("M huge", lambda: simulate(TWO, M=2**70), PipelineError, "M"),
    ("M floats", lambda: simulate(TWO, M=np.array([1.0, 2.0])), PipelineError, "M"),
    ("regime typo", lambda: simulate(TWO, regime="blockin"), RegimeError, "regime"),
    ("regime nothing", lambda: simulate(TWO, regime=None), RegimeError, "regime"),
    ("regimes", lambda: simulate(TWO, regime=["async", "blocking"]), RegimeError, "regime"),
    ("regimes, array", lambda: simulate(TWO, regime=np.array(["async", "free"])), RegimeError, "regime"),
    ("partial alone", lambda: simulate(TWO, regime="partial"), RegimeError, "regime"),
    ("rho beside async", lambda: simulate(TWO, rho=0.5), RegimeError, "rho"),
    ("rho beside a Regime", lambda: simulate(TWO, regime=BLOCKING, rho=0.5), RegimeError, "rho"),
    ("rho above 1", lambda: simulate(TWO, regime="partial", rho=1.5), RegimeError, "rho"),
    ("rho nan", lambda: simulate(TWO, regime="partial", rho=[0.5, np.nan]), RegimeError, "rho"),
    ("rho negative", lambda: simulate(TWO, regime="partial", rho=[0.5, -0.1]), RegimeError, "rho"),
    ("rho for too many", lambda: simulate(TWO, regime="partial", rho=[0.5] * 3), RegimeError, "rho"),
    ("rho per link", lambda: simulate(TWO, regime="partial", rho=[[0.5], [0.5]]), RegimeError, "rho"),
    ("rho ragged", lambda: simulate(TWO, regime="partial", rho=[[0.5], [0.5, 1]]), HpsimError, "rho"),
    ("rho texts", lambda: simulate(TWO, regime="partial", rho=["a", "b"]), HpsimError, "rho"),
    ("overlap short", lambda: simulate([[1, 2, 3]], regime=Regime(overlap=[0.5])), RegimeError, "overlap"),
    ("overlap long", lambda: simulate([[1, 2, 3]], regime=Regime(overlap=[0.5] * 3)), RegimeError, "overlap"),
    ("overlap, mixed", lambda: simulate([[1, 2], [1, 2, 3]], regime=Regime(overlap=[0, 1])), RegimeError, "overlap"),
    ("workers 0", lambda: simulate(TWO, workers=0), HpsimError, "workers"),
    ("workers -1", lambda: simulate(TWO, workers=-1), HpsimError, "workers"),
    ("workers 1.5", lambda: simulate(TWO, workers=1.5), HpsimError, "workers"),
    ("workers text", lambda: simulate(TWO, workers="two"), HpsimError, "workers"),
]


@pytest.mark.parametrize(("call", "kind", "place"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES])
def test_every_mistake_is_told_in_one_line(call: Callable[[], object], kind: type[HpsimError], place: str) -> None:
    """The message names the place of the first value that makes no sense, what it is, and what would be right."""
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.place == place
    assert caught.value.found
    assert caught.value.allowed
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


def test_numpy_integers_count_threads() -> None:
    """NumPy's integers are integers."""
    assert simulate([1, 2], M=np.int32(3), workers=np.int64(2)).tolist() == [7]


def test_the_first_mistake_is_named_whatever_the_number_of_stages():
    """Mixed pipelines are grouped by S inside; the message still names the first wrong row."""
    with pytest.raises(PipelineError, match=r"tau\[0\]\[1\]: -1"):
        simulate([[1, -1, 1], [-1]])


def test_a_makespan_beyond_float64_is_told():
    """Infinity is never a makespan."""
    with pytest.raises(PipelineError, match=r"tau\[1\]: a makespan beyond float64"):
        simulate([[1, 2], [1e308, 1e308]], M=100)


@pytest.mark.skipif(SIZE < 1, reason="the JIT is off, so a long run takes long")
def test_an_interrupt_is_answered_soon_on_several_threads() -> None:
    """Ctrl-C ends a run of hours within the call that each thread is in."""
    code = children.telling("hpsim.lanes:given_up", 20)  # asked before each call of a kernel
    code += "import numpy, hpsim; hpsim.simulate(numpy.ones((64, 2)), M=2**40, workers=2)"
    process = children.start([sys.executable, "-c", code])
    children.wait_for_line(process, "given_up is called")
    process.send_signal(signal.SIGINT)
    ended = children.finish(process)
    assert ended.returncode != 0
    assert ended.stderr.rstrip().endswith("KeyboardInterrupt")
