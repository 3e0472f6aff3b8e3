"""One point at which a statement can be decided: exact pipelines, a number of micro-batches, a share of overlap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

Vector = tuple[Fraction, ...]


@dataclass(frozen=True)
class Times:
    """The times of one pipeline, in one unit.

    Attributes
    ----------
    tau : tuple of S Fractions
        Service times, at least 0.
    d, latency : tuple of S-1 Fractions
        Transfer and travel time of each link.
    """

    tau: Vector
    d: Vector
    latency: Vector

    @property
    def S(self) -> int:
        """Number of stages."""
        return len(self.tau)

    @property
    def values(self) -> Vector:
        """All times; travel times only where there are any."""
        return self.tau + self.d + (self.latency if any(self.latency) else ())


@dataclass(frozen=True)
class Example:
    """One point.

    Attributes
    ----------
    pipelines : tuple of Times
        One, or A and B.
    M : int
        Number of micro-batches, shared.
    rho : Fraction or None
        Overlapped share of each transfer, shared; None where the statement does not depend on it.
    """

    pipelines: tuple[Times, ...]
    M: int
    rho: Fraction | None = None

    @property
    def S(self) -> int:
        """Number of stages of all pipelines together."""
        return sum(times.S for times in self.pipelines)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of stages of each pipeline."""
        return tuple(times.S for times in self.pipelines)

    def with_pipeline(self, index: int, times: Times) -> Example:
        """The same point with another pipeline in place ``index``."""
        return replace(self, pipelines=(*self.pipelines[:index], times, *self.pipelines[index + 1 :]))


def order_key(example: Example) -> tuple[object, ...]:
    """The written order of *simpler*: of two examples, the one with the smaller key is simpler.

    Fewer stages, fewer micro-batches, fewer zero service times, fewer non-integers, smaller sum of numerators and
    denominators, fewer distinct values (all over the times, of A then B), lexicographically smaller (``tau``, then
    ``d``, then ``latency``), then the same for ``rho``. With two pipelines stages count together, and those of A break
    a tie, so that the order is total.
    """
    values = [value for times in example.pipelines for value in times.values]
    return (
        example.S,
        example.shape,
        example.M,
        sum(not time for times in example.pipelines for time in times.tau),
        *_plainness(values),
        tuple((times.tau, times.d, times.latency) for times in example.pipelines),
        () if example.rho is None else (*_plainness([example.rho]), example.rho),
    )


def _plainness(values: list[Fraction]) -> tuple[int, int, int]:
    """Non-integers, the sum of numerators and denominators, distinct values."""
    return (
        sum(value.denominator != 1 for value in values),
        sum(value.numerator + value.denominator for value in values),
        len(set(values)),
    )
