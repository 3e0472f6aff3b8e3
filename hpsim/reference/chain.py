"""The paper's recurrences in plain Python, one by one, for any number type: int, Fraction or float.

A regime's function returns a matrix: a list of ``M`` rows (micro-batches) of ``S`` numbers (stages). All micro-batches
are present at time 0. ``tau`` holds ``S`` service times; ``d`` and ``latency`` hold ``S - 1`` transfer and travel times
in the same unit; ``None`` or an empty sequence means none. On ints and Fractions the results are exact; on floats every
sum is rounded in the order of the formula, left to right.

The regimes are deliberately *not* derived from one another here: each is its own recurrence, so that the common form
:func:`chain` and the compiled kernels have something independent to agree with.
"""

from __future__ import annotations

from collections.abc import Sequence

from hpsim.errors import PipelineError, RegimeError
from hpsim.exact import Number

Matrix = list[list[Number]]


def free(tau: Sequence[Number], M: int) -> Matrix:
    """Completion times without communication.

    ``C[m][s] = max(C[m][s-1], C[m-1][s]) + tau[s]`` (the recurrence of Theorem 1).
    """
    C: Matrix = []
    for m in range(M):
        C.append([])
        for s in range(len(tau)):
            arrived = C[m][s - 1] if s > 0 else 0
            idle = C[m - 1][s] if m > 0 else 0
            C[m].append(max(arrived, idle) + tau[s])
    return C


def async_(
    tau: Sequence[Number], d: Sequence[Number] | None, M: int, latency: Sequence[Number] | None = None
) -> Matrix:
    """Completion times when a transfer runs beside its sender's next micro-batch.

    ``C[m][s] = max(C[m][s-1] + d[s-1] + latency[s-1], C[m-1][s]) + tau[s]`` (the recurrence of Theorem 2).
    """
    S = len(tau)
    d, latency = _per_link("d", d, S), _per_link("latency", latency, S)
    C: Matrix = []
    for m in range(M):
        C.append([])
        for s in range(S):
            arrived = C[m][s - 1] + d[s - 1] + latency[s - 1] if s > 0 else 0
            idle = C[m - 1][s] if m > 0 else 0
            C[m].append(max(arrived, idle) + tau[s])
    return C


def blocking(
    tau: Sequence[Number], d: Sequence[Number] | None, M: int, latency: Sequence[Number] | None = None
) -> Matrix:
    """Release times when a transfer holds its sender; at the last stage release is completion.

    ``R[m][s] = max(R[m][s-1] + latency[s-1], R[m-1][s]) + tau[s] + d[s]``, ``d[S-1] = 0`` (that of Theorem 3).
    """
    S = len(tau)
    d, latency = _per_link("d", d, S), _per_link("latency", latency, S)
    R: Matrix = []
    for m in range(M):
        R.append([])
        for s in range(S):
            arrived = R[m][s - 1] + latency[s - 1] if s > 0 else 0
            idle = R[m - 1][s] if m > 0 else 0
            sending = d[s] if s < S - 1 else 0
            R[m].append(max(arrived, idle) + tau[s] + sending)
    return R


def partial(
    tau: Sequence[Number],
    d: Sequence[Number] | None,
    M: int,
    rho: Number | Sequence[Number],
    latency: Sequence[Number] | None = None,
) -> Matrix:
    """Release times when the share ``rho[s]`` of transfer ``s`` is overlapped and the rest holds the sender.

    ``R[m][s] = max(R[m][s-1] + rho[s-1]·d[s-1] + latency[s-1], R[m-1][s]) + tau[s] + (1-rho[s])·d[s]``,
    ``d[S-1] = 0`` (the overlap ratio read as a share of each transfer). ``rho`` is one number, or one per link.
    """
    S = len(tau)
    d, latency = _per_link("d", d, S), _per_link("latency", latency, S)
    share = [rho] * (S - 1) if isinstance(rho, Number) else _per_link("rho", rho, S)
    R: Matrix = []
    for m in range(M):
        R.append([])
        for s in range(S):
            arrived = R[m][s - 1] + share[s - 1] * d[s - 1] + latency[s - 1] if s > 0 else 0
            idle = R[m - 1][s] if m > 0 else 0
            holding = (1 - share[s]) * d[s] if s < S - 1 else 0
            R[m].append(max(arrived, idle) + tau[s] + holding)
    return R


def chain(occupancy: Sequence[Number], flight: Sequence[Number], M: int) -> Matrix:
    """Release times of the general chain with occupancies ``o`` (length ``S``) and flights ``f`` (length ``S - 1``).

    ``R[m][s] = max(R[m][s-1] + f[s-1], R[m-1][s]) + o[s]``: the form all regimes share.
    """
    S = len(occupancy)
    flight = _per_link("flight", flight, S)
    R: Matrix = []
    for m in range(M):
        R.append([])
        for s in range(S):
            arrived = R[m][s - 1] + flight[s - 1] if s > 0 else 0
            idle = R[m - 1][s] if m > 0 else 0
            R[m].append(max(arrived, idle) + occupancy[s])
    return R


def completion(
    tau: Sequence[Number],
    d: Sequence[Number] | None,
    M: int,
    regime: str,
    rho: Number | Sequence[Number] | None = None,
    latency: Sequence[Number] | None = None,
) -> Matrix:
    """The completion matrix in the regime called ``free``, ``async``, ``blocking`` or ``partial``.

    ``free`` ignores ``d`` and ``latency``; only ``partial`` uses ``rho``.

    Raises
    ------
    RegimeError
        For another name, or ``partial`` without ``rho``.
    PipelineError
        When ``d``, ``latency`` or ``rho`` does not have one value per link.
    """
    if regime == "free":
        return free(tau, M)
    if regime == "async":
        return async_(tau, d, M, latency)
    if regime == "blocking":
        return blocking(tau, d, M, latency)
    if regime != "partial":
        raise RegimeError("regime", f"{regime!r}", "one of free, async, blocking, partial")
    if rho is None:
        raise RegimeError("rho", "missing", "regime 'partial' needs the overlapped share, for example rho=0.5")
    return partial(tau, d, M, rho, latency)


def makespan(
    tau: Sequence[Number],
    d: Sequence[Number] | None,
    M: int,
    regime: str,
    rho: Number | Sequence[Number] | None = None,
    latency: Sequence[Number] | None = None,
) -> Number:
    """``T(M)``: completion of the last micro-batch at the last stage; arguments and errors as :func:`completion`."""
    return completion(tau, d, M, regime, rho, latency)[-1][-1]


def _per_link(name: str, values: Sequence[Number] | None, S: int) -> Sequence[Number]:
    """``values`` with nothing read as zero on every link."""
    if values is None or len(values) == 0:
        return [0] * (S - 1)
    if len(values) != S - 1:
        raise PipelineError(name, f"{len(values)} values", f"{S} stages have {S - 1} links, one value each")
    return values
