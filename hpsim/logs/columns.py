"""Which column of a log holds what: the names of §7.2, names given with ``--map``, and guesses for a message."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from hpsim.errors import HpsimError, printable
from hpsim.units import SECONDS

NAMED = ("host", "model", "duration_s")
WAITS = ("queue_wait_s", "total_s")  # one of them is enough: total_s = duration_s + queue_wait_s
OPTIONAL = ("id", "start")
FIELDS = (*NAMED, *WAITS, *OPTIONAL)

_LISTED = 20  # names in a message
_COMPARED = 500  # names that are searched for a likely one; comparing takes a while
_UNIT_WORDS = {"ns": "ns", "us": "us", "ms": "ms", "msec": "ms", "millis": "ms", "milliseconds": "ms"}
_SILENT_WORDS = {"s", "sec", "secs", "seconds", "min", "h", *_UNIT_WORDS}
_ALIKE = 0.8  # of difflib; below, two names have nothing in common
_OTHER_NAMES = {
    "host": ("host", "hostname", "host name", "node", "server", "device", "gpu", "worker", "instance", "backend"),
    "model": ("model", "model name", "model id", "engine"),
    "duration_s": (
        "duration",
        "service time",
        "service",
        "compute time",
        "compute",
        "processing time",
        "inference time",
        "exec time",
        "execution time",
        "run time",
        "runtime",
        "elapsed",
    ),
    "queue_wait_s": ("queue wait", "wait", "waiting", "wait time", "queue time", "queued", "queue", "queueing time"),
    "total_s": ("total", "total time", "end to end", "e2e", "latency", "response time", "turnaround"),
    "id": ("id", "request id", "req id", "uuid", "trace id"),
    "start": ("start", "start time", "started at", "timestamp", "arrived at", "arrival", "created at", "time"),
}


class LogError(HpsimError):
    """A request log that cannot be read or lacks what it needs, or a host or model that is not in it."""


def checked_map(columns: Mapping[str, str] | None) -> dict[str, str]:
    """``columns`` as given by the user, field → column.

    Raises
    ------
    LogError
        For an unknown field, or a column given to two fields.
    """
    given = dict(columns or {})
    for field, column in given.items():
        if field not in FIELDS:
            raise LogError("map", f"unknown field {shown(field)}", nearest(field, FIELDS))
        twin = next((other for other in given if other != field and given[other] == column), None)
        if twin is not None:
            raise LogError("map", f"column {shown(column)} for both {field} and {twin}", "a column of its own for each")
    return given


def parse_map(pairs: Iterable[str]) -> dict[str, str]:
    """``field=column`` texts of a command line as a dict, checked as by :func:`checked_map`."""
    given: dict[str, str] = {}
    for pair in pairs:
        field, sign, column = (part.strip() for part in pair.partition("="))
        if not sign or not field or not column:
            raise LogError("map", shown(pair), "FIELD=COLUMN, for example --map duration_s=latency")
        if field in given:
            raise LogError("map", f"{shown(field)} twice", "one column for each field")
        given[field] = column
    return checked_map(given)


def checked_unit(unit: str) -> str:
    """``unit`` itself.

    Raises
    ------
    LogError
        When it is no unit of time that can be converted.
    """
    if unit not in SECONDS:
        raise LogError("unit", f"unknown unit {shown(unit)}", nearest(unit, SECONDS))
    return unit


def match_columns(found: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """Field → column among those ``found``: as ``given``, else the column of the field's own name, in any case."""
    matched = {}
    for field in FIELDS:
        column = given[field] if field in given else _own_column(field, found)
        if column is not None and column in found and (field in given or column not in given.values()):
            matched[field] = column
    return matched


def check_columns(place: str, found: Sequence[str], given: Mapping[str, str]) -> None:
    """Do the columns of the log at ``place`` hold what is needed?

    Raises
    ------
    LogError
        When a needed column is missing, a ``given`` one does not exist, or a wanted one exists twice. The message
        lists the columns found and says what to write.
    """
    matched = match_columns(found, given)
    for field, column in given.items():
        if field not in matched:
            raise LogError(f"{place}: map", f"{field}={brief(column)}, but there is no such column", _found(found))
    for column in matched.values():
        if found.count(column) > 1:
            raise LogError(place, f"the column {shown(column)} stands there {found.count(column)} times", "once")
    missing = [field for field in NAMED if field not in matched]
    if not any(field in matched for field in WAITS):
        missing.append(" or ".join(WAITS))
    if missing:
        raise LogError(place, f"no column {', '.join(missing)}; {_found(found)}", _advice(missing, matched, found))


