"""One pipeline: its stages and links, checked once, and every closed form about it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hpsim import formulas
from hpsim.errors import PipelineError
from hpsim.exact import Number, NumberLike, exact
from hpsim.vectors import A_SHARE, counted, in_short, is_array, listed, number_at, plain, time_at


@dataclass(frozen=True, init=False)
class Pipeline:
    """A chain of S stages, each passing every micro-batch on to the next.

    Parameters
    ----------
    tau : S numbers
        Service time of each stage, at least 0, not all 0.
    d : S-1 numbers, optional
        Transfer time of each link; ``None`` or empty: no communication.
    latency : S-1 numbers, optional
        Extra travel time of each link, which occupies nobody.

    All times share one unit. Floats and integers stay what they are; text (``"0.1"``, ``"1/3"``) and decimals become
    Fractions, and with them results are exact.

    Raises
    ------
    PipelineError
        Naming the first value that makes no sense.

    Examples
    --------
    >>> p = Pipeline([0.5, 1, 1, 5])
    >>> p.async_(8), p.gpipe(8), p.bias()
    (42.5, 55, 12.5)
    """

    tau: tuple[Number, ...]
    d: tuple[Number, ...]
    latency: tuple[Number, ...]

    def __init__(
        self,
        tau: Iterable[NumberLike],
        d: Iterable[NumberLike] | None = None,
        latency: Iterable[NumberLike] | None = None,
    ) -> None:
        stages = _read_times("tau", tau)
        if not stages:
            raise PipelineError("tau", "no value", "one service time for each stage, for example [1.13, 2.90, 2.62]")
        if not any(stages):
            raise PipelineError("tau", "every service time is 0", "at least one above 0")
        object.__setattr__(self, "tau", stages)
        object.__setattr__(self, "d", _read_links("d", d, len(stages)))
        object.__setattr__(self, "latency", _read_links("latency", latency, len(stages)))
        bottleneck, fill = float(max(stages)), self._fill()
        if not all(map(math.isfinite, (1 / bottleneck, fill / bottleneck, fill * (self.S + 1)))):
            raise PipelineError("tau", "times too long, too short or too unequal for float64", "another unit of time")

    @property
    def S(self) -> int:
        """Number of stages."""
        return len(self.tau)

    @property
    def tau_max(self) -> Number:
        """The longest service time."""
        return max(self.tau)

    @property
    def sigma(self) -> tuple[Number, ...]:
        """Service times when a transfer holds its sender: ``tau[s] + d[s]``, the last stage's ``tau[S-1]``."""
        return tuple(formulas.blocking_sigma(self.tau, self.d))

    @property
    def sigma_max(self) -> Number:
        """The longest of ``sigma``."""
        return max(self.sigma)

    def free(self, M: int) -> Number:
        """Theorem 1: makespan without communication."""
        makespan: Number = formulas.makespan_free(self.tau, self._count(M))
        return makespan

    def async_(self, M: int) -> Number:
        """Theorem 2: makespan when transfers overlap with the sender's work."""
        makespan: Number = formulas.makespan_async(self.tau, self._count(M), self.d, self.latency)
        return makespan

    def blocking(self, M: int) -> Number:
        """Theorem 3: makespan when transfers hold the sender."""
        makespan: Number = formulas.makespan_blocking(self.tau, self._count(M), self.d, self.latency)
        return makespan

    def block(self, M: int) -> Number:
        """The same as :meth:`blocking`, by its name in heteropipe, for those who come from that tool."""
        return self.blocking(M)

    def partial(self, M: int, overlap: NumberLike | Iterable[NumberLike]) -> Number:
        """Makespan when the share ``overlap`` of a transfer, one for all links or one for each, holds nobody."""
        shares = _read_overlap(overlap)
        makespan: Number = formulas.makespan_partial(self.tau, self._count(M), shares, self.d, self.latency)
        return makespan

    def rendezvous(self, M: int) -> Number:
        """Makespan when a transfer holds both ends: it waits until the receiver is free, then holds it and the sender.

        Above ``blocking(M)`` as soon as a transfer into a busy stage counts, so such a system leaves the sandwich of
        Corollary 5. A link's latency keeps its receiver reserved, and so costs throughput here alone.
        """
        makespan: Number = formulas.makespan_rendezvous(self.tau, self._count(M), self.d, self.latency)
        return makespan

    def gpipe(self, M: int) -> Number:
        """The classic formula ``(S+M-1)·tau_max``, every stage taken to be the slowest."""
        makespan: Number = formulas.gpipe_makespan(self.tau, self._count(M))
        return makespan

    def bias(self) -> Number:
        """Corollary 1: what the classic formula adds to the makespan without communication, whatever ``M``."""
        bias: Number = formulas.homogeneity_bias(self.tau)
        return bias

    def full_bias(self) -> Number:
        """Corollary 3: the classic formula minus ``async_(M)``, whatever ``M``; negative is an under-estimate."""
        bias: Number = formulas.full_bias_decomposition(self.tau, self.d, self.latency)
        return bias

    def phase(self) -> bool:
        """Corollary 4: does some transfer exceed the slack of its link, so that blocking costs throughput? Exact."""
        return bool(formulas.phase_transition(self.tau, self.d))

    def bottleneck(self, blocking: bool = False) -> tuple[int, ...]:
        """Indices of all stages that attain ``tau_max`` or, blocking, ``sigma_max``; ties are decided exactly."""
        occupancy = [exact(time) for time in self.tau]
        if blocking:
            occupancy = formulas.blocking_sigma(occupancy, [exact(transfer) for transfer in self.d])
        longest = max(occupancy)
        return tuple(s for s, time in enumerate(occupancy) if time == longest)

    def slack(self) -> tuple[Number, ...]:
        """``tau_max - tau[s]`` of each link: the phase transition starts where a transfer exceeds it."""
        return tuple(formulas.link_slack(self.tau))

    def headroom(self) -> tuple[Number, ...]:
        """``slack[s] - d[s]`` of each link, negative for a transfer beyond the phase transition; the sign is exact."""
        return tuple(formulas.link_headroom(self.tau, self.d))

    def utilization(self, M: int) -> tuple[Number, ...]:
        """Share of ``async_(M)`` that each stage works."""
        return tuple(formulas.utilization(self.tau, self._count(M), self.d, self.latency))

    def bubble(self, M: int) -> Number:
        """Share of ``async_(M)`` that the mean stage idles: 1 minus the mean utilization.

        ``(S-1)/(S+M-1)``, the classic bubble ratio, for equal stages without transfers.
        """
        busy = formulas.utilization(self.tau, self._count(M), self.d, self.latency)
        return 1 - sum(busy) / self.S

    def overlap_gap(self, M: int) -> Number:
        """Corollary 5: ``block(M) - async_(M)``, the most that overlap can gain; exactly 0 without phase transition."""
        gap: Number = formulas.overlap_gap(self.tau, self._count(M), self.d)
        return gap

    def slope(
        self, rho: NumberLike | None = None, *, overlap: NumberLike | Iterable[NumberLike] | None = None
    ) -> Number:
        """Steady time per micro-batch when transfers overlap in part; fully, without arguments.

        Parameters
        ----------
        rho : number, optional
            The paper's overlap ratio, as in ``overlap_ratio`` and the reference tool: where the makespan lies between
            ``blocking(M)`` at 0 and ``async_(M)`` at 1. A linear blend, ``tau_max + (1-rho)·(sigma_max - tau_max)``.
        overlap : number or S-1 numbers, optional
            The share of each transfer that overlaps with its sender's work, as in ``partial`` and in sweeps:
            ``max(tau[s] + (1-overlap[s])·d[s])``, never above the blend of the same number and often below it.

        Raises
        ------
        PipelineError
            When both are given, or a share lies outside 0…1.
        """
        slope: Number
        if overlap is None:
            slope = formulas.effective_slope(self.tau, number_at("rho", 1 if rho is None else rho, A_SHARE), self.d)
        elif rho is None:
            slope = formulas.steady_slope(self.tau, self.d, _read_overlap(overlap))
        else:
            allowed = "rho for the linear blend of the paper, or overlap for the share of each transfer"
            raise PipelineError("slope", "both rho and overlap", allowed)
        return slope

    def throughput(self, blocking: bool = False) -> Number:
        """Proposition 1: micro-batches per unit of time as ``M`` grows."""
        rate: Number = formulas.asymptotic_throughput(self.tau, self.d, blocking)
        return rate

    def crossover(self) -> Number:
        """``M* = 1 + fill/tau_max``, where fill equals steady state."""
        batches: Number = formulas.crossover_batches(self.tau, self.d, self.latency)
        return batches

    def overlap_ratio(self, T_real: NumberLike, M: int) -> Number:
        """The paper's ``rho`` of a measured makespan: 1 at ``async_(M)``, 0 at ``blocking(M)``.

        Raises
        ------
        PipelineError
            Where it is undefined: at ``M = 1``, and where there is no phase transition.
        """
        measured, count = time_at("T_real", T_real), self._count(M)
        try:
            ratio: Number = formulas.overlap_ratio(self.tau, measured, count, self.d, self.latency)
        except OverflowError:
            raise PipelineError("T_real", f"{measured} makes rho overflow float64", "a makespan of this run") from None
        return ratio

    def analyze(self, M: int, rho: NumberLike | None = None) -> dict[str, Any]:
        """Everything about this pipeline with ``M`` micro-batches.

        The keys of the reference tool, plus ``latency``, the bottlenecks, and what is known per stage and per link.
        ``rho`` (default 1) belongs to ``effective_slope`` and ``T_linear_blend``. Shares are shares, not per cent.
        """
        M = self._count(M)
        share = number_at("rho", 1 if rho is None else rho, A_SHARE)
        return {
            "S": self.S,
            "M": M,
            "tau": list(self.tau),
            "d": list(self.d),
            "latency": list(self.latency),
            "tau_max": self.tau_max,
            "sigma_max": self.sigma_max,
            "T_free": self.free(M),
            "T_async": self.async_(M),
            "T_block": self.blocking(M),
            "T_gpipe": self.gpipe(M),
            "homogeneity_bias": self.bias(),
            "full_bias": self.full_bias(),
            "phase_transition": self.phase(),
            "overlap_gap": self.overlap_gap(M),
            "effective_slope": self.slope(share),
            "asymptotic_throughput_async": self.throughput(),
            "asymptotic_throughput_blocking": self.throughput(blocking=True),
            "crossover_batches": self.crossover(),
            "T_linear_blend": formulas.linear_blend(self.tau, M, share, self.d, self.latency),
            "gpipe_overestimate": formulas.gpipe_overestimate(self.tau, M, self.d, self.latency),
            "gpipe_bubble_ratio": formulas.gpipe_bubble_ratio(self.S, M),
            "graham_lower_bound": formulas.graham_lower_bound(self.tau, M),
            "bottleneck_async": list(self.bottleneck()),
            "bottleneck_blocking": list(self.bottleneck(blocking=True)),
            "utilization": list(self.utilization(M)),
            "link_slack": list(self.slack()),
            "link_headroom": list(self.headroom()),
        }

    def _fill(self) -> float:
        return sum(float(time) for time in (*self.tau, *self.d, *self.latency))

    def _count(self, M: object) -> int:
        if is_array(M):
            raise PipelineError("M", in_short(M), "one whole number; hpsim.formulas takes arrays")
        count = int(counted(M))
        if not math.isfinite(float(count + self.S) * self._fill()):
            raise PipelineError("M", f"{in_short(count)}, a makespan beyond float64", "fewer micro-batches")
        return count


def check_pipeline(given: object) -> None:
    """Refuse what is no Pipeline.

    Raises
    ------
    PipelineError
        Always then.
    """
    if not isinstance(given, Pipeline):
        raise PipelineError("pipeline", in_short(given), "a Pipeline, such as Pipeline([1, 2], d=[1])")


def _read_links(name: str, values: object, stages: int) -> tuple[Number, ...]:
    times = () if values is None else _read_times(name, values)
    if times and len(times) != stages - 1:
        found = f"{len(times)} values for {stages} stages"
        raise PipelineError(name, found, f"S-1 = {stages - 1}, one for each link between neighbours, or none at all")
    return times or (0,) * (stages - 1)


def _read_times(name: str, values: object) -> tuple[Number, ...]:
    return tuple(time_at(f"{name}[{s}]", value) for s, value in enumerate(listed(name, values)))


def _read_overlap(overlap: object) -> Number | list[Number]:
    overlap = plain("overlap", overlap, A_SHARE)
    if isinstance(overlap, str) or not isinstance(overlap, Iterable):
        return number_at("overlap", overlap, A_SHARE)
    return [number_at(f"overlap[{s}]", share, A_SHARE) for s, share in enumerate(listed("overlap", overlap))]
