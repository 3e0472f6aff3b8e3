"""Every closed form of the paper; :mod:`hpsim.kernels.closed_forms` has those of sweeps once more, compiled.

Notation: ``tau`` holds S service times, ``d`` and ``latency`` hold S-1 transfer times and extra travel times, one for
each link (``None`` or empty: all zero); ``M`` is the number of micro-batches; all times share one unit. ``T_free``,
``T_async`` and ``T_blocking`` are the makespans of Theorems 1, 2 and 3.

Vectors are lists or tuples of ints, floats or Fractions (text such as ``"0.1"`` and decimals become Fractions), and
then the result is such a number; or NumPy arrays of any leading shape whose last axis runs over the stages (or links),
and then the result has the leading shape. ``M`` is an integer, or an integer array that broadcasts against the leading
shape. Floats are computed in float64; integer arrays in int64, or as Python integers where int64 would overflow.

Whether ``tau[s] + d[s]`` exceeds ``tau_max`` is decided exactly: plain floats are read by their shortest decimal form,
so that ``tau=[0.1, 0.3], d=[0.2]`` is a tie; float arrays are compared as the binary numbers they hold.

Every argument is checked (:class:`~hpsim.errors.PipelineError`): times are finite and at least 0, shares lie in 0…1,
lengths and shapes fit. pandas, tensors and whatever else has ``__array__`` are arrays; masked arrays are refused.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hpsim.errors import PipelineError
from hpsim.exact import exact
from hpsim.vectors import (
    Count,
    Value,
    Vector,
    as_array,
    counted,
    each,
    headroom,
    hold,
    is_array,
    largest,
    line,
    listed,
    longest_hold,
    operands,
    same_kind,
    scaled,
    share,
    shares,
    times,
    times_at,
    total,
    width,
)


def fill_time(tau: Vector, d: Vector = None, latency: Vector = None) -> Value:
    """Time of the first micro-batch through the pipeline, ``T(1) = sum(tau) + sum(d) + sum(latency)``."""
    _, tau, d, latency = operands(1, tau=tau, d=d, latency=latency)
    return _fill(tau, d, latency)


def steady_slope(tau: Vector, d: Vector = None, overlap: Vector = 1) -> Value:
    """Steady time per micro-batch when the share ``overlap`` of each transfer overlaps with the sender's work.

    ``max(tau[s] + (1-overlap[s])·d[s])``: ``tau_max`` at 1, ``sigma_max`` at 0. ``overlap`` is one number, S-1 numbers,
    or an array (…, S-1) or (…, 1).
    """
    _, tau, d, _, overlap = _overlapping(tau, 1, overlap, d, None)
    return _slope(tau, d, overlap)


def on_line(fill: Value, slope: Value, M: Count) -> Value:
    """Makespan ``T(M) = T(1) + (M-1)·slope``: every closed form here is a line in the number of micro-batches."""
    return line(times_at("fill", fill), times_at("slope", slope), counted(M))


def blocking_sigma(tau: Vector, d: Vector = None) -> Vector:
    """Service times when a transfer holds its sender: ``sigma[s] = tau[s] + d[s]``, ``sigma[S-1] = tau[S-1]``."""
    _, tau, d = operands(1, tau=tau, d=d)
    return hold(tau, d)


def makespan_free(tau: Vector, M: Count) -> Value:
    """Theorem 1, no communication: ``(M-1)·tau_max + sum(tau)``."""
    return makespan_partial(tau, M, 1)


def makespan_async(tau: Vector, M: Count, d: Vector = None, latency: Vector = None) -> Value:
    """Theorem 2, transfers overlap with the sender's work: ``sum(tau) + sum(d) + sum(latency) + (M-1)·tau_max``."""
    return makespan_partial(tau, M, 1, d, latency)


def makespan_blocking(tau: Vector, M: Count, d: Vector = None, latency: Vector = None) -> Value:
    """Theorem 3, transfers hold the sender: ``(M-1)·sigma_max + sum(sigma) + sum(latency)``."""
    return makespan_partial(tau, M, 0, d, latency)


