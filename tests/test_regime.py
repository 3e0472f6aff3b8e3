"""Regimes: their knobs, their names, and the chain they make of a pipeline."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from hpsim.errors import RegimeError
from hpsim.regime import ASYNC, BLOCKING, FREE, NAMES, PARTIAL, Regime, named

TAU, D, LATENCY = [1, 4, 2], [2, 6], [Fraction(1, 2), 0]


@pytest.mark.parametrize(
    ("regime", "occupancy", "flight"),
    [
        (FREE, [1, 4, 2], [0, 0]),
        (ASYNC, [1, 4, 2], [Fraction(5, 2), 6]),
        (BLOCKING, [3, 10, 2], [Fraction(1, 2), 0]),
        (PARTIAL("1/2"), [2, 7, 2], [Fraction(3, 2), 3]),
        (PARTIAL([0, 1]), [3, 4, 2], [Fraction(1, 2), 6]),
    ],
)
def test_chain(regime, occupancy, flight):
    """Occupancy and flight of each regime, worked out by hand, from lists and from arrays of many pipelines."""
    assert regime.chain(TAU, D, LATENCY) == (occupancy, flight)
    tau = np.array([TAU, [2 * x for x in TAU]], dtype=float)
    held, flown = regime.chain(tau, np.array([D, [2 * x for x in D]]), np.array([[0.5, 0.0], [1.0, 0.0]]))
    assert held.dtype == flown.dtype == np.float64
    assert held.tolist() == [occupancy, [2 * x for x in occupancy]]
    assert flown.tolist() == [flight, [2 * x for x in flight]]


def test_names():
    """Each name gives its regime; equal knobs are equal regimes, whatever number they were written with."""
    assert [named(name, 0.25) for name in NAMES] == [FREE, ASYNC, BLOCKING, PARTIAL("1/4")]
    assert named("async") == Regime() == Regime(overlap=1.0) == Regime(overlap="1")
    assert named("blocking") == Regime(overlap=0)
    assert len({ASYNC, BLOCKING, FREE, PARTIAL((0, "1/2")), PARTIAL(np.array([0.0, 0.5]))}) == 4
    assert dataclasses.replace(ASYNC, overlap=0) == BLOCKING


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: named("partial"), "regime: 'partial' without rho; give the overlapped share, for example rho=0.5"),
        (
            lambda: named("blockign"),
            "regime: 'blockign' is unknown; one of free, async, blocking, partial (did you mean blocking?)",
        ),
        (lambda: named("zzz"), "regime: 'zzz' is unknown; one of free, async, blocking, partial"),
        (lambda: PARTIAL(1.5), "overlap: 1.5; a share from 0 (blocking) to 1 (fully overlapped)"),
        (lambda: PARTIAL([0, -1]), "overlap[1]: -1; a share from 0 (blocking) to 1 (fully overlapped)"),
        (
            lambda: PARTIAL(float("nan")),
            "overlap: nan is not a finite number; a share from 0 (blocking) to 1 (fully overlapped)",
        ),
        (lambda: PARTIAL("half"), "overlap: 'half' is not a number; a share from 0 (blocking) to 1 (fully overlapped)"),
        (lambda: Regime(overlap=0, communication=False), "overlap: 0 without communication; leave overlap out"),
        (lambda: Regime(communication=1), "communication: 1; true or false"),
        (lambda: PARTIAL([0, 1]).chain([1, 2], [1]), "overlap: 2 values for 1 links; one, or one for each link"),
    ],
)
def test_faults(call, message):
    """Each mistake is one line that says where, what was found and what is allowed."""
    with pytest.raises(RegimeError) as fault:
        call()
    assert str(fault.value) == message
