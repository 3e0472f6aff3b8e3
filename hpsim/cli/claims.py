"""``hpsim claims``: what is claimed, where, and whether it is expected to hold."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from hpsim.cli.completion import claim_ids
from hpsim.cli.sweep import json_option
from hpsim.conjecture.in_words import in_flow_style
from hpsim.errors import HpsimError

if TYPE_CHECKING:
    from hpsim.claims.catalogue import Claim

_WIDTH = 100
_LABEL = 12
_BELOW = "    "
_WHOLE_WORDS: dict[str, Any] = {"break_on_hyphens": False, "break_long_words": False}


@click.command()
@click.argument("claim_id", metavar="[ID]", required=False, shell_complete=claim_ids)
@click.option("--language", is_flag=True, help="Print the reference page of the statement language, in Markdown.")
@json_option
def claims(claim_id: str | None, language: bool, as_json: bool) -> None:
    """List the claims that come with hpsim: id, whether it holds, source, what it says; with ID one, in full.

    Their ids can be given to `hpsim search`, `hpsim prove`, `hpsim verify --claims` and to sweeps.
    """
    from hpsim.claims.catalogue import catalogue, language_reference, nearest_ids

    if language:
        if claim_id is not None or as_json:
            raise HpsimError("--language", "beside an ID or --json", "by itself")
        click.echo(language_reference().rstrip())
        return
    known = catalogue()
    if claim_id is None:
        listed = list(known.values())
        text = json.dumps([as_data(claim) for claim in listed], indent=2) if as_json else "\n".join(table(listed))
        click.echo(text)
        return
    if claim_id not in known:
        raise HpsimError("claims", f"no claim has the id {claim_id[:40]!r}", nearest_ids(claim_id))
    claim = known[claim_id]
    click.echo(json.dumps(as_data(claim), indent=2) if as_json else "\n".join(_in_full(claim)))


def as_data(claim: Claim) -> dict[str, Any]:
    """The claim as it stands in the file, exact numbers as integers or text such as 1/2."""
    from hpsim.conjecture.counterexample import example_data, read_example

    given: dict[str, Any] = {}
    if claim.given.relation is not None:
        given["relation"] = claim.given.relation
    if claim.given.regimes:
        given["regimes"] = {name: _knobs(regime.written) for name, regime in claim.given.regimes.items()}
    example: dict[str, Any] | None = None
    if claim.example is not None:
        example = example_data(claim.parsed.pipelines, read_example(claim.example))
    return {
        "id": claim.id,
        "source": claim.source,
        "expect": claim.expect,
        "title": claim.title,
        "statement": claim.parsed.text.strip(),
        "given": given,
        "invariant": claim.invariant,
        "example": example,
        "note": claim.note,
    }


def table(listed: Sequence[Claim]) -> Iterator[str]:
    """Id, expectation and source, below them title, statement and what is given; last how many there are.

    At most 100 columns wide; ids are bold on a terminal.
    """
    width = max(len(claim.id) for claim in listed)
    yield f"{'id':<{width}}  expect  source"
    for claim in listed:
        yield f"{_bold(claim.id)}{'':<{width - len(claim.id)}}  {claim.expect:<6}  {claim.source}"
        for words in (claim.title, " ".join(claim.parsed.text.split()), *_given_in_one(claim)):
            yield from textwrap.wrap(words, _WIDTH, initial_indent=_BELOW, subsequent_indent=_BELOW, **_WHOLE_WORDS)
        yield ""
    failing = sum(claim.expect == "fails" for claim in listed)
    yield f"{len(listed)} claims: {len(listed) - failing} expected to hold, {failing} to fail"
    yield "hpsim claims ID shows one in full"


def _given_in_one(claim: Claim) -> Iterator[str]:
    """``given tight: {overlap: 0}, roomy: {like: tight, buffers: +1}``, where anything is."""
    given = list(_given(as_data(claim)["given"]))
    if given:
        yield f"given {', '.join(given)}"


def _bold(text: str) -> str:
    plain = not sys.stdout.isatty() or os.environ.get("TERM") == "dumb" or os.environ.get("NO_COLOR")
    return text if plain else click.style(text, bold=True)


def _in_full(claim: Claim) -> Iterator[str]:
    data = as_data(claim)
    for name in ("id", "title", "source", "statement", "expect", "invariant", "note"):
        if data[name] is not None:
            yield from _entry(name, data[name])
    for words in _given(data["given"]):
        yield from _entry("given", words)
    if data["example"] is not None:
        yield from _entry("example", in_flow_style(data["example"])[1:-1])


def _given(given: dict[str, Any]) -> Iterator[str]:
    if "relation" in given:
        yield f"A and B: {given['relation']}"
    for name, knobs in given.get("regimes", {}).items():
        yield f"{name}: {in_flow_style(knobs)}"


def _entry(name: str, words: str) -> list[str]:
    indent = " " * _LABEL
    return textwrap.wrap(f"{name:<{_LABEL}}{words}", _WIDTH, subsequent_indent=indent, **_WHOLE_WORDS)


def _knobs(written: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    return {knob: value for knob, value in written if knob != "name"}
