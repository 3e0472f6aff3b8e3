"""``hpsim claims``: what is claimed, where, and whether it is expected to hold."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from hpsim.cli.sweep import json_option
from hpsim.errors import HpsimError

if TYPE_CHECKING:
    from hpsim.claims.catalogue import Claim

_WIDTH = 100
_LABEL = 12
_BELOW = "    "
_WHOLE_WORDS: dict[str, Any] = {"break_on_hyphens": False, "break_long_words": False}


@click.command()
@click.argument("claim_id", metavar="[ID]", required=False)
@click.option("--language", is_flag=True, help="Print the reference page of the statement language, in Markdown.")
@json_option
def claims(claim_id: str | None, language: bool, as_json: bool) -> None:
    """List the claims that come with hpsim: id, whether it holds, source, title and statement; with ID one, in full.

    Their ids can be given to `hpsim search`, `hpsim prove`, `hpsim verify --claims` and to sweeps.
    """
    from hpsim.claims.catalogue import catalogue, language_reference

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
        raise HpsimError("claims", *_unknown(claim_id, list(known)))
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
    """Id, expectation and source, below them title and statement; at most 100 columns wide."""
    width = max(len(claim.id) for claim in listed)
    yield f"{'id':<{width}}  expect  source"
    for claim in listed:
        yield f"{claim.id:<{width}}  {claim.expect:<6}  {claim.source}"
        for words in (claim.title, " ".join(claim.parsed.text.split())):
            yield from textwrap.wrap(words, _WIDTH, initial_indent=_BELOW, subsequent_indent=_BELOW, **_WHOLE_WORDS)


def _in_full(claim: Claim) -> Iterator[str]:
    data = as_data(claim)
    for name in ("id", "title", "source", "statement", "expect", "invariant", "note"):
        if data[name] is not None:
            yield from _entry(name, data[name])
    if "relation" in data["given"]:
        yield from _entry("given", f"A and B: {data['given']['relation']}")
    for name, knobs in data["given"].get("regimes", {}).items():
        yield from _entry("given", f"{name}: {_flow(knobs)}")
    if data["example"] is not None:
        yield from _entry("example", _flow(data["example"])[1:-1])


def _entry(name: str, words: str) -> list[str]:
    indent = " " * _LABEL
    return textwrap.wrap(f"{name:<{_LABEL}}{words}", _WIDTH, subsequent_indent=indent, **_WHOLE_WORDS)


def _flow(value: Any) -> str:
    """In the flow style of YAML."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {_flow(entry)}' for name, entry in value.items())}}}"
    return f"[{', '.join(map(_flow, value))}]" if isinstance(value, list) else str(value)


def _knobs(written: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    return {knob: value for knob, value in written if knob != "name"}


def _unknown(name: str, known: list[str]) -> tuple[str, str]:
    import difflib

    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    return f"no claim has the id {name[:40]!r}", f"{hint}any of {', '.join(known)}"
