"""The throughput law for many pipelines at once, on float64 arrays whose last axis runs over stages or links.

Which term is the largest is decided exactly: ``a/m > b/n`` is asked as ``a·n > b·m``, each product kept as its rounded
value and its error (Dekker). So with times on a power-of-two grid, or scaled to whole numbers, whose sums are exact in
float64, ties are ties; and the slope, one division of exact numbers, is correctly rounded. With other floats each
term's time carries the rounding of its sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hpsim.throughput_terms import term_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_SPLIT = 134217729.0  # 2^27 + 1 cuts a float64 into halves whose products are exact


def critical_names(S: int) -> list[str]:
    """Names of the terms of S stages by index: ``server 0``, …, ``credit 0→1``, …, ``window``, ``link 0``, …"""
    stages, links = range(S), range(S - 1)
    kinds = [("server", stages), ("credit", links), ("window", range(1)), ("link", links)]
    return [term_name(kind, place) for kind, places in kinds for place in places]


def law_of_arrays(
    tau: ArrayLike,
    d: ArrayLike,
    latency: ArrayLike,
    hold: ArrayLike,
    *,
    buffers: ArrayLike | None = None,
    channels: ArrayLike | None = None,
    window: ArrayLike | None = None,
    feedback: ArrayLike = 0.0,
) -> tuple[Floats, NDArray[np.int64]]:
    """Time per micro-batch in the long run, and the term that decides it.

    Parameters
    ----------
    tau : array (…, S)
        Service times. Arrays in lanes, (blocks, S, L), are given as a view, ``np.moveaxis(tau, 1, -1)``.
    d, latency, hold : arrays that broadcast to (…, S-1)
        Transfer and travel times, and the part of each transfer that holds its sender, ``(1-overlap)·d``.
    buffers : array that broadcasts to (…, S), optional
        Input places of each stage; those of stage 0 are ignored.
    channels : array that broadcasts to (…, S-1), optional
        Transfers that each link carries at once.
    window, feedback : arrays that broadcast to (…), optional
        Micro-batches in flight at most, and the time from the last stage back to the first.
        ``inf`` is unlimited in ``buffers``, ``channels`` and ``window``, as None is for all.

    Returns
    -------
    slope : array (…)
        In the unit of the times.
    critical : array (…) of int64
        The first term that attains the slope, an index into :func:`critical_names`.
    """
    import numpy as np

    tau = np.asarray(tau, dtype=np.float64)
    links = (*tau.shape[:-1], tau.shape[-1] - 1)
    shape = tau.shape[:-1]

    def whole(values: ArrayLike, form: tuple[int, ...]) -> Floats:
        return np.broadcast_to(np.asarray(values, dtype=np.float64), form)

    def limits(values: ArrayLike | None, form: tuple[int, ...]) -> Floats | None:
        return None if values is None else whole(values, form)

    times = (whole(d, links), whole(latency, links), whole(hold, links))
    knobs = (limits(buffers, tau.shape), limits(channels, links), limits(window, shape))
    most, over, critical = np.full(shape, -1.0), np.ones(shape), np.zeros(shape, dtype=np.int64)
    for index, time, count in _terms(tau, *times, *knobs, whole(feedback, shape)):
        limited = np.isfinite(count)
        finite = np.where(limited, count, 1.0)
        larger = limited & _exceeds(time, finite, most, over)
        most, over = np.where(larger, time, most), np.where(larger, finite, over)
        critical[larger] = index
    return most / over, critical


def _terms(
    tau: Floats,
    d: Floats,
    latency: Floats,
    hold: Floats,
    buffers: Floats | None,
    channels: Floats | None,
    window: Floats | None,
    feedback: Floats,
) -> Iterator[tuple[int, Any, Any]]:
    """Index, time and count of each term, in the order of the names."""
    S = tau.shape[-1]
    occupied = [tau[..., s] + hold[..., s] if s < S - 1 else tau[..., s] for s in range(S)]
    for s, time in enumerate(occupied):
        yield s, time, 1.0
    for s in range(S - 1) if buffers is not None else ():
        yield S + s, d[..., s] + latency[..., s] + occupied[s + 1], buffers[..., s + 1] + 1  # type: ignore[index]
    if window is not None:
        fill = tau.sum(axis=-1) + d.sum(axis=-1) + latency.sum(axis=-1)
        yield 2 * S - 1, fill + feedback, window
    for s in range(S - 1) if channels is not None else ():
        yield 2 * S + s, d[..., s], channels[..., s]  # type: ignore[index]


def _exceeds(time: Floats, count: Floats, most: Floats, over: Floats) -> Any:
    """Whether ``time/count > most/over``."""
    left, left_error = _product(time, over)
    right, right_error = _product(most, count)
    return (left > right) | ((left == right) & (left_error > right_error))


def _product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The rounded product and what rounding took off it (Dekker, Veltkamp); exact short of overflow and underflow."""
    product = a * b
    shifted_a, shifted_b = _SPLIT * a, _SPLIT * b
    high_a, high_b = shifted_a - (shifted_a - a), shifted_b - (shifted_b - b)
    low_a, low_b = a - high_a, b - high_b
    error = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    return product, error
