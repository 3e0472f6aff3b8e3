"""Packing into lanes, and long runs in calls of bounded size."""

from __future__ import annotations

import random

import numpy as np
import pytest
from conftest import scaled
from peers.systems import alike, table

from hpsim import lanes


@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 65, 200])
@pytest.mark.parametrize("width", [0, 1, 5])
def test_unpack_undoes_pack(n: int, width: int) -> None:
    """Rows come back as they were, in whatever memory order they were given; lanes left over are zero."""
    rows = np.arange(n * width, dtype=np.float64).reshape(n, width) + 1
    for given in (rows, np.asfortranarray(rows), np.repeat(rows, 2, axis=0)[::2]):
        packed = lanes.pack(given)
        assert packed.shape == (lanes.blocks_for(n), width, lanes.LANES)
        assert packed.flags.c_contiguous
        assert np.array_equal(lanes.unpack(packed, n), rows)
        assert packed.sum() == rows.sum()


def test_blocks_hold_just_enough() -> None:
    """The number of blocks around multiples of the number of lanes."""
    full = lanes.LANES
    assert [lanes.blocks_for(n) for n in (0, 1, full - 1, full, full + 1, 2 * full)] == [0, 1, 1, 1, 2, 2]


def packed(S: int, n: int) -> list[np.ndarray]:
    systems = alike(random.Random(S), S, n)
    return [lanes.pack(table(systems, name)) for name in ("tau", "d", "latency")] + [
        lanes.pack(table(systems, "share") / 16)
    ]


@pytest.mark.parametrize("S", [1, 2, 5, 16, 17, 24, 33])
@pytest.mark.parametrize("calls", [0, 2, 3, 7, 64, 65, 130])
def test_cutting_a_run_into_calls_changes_nothing(S: int, calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of two, three, … micro-batches, ending at, before and between checkpoints, give the same bits."""
    given = packed(S, 40)
    stops = np.array([1, 2, 3, 7, 8, 14, 63, 64, 65, 66, 129, 130, 131, 200][: max(6, scaled(14))])
    whole = lanes.makespans(*given, stops)
    stages = S if S <= 16 else -(-S // 8) * 8
    monkeypatch.setattr(lanes, "CELLS_PER_CALL", calls * stages * 2 * lanes.LANES)
    assert np.array_equal(lanes.makespans(*given, stops), whole)
    for M in stops[-3:]:
        assert np.array_equal(lanes.makespans(*given, np.array([M]))[0], whole[list(stops).index(M)])


@pytest.mark.parametrize("S", [1, 2, 5, 16, 17, 24, 33])
@pytest.mark.parametrize("links", ["each", "one share", "one row", "no latency", "none"])
def test_rows_give_what_lanes_give(S: int, links: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From rows, in one call, block by block, and in calls that end within a block: the same bits as packed first."""
    systems = alike(random.Random(S), S, 75)
    tau, d, latency = (table(systems, name) for name in ("tau", "d", "latency"))
    overlap = table(systems, "share") / 16 if S > 1 else np.ones((75, 1))
    overlap = {"one share": overlap[:, :1], "one row": overlap[:1]}.get(links, overlap).copy()
    if links in ("no latency", "none"):
        latency = np.zeros((75, 0))
    if links == "none":
        d, overlap = np.zeros((75, 0)), np.ones((1, 1))
    zeros = np.zeros((75, S - 1))
    whole = [rows if rows.shape[1] else zeros for rows in (d, latency)]
    stops = np.array([1, 2, 9, 30][: max(3, scaled(4))])
    share = np.repeat(overlap, 75 // len(overlap), axis=0)
    right = lanes.makespans(*(lanes.pack(rows) for rows in (tau, *whole, share)), stops)
    for most in (10**9, S * lanes.LANES * 40, S * lanes.LANES * 3):
        monkeypatch.setattr(lanes, "CELLS_PER_CALL", most)
        out = np.full((75, len(stops)), np.nan)
        assert lanes.makespans_of_rows([tau, d, latency, overlap], stops, out)
        assert np.array_equal(out, right.reshape(len(stops), -1)[:, :75].T)


@pytest.mark.parametrize("S", [3, 20])
def test_a_long_run(S: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred thousand micro-batches of one pipeline, in one call and in many, against the closed form."""
    tau, d, latency, share = packed(S, 1)
    occupancy = tau[0, :, 0].copy()
    occupancy[:-1] += (1 - share[0, :, 0]) * d[0, :, 0]
    fill = tau.sum() + d.sum() + latency.sum()
    M = scaled(200_000)
    stops = np.array([1, M - 1, M])
    right = fill + (stops - 1) * occupancy.max()
    assert right[-1] < 2**49  # in sixteenths still an exact integer
    assert np.array_equal(lanes.makespans(tau, d, latency, share, stops)[:, 0, 0], right)
    monkeypatch.setattr(lanes, "CELLS_PER_CALL", 12_345 * S)
    assert np.array_equal(lanes.makespans(tau, d, latency, share, stops)[:, 0, 0], right)


def test_given_arrays_stay_as_they_are() -> None:
    """The kernel reads its arguments only: they may be read-only and have any memory order."""
    given = packed(4, 33)
    right = lanes.makespans(*given, np.array([1, 9]))
    views = [np.asfortranarray(array) for array in given]
    for array in views:
        array.setflags(write=False)
    assert np.array_equal(lanes.makespans(*views, np.array([1, 9])), right)
    assert all(np.array_equal(view, array) for view, array in zip(views, given, strict=True))
