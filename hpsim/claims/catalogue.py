"""Claims as data: a statement with its source, what it presupposes, and whether it is expected to hold."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from hpsim.claims.parse import is_prose, parse
from hpsim.claims.regimes import Regimes
from hpsim.claims.tree import Statement, StatementError
from hpsim.claims.words import EXAMPLE, shortened
from hpsim.sweep.file.document import Document
from hpsim.sweep.file.fields import MAX_STAGES, MicroBatches, Number, Part, refusal, shown
from hpsim.sweep.file.validation import validated
from hpsim.sweep.file.yaml_file import load

PAPER = Path(__file__).with_name("paper.yaml")
Relation = Literal["same S", "permutation", "same tau", "same d"]
Id = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=10_000, strip_whitespace=True)]
_ALIKE = 0.6  # words that resemble a claim by less are not answered with it
Times = Annotated[list[Number], Field(max_length=MAX_STAGES)]


class Given(Part):
    """What a claim presupposes."""

    relation: Relation | None = Field(None, description="How pipelines A and B are related.")
    regimes: Regimes = Field({}, description="Regimes beyond the built-in ones, name to knobs.")


class ExamplePipeline(Part):
    """The times of one pipeline."""

    tau: Annotated[list[Number], Field(min_length=1, max_length=MAX_STAGES)] = Field(description="S service times.")
    d: Times = Field([], description="S-1 transfer times; empty: none.")
    latency: Times = Field([], description="S-1 travel times; empty: none.")

    @model_validator(mode="after")
    def _fits(self) -> ExamplePipeline:
        for name, times in (("d", self.d), ("latency", self.latency)):
            if times and len(times) != len(self.tau) - 1:
                found = f"{len(times)} values for {len(self.tau)} stages"
                raise refusal((name,), found, "allowed: one for each link")
        if not any(self.tau):
            raise refusal(("tau",), "every service time is 0", "allowed: at least one above 0")
        return self


class Example(Part):
    """A point at which a claim fails: one pipeline, or A and B."""

    tau: Times | None = None
    d: Times = Field([])
    latency: Times = Field([])
    A: ExamplePipeline | None = None
    B: ExamplePipeline | None = None
    M: MicroBatches
    rho: Number | None = None

    @model_validator(mode="after")
    def _one_or_two(self) -> Example:
        if (self.tau is None) == (self.A is None) or (self.A is None) != (self.B is None):
            raise refusal((), "neither one pipeline nor two", "allowed: tau, d and latency, or A and B with these")
        if self.tau is not None:
            ExamplePipeline(tau=self.tau, d=self.d, latency=self.latency)
        return self

    def check_fit(self, statement: Statement) -> None:
        """Refuse a point, at the key ``example``, that is none of ``statement``."""
        if tuple(self.pipelines) != statement.pipelines:
            allowed = "A and B" if len(statement.pipelines) == 2 else "tau, d and latency"
            raise refusal(("example",), "not the pipelines of the statement", f"allowed: {allowed}")
        if statement.uses_rho and self.rho is None:
            raise refusal(("example",), "no rho", 'allowed: the overlapped share, for example rho: "1/2"')
        if self.rho is not None and self.rho > 1:
            raise refusal(("example", "rho"), f"found {shown(self.rho)}", "allowed: a share from 0 to 1")

    @property
    def pipelines(self) -> dict[str, ExamplePipeline]:
        """By name: ``""``, or ``A`` and ``B``."""
        if self.A is not None and self.B is not None:
            return {"A": self.A, "B": self.B}
        return {"": ExamplePipeline(tau=self.tau or [], d=self.d, latency=self.latency)}


class Claim(Part):
    """A statement with what is known about it."""

    id: Id = Field(description="Short name, by which commands and sweeps call it.")
    title: Text = Field(description="What it says, in words.")
    source: Text = Field(description="Where it comes from.")
    statement: Text = Field(description="In the statement language.")
    given: Given = Field(Given(), description="What it presupposes.")
    expect: Literal["holds", "fails"] = Field("holds", description="Whether it is true of all pipelines.")
    invariant: Text | None = Field(None, description="For proofs: what the running sums and maxima satisfy.")
    example: Example | None = Field(None, description="A point at which it fails, as simple as possible.")
    note: Text | None = Field(None, description="Anything else worth knowing.")

    @model_validator(mode="after")
    def _readable(self) -> Claim:
        try:
            parsed = self.parsed
        except StatementError as error:
            raise refusal(("statement",), f"{error.place}: {error.found}", error.allowed) from None
        if self.example is not None:
            self.example.check_fit(parsed)
            if self.expect == "holds":
                raise refusal(("example",), "a counterexample of what holds", "allowed: with expect: fails")
        return self

    @cached_property
    def parsed(self) -> Statement:
        """The checked statement."""
        return parse(self.statement, tuple(self.given.regimes), self.given.relation)


class ClaimsFile(Part):
    """A file of claims."""

    claims: Annotated[list[Claim], Field(min_length=1)]

    @field_validator("claims")
    @classmethod
    def _distinct(cls, value: list[Claim]) -> list[Claim]:
        seen: set[str] = set()
        for index, claim in enumerate(value):
            if claim.id in seen:
                raise refusal((index, "id"), f"the id {claim.id} a second time", "allowed: each id once")
            seen.add(claim.id)
        return value


def load_claims(path: Path) -> tuple[Claim, ...]:
    """The claims of a file.

    Raises
    ------
    SweepFileError
        For the first mistake, with its file, line and key.
    """
    return tuple(validated(ClaimsFile, load(path, "claims: [{id: …}]")).claims)


@cache
def catalogue() -> Mapping[str, Claim]:
    """The claims that come with hpsim, by id."""
    return {claim.id: claim for claim in load_claims(PAPER)}


def language_reference() -> str:
    """The reference page of the statement language, in Markdown."""
    return PAPER.with_name("reference.md").read_text(encoding="utf-8")


def claim(id_or_text: str, regimes: Mapping[str, Any] | None = None, relation: str | None = None) -> Claim:
    """The claim with this id, or a claim made of this statement.

    ``regimes`` (name to knobs, as in a file) and ``relation`` belong to a statement and replace those of a catalogued
    claim where they are given.

    Raises
    ------
    StatementError
        When the text is neither an id nor a statement.
    SweepFileError
        When the regimes or the relation make no sense.
    """
    known = catalogue()
    text = id_or_text.strip()
    data: dict[str, Any]
    if text in known:
        if regimes is None and relation is None:
            return known[text]
        catalogued = known[text]
        names = ("id", "title", "source", "statement", "expect", "invariant", "note", "given")
        data = {name: getattr(catalogued, name) for name in names if getattr(catalogued, name) is not None}
    else:
        if text.lower() in known or (text.replace("-", "").replace("_", "").isalnum() and text[:1].islower()):
            found = f"{text[:40]} is neither a condition nor the id of a claim"
            raise StatementError("statement", found, f"{nearest_ids(text)}; or a condition, {EXAMPLE}")
        try:
            parse(text, tuple(regimes or ()), relation)
        except StatementError:
            if is_prose(text, regimes or ()):
                raise _no_statement(text) from None
            raise
        data = {"id": "statement", "title": text, "source": "given as text", "statement": text}
    before: Given = data.pop("given", Given())
    given: dict[str, Any] = {"regimes": before.regimes | dict(regimes or {})}
    if relation or before.relation:
        given["relation"] = relation or before.relation
    return validated(Claim, Document("statement", data | {"given": given}))


def _no_statement(text: str) -> StatementError:
    """What to say of plain words: what a statement looks like, and which claim they may stand for."""
    asked = " ".join(text.lower().split())[:200]
    likeness = {name: _likeness(asked, claim) for name, claim in catalogue().items()}
    nearest = max(likeness, key=likeness.__getitem__)
    like = f"a claim such as {nearest}, {catalogue()[nearest].title!r}"
    claims = like if likeness[nearest] > _ALIKE else "the id of a claim, see hpsim claims"
    return StatementError("statement", f"{shortened(text)} is no statement", f"a condition, {EXAMPLE}; or {claims}")


def _likeness(asked: str, claim: Claim) -> float:
    """How far from 0 to 1 words resemble a claim: as a part of its source, letter by letter, or by its longer words."""
    phrases = (claim.id, claim.title.lower(), claim.source.lower())
    if asked in phrases[2]:
        return 1.0
    letters = max(difflib.SequenceMatcher(None, asked, phrase).ratio() for phrase in phrases)
    said = re.findall(r"[a-z]+", f"{claim.id} {claim.title.lower()}")
    words = [word for word in re.findall(r"[a-z]+", asked) if len(word) > 3]
    shared = sum(bool(difflib.get_close_matches(word, said, n=1, cutoff=0.8)) for word in words)
    return max(letters, shared / len(words) if shared > 1 else 0.0)


def nearest_ids(word: str, more: Iterable[str] = ()) -> str:
    """What to say of an id that there is not: the nearest three of those that there are, else where to see them."""
    close = difflib.get_close_matches(word[:100].lower(), dict.fromkeys([*more, *catalogue()]), n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else "see hpsim claims"
