"""A regime of a sweep given by its knobs, whose counts may be drawn for each configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from hpsim.errors import RegimeError
from hpsim.regime import MOST_REMEMBERED, Regime
from hpsim.sweep.file.distribution import Distribution
from hpsim.sweep.file.fields import refusal

COUNTS = ("buffers", "channels", "window")
KNOBS = ("overlap", *COUNTS, "feedback")


@dataclass(frozen=True)
class Draw:
    """A count that is drawn for each configuration.

    Attributes
    ----------
    distribution : Distribution
        Over whole numbers.
    regime : str
        The regime that it was written for; regimes derived from that one share its draws.
    knob : str
    plus : int
        Added to what is drawn.
    """

    distribution: Distribution
    regime: str
    knob: str
    plus: int = 0


Count = int | tuple[int | None, ...] | Draw | None


@dataclass(frozen=True)
class KnobRegime:
    """A regime given by its knobs.

    Attributes
    ----------
    name : str
    overlap : Fraction or tuple of Fraction
        As in :class:`hpsim.regime.Regime`.
    buffers, channels, window : int, tuple, Draw or None
        Fixed, or drawn for each configuration; None: unlimited.
    feedback : Fraction
    written : tuple of (str, value) pairs
        The mapping as in the file, in plain JSON types.
    communication : bool
        False only for what is derived from ``free``.
    place : int
        Where it stands in the list as written, for messages.
    """

    name: str
    overlap: Fraction | tuple[Fraction, ...] = Fraction(1)
    buffers: Count = None
    channels: Count = None
    window: Count = None
    feedback: Fraction = Fraction(0)
    written: tuple[tuple[str, Any], ...] = ()
    communication: bool = True
    place: int = field(default=0, compare=False)

    @property
    def draws(self) -> tuple[Draw, ...]:
        """The counts that are drawn, in the order of :data:`COUNTS`."""
        return tuple(count for count in (getattr(self, knob) for knob in COUNTS) if isinstance(count, Draw))

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The overlapped shares that occur."""
        return self.overlap if isinstance(self.overlap, tuple) else (self.overlap,)

    def check_fit(self, least: int, most: int, microbatches: int) -> None:
        """Refuse what does not fit pipelines of ``least`` to ``most`` stages: lists of another length, wide limits."""
        for knob, links in (("overlap", 1), ("buffers", 0), ("channels", 1)):
            values = getattr(self, knob)
            if isinstance(values, tuple) and not least == most == len(values) + links:
                stages = f"{least} stages" if least == most else f"{least} to {most} stages"
                each = "link" if links else "stage"
                found = f"a list of {len(values)} for pipelines of {stages}"
                raise refusal(("regimes", self.place, knob), found, f"allowed: one value, or one for each {each}")
        widest = self.regime({draw.knob: int(draw.distribution.high) + draw.plus for draw in self.draws})
        try:
            widest.lags(most, microbatches)
        except RegimeError as error:
            allowed = f"allowed: at most {MOST_REMEMBERED:,} over all stages, fewer microbatches, or unlimited"
            raise refusal(("regimes", self.place, error.place), error.found, allowed) from None

    def regime(self, drawn: Mapping[str, int] | None = None) -> Regime:
        """The regime of one configuration; ``drawn`` holds the counts that are drawn for it, ``plus`` included."""
        counts = {
            knob: (drawn or {}).get(knob, None) if isinstance(count, Draw) else count
            for knob, count in ((knob, getattr(self, knob)) for knob in COUNTS)
        }
        return Regime(overlap=self.overlap, communication=self.communication, feedback=self.feedback, **counts)

    def resolved(self) -> dict[str, Any]:
        """As in a sweep file, in plain JSON types."""
        return dict(self.written)


Entry = str | KnobRegime


def name_of(entry: Entry) -> str:
    """The name of a regime."""
    return entry if isinstance(entry, str) else entry.name
