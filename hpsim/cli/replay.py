"""``hpsim replay``: does a saved counterexample still refute its statement?"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from hpsim.cli.announce import announce_compilation
from hpsim.cli.completion import counterexamples
from hpsim.cli.exits import COUNTEREXAMPLE
from hpsim.cli.sweep import json_option
from hpsim.conjecture.in_words import point_in_words, sides_in_words

if TYPE_CHECKING:
    from hpsim.conjecture.replay import Replay, Verdict


@click.command()
@click.argument("file", shell_complete=counterexamples)
@json_option
def replay(file: str, as_json: bool) -> None:
    """Decide the counterexample in FILE (a path, or the name of a shipped one, or a claim's id) again.

    It is computed three ways that share no code: by the plain recurrences on exact fractions, by the compiled kernels,
    and by the closed forms where there are any.

    Exit code 0: it does not refute its statement; 1: it does, a counterexample is in hand (or the three ways disagree);
    2: wrong input.
    """
    from hpsim.conjecture.counterexample import load_counterexample
    from hpsim.conjecture.replay import replay as library

    counterexample = load_counterexample(file)
    announce_compilation()
    done = library(counterexample)
    click.echo(json.dumps(_as_data(done), indent=2) if as_json else "\n".join(_report(done)))
    for words in done.changed:
        click.echo(f"note: {words}", err=True)
    if not done.agree:
        click.echo("note: the three ways disagree, which is a mistake in hpsim; please report this file", err=True)
    if done.refutes or not done.agree:
        sys.exit(COUNTEREXAMPLE)


def _report(done: Replay) -> list[str]:
    question, example = done.counterexample.question, done.counterexample.example
    lines = [question.statement.text.strip(), point_in_words(question.pipelines, example)]
    if question.relation is not None:
        lines.append(f"A and B: {question.relation}")
    lines += [f"{verdict.by:<13} {_in_words(verdict)}" for verdict in done.verdicts]
    return [*lines, "still refuted" if done.refutes else "no longer refuted"]


def _in_words(verdict: Verdict) -> str:
    if verdict.decision is None:
        return f"cannot tell: {verdict.reason}"
    word = {True: "holds", False: "refuted", None: "undefined"}[verdict.decision.holds]
    return f"{word:<10}{sides_in_words(verdict.decision)}".rstrip()


def _as_data(done: Replay) -> dict[str, Any]:
    from hpsim import __version__
    from hpsim.conjecture.counterexample import as_data, sides

    return {
        "hpsim": __version__,
        "refutes": done.refutes,
        "agree": done.agree,
        "counterexample": as_data(done.counterexample),
        "verdicts": [
            {
                "by": verdict.by,
                "holds": None if verdict.decision is None else verdict.decision.holds,
                "decided": verdict.decision is not None,
                "reason": verdict.reason or None,
                "sides": []
                if verdict.decision is None
                else [{"side": text, "value": value} for text, value in sides(verdict.decision)],
            }
            for verdict in done.verdicts
        ],
        "changed": list(done.changed),
    }
