"""A statement from the command line, with what its regimes mean and how its pipelines are related."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hpsim.cli.completion import claim_ids
from hpsim.errors import HpsimError, SweepFileError

if TYPE_CHECKING:
    from hpsim.claims.catalogue import Claim
    from hpsim.claims.tree import StatementError
    from hpsim.sweep.file.knob_regime import KnobRegime

_REGIME = 'NAME={knob: value, …}, for example --regime "tight={overlap: 0, buffers: 1}"'

Command = TypeVar("Command", bound=Callable[..., Any])

_PARTS = (
    click.argument("statement", shell_complete=claim_ids),
    click.option(
        "--regime",
        "regimes",
        multiple=True,
        metavar="NAME={…}",
        help='Define a regime, for example "tight={overlap: 0, buffers: 1}"; repeatable.',
    ),
    click.option(
        "--relation",
        metavar="WORDS",
        help="How pipelines A and B are related: same S, permutation, same tau, same d.",
    ),
)


def statement_options(command: Command) -> Command:
    """Give a command the argument ``statement`` and the options ``regimes`` and ``relation``; see read_claim."""
    for part in reversed(_PARTS):
        command = part(command)
    return command


def read_claim(
    statement: str,
    regimes: tuple[str, ...] = (),
    relation: str | None = None,
    known: Mapping[str, KnobRegime] | None = None,
) -> Claim:
    """The claim of the catalogue that ``statement`` names, or a claim that says it.

    ``regimes`` are ``NAME={knob: value}``, each of them YAML; all else, and the errors, as in
    :func:`hpsim.conjecture.asked.asked_claim`.
    """
    from hpsim.claims.tree import StatementError
    from hpsim.conjecture.asked import asked_claim

    given = dict(_regime(text) for text in regimes)
    if len(given) < len(regimes):
        raise HpsimError("--regime", "one name twice", "each regime once")
    try:
        return asked_claim(statement, given, relation, known)
    except StatementError as error:
        raise _with_example(error) from None


def _with_example(error: StatementError) -> HpsimError:
    """The same, with how to define the regime that it is about, if it is about one."""
    unknown = re.match(r"unknown regime '(\w+)'", error.found)
    if unknown is None:
        return error
    example = f'--regime "{unknown[1]}={{overlap: 0, buffers: 1}}"'
    return HpsimError(error.place, error.found, f"{error.allowed}; to define it: {example}")


def _regime(text: str) -> tuple[str, Any]:
    from hpsim.sweep.file.yaml_file import parse, without_value

    name, equals, knobs = text.partition("=")
    name = name.strip()
    if not equals or not name:
        raise HpsimError("--regime", f"{text[:60]!r}", _REGIME)
    place = f"--regime {name[:40]}"
    value, _ = parse(knobs, place, line_numbers=False)
    if not isinstance(value, dict):
        raise SweepFileError(place, f"{knobs.strip()[:60]!r} is no mapping of knobs", _REGIME)
    if without_value(value) is not None:
        raise SweepFileError(place, "a knob without a value", _REGIME)
    return name, _with_steps(value)


def _with_steps(knobs: dict[str, Any]) -> dict[str, Any]:
    """A number written with a plus sign is a step from the regime that this one is like."""
    from hpsim.sweep.file.document import Increment

    return {
        knob: f"+{int(value)}" if isinstance(value, Increment) and "like" in knobs else value
        for knob, value in knobs.items()
    }
