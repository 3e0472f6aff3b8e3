"""``hpsim prove``: a statement proved over all pipelines, or refuted by exact numbers."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hpsim.cli.exits import COUNTEREXAMPLE, stopped_by
from hpsim.cli.options import WHOLE, Renamed
from hpsim.cli.statement_options import read_claim, statement_options
from hpsim.cli.words import counted
from hpsim.conjecture.in_words import in_flow_style, point_in_words, sides_in_words
from hpsim.errors import HpsimError

if TYPE_CHECKING:
    from hpsim.conjecture.prove.verdict import Verdict

UNDECIDED = 3


@click.command()
@statement_options
@click.option("--stages", type=WHOLE, metavar="K", help="Stages to go to, where the proof takes a bound.")
@click.option(
    "--M",
    "--microbatches",
    "microbatches",
    cls=Renamed,
    type=WHOLE,
    metavar="N",
    help="Micro-batches to go to, where it takes a bound.",
)
@click.option("--seconds", type=float, default=30, show_default=True, metavar="T", help="Time limit in all, about.")
@click.option(
    "--smt",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the lemmas as SMT-LIB 2, for any solver to check again.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def prove(
    statement: str,
    regimes: tuple[str, ...],
    relation: str | None,
    stages: int | None,
    microbatches: int | None,
    seconds: float,
    smt: Path | None,
    as_json: bool,
) -> None:
    """Prove STATEMENT, or the claim with that id, over all pipelines; or refute it by exact numbers.

    First for every number of stages and micro-batches, by induction; else for every number of micro-batches at 1, 2, …
    stages; else within bounds that grow until the time is up. What is proved, and on what assumptions, is said. Needs
    the extra `prove`. For instance:

    hpsim prove "T_blocking <= T_async + (M-1)*max(d)"

    Exit code 0: proved, in the bounds that are said; 1: refuted; 2: wrong input; 3: undecided; 130, 143: stopped
    by Ctrl-C, by SIGTERM.
    """
    claim = read_claim(statement, regimes, relation)
    if smt is not None and not smt.parent.is_dir():
        raise HpsimError(f"--smt {smt}", "its folder does not exist", "a file in a folder that exists")
    from hpsim.conjecture.prove.prove import prove as verdict_on

    try:
        verdict = verdict_on(claim, seconds=seconds, stages=stages, microbatches=microbatches)
    except KeyboardInterrupt:
        stopped_by(signal.SIGINT, "nothing is decided")
    if smt is not None:
        _export(verdict, smt)
    click.echo(json.dumps(_as_data(verdict), indent=2) if as_json else "\n".join(_lines(verdict)))
    if verdict.status != "proved":
        sys.exit(COUNTEREXAMPLE if verdict.status == "refuted" else UNDECIDED)


def _lines(verdict: Verdict) -> Iterator[str]:
    """The outcome in one line, and below it what it rests on."""
    if verdict.counterexample is not None:
        question, example = verdict.counterexample.question, verdict.counterexample.example
        sides = sides_in_words(question.decide(example))
        yield f"refuted   {point_in_words(question.pipelines, example)}     {sides}".rstrip()
        for name, knobs in _regimes(verdict).items():
            yield f"          {name} = {in_flow_style(knobs)}"
        return
    if verdict.status == "undecided":
        yield f"undecided {verdict.reason}"
        return
    yield f"proved    for {verdict.bounds}: {verdict.method} ({counted(len(verdict.lemmas), 'lemma')}, z3)"
    yield f"          assuming {', '.join(verdict.assumptions)}"
    if verdict.reason:
        yield f"          {verdict.reason}"


def _as_data(verdict: Verdict) -> dict[str, Any]:
    """In plain JSON types; exact numbers are integers, or text such as 1/2."""
    from hpsim.conjecture.counterexample import as_data

    data: dict[str, Any] = {
        "verdict": verdict.status,
        "statement": verdict.statement,
        "assumptions": list(verdict.assumptions),
        "seconds": round(verdict.seconds, 3),
    }
    if verdict.status == "proved":
        data |= {"bounds": verdict.bounds, "stages": verdict.stages, "microbatches": verdict.microbatches}
        data |= {"method": verdict.method, "lemmas": [lemma.name for lemma in verdict.lemmas]}
    if verdict.reason:
        data["reason"] = verdict.reason
    if verdict.counterexample is not None:
        data |= as_data(verdict.counterexample)
    return data


def _regimes(verdict: Verdict) -> dict[str, Any]:
    from hpsim.conjecture.counterexample import as_data

    assert verdict.counterexample is not None
    regimes: dict[str, Any] = as_data(verdict.counterexample).get("given", {}).get("regimes", {})
    return regimes


def _export(verdict: Verdict, path: Path) -> None:
    from hpsim.conjecture.prove.verdict import lemmas_as_smt

    if not verdict.lemmas:
        click.echo(f"note: no lemmas, so {path} is not written", err=True)
        return
    try:
        path.write_text(lemmas_as_smt(verdict), encoding="utf-8")
    except OSError as error:
        raise HpsimError(f"--smt {path}", error.strerror or str(error), "a file that can be written") from None
