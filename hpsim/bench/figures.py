"""What a benchmark says: figures, what they are compared with, and what they must reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One measured number.

    Attributes
    ----------
    name : str
        What was measured.
    value : float
        In ``unit``: a rate (``cells/s``), seconds (``s``) or bytes (``B``).
    unit : str
    work : float, optional
        Of a rate: the units done in one run.
    seconds : tuple of float
        The duration of each run; empty when the figure is no time.
    """

    name: str
    value: float
    unit: str
    work: float | None = None
    seconds: tuple[float, ...] = ()

    @classmethod
    def rate(cls, name: str, work: float, unit: str, seconds: Sequence[float]) -> Figure:
        """``work`` over the shortest of the ``seconds``: the run that others disturbed least."""
        return cls(name, work / min(seconds), f"{unit}/s", work, tuple(seconds))

    @classmethod
    def duration(cls, name: str, seconds: Sequence[float]) -> Figure:
        """The median of the ``seconds``."""
        return cls(name, median(seconds), "s", None, tuple(seconds))


@dataclass(frozen=True)
class Target:
    """A bound: ``factor`` times the figure compared with, plus ``plus`` in its unit."""

    at_least: bool
    factor: float = 0.0
    plus: float = 0.0

    def bound(self, against: Figure | None) -> float:
        """The bound, in the unit of the figures."""
        return self.factor * (against.value if against else 0.0) + self.plus


@dataclass(frozen=True)
class Comparison:
    """A figure, beside the one that it is compared with.

    Attributes
    ----------
    what : str
        The case.
    figure : Figure
    against : Figure, optional
        In the same unit.
    target : Target, optional
        What the figure must reach.
    share : bool
        Whether the ratio is a share, and not so many times.
    """

    what: str
    figure: Figure
    against: Figure | None = None
    target: Target | None = None
    share: bool = False

    @property
    def ratio(self) -> float | None:
        """The figure over the one compared with."""
        return None if self.against is None else self.figure.value / self.against.value

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without one."""
        if self.target is None:
            return None
        bound = self.target.bound(self.against)
        return self.figure.value >= bound if self.target.at_least else self.figure.value <= bound


@dataclass(frozen=True)
class Section:
    """Comparisons of one kind: a title, how they were measured, and one comparison for each case."""

    title: str
    how: str
    comparisons: list[Comparison]


@dataclass(frozen=True)
class Report:
    """All that was measured.

    Attributes
    ----------
    machine : dict
        What the figures depend on: processor, versions.
    quick : bool
        Whether the sizes were tiny, so that the figures mean little.
    sections : list of Section
    """

    machine: dict[str, Any]
    quick: bool
    sections: list[Section]

    @property
    def verdicts(self) -> list[bool]:
        """For each target, whether it is reached."""
        return [verdict for section in self.sections for c in section.comparisons if (verdict := c.met) is not None]

    def as_data(self) -> dict[str, Any]:
        """Everything in plain JSON types, the duration of every single run included."""
        return {
            "machine": self.machine,
            "quick": self.quick,
            "targets": {"met": sum(self.verdicts), "total": len(self.verdicts)},
            "sections": [
                {"title": section.title, "how": section.how, "comparisons": list(_rows(section))}
                for section in self.sections
            ],
        }


def _rows(section: Section) -> Iterator[dict[str, Any]]:
    for comparison in section.comparisons:
        target = comparison.target
        yield {
            "what": comparison.what,
            "figure": _plain(comparison.figure),
            "against": _plain(comparison.against),
            "ratio": comparison.ratio,
            "target": target and {"at_least": target.at_least, "bound": target.bound(comparison.against)},
            "met": comparison.met,
        }


def _plain(figure: Figure | None) -> dict[str, Any] | None:
    if figure is None:
        return None
    return {
        "name": figure.name,
        "value": figure.value,
        "unit": figure.unit,
        "work": figure.work,
        "seconds": list(figure.seconds),
    }
