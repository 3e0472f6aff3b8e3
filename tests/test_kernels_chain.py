"""The compiled recurrence, exactly equal to the plain one, a discrete-event simulation, closed forms and a peer."""

from __future__ import annotations

import os
import random
import shutil
import sys
from fractions import Fraction
from pathlib import Path

import children
import event_simulation
import heteropipe.core
import numpy as np
import pytest
from conftest import SIZE, scaled
from peers.systems import ALWAYS, PIPELINES, REGIMES, System, alike, checkpoints, draw, table

from hpsim import lanes

LONGEST = 70 if SIZE == 1 else 0
MOST = max(12, scaled(200))


def makespans(systems: list[System], regime: str, stops: list[int], unit: float = 1.0) -> np.ndarray:
    """(n, len(stops)) makespans by the kernel, all times multiplied by ``unit``."""
    tau, d, latency = (lanes.pack(table(systems, name) * unit) for name in ("tau", "d", "latency"))
    overlap = np.full_like(d, 0.0 if regime == "blocking" else 1.0)
    if regime == "partial":
        overlap = lanes.pack(table(systems, "share") / 16)
    if regime == "free":
        d, latency = np.zeros_like(d), np.zeros_like(latency)
    out = lanes.makespans(tau, d, latency, overlap, np.array(stops, dtype=np.int64))
    return out.reshape(len(stops), -1)[:, : len(systems)].T