def makespan_partial(tau: Vector, M: Count, overlap: Vector, d: Vector = None, latency: Vector = None) -> Value:
    """Makespan when the share ``overlap`` of each transfer overlaps with the sender's work and the rest holds it.

    ``T(1) + (M-1)·max(tau[s] + (1-overlap[s])·d[s])``; at most :func:`linear_blend`. ``overlap`` as in
    :func:`steady_slope`.
    """
    return _partial(*_overlapping(tau, M, overlap, d, latency))


def makespan_rendezvous(tau: Vector, M: Count, d: Vector = None, latency: Vector = None) -> Value:
    """Makespan when a transfer holds both ends: it starts once the receiver is free, and holds the sender throughout.

    ``T(1) + (M-1)·max(d[s-1] + latency[s-1] + tau[s] + d[s])``, where stage 0 has nothing before it and the last stage
    sends nothing. The receiver stays reserved while a transfer is on its way, so that the latency of a link is part of
    the slope, unlike in every other regime. Never below :func:`makespan_blocking`; without latency never above
    twice that.

    Derivation: a transfer out of stage ``s`` starts after the one before it out of ``s+1`` has ended. So every path of
    waits goes back M-1 times from some stage to its predecessor (or from stage 0 to itself) and comes forward again
    over the same link, which takes ``d[s-1] + latency[s-1] + tau[s] + d[s]``; the longest path repeats the longest of
    these.
    """
    count, tau, d, latency = operands(M, tau=tau, d=d, latency=latency)
    return line(_fill(tau, d, latency), largest(_both_ends(tau, d, latency)), count)


def rendezvous_slope(tau: Vector, d: Vector = None, latency: Vector = None) -> Value:
    """Steady time per micro-batch when a transfer holds both ends: the slope of :func:`makespan_rendezvous`."""
    _, tau, d, latency = operands(1, tau=tau, d=d, latency=latency)
    return largest(_both_ends(tau, d, latency))


def linear_blend(tau: Vector, M: Count, rho: Value, d: Vector = None, latency: Vector = None) -> Value:
    """The paper's reading of ``rho``: ``rho·T_async + (1-rho)·T_blocking``."""
    rho = share("rho", rho)
    count, tau, d, latency = operands(M, tau=tau, d=d, latency=latency)
    lower, upper = (_partial(count, tau, d, latency, overlap) for overlap in (1, 0))
    return scaled(rho, lower) + scaled(1 - rho, upper)


def gpipe_makespan(tau: Vector, M: Count) -> Value:
    """The classic formula, every stage taken to be the slowest: ``T_c = (S+M-1)·tau_max``."""
    count, tau = operands(M, tau=tau)
    return _gpipe(count, tau)


def gpipe_bubble_ratio(S: int, M: Count) -> Value:
    """Idle share of the classic schedule: ``(S-1)/(S+M-1)``."""
    S = counted(S, "S", "stages")
    return (S - 1) / (counted(M) + (S - 1))


def gpipe_overestimate(tau: Vector, M: Count, d: Vector = None, latency: Vector = None) -> Value:
    """How far the classic formula lies above the asynchronous makespan, as a share: ``(T_c - T_async)/T_async``.

    Without ``d`` and ``latency`` this is the over-estimate of Table 1, against ``T_free``.
    """
    count, tau, d, latency = operands(M, tau=tau, d=d, latency=latency)
    actual = _divisor(_partial(count, tau, d, latency, 1))
    return (_gpipe(count, tau) - actual) / actual


def homogeneity_bias(tau: Vector) -> Value:
    """Corollary 1: ``T_c - T_free = sum(tau_max - tau[s])``, whatever ``M``."""
    _, tau = operands(1, tau=tau)
    return _bias(tau)


