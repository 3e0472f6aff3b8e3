"""A counterexample as a YAML file: the statement, the exact point, and both sides there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from hpsim.claims import catalogue
from hpsim.claims.catalogue import Given, Text
from hpsim.claims.exact_algebra import Decision
from hpsim.claims.parse import parse
from hpsim.claims.tree import StatementError
from hpsim.conjecture.example import Example, Times
from hpsim.conjecture.question import Question
from hpsim.errors import HpsimError, SweepFileError
from hpsim.exact import exact
from hpsim.regime import Regime
from hpsim.sweep.file import yaml_file
from hpsim.sweep.file.fields import MAX_MICROBATCHES, Part, refusal, shown
from hpsim.sweep.file.validation import validated
from hpsim.sweep.file.yaml_file import dump, find, load

EXAMPLE = "statement: T_rendezvous <= T_blocking"
_FOLDER: yaml_file.Kind = "configs/counterexamples"
_KNOBS = ("overlap", "buffers", "channels", "window", "feedback")
_VALUE = 'allowed: a whole number, a fraction such as "-1/2", undefined, or a list of numbers'

Sided = Fraction | list[Fraction] | None


def _side_value(value: object) -> Sided:
    if value is None or value == "undefined":
        return None
    entries = value if isinstance(value, list) else [value]
    try:
        numbers = [exact(entry) for entry in entries if not isinstance(entry, bool)]
    except ValueError as error:
        raise refusal((), str(error), _VALUE) from None
    if len(numbers) < len(entries):
        raise refusal((), f"found {shown(value)}", _VALUE)
    return numbers if isinstance(value, list) else numbers[0]


class SideEntry(Part):
    """One side of the comparison that fails: its text and its value."""

    side: Text = Field(description="As in the statement.")
    value: Annotated[Any, PlainValidator(_side_value), WithJsonSchema({})] = Field(description="Its exact value.")


class CounterexampleFile(Part):
    """What stands in the file."""

    statement: Text = Field(description="What is refuted, in the statement language.")
    claim: Text | None = Field(None, description="The id of the claim that it comes from.")
    given: Given = Field(Given(), description="How A and B are related, and what regimes mean.")
    example: catalogue.Example = Field(description="The point: tau, d, latency, M, rho, or A and B instead of tau.")
    sides: list[SideEntry] = Field([], description="Both sides there.")
    note: Text | None = Field(None, description="Anything worth saying, such as how it was found.")

    @model_validator(mode="after")
    def _fits(self) -> CounterexampleFile:
        try:
            parsed = parse(self.statement, tuple(self.given.regimes), self.given.relation)
        except StatementError as error:
            raise refusal(("statement",), f"{error.place}: {error.found}", f"allowed: {error.allowed}") from None
        self.example.check_fit(parsed)
        for name, knobs in self.given.regimes.items():
            if knobs.draws:
                raise refusal(("given",), f"the regime {name} has a knob with a distribution", "allowed: fixed knobs")
        return self


@dataclass(frozen=True)
class Counterexample:
    """A question, the point that refutes it, and what the file says of both sides.

    Attributes
    ----------
    question : Question
    example : Example
    recorded : tuple of (text, value)
        Both sides as written down; a value is a Fraction, a list of them, or None for undefined.
    claim : str or None
        The id of the claim.
    note : str or None
    """

    question: Question
    example: Example
    recorded: tuple[tuple[str, Sided], ...] = ()
    claim: str | None = None
    note: str | None = None


def load_counterexample(path_or_name: str | Path) -> Counterexample:
    """Read a counterexample: a path, or the bare name of a shipped one (or the id of the claim that it refutes).

    Raises
    ------
    SweepFileError
        When there is no such file, or it says something that is not allowed; with its line.
    """
    document = load(_found(str(path_or_name)), EXAMPLE)
    read = validated(CounterexampleFile, document)
    regimes = {name: knobs.regime() for name, knobs in read.given.regimes.items()}
    statement = parse(read.statement, tuple(regimes), read.given.relation)
    question = Question(statement, read.given.relation, regimes)
    example = read_example(read.example)
    reason = _misfit(question, example)
    if reason is not None:
        raise SweepFileError(document.place(("example",)), *reason)
    recorded = tuple((side.side, side.value) for side in read.sides)
    return Counterexample(question, example, recorded, read.claim, read.note)


def _found(name: str) -> Path:
    """The file; names are ids with underscores for hyphens."""
    like_a_file = name.replace("-", "_")
    return shipped()[like_a_file] if like_a_file in shipped() and not Path(name).exists() else find(name, _FOLDER)


def read_example(written: catalogue.Example) -> Example:
    """A point as it stands in a file of claims or of a counterexample."""
    pipelines = []
    for times in written.pipelines.values():
        nothing = [Fraction(0)] * (len(times.tau) - 1)
        pipelines.append(Times(tuple(times.tau), tuple(times.d or nothing), tuple(times.latency or nothing)))
    return Example(tuple(pipelines), written.M, written.rho)


def save_counterexample(path: Path, counterexample: Counterexample) -> None:
    """Write the file; what stands there is replaced.

    Raises
    ------
    HpsimError
        When it cannot be written.
    """
    try:
        path.write_text(dump(as_data(counterexample)), encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise HpsimError(str(path), f"cannot be written ({reason})", "a file in a folder that exists") from None


def as_data(counterexample: Counterexample) -> dict[str, Any]:
    """The counterexample in plain JSON types, in the words of the file; both sides are computed."""
    question, example = counterexample.question, counterexample.example
    data: dict[str, Any] = {"statement": question.statement.text.strip()}
    if counterexample.claim is not None:
        data["claim"] = counterexample.claim
    given: dict[str, Any] = {"relation": question.relation} if question.relation is not None else {}
    used = {name: regime for name, regime in question.regimes.items() if name in question.statement.regimes}
    if used:
        given["regimes"] = {name: knobs_of(regime) for name, regime in used.items()}
    if given:
        data["given"] = given
    data["example"] = example_data(question.pipelines, example)
    data["sides"] = [{"side": text, "value": value} for text, value in sides(question.decide(example))]
    if counterexample.note is not None:
        data["note"] = counterexample.note
    return data


def example_data(names: tuple[str, ...], example: Example) -> dict[str, Any]:
    """A point in plain JSON types: integers, and fractions as text."""
    data: dict[str, Any] = {}
    for name, times in zip(names, example.pipelines, strict=True):
        vectors = {"tau": times.tau, "d": times.d, "latency": times.latency}
        plainly = {key: [_plain(v) for v in values] for key, values in vectors.items() if key == "tau" or any(values)}
        data |= {name: plainly} if name else plainly
    data["M"] = example.M
    if example.rho is not None:
        data["rho"] = _plain(example.rho)
    return data


def sides(decision: Decision) -> list[tuple[str, Any]]:
    """The text and the plain value of both sides."""
    return [(side.text, plain_side(side.value)) for side in decision.sides]


def plain_side(value: Sided) -> Any:
    """The value of a side as in the file: ``undefined``, an integer, a fraction as text, or a list of these."""
    if value is None:
        return "undefined"
    return [_plain(entry) for entry in value] if isinstance(value, list) else _plain(value)


def _plain(value: Fraction) -> int | str:
    return value.numerator if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


def knobs_of(regime: Regime) -> dict[str, Any]:
    """The knobs that are not as in ``Regime()``."""
    if not regime.communication:
        return {"like": "free"} | {
            knob: _knob(getattr(regime, knob)) for knob in ("buffers", "window") if getattr(regime, knob) is not None
        }
    default = Regime()
    knobs = {knob: getattr(regime, knob) for knob in _KNOBS}
    return {knob: _knob(value) for knob, value in knobs.items() if value != getattr(default, knob)} or {"overlap": 1}


def _knob(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_knob(entry) for entry in value]
    if value is None:
        return "unlimited"
    return value if isinstance(value, int) else _plain(exact(value))


def _misfit(question: Question, example: Example) -> tuple[str, str] | None:
    """Why a point is none of the question's own."""
    if example.M > MAX_MICROBATCHES:
        return f"M = {example.M}", f"at most {MAX_MICROBATCHES} micro-batches"
    if not question.admits(example):
        if question.only_stages is not None and any(question.only_stages != t.S for t in example.pipelines):
            return "another number of stages than the lists of its regimes", f"{question.only_stages} service times"
        return f"A and B are not related by {question.relation!r}", "pipelines related as `given` says"
    return None


def shipped() -> Mapping[str, Path]:
    """The counterexamples that come with hpsim, by name."""
    return yaml_file.shipped(_FOLDER)
