"""Tables 1 and 2 of the paper, computed by recurrence and by closed form."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hpsim import formulas
from hpsim.exact import exact
from hpsim.paper.evidence import Evidence
from hpsim.paper.quantities import recurrence
from hpsim.sweep.file.pipelines_file import load_pipelines

TABLE_1_M = (1, 8)
REGIMES = ("async", "blocking")


@dataclass(frozen=True)
class Partition:
    """A row of Table 1; ``overestimate`` is a share, one for each of ``TABLE_1_M``, against the simulated makespan."""

    tau: tuple[float, ...]
    heterogeneity: Fraction
    shortfall: Fraction
    overestimate: tuple[Fraction, ...]


@dataclass(frozen=True)
class Validated:
    """A point of Table 2; times in the unit of the file."""

    name: str
    tau: tuple[float, ...]
    d: tuple[float, ...]
    regime: str
    M: int
    recurrence: float
    closed_form: float
    relative_error: float

    @property
    def ratio(self) -> float:
        """Recurrence over closed form."""
        return self.recurrence / self.closed_form


def table_1() -> list[Partition]:
    """The over-estimate of the classic formula at growing imbalance; the partitions are those of ``paper_clusters``."""
    shipped = load_pipelines("paper_clusters").pipelines
    return [_partition(entry.pipeline().tau) for entry in shipped if entry.name.startswith("table1-")]


def table_2(evidence: Evidence) -> list[Validated]:
    """Every hand-crafted configuration in both regimes at every M: by configuration, then regime, then M.

    The table is not in the text that we have: the configurations are a reconstruction from its description.
    """
    found = evidence.hand_crafted
    names = [entry.name for entry in load_pipelines("hand_crafted").pipelines]
    configs = found.configs.to_pylist()
    points = found.points.to_pylist()
    return [
        Validated(
            names[config["config_id"]],
            tuple(config["tau"]),
            tuple(config["d"]),
            regime,
            point["M"],
            point[f"T_{regime}"],
            point[f"closed_{regime}"],
            point[f"rel_err_{regime}"],
        )
        for config in configs
        for regime in REGIMES
        for point in points
        if point["config_id"] == config["config_id"]
    ]


def _partition(times: tuple[object, ...]) -> Partition:
    tau = [exact(time) for time in times]
    return Partition(
        tuple(float(time) for time in tau),
        max(tau) / min(tau),
        formulas.homogeneity_bias(tau),
        tuple(formulas.gpipe_makespan(tau, M) / recurrence(tau, M) - 1 for M in TABLE_1_M),
    )