def guesses(fields: Iterable[str], found: Iterable[str]) -> dict[str, str]:
    """Field → the column that most looks like it, for the fields that have one; no column is guessed twice."""
    scores = sorted(
        (
            (_likeness(field, column), field, column)
            for field in fields
            for column in list(dict.fromkeys(found))[:_COMPARED]
        ),
        key=lambda score: -score[0],
    )
    chosen: dict[str, str] = {}
    for score, field, column in scores:
        if score and field not in chosen and column not in chosen.values():
            chosen[field] = column
    return {field: chosen[field] for field in FIELDS if field in chosen}


def map_flags(columns: Mapping[str, str]) -> str:
    """The command line that says ``columns``, with the unit that their names tell."""
    flags = [f"--map {_quoted(f'{field}={brief(column)}')}" for field, column in columns.items()]
    times = [column for field, column in columns.items() if field.endswith("_s")]
    units = {_UNIT_WORDS[word] for column in times for word in _words(column) if word in _UNIT_WORDS}
    return " ".join(flags + [f"--unit {unit}" for unit in units if len(units) == 1])


def nearest(word: str, known: Iterable[str]) -> str:
    """What is allowed instead of ``word``: the nearest of ``known``, and a list of them."""
    names = list(known)
    lower = {name.lower(): name for name in reversed(names)}
    close = difflib.get_close_matches(str(word).lower()[:100], list(lower)[:_COMPARED], n=1, cutoff=0.5)
    listed = _listed(names)
    return f"did you mean {brief(lower[close[0]])}? Allowed: {listed}" if close else f"allowed: {listed}"


def brief(text: str) -> str:
    """A name from a file on one line of moderate length."""
    line = printable(str(text))
    return line if len(line) <= 60 else f"{line[:57]}..."


def shown(text: object) -> str:
    """What was written, quoted, for a message."""
    return repr(brief(str(text)))


def _own_column(field: str, found: Sequence[str]) -> str | None:
    if field in found:
        return field
    return next((column for column in found if column.strip().lower() == field), None)


def _advice(missing: Sequence[str], matched: Mapping[str, str], found: Sequence[str]) -> str:
    open_fields = [field for text in missing for field in text.split(" or ")]
    likely = guesses(open_fields, [column for column in found if column not in matched.values()])
    if all(field in likely for field in WAITS) and missing[-1] == " or ".join(WAITS):
        del likely["queue_wait_s"]  # one is enough
    still = [text for text in missing if not any(field in likely for field in text.split(" or "))]
    blanks = " ".join(f"--map {text.split(' or ')[-1]}=COLUMN" for text in still)
    advice = "say which column is which: " + " ".join(part for part in (map_flags(likely), blanks) if part)
    guessed = ", a guess by the names" if likely else ""
    return advice + guessed + (f" (no column looks like {', '.join(still)})" if still else "")


def _likeness(field: str, column: str) -> float:
    """1 for another usual name of ``field``, less for a name that contains one or resembles one, 0 for a stranger."""
    words = [word for word in _words(column) if word not in _SILENT_WORDS]
    if not words:
        return 0.0
    joined = " ".join(words)
    if joined in _OTHER_NAMES[field]:
        return 1.0
    held = max((len(name) for name in _OTHER_NAMES[field] if set(name.split()) <= set(words)), default=0)
    if held:
        return 0.5 + 0.4 * held / len(joined)
    alike = max(difflib.SequenceMatcher(None, joined, name).ratio() for name in _OTHER_NAMES[field])
    return alike / 2 if alike >= _ALIKE else 0.0


def _words(column: str) -> list[str]:
    """``queueWait_ms`` → queue, wait, ms."""
    return re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", column).lower())


def _found(found: Sequence[str]) -> str:
    return f"columns found: {_listed(found)}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(map(brief, names[:_LISTED])) + (f" and {more} more" if more > 0 else "")


def _quoted(pair: str) -> str:
    return pair if re.fullmatch(r"[\w=.:/@-]+", pair) else "'" + pair.replace("'", "'\\''") + "'"
