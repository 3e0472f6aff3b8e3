"""Pipelines with every knob (holds, places, channels, a window) in plain Python, for ints, Fractions and floats.

For micro-batch ``m`` at stage ``s``, with the hold ``h[m][s] = (1-overlap[s])·d[m][s]`` and ``h[m][S-1] = 0``::

    start    B = max(arrival, R[m-1][s])                 finish  F = B + tau[m][s]
    depart   P = F, or max(F, R[m-b-1][s+1]) with b = buffers[s+1] input places beside the one in service
    sent     X = P, or max(P, X[m-c][s] + d[m-c][s]) with c channels
    release  R = P + h[m][s]
    arrival  at stage s+1: X + d[m][s] + latency[s]
             at stage 0: the release time of m, or with a window max(that, F[m-W][S-1] + feedback)

These are the exact semantics of the design, evaluated one by one: terms with a negative index do not exist. Row ``m``
needs earlier rows only, so one pass in index order suffices. On ints and Fractions the results are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hpsim.errors import PipelineError, RegimeError
from hpsim.exact import Number

Matrix = list[list[Number]]
VectorOrRows = Sequence[Number] | Sequence[Sequence[Number]]  # the same for every micro-batch, or one row for each


@dataclass(frozen=True)
class Times:
    """When everything happens, in the unit of the times given; rows are micro-batches.

    Attributes
    ----------
    arrival, start, finish : matrices (M, S)
        At the stage, of its service, of its service.
    depart : matrix (M, S)
        The place at the next stage is taken and the transfer is posted; at the last stage the finish.
    sent : matrix (M, S-1)
        A channel takes the transfer up.
    release : matrix (M, S)
        The stage, and the input place that the micro-batch held there, are free again.
    """

    arrival: Matrix
    start: Matrix
    finish: Matrix
    depart: Matrix
    sent: Matrix
    release: Matrix

    @property
    def makespan(self) -> Number:
        """Finish of the last micro-batch at the last stage."""
        return self.finish[-1][-1]


def schedule(
    tau: VectorOrRows,
    d: VectorOrRows | None,
    M: int,
    *,
    latency: Sequence[Number] | None = None,
    overlap: Number | Sequence[Number] = 1,
    buffers: int | Sequence[int | None] | None = None,
    channels: int | Sequence[int | None] | None = None,
    window: int | None = None,
    feedback: Number = 0,
    release: Sequence[Number] | None = None,
) -> Times:
    """Every event of ``M`` micro-batches.

    Parameters
    ----------
    tau : S numbers, or M rows of them
        Service times, the same for every micro-batch or one row for each.
    d : S-1 numbers, or M rows of them
        Transfer times likewise; None or empty: no communication.
    M : int
        Number of micro-batches.
    latency : S-1 numbers
        Travel times, which occupy nothing.
    overlap : number, or S-1 of them
        Share of each transfer that does not hold its sender, 0…1.
    buffers : int, or S entries
        Input places of each stage beside the one in service; entry 0 is ignored.
    channels : int, or S-1 entries
        Transfers a link carries at once, at least 1; only where ``overlap`` is 1.
    window : int
        Micro-batches in flight at most, at least 1.
    feedback : number
        Time from the last stage back to the first, with a window.
    release : M numbers
        Times at which the micro-batches are there; None: all at time 0.

    None as a number of places, of channels or as the window is no limit.

    Raises
    ------
    PipelineError
        When a vector has the wrong length.
    RegimeError
        When a knob has no meaning.
    """
    if M < 1:
        raise PipelineError("M", f"{M}", "at least 1 micro-batch")
    tau = _rows("tau", tau, M)
    S = len(tau[0])
    d = _rows("d", d, M, S - 1) if d else [[0] * (S - 1)] * M
    latency = _vector("latency", latency, S - 1) if latency else [0] * (S - 1)
    release = _vector("release", release, M) if release is not None else [0] * M
    shares = [overlap] * (S - 1) if isinstance(overlap, Number) else _vector("overlap", overlap, S - 1)
    places = [*_limits("buffers", buffers, S, least=0)[1:], None]  # at the receiver of each stage; the last has none
    carried = _limits("channels", channels, S - 1, least=1)
    _check_knobs(shares, carried, window)

    t = Times(*(_zeros(M, width) for width in (S, S, S, S, S - 1, S)))
    for m in range(M):
        t.arrival[m][0] = release[m]
        if window is not None and m >= window:
            t.arrival[m][0] = max(release[m], t.finish[m - window][S - 1] + feedback)
        for s in range(S):
            t.start[m][s] = max(t.arrival[m][s], t.release[m - 1][s]) if m > 0 else t.arrival[m][s]
            t.finish[m][s] = t.start[m][s] + tau[m][s]
            t.depart[m][s] = t.finish[m][s]
            b = places[s]
            if b is not None and m > b:
                t.depart[m][s] = max(t.finish[m][s], t.release[m - b - 1][s + 1])
            t.release[m][s] = t.depart[m][s]
            if s == S - 1:
                continue
            t.release[m][s] += (1 - shares[s]) * d[m][s]
            t.sent[m][s] = t.depart[m][s]
            c = carried[s]
            if c is not None and m >= c:
                t.sent[m][s] = max(t.depart[m][s], t.sent[m - c][s] + d[m - c][s])
            t.arrival[m][s + 1] = t.sent[m][s] + d[m][s] + latency[s]
    return t


def makespan(
    tau: VectorOrRows,
    d: VectorOrRows | None,
    M: int,
    *,
    latency: Sequence[Number] | None = None,
    overlap: Number | Sequence[Number] = 1,
    buffers: int | Sequence[int | None] | None = None,
    channels: int | Sequence[int | None] | None = None,
    window: int | None = None,
    feedback: Number = 0,
    release: Sequence[Number] | None = None,
) -> Number:
    """``T(M)``: finish of the last micro-batch at the last stage; arguments and errors as :func:`schedule`."""
    return schedule(
        tau,
        d,
        M,
        latency=latency,
        overlap=overlap,
        buffers=buffers,
        channels=channels,
        window=window,
        feedback=feedback,
        release=release,
    ).makespan


def _zeros(rows: int, columns: int) -> Matrix:
    return [[0] * columns for _ in range(rows)]


def _rows(name: str, values: VectorOrRows, M: int, length: int | None = None) -> list[Sequence[Number]]:
    """One row for each micro-batch, all of them of ``length`` (that of the first one when None)."""
    rows = [row for row in values if isinstance(row, Sequence)]
    if not rows:
        rows = [[x for x in values if not isinstance(x, Sequence)]] * M
    elif len(rows) != len(values) or len(rows) != M:
        raise PipelineError(name, f"{len(values)} rows", f"{M} rows, one for each micro-batch, or a single vector")
    if length is None:
        length = len(rows[0])
        if length == 0:
            raise PipelineError(name, "no value", "one service time for each stage")
    return [_vector(name, row, length) for row in rows]


def _vector(name: str, values: Sequence[Number], length: int) -> Sequence[Number]:
    if len(values) != length:
        raise PipelineError(name, f"{len(values)} values", f"{length} are needed")
    return values


def _limits(name: str, values: int | Sequence[int | None] | None, length: int, least: int) -> list[int | None]:
    """One limit for each stage or link, None where there is none."""
    limits = list(values) if isinstance(values, Sequence) else [values] * length
    if len(limits) != length:
        raise RegimeError(name, f"{len(limits)} values", f"a number, or {length} of them")
    checked = limits[1:] if name == "buffers" else limits
    if any(limit is not None and limit < least for limit in checked):
        raise RegimeError(name, f"{min(x for x in checked if x is not None)}", f"at least {least}, or None: unlimited")
    return limits


def _check_knobs(shares: Sequence[Number], carried: list[int | None], window: int | None) -> None:
    for s, (share, c) in enumerate(zip(shares, carried, strict=True)):
        if not 0 <= share <= 1:
            raise RegimeError(f"overlap[{s}]", f"{share}", "a share from 0 to 1")
        if c is not None and share != 1:
            raise RegimeError(f"channels[{s}]", f"{c} with overlap {share}", "channels need overlap=1")
    if window is not None and window < 1:
        raise RegimeError("window", f"{window}", "at least 1, or None: open")