@pytest.mark.parametrize("S", sorted({*ALWAYS, *range(1, LONGEST + 1)}))
def test_every_number_of_stages_equals_the_plain_recurrence(S: int) -> None:
    """Any S, numbers of pipelines around the lane width, many checkpoints in one pass: every makespan is equal."""
    rng = random.Random(S)
    systems = alike(rng, S, PIPELINES[S % len(PIPELINES)] if SIZE == 1 else 3)
    stops = checkpoints(rng, rng.randint(MOST // 2, MOST))
    unit = 2.0 ** -rng.choice((0, 3, 20))
    right = np.array([system.sixteenths(stops[-1]) for system in systems])[:, np.array(stops) - 1]
    assert np.array_equal(makespans(systems, "partial", stops, unit), right * unit / 16)


@pytest.mark.parametrize("regime", REGIMES)
def test_small_systems_equal_the_twin_of_their_regime_on_fractions(regime: str, rng: random.Random) -> None:
    """Thousands of small systems with ties and zeros, each regime by its own recurrence on rationals."""
    for S in range(1, 9):
        systems = alike(rng, S, scaled(150))
        right = [system.makespans(regime, 11) for system in systems]
        assert makespans(systems, regime, list(range(1, 12))).tolist() == right


@pytest.mark.parametrize("regime", REGIMES)
def test_makespans_equal_the_discrete_event_simulation(regime: str, rng: random.Random) -> None:
    """Some hundred systems as processes and a clock, no recurrence anywhere: the same makespan to the last bit."""
    for _ in range(scaled(100)):
        system, M = draw(rng, rng.choice((1, 2, 3, 5, 9, 17))), rng.randint(1, 12)
        rho = [Fraction(share, 16) for share in system.share]
        nothing = [0] * len(rho)
        d, latency = (nothing, nothing) if regime == "free" else (system.d, system.latency)
        overlap = {"blocking": nothing, "partial": rho}.get(regime)
        simulated = event_simulation.run([system.tau] * M, [d] * M, latency=latency, overlap=overlap)
        assert makespans([system], regime, [M])[0, 0] == simulated.makespan, system


def test_makespans_equal_the_closed_form(rng: random.Random) -> None:
    """Thousands of systems: sum(o) + sum(f) + (M-1)·max(o), in whole numbers, at odd, even and consecutive M."""
    for S in (1, 2, 3, 4, 5, 7, 12, 16, 17, 33):
        systems = alike(rng, S, scaled(1000))
        stops = sorted({1, 2, 3, *rng.sample(range(4, 400), 5)}) if SIZE == 1 else [1, 2, 5]
        found = makespans(systems, "partial", stops)
        for system, row in zip(systems, found, strict=True):
            held = [(16 - share) * d for share, d in zip(system.share, system.d, strict=True)]
            occupancy = [16 * x + hold for x, hold in zip(system.tau, [*held, 0], strict=True)]
            fill = 16 * (sum(system.tau) + sum(system.d) + sum(system.latency))
            assert [16 * x for x in row] == [fill + (M - 1) * max(occupancy) for M in stops], system


def test_makespans_equal_those_of_heteropipe(rng: random.Random) -> None:
    """The published reference tool gives the same makespans, free, asynchronous and blocking."""
    peers = {
        "free": lambda system, M: heteropipe.core.makespan_free(system.tau, M),
        "async": lambda system, M: heteropipe.core.makespan_async(system.tau, M, system.d),
        "blocking": lambda system, M: heteropipe.core.makespan_blocking(system.tau, M, system.d),
    }
    stops = [1, 2, 7, 100] if SIZE == 1 else [1, 2, 7]
    for S in (1, 2, 4, 8, 20):
        systems = [System(s.tau, s.d, [0] * len(s.d), s.share) for s in alike(rng, S, scaled(500))]
        for regime, peer in peers.items():
            right = [[peer(system, M) for M in stops] for system in systems]
            assert makespans(systems, regime, stops).tolist() == right


def test_checkpoints_do_not_change_what_comes_after(rng: random.Random) -> None:
    """A makespan is the same whether M is asked for alone or among all smaller ones."""
    for S in (1, 3, 8, 16, 17, 26):
        systems = alike(rng, S, 5)
        together = makespans(systems, "partial", list(range(1, 14)))
        for M in range(1, 14):
            assert np.array_equal(makespans(systems, "partial", [M])[:, 0], together[:, M - 1])


@pytest.mark.parametrize("S", [1, 2, 7, 16, 17, 40])
def test_lanes_do_not_touch_each_other(S: int, rng: random.Random) -> None:
    """A pipeline's makespan does not depend on its lane or block, nor on neighbours that are not even numbers."""
    system = draw(rng, S)
    alone = makespans([system], "partial", [1, 2, 5])[0]
    n = 3 * lanes.LANES
    tau, d, latency = (np.full((n, S - (name != "tau")), np.nan) for name in ("tau", "d", "latency"))
    overlap = np.full((n, S - 1), 0.5)
    for place in rng.sample(range(n), 20):
        tau[place], d[place], latency[place] = system.tau, system.d, system.latency
        overlap[place] = np.array(system.share) / 16
    packed = (lanes.pack(rows) for rows in (tau, d, latency, overlap))
    found = lanes.makespans(*packed, np.array([1, 2, 5])).reshape(3, -1).T
    numbers = ~np.isnan(tau).any(axis=1)
    assert numbers.sum() == 20
    assert (found[numbers] == alone).all()


def test_one_share_for_all_links_is_that_share_on_every_link(rng: random.Random) -> None:
    """``overlap`` with one value a pipeline and with one value a link agree."""
    for S in (2, 3, 9, 17):
        systems = alike(rng, S, 40)
        tau, d, latency = (lanes.pack(table(systems, name)) for name in ("tau", "d", "latency"))
        shares = np.array([[system.share[0] / 16] for system in systems])
        stops = np.array([1, 4, 9])
        one = lanes.makespans(tau, d, latency, lanes.pack(shares), stops)
        every = lanes.makespans(tau, d, latency, lanes.pack(np.repeat(shares, S - 1, axis=1)), stops)
        assert np.array_equal(one, every)


def test_totals_up_to_the_last_exact_integer() -> None:
    """Totals of 2^53 - 1 and 2^53 grid units come out to the unit."""
    for last in (0, 1):
        system = System([2**51, 2**51 - 3, last], [2**50, 1], [0, 1], [0, 16])
        right = [2**52 + 2**50 - 1 + last, 2**53 - 1 + last]
        assert makespans([system], "blocking", [1, 2])[0].tolist() == right == system.makespans("blocking", 2)


DAMAGE = {
    "garbage": lambda content: b"garbage",
    "emptied": lambda content: b"",
    "cut off": lambda content: content[: len(content) // 2],
    "one bit": lambda content: content[:-500] + bytes([content[-500] ^ 1]) + content[-499:],
}
FULL_DISK = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
"""


def simulated(cache: Path, before: str = "") -> children.Ended:
    """One small simulation in a fresh process whose compiled code is kept in ``cache``."""
    script = f"{before}\nimport hpsim\nprint(hpsim.simulate([1, 2], M=3))"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    return children.run([sys.executable, "-c", script], env=environment)


def works_with_one_warning(result: children.Ended) -> None:
    assert (result.returncode, result.stdout) == (0, "[7.]\n"), result.stderr
    assert result.stderr.count("Warning:") == 1, result.stderr


@pytest.fixture(scope="module")
def written_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of compiled code as one simulation leaves it."""
    folder = tmp_path_factory.mktemp("cache")
    assert simulated(folder).stdout == "[7.]\n"
    return folder


@pytest.mark.skipif(SIZE < 1, reason="nothing is compiled")
@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_corrupt_cache_is_one_warning(damage: str, written_cache: Path, tmp_path: Path) -> None:
    """Compiled code on disk that is not as it was written is made anew, and then good for the next process."""
    shutil.copytree(written_cache, tmp_path, dirs_exist_ok=True)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert files
    for file in files:
        file.write_bytes(DAMAGE[damage](file.read_bytes()))
    works_with_one_warning(simulated(tmp_path))
    assert simulated(tmp_path).stderr == ""


@pytest.mark.skipif(SIZE < 1 or sys.platform == "win32", reason="nothing is compiled, or no limit on file sizes")
def test_a_full_disk_is_one_warning(tmp_path: Path) -> None:
    """Compiled code that cannot be written to disk is used all the same."""
    works_with_one_warning(simulated(tmp_path, before=FULL_DISK))