def full_bias_decomposition(tau: Vector, d: Vector = None, latency: Vector = None) -> Value:
    """Corollary 3: ``T_c - T_async = sum(tau_max - tau[s]) - sum(d) - sum(latency)``; negative is an under-estimate."""
    _, tau, d, latency = operands(1, tau=tau, d=d, latency=latency)
    return _bias(tau) - total(d) - total(latency)


def link_slack(tau: Vector) -> Vector:
    """Slack of each link, ``tau_max - tau[s]`` for ``s < S-1``: a longer transfer starts the phase transition."""
    return link_headroom(tau)


def link_headroom(tau: Vector, d: Vector = None) -> Vector:
    """How far each transfer is from the phase transition: ``tau_max - tau[s] - d[s]``, negative beyond it."""
    _, tau, d = operands(1, tau=tau, d=d)
    left = headroom(tau, d)
    return left if is_array(left) else same_kind(left, tau, d)


def phase_transition(tau: Vector, d: Vector = None) -> Value:
    """Corollary 4: does communication enter the blocking slope, ``d[s] > tau_max - tau[s]`` for some link?"""
    _, tau, d = operands(1, tau=tau, d=d)
    return _phase(tau, d)


def overlap_gap(tau: Vector, M: Count, d: Vector = None) -> Value:
    """Corollary 5: ``T_blocking - T_async = (M-1)·(sigma_max - tau_max)``, the most that overlap can gain."""
    count, tau, d = operands(M, tau=tau, d=d)
    return _gap(count, tau, d)


def effective_slope(tau: Vector, rho: Value = 1, d: Vector = None) -> Value:
    """Steady time per micro-batch of the linear blend: ``tau_max + (1-rho)·(sigma_max - tau_max)``."""
    rho = share("rho", rho)
    _, tau, d = operands(1, tau=tau, d=d)
    return largest(tau) + scaled(1 - rho, _excess(tau, d))


def overlap_ratio(tau: Vector, T_real: Value, M: Count, d: Vector = None, latency: Vector = None) -> Value:
    """The paper's ``rho = (T_blocking - T_real)/(T_blocking - T_async)`` of a measured makespan.

    Outside 0…1 when ``T_real`` lies outside the two bounds. On plain numbers computed exactly, then rounded once.

    Raises
    ------
    PipelineError
        Where it is 0/0: at ``M = 1``, and where there is no phase transition (in arrays: anywhere).
    """
    T_real = times_at("T_real", T_real)
    count, tau, d, latency = operands(M, tau=tau, d=d, latency=latency)
    _check_ratio_defined(count, _phase(tau, d))
    if is_array(tau) or is_array(T_real):
        return (_partial(count, tau, d, latency, 0) - T_real) / _gap(count, tau, d)
    stages, transfers, extra = ([exact(x) for x in vector] for vector in (tau, d, latency))
    below = _partial(count, stages, transfers, extra, 0) - exact(T_real)
    ratio = Fraction(below) / _gap(count, stages, transfers)
    return float(ratio) if any(isinstance(x, float) for x in (*tau, *d, *latency, T_real)) else ratio


def asymptotic_throughput(tau: Vector, d: Vector = None, blocking: bool = False) -> Value:
    """Proposition 1: micro-batches per unit of time as ``M`` grows, ``1/tau_max`` or, blocking, ``1/sigma_max``."""
    _, tau, d = operands(1, tau=tau, d=d)
    return 1 / _divisor(largest(hold(tau, d) if blocking else tau))


def crossover_batches(tau: Vector, d: Vector = None, latency: Vector = None) -> Value:
    """The ``M`` at which fill equals steady state: ``M* = 1 + (sum(tau) + sum(d) + sum(latency))/tau_max``."""
    _, tau, d, latency = operands(1, tau=tau, d=d, latency=latency)
    return 1 + _fill(tau, d, latency) / _divisor(largest(tau))


