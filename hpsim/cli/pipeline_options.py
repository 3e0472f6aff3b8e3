"""One pipeline and its regime from flags: read exactly, and alike in every command."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

import click

from hpsim.errors import HpsimError, PipelineError, RegimeError
from hpsim.exact import exact
from hpsim.regime import RENDEZVOUS, Regime

MOST_STAGES = 1024  # as in files
COUNT = "a whole number of micro-batches, at least 1, for example 8"
_TIME = "a decimal such as 1.13, or a fraction such as 1/3"
_TIMES = "numbers separated by commas, such as 1.13,2.90,2.62"
_SHARE = "a share from 0 (blocking) to 1 (fully overlapped), for example 0.8, or one for each link: 1,0.5"
_PLACES = "a whole number from 0, - for unlimited, or one for each stage: -,1,2"
_CARRIED = "a whole number from 1, - for unlimited, or one for each link: 1,-"
_WINDOW = "a whole number of micro-batches from 1, or - for no limit"
_FEEDBACK = "a time of at least 0, for example 0.5"
_UNLIMITED = ("-", "none")
_VALUES = 8  # of a list, in words

Command = TypeVar("Command", bound=Callable[..., Any])

_KNOBS = (
    click.option("--overlap", metavar="SHARE,…", help="Share of a transfer that holds nobody, 0 to 1.  [default: 1]"),
    click.option("--buffers", metavar="N,…", help="Input places of each stage beside the one in service; - unlimited."),
    click.option("--channels", metavar="N,…", help="Transfers that each link carries at once; - unlimited."),
    click.option("--window", metavar="N", help="Micro-batches in flight at most.  [default: no limit]"),
    click.option("--feedback", metavar="T", help="With --window: time from the last stage back to the first."),
)


def knob_options(command: Command) -> Command:
    """Give a command the options ``--overlap --buffers --channels --window --feedback``, None by default."""
    for option in reversed(_KNOBS):
        command = option(command)
    return command


def read_regime(
    overlap: str | None, buffers: str | None, channels: str | None, window: str | None, feedback: str | None
) -> Regime:
    """The regime of these flags; what is left out is as in ``Regime()``. Lists are separated by commas.

    Whether the lists are as long as the pipeline is shows when they meet it (:func:`hpsim.event_graph.event_graph`).

    Raises
    ------
    RegimeError
        Naming the first entry that makes no sense.
    """
    return Regime(
        overlap=1 if overlap is None else _one_or_each("overlap", overlap, _SHARE, _share),
        buffers=None if buffers is None else _one_or_each("buffers", buffers, _PLACES, _limit),
        channels=None if channels is None else _one_or_each("channels", channels, _CARRIED, _limit),
        window=None if window is None else _limit("window", window, _WINDOW),
        feedback=0 if feedback is None else read_number("feedback", feedback, _FEEDBACK, RegimeError),
    )


def regime_in_words(regime: Regime) -> str:
    """The regime's name, with the knobs that are not those of the name."""
    if regime == RENDEZVOUS:
        return "rendezvous"
    if not regime.communication:
        words = ["free"]
    elif regime.overlap in (0, 1):
        words = ["async" if regime.overlap == 1 else "blocking"]
    else:
        words = [f"overlap {_plainly(regime.overlap)}"]
    for name, knob in (("input places", "buffers"), ("channels", "channels"), ("a window of", "window")):
        value = getattr(regime, knob)
        words += [] if value is None else [f"{name} {_plainly(value)}"]
    return ", ".join(words + ([f"feedback {_plainly(regime.feedback)}"] if regime.feedback else []))


def _plainly(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_plainly, value[:_VALUES])) + (",…" if len(value) > _VALUES else "")
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else f"{float(value):.6g}"


def read_times(name: str, text: str | None) -> list[Fraction] | None:
    """The numbers of a comma-separated flag; an empty flag is none, as in the reference tool.

    Raises
    ------
    PipelineError
        Naming the first field that is no number.
    """
    if text is None or (not text.strip() and name != "tau"):
        return None
    fields = text.split(",")
    if len(fields) > MOST_STAGES:
        raise PipelineError(name, f"{len(fields):,} values", f"at most {MOST_STAGES:,} stages")
    for s, field in enumerate(fields):
        if not field.strip():
            raise PipelineError(f"{name}[{s}]", "an empty field", _TIMES)
    return [read_number(f"{name}[{s}]", field, _TIME) for s, field in enumerate(fields)]


def read_number(place: str, text: str, allowed: str, error: type[HpsimError] = PipelineError) -> Fraction:
    """The number that ``text`` says.

    Raises
    ------
    error
        When it says none.
    """
    if not text.strip():
        raise error(place, "no value", allowed)
    if re.fullmatch(r"[+-]?[0-9]{1,40}/0+", text.strip()):
        raise error(place, f"{text.strip()[:60]} divides by zero", allowed)
    try:
        return exact(text)
    except ValueError as fault:
        raise error(place, str(fault), allowed) from None


def read_count(place: str, text: str, allowed: str = COUNT, error: type[HpsimError] = PipelineError) -> int:
    """The whole number that ``text`` says; 1e6 is one.

    Raises
    ------
    error
        When it says none.
    """
    value = read_number(place, text, allowed, error)
    if value.denominator != 1:
        raise error(place, text, allowed)
    return int(value)


def _one_or_each(knob: str, text: str, allowed: str, read: Callable[[str, str, str], Any]) -> Any:
    fields = text.split(",")
    if len(fields) > MOST_STAGES:
        raise RegimeError(knob, f"{len(fields):,} values", f"at most {MOST_STAGES:,} stages")
    if len(fields) == 1:
        return read(knob, text, allowed)
    return [read(f"{knob}[{s}]", field, allowed) for s, field in enumerate(fields)]


def _share(place: str, text: str, allowed: str) -> Fraction:
    return read_number(place, text, allowed, RegimeError)


def _limit(place: str, text: str, allowed: str) -> int | None:
    if text.strip().lower() in _UNLIMITED:
        return None
    return read_count(place, text, allowed, RegimeError)
