"""Regimes: their knobs and their names."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hpsim.errors import RegimeError
from hpsim.regime import ASYNC, BLOCKING, FREE, NAMES, PARTIAL, RENDEZVOUS, Regime, named

PLACES = "a whole number of places from 0, or None for unlimited"


def test_names():
    """Each name gives its regime; equal knobs are equal regimes, whatever number they were written with."""
    assert [named(name, 0.25) for name in NAMES] == [FREE, ASYNC, BLOCKING, PARTIAL("1/4"), RENDEZVOUS]
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
            "regime: 'blockign' is unknown; one of free, async, blocking, partial, rendezvous (did you mean blocking?)",
        ),
        (lambda: named("zzz"), "regime: 'zzz' is unknown; one of free, async, blocking, partial, rendezvous"),
        (lambda: PARTIAL(1.5), "overlap: 1.5; a share from 0 (blocking) to 1 (fully overlapped)"),
        (lambda: PARTIAL([0, -1]), "overlap[1]: -1; a share from 0 (blocking) to 1 (fully overlapped)"),
        (
            lambda: PARTIAL(float("nan")),
            "overlap: nan is not a finite number; a share from 0 (blocking) to 1 (fully overlapped)",
        ),
        (lambda: PARTIAL("half"), "overlap: 'half' is not a number; a share from 0 (blocking) to 1 (fully overlapped)"),
        (lambda: Regime(overlap=0, communication=False), "overlap: 0 without communication; leave overlap out"),
        (lambda: Regime(communication=1), "communication: 1; true or false"),
        (lambda: Regime(buffers=-1), f"buffers: -1; {PLACES}"),
        (lambda: Regime(buffers=1.5), f"buffers: 1.5; {PLACES}"),
        (lambda: Regime(buffers=True), f"buffers: True; {PLACES}"),
        (lambda: Regime(buffers=[1, None, -2]), f"buffers[2]: -2; {PLACES}"),
        (lambda: Regime(channels=0), "channels: 0; a whole number of transfers from 1, or None for unlimited"),
        (lambda: Regime(window=0), "window: 0; a whole number of micro-batches from 1, or None for no limit"),
        (lambda: Regime(window=[1]), "window: [1]; a whole number of micro-batches from 1, or None for no limit"),
        (lambda: Regime(feedback=1), "feedback: 1 without a window; a window, or no feedback"),
        (lambda: Regime(window=2, feedback=-1), "feedback: -1 is negative; a time of at least 0"),
        (
            lambda: Regime(overlap=0.5, channels=1),
            "channels: channels with overlap 0.5; channels only where transfers overlap fully, overlap=1",
        ),
        (
            lambda: Regime(buffers=[1, 2]).buffers_of(3),
            "buffers: 2 values for 3 stages; one value, or one for each stage",
        ),
        (
            lambda: Regime(channels=[1]).channels_of(2),
            "channels: 1 value for 2 links; one value, or one for each link",
        ),
    ],
)
def test_faults(call, message):
    """Each mistake is one line that says where, what was found and what is allowed."""
    with pytest.raises(RegimeError) as fault:
        call()
    assert str(fault.value) == message
