"""What a chunk, or a whole run, adds up to."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Totals:
    """Counts of a chunk or a run; totals of disjoint chunks add.

    Attributes
    ----------
    configs, points, cells, violations : int
        Configurations; (configuration, M) pairs; (micro-batch, stage) steps simulated over all regimes; failed checks.
    max_rel_err : dict of str to float
        Regime → the largest relative difference between recurrence and closed form.
    undefined, vanished : int
        Of the claims that are statements: points at which one says nothing, and failures in float64 that exact
        numbers take back.
    """

    configs: int = 0
    points: int = 0
    cells: int = 0
    violations: int = 0
    max_rel_err: dict[str, float] = field(default_factory=dict)
    undefined: int = 0
    vanished: int = 0

    def __add__(self, other: Totals) -> Totals:
        worst = dict(self.max_rel_err)
        for regime, error in other.max_rel_err.items():
            worst[regime] = max(error, worst.get(regime, 0.0))
        return Totals(
            self.configs + other.configs,
            self.points + other.points,
            self.cells + other.cells,
            self.violations + other.violations,
            worst,
            self.undefined + other.undefined,
            self.vanished + other.vanished,
        )
