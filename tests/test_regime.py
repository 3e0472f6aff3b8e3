"""Regimes: their knobs and their names."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hpsim.errors import RegimeError
from hpsim.regime import ASYNC, BLOCKING, FREE, NAMES, PARTIAL, Regime, named


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
    ],
)
def test_faults(call, message):
    """Each mistake is one line that says where, what was found and what is allowed."""
    with pytest.raises(RegimeError) as fault:
        call()
    assert str(fault.value) == message
