"""Pipelines and their regime from flags or a file: read exactly, and alike in every command."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import click

from hpsim.errors import HpsimError, PipelineError, RegimeError
from hpsim.exact import exact
from hpsim.pipeline import Pipeline
from hpsim.regime import BLOCKING, FREE, RENDEZVOUS, Regime, named

MOST_STAGES = 1024  # as in files
COUNT = "a whole number of micro-batches, at least 1, for example 8"
_TIME = "a decimal such as 1.13, or a fraction such as 1/3"
_TIMES = "numbers separated by commas, such as 1.13,2.90,2.62"
_SHARE = "a share from 0 (blocking) to 1 (fully overlapped), for example 0.8, or one for each link: 1,0.5"
_PLACES = "a whole number from 0, - for unlimited, or leave the option out; one for each stage: -,1,2"
_CARRIED = "a whole number from 1, - for unlimited, or leave the option out; one for each link: 1,-"
_WINDOW = "a whole number of micro-batches from 1, - for unlimited, or leave the option out"
_FEEDBACK = "a time of at least 0, for example 0.5"
_UNLIMITED = ("-", "none")
_VALUES = 8  # of a list, in words

Command = TypeVar("Command", bound=Callable[..., Any])

_REGIME = (
    click.option("--regime", metavar="NAME", help="free, async, blocking, rendezvous, or partial (with --overlap)."),
    click.option("--overlap", metavar="SHARE,…", help="Share of a transfer that holds nobody, 0 to 1.  [default: 1]"),
    click.option("--buffers", metavar="N,…", help="Input places of each stage beside the one in service; - unlimited."),
    click.option("--channels", metavar="N,…", help="Transfers on a link at once, - unlimited; it needs overlap 1."),
    click.option("--window", metavar="N", help="Micro-batches in flight at most.  [default: no limit]"),
    click.option("--feedback", metavar="T", help="With --window: time from the last stage back to the first."),
)


def regime_options(command: Command) -> Command:
    """Give a command the options ``--regime --overlap --buffers --channels --window --feedback``, None by default."""
    for option in reversed(_REGIME):
        command = option(command)
    return command


def read_regime(
    regime: str | None,
    overlap: str | None,
    buffers: str | None,
    channels: str | None,
    window: str | None,
    feedback: str | None,
) -> Regime:
    """The regime of this name, or async, with the knobs that are given. Lists are separated by commas.

    Whether the lists are as long as the pipeline is shows when they meet it (:func:`hpsim.event_graph.event_graph`).

    Raises
    ------
    RegimeError
        Naming the first entry that makes no sense, and a knob that the named regime has of its own.
    """
    base = _base(regime, overlap)
    if base == RENDEZVOUS and buffers is not None:
        raise RegimeError("buffers", "--buffers and --regime rendezvous, which has none", "--regime blocking")
    if base in (BLOCKING, RENDEZVOUS):
        overlap = "0"
    if base == RENDEZVOUS:
        buffers = "0"
    limit = None if window is None else _limit("window", window, _WINDOW, 1)
    back = 0 if feedback is None else read_number("feedback", feedback, _FEEDBACK, RegimeError)
    if back > 0 and limit is None:
        raise RegimeError("feedback", f"{feedback} without a window", "a window too, for example --window 4")
    return Regime(
        overlap=1 if overlap is None else _one_or_each("overlap", overlap, _SHARE, _share),
        communication=base != FREE,
        buffers=None if buffers is None else _one_or_each("buffers", buffers, _PLACES, partial(_limit, least=0)),
        channels=None if channels is None else _one_or_each("channels", channels, _CARRIED, partial(_limit, least=1)),
        window=limit,
        feedback=back,
    )


def _base(name: str | None, overlap: str | None) -> Regime:
    if name == "partial":
        if overlap is None:
            allowed = "the overlapped share, for example --overlap 0.5"
            raise RegimeError("regime", "'partial' without --overlap", allowed)
        return Regime()
    base = named(name or "async")
    if name is not None and overlap is not None:
        raise RegimeError("overlap", f"--overlap and --regime {name}, which has its own", "one of the two")
    return base


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
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) and value < 10**12 else f"{float(value):.6g}"


def pipelines_from(
    command: str, example: str, file: str | None, tau: str | None, d: str | None, latency: str | None
) -> list[tuple[dict[str, Any], Pipeline]]:
    """The pipelines of FILE, each with its ``name``, ``unit``, ``stages`` and ``note``, or the one of flags, with none.

    Raises
    ------
    PipelineError, SweepFileError
        When there is neither, or both, or the first mistake in them; ``command`` and ``example`` are for the message.
    """
    if file is not None:
        if any(times is not None for times in (tau, d, latency)):
            raise PipelineError(command, "both FILE and times", f"FILE alone, or --tau, --d and --latency; {example}")
        return _from_file(file)
    if tau is None:
        raise PipelineError(command, "neither FILE nor --tau", example)
    return [({}, Pipeline(read_times("tau", tau) or [], read_times("d", d), read_times("latency", latency)))]


def _from_file(file: str) -> list[tuple[dict[str, Any], Pipeline]]:
    if not file.strip():
        raise PipelineError("FILE", "an empty name", "a pipelines file, or the name of a shipped one: hand_crafted")
    from hpsim.sweep.file.pipelines_file import load_pipelines

    loaded = load_pipelines(file)
    unit = loaded.unit if "unit" in loaded.model_fields_set else None  # the file's own word, or none
    return [
        (
            {"name": entry.name, "unit": unit, "stages": list(entry.stages), "note": entry.note},
            entry.pipeline(),
        )
        for entry in loaded.pipelines
    ]


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


def printable(text: str) -> str:
    """Names from a file, without what would move the cursor."""
    return "".join(character if character.isprintable() else " " for character in text)


def _one_or_each(knob: str, text: str, allowed: str, read: Callable[[str, str, str], Any]) -> Any:
    fields = text.split(",")
    if len(fields) > MOST_STAGES:
        raise RegimeError(knob, f"{len(fields):,} values", f"at most {MOST_STAGES:,} stages")
    if len(fields) == 1:
        return read(knob, text, allowed)
    return [read(f"{knob}[{s}]", field, allowed) for s, field in enumerate(fields)]


def _share(place: str, text: str, allowed: str) -> Fraction:
    return read_number(place, text, allowed, RegimeError)


def _limit(place: str, text: str, allowed: str, least: int) -> int | None:
    if text.strip().lower() in _UNLIMITED:
        return None
    count = read_count(place, text, allowed, RegimeError)
    if count < least:
        raise RegimeError(place, text.strip(), allowed)
    return count
