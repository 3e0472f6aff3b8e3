"""Pipelines and their regime from flags or a file: read exactly, and alike in every command."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import click

from hpsim.cli.completion import pipelines_files
from hpsim.errors import HpsimError, PipelineError, RegimeError
from hpsim.exact import exact
from hpsim.pipeline import Pipeline
from hpsim.regime import BLOCKING, FREE, RENDEZVOUS, Regime, named
from hpsim.units import SECONDS, time_in
from hpsim.vectors import in_short

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
_NAMES = 10  # in a message
_UNIT = f"one of {', '.join(SECONDS)}, or a word of your own such as cycles"
_LONGEST_UNIT = 40

Command = TypeVar("Command", bound=Callable[..., Any])

_REGIME = (
    click.option("--regime", metavar="NAME", help="free, async, blocking, rendezvous, or partial (with --overlap)."),
    click.option("--overlap", metavar="SHARE,…", help="Share of a transfer that holds nobody, 0 to 1.  [default: 1]"),
    click.option("--buffers", metavar="N,…", help="Input places of each stage beside the one in service; - unlimited."),
    click.option("--channels", metavar="N,…", help="Transfers on a link at once, - unlimited; it needs overlap 1."),
    click.option("--window", metavar="N", help="Micro-batches in flight at most.  [default: no limit]"),
    click.option("--feedback", metavar="T", help="With --window: time from the last stage back to the first."),
)


_PIPELINE = (
    click.argument("file", required=False, shell_complete=pipelines_files),
    click.option("--pipeline", "entry", metavar="NAME", help="One pipeline of FILE, by its name."),
    click.option("--tau", metavar="T,T,…", help="Service time of each stage, separated by commas; 1.13, 1/3 or 12ms."),
    click.option("--d", metavar="T,…", help="Transfer time of each link, one fewer than stages.  [default: none]"),
    click.option(
        "--latency", metavar="T,…", help="Extra travel time of each link, which occupies nobody.  [default: none]"
    ),
    click.option("--unit", metavar="UNIT", help="Unit of all times, such as ms.  [default: FILE's, or none]"),
)


def pipeline_options(command: Command) -> Command:
    """Give a command the argument FILE and ``--pipeline --tau --d --latency --unit``; see :func:`pipelines_from`."""
    for option in reversed(_PIPELINE):
        command = option(command)
    return command


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
    unit: str | None = None,
) -> Regime:
    """The regime of this name, or async, with the knobs that are given. Lists are separated by commas.

    ``unit`` is that of the pipeline's times.

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
    back = 0 if feedback is None else read_time("feedback", feedback, _FEEDBACK, unit, RegimeError)
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


def regime_in_words(regime: Regime, unit: str | None = None) -> str:
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
    if regime.feedback:
        words.append(f"feedback {_plainly(regime.feedback)}" + (f" {unit}" if unit else ""))
    return ", ".join(words)


def _plainly(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_plainly, value[:_VALUES])) + (",…" if len(value) > _VALUES else "")
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) and value < 10**12 else f"{float(value):.6g}"


def pipelines_from(
    command: str,
    example: str,
    file: str | None,
    entry: str | None,
    tau: str | None,
    d: str | None,
    latency: str | None,
    unit: str | None,
) -> list[tuple[dict[str, Any], Pipeline]]:
    """The pipelines of FILE, each with its ``name``, ``unit``, ``stages`` and ``note``, or that of flags with ``unit``.

    Of FILE only the one called ``entry``, if that is given. Bare numbers of flags are in ``unit``; so are those of
    FILE, unless it has a unit of its own: then its times are converted.

    Raises
    ------
    PipelineError, SweepFileError
        When there is neither, or both, or the first mistake in them; ``command`` and ``example`` are for the message.
    """
    word = _read_unit(unit)
    if file is not None:
        if any(times is not None for times in (tau, d, latency)):
            raise PipelineError(command, "both FILE and times", f"FILE alone, or --tau, --d and --latency; {example}")
        entries = _from_file(file, word)
        return entries if entry is None else [_called(file, entries, entry)]
    if entry is not None:
        raise PipelineError("--pipeline", "--pipeline without FILE", "a pipelines file, or times alone")
    if tau is None:
        raise PipelineError(command, "neither FILE nor --tau", example)
    stages = read_times("tau", tau, word) or []
    return [({"unit": word}, Pipeline(stages, read_times("d", d, word), read_times("latency", latency, word)))]


def names_in_short(entries: list[tuple[dict[str, Any], Pipeline]]) -> str:
    """The names of the first few pipelines of a file, and how many more there are."""
    names = [about["name"] for about, _ in entries]
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(map(in_short, names[:_NAMES])) + more