def utilization(tau: Vector, M: Count, d: Vector = None, latency: Vector = None) -> Vector:
    """Share of the asynchronous makespan that each stage works: ``M·tau[s]/T_async(M)``."""
    count, tau, d, latency = operands(M, tau=tau, d=d, latency=latency)
    makespan = _divisor(_partial(count, tau, d, latency, 1))
    if is_array(tau):
        return times(each(count), tau) / each(makespan)
    return [count * time / makespan for time in tau]


def graham_lower_bound(tau: Vector, M: Count) -> Value:
    """``W/S + (1-1/S)·CP`` with work ``W = M·sum(tau)`` and critical path ``CP = sum(tau)``; never above ``T_free``."""
    count, tau = operands(M, tau=tau)
    return times(count + (width(tau) - 1), total(tau)) / width(tau)


def _overlapping(tau: Vector, M: Count, overlap: Vector, d: Vector, latency: Vector) -> tuple[Any, ...]:
    """What :func:`_partial` takes, checked; arrays where the shares are one."""
    tau = listed("tau", tau)
    overlap = shares("overlap", overlap, max(width(tau) - 1, 0))
    tau = as_array(tau) if is_array(overlap) else tau
    return *operands(M, tau=tau, d=d, latency=latency), overlap


def _fill(tau: Vector, d: Vector, latency: Vector) -> Value:
    return total(tau) + total(d) + total(latency)


def _slope(tau: Vector, d: Vector, overlap: Vector) -> Value:
    if is_array(tau):
        return longest_hold(tau, d, overlap)
    parts = overlap if isinstance(overlap, list) else [overlap] * len(d)
    return max(hold(tau, [(1 - part) * transfer for part, transfer in zip(parts, d, strict=True)]))


def _partial(count: Count, tau: Vector, d: Vector, latency: Vector, overlap: Vector) -> Value:
    return line(_fill(tau, d, latency), _slope(tau, d, overlap), count)


def _gpipe(count: Count, tau: Vector) -> Value:
    return times(count + (width(tau) - 1), largest(tau))


def _bias(tau: Vector) -> Value:
    if is_array(tau):
        return total(each(largest(tau)) - tau)
    return total([largest(tau) - time for time in tau])


def _phase(tau: Vector, d: Vector) -> Value:
    left = headroom(tau, d)
    return (left < 0).any(axis=-1) if is_array(left) else any(x < 0 for x in left)


def _gap(count: Count, tau: Vector, d: Vector) -> Value:
    return times(count - 1, _excess(tau, d))


def _divisor(value: Value) -> Value:
    """A time to divide by, which is 0 only where nothing takes any."""
    if (value == 0).any() if is_array(value) else value == 0:
        raise PipelineError("tau", "every service time is 0", "at least one above 0")
    return value


def _both_ends(tau: Vector, d: Vector, latency: Vector) -> Vector:
    """How long each stage is taken by one micro-batch in a rendezvous: receiving, serving, sending."""
    held = hold(tau, d)
    if not is_array(tau):
        return [held[0], *(into + on_way + rest for into, on_way, rest in zip(d, latency, held[1:], strict=True))]
    arrivals = d + latency
    return hold(held[..., ::-1], arrivals[..., ::-1])[..., ::-1]


def _excess(tau: Vector, d: Vector) -> Value:
    """``sigma_max - tau_max``, exactly 0 without a phase transition."""
    left = headroom(tau, d)
    if is_array(left):
        return 0 - left.min(axis=-1, initial=0)
    (excess,) = same_kind([max([Fraction(0), *(-x for x in left)])], tau, d)
    return excess


def _check_ratio_defined(count: Count, phase: Value) -> None:
    if (count == 1).any() if is_array(count) else count == 1:
        raise PipelineError("M", "1", "rho is 0/0 with a single micro-batch; give the makespan of at least 2")
    if not (phase.all() if is_array(phase) else phase):
        found = "no phase transition, so T_blocking = T_async and rho is 0/0"
        raise PipelineError("d", found, "some d[s] above its slack tau_max - tau[s]")
