"""Bounded lines run side by side through Ciw, a queueing-network simulator, and through the plain twin."""

from __future__ import annotations

import math
import random

import ciw
import pytest

from hpsim.reference import event_graph

Rows = list[list[float]]


def line(tau: list[list[int]], buffers: list[int | None], release: list[int]) -> tuple[Rows, Rows]:
    """Service starts and departures of single servers in a row that block after service, by Ciw."""
    M, S = len(tau), len(tau[0])
    gaps = [later - earlier for earlier, later in zip([0, *release], release, strict=False)]
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([*gaps, math.inf]), *[None] * (S - 1)],
        service_distributions=[ciw.dists.Sequential([row[s] for row in tau]) for s in range(S)],
        routing=[[1.0 if k == s + 1 else 0.0 for k in range(S)] for s in range(S)],
        number_of_servers=[1] * S,
        queue_capacities=[math.inf if s == 0 or b is None else b for s, b in enumerate(buffers)],
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(M, method="Finish")
    start, departure = ([[-1.0] * S for _ in range(M)] for _ in range(2))
    for record in simulation.get_all_records():
        m, s = record.id_number - 1, record.node - 1
        start[m][s], departure[m][s] = record.service_start_date, record.exit_date
    return start, departure


def test_a_line_by_hand() -> None:
    """Without places the first stage (1 each) is held by the second (3 each) from the second micro-batch on."""
    start, departure = line([[1, 3]] * 3, [None, 0], [0, 0, 0])
    assert start == [[0, 1], [1, 4], [4, 7]]
    assert departure == [[1, 4], [4, 7], [7, 10]]


@pytest.mark.parametrize("seed", range(4))
def test_every_start_and_departure_equals_ciw(seed: int) -> None:
    """25 random lines of 1 to 5 stages with bounded places and arrivals: whole numbers, so equal and not close."""
    rng = random.Random(seed)
    for _ in range(25):
        S, M = rng.randint(1, 5), rng.randint(1, 12)
        tau = [[rng.randint(1, 9) for _ in range(S)] for _ in range(M)]
        buffers = [rng.choice((None, 0, 1, 2, 3)) for _ in range(S)]
        release = sorted(rng.randint(0, 6 * M) for _ in range(M)) if rng.random() < 0.7 else [0] * M
        twin = event_graph.schedule(tau, None, M, buffers=buffers, release=release)
        assert (twin.start, twin.depart) == line(tau, buffers, release), (tau, buffers, release)