def _called(file: str, entries: list[tuple[dict[str, Any], Pipeline]], name: str) -> tuple[dict[str, Any], Pipeline]:
    for about, pipeline in entries:
        if about["name"] == name:
            return about, pipeline
    raise PipelineError("--pipeline", f"{in_short(name)} is not in {file}", f"one of {names_in_short(entries)}")


def _read_unit(text: str | None) -> str | None:
    """The unit that ``text`` says; digits and signs would be taken for a part of the numbers before it."""
    if text is None:
        return None
    unit = text.strip()
    if not unit or len(unit) > _LONGEST_UNIT or not unit.isprintable() or re.search(r"[0-9.,]|^[+-]", unit):
        raise PipelineError("--unit", in_short(text), _UNIT)
    return unit


def _from_file(file: str, unit: str | None) -> list[tuple[dict[str, Any], Pipeline]]:
    if not file.strip():
        raise PipelineError("FILE", "an empty name", "a pipelines file, or the name of a shipped one: hand_crafted")
    from hpsim.sweep.file.pipelines_file import load_pipelines

    loaded = load_pipelines(file)
    own = loaded.unit if "unit" in loaded.model_fields_set else None  # the file's own word, or none
    return [
        (
            {"name": entry.name, "unit": unit or own, "stages": list(entry.stages), "note": entry.note},
            _converted(file, entry.pipeline(), own, unit),
        )
        for entry in loaded.pipelines
    ]


def _converted(file: str, pipeline: Pipeline, own: str | None, unit: str | None) -> Pipeline:
    """``pipeline``, its times in ``unit`` where the file has its own unit and another is asked for."""
    if own is None or unit is None or own == unit:
        return pipeline
    if own not in SECONDS or unit not in SECONDS:
        found = f"{unit}, and the times of {file} are in {in_short(own)}"
        raise PipelineError("--unit", found, f"units that can be converted: {', '.join(SECONDS)}")
    factor = SECONDS[own] / SECONDS[unit]
    times = (pipeline.tau, pipeline.d, pipeline.latency)
    return Pipeline(*([exact(time) * factor for time in values] for values in times))


def read_times(name: str, text: str | None, unit: str | None) -> list[Fraction] | None:
    """The times of a comma-separated flag in ``unit``; an empty flag is none, as in the reference tool.

    Raises
    ------
    PipelineError
        Naming the first field that is no time.
    """
    if text is None or (not text.strip() and name != "tau"):
        return None
    fields = text.split(",")
    if len(fields) > MOST_STAGES:
        raise PipelineError(name, f"{len(fields):,} values", f"at most {MOST_STAGES:,} stages")
    for s, field in enumerate(fields):
        if not field.strip():
            raise PipelineError(f"{name}[{s}]", "an empty field", _TIMES)
    return [read_time(f"{name}[{s}]", field, _TIME, unit) for s, field in enumerate(fields)]


def read_time(
    place: str, text: str, allowed: str, unit: str | None, error: type[HpsimError] = PipelineError
) -> Fraction:
    """The time that ``text`` says, in ``unit``: a bare number is in it, text such as ``12ms`` is converted.

    Raises
    ------
    error
        When it says none.
    """
    return _read(place, text, allowed, error, lambda told: exact(time_in(told, unit)))


def read_number(place: str, text: str, allowed: str, error: type[HpsimError] = PipelineError) -> Fraction:
    """The number that ``text`` says.

    Raises
    ------
    error
        When it says none.
    """
    return _read(place, text, allowed, error, exact)


def _read(place: str, text: str, allowed: str, error: type[HpsimError], reader: Callable[[str], Fraction]) -> Fraction:
    if not text.strip():
        raise error(place, "no value", allowed)
    if re.match(r"[+-]?[0-9]{1,40}/0+(?![0-9.])", text.strip()):
        raise error(place, f"{text.strip()[:60]} divides by zero", allowed)
    try:
        return reader(text)
    except ValueError as fault:
        raise error(place, str(fault), allowed) from None


def read_counts(place: str, text: str) -> list[int]:
    """The numbers of micro-batches of a comma-separated flag.

    Raises
    ------
    PipelineError
        Naming the first field that is none.
    """
    fields = text.split(",")
    if len(fields) == 1:
        return [read_count(place, text)]
    return [read_count(f"{place}[{k}]", field) for k, field in enumerate(fields)]


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


def _limit(place: str, text: str, allowed: str, least: int) -> int | None:
    if text.strip().lower() in _UNLIMITED:
        return None
    count = read_count(place, text, allowed, RegimeError)
    if count < least:
        raise RegimeError(place, text.strip(), allowed)
    return count
