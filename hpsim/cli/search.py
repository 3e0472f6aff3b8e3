"""``hpsim search``: a statement → a minimal counterexample, or how many points it held on."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hpsim.cli.announce import announce_compilation
from hpsim.cli.completion import files, sweep_files
from hpsim.cli.exits import COUNTEREXAMPLE, quit_at_once, stopped_by
from hpsim.cli.memory import keep_freed_memory
from hpsim.cli.options import WHOLE, workers_option
from hpsim.cli.statement_options import read_claim, statement_options
from hpsim.cli.sweep import json_option
from hpsim.cli.words import counted
from hpsim.conjecture.in_words import point_in_words, sides_in_words
from hpsim.errors import HpsimError

if TYPE_CHECKING:
    from hpsim.claims.catalogue import Claim
    from hpsim.conjecture.search_result import SearchResult


@click.command()
@statement_options
@click.option(
    "--budget", type=WHOLE, metavar="N", help="Points to look at [default: 4,000,000, or the sweep's points]."
)
@click.option("--seed", type=WHOLE, default=0, show_default=True, metavar="N", help="Seed of the random numbers.")
@click.option(
    "--sweep",
    "sweep_file",
    metavar="FILE",
    shell_complete=sweep_files,
    help="Look at the points of this sweep instead, in its regimes.",
)
@click.option("--save", metavar="FILE", shell_complete=files, help="Write the counterexample, for `hpsim replay`.")
@workers_option
@json_option
def search(
    statement: str,
    regimes: tuple[str, ...],
    relation: str | None,
    budget: int | None,
    seed: int,
    sweep_file: str | None,
    save: str | None,
    workers: int | None,
    as_json: bool,
) -> None:
    """Hunt for a counterexample to STATEMENT (in quotes, or the id of a claim), and shrink what is found.

    Points at random come first, then changes of those nearest to failing, every small system, and last the solver
    (extra `prove`) about small S and M. What is reported was decided on exact fractions. Where the simplest
    counterexample has one stage, so that no link or buffer is in it, and STATEMENT is about these, the simplest with a
    link stands below it, and is the one that is saved.

    Exit code 0: it held at every point; 1: a counterexample is in hand; 2: wrong input; 130, 143: stopped by Ctrl-C, by
    SIGTERM.
    """
    target = _writable(save)
    sweep = None
    if sweep_file is not None:
        from hpsim.sweep.spec import load_sweep

        sweep = load_sweep(sweep_file)
    claim = read_claim(statement, regimes, relation, None if sweep is None else sweep.knob_regimes)
    from hpsim.cli.search_progress import search_on_stderr
    from hpsim.conjecture.ask_solver import can_be_proved
    from hpsim.conjecture.search import search as library
    from hpsim.sweep.executors import Interrupted

    announce_compilation()
    keep_freed_memory()
    started = time.monotonic()
    try:
        with search_on_stderr() as show:
            result = library(claim, budget=budget, seed=seed, sweep=sweep, workers=workers, on_progress=show)
    except Interrupted as stop:
        stopped_by(stop.signum, "nothing is decided")
    except KeyboardInterrupt:
        quit_at_once("nothing is decided")
    seconds = time.monotonic() - started
    click.echo(json.dumps(_as_data(claim, result, seconds), indent=2) if as_json else "\n".join(_lines(result)))
    for note in _notes(result):
        click.echo(note, err=True)
    if target is not None and result.example is not None:
        result.save(target)
        if result.most_telling is not result:
            click.echo(f"note: {target} holds the simplest with a link", err=True)
    if target is not None and result.example is None:
        click.echo(f"note: there is nothing to save; {target} is not written", err=True)
    if result.example is None and result.decided and can_be_proved(result.question):
        click.echo(f"next: {_prove_command(claim)}", err=True)
    if result.refuted:
        sys.exit(COUNTEREXAMPLE)


def _prove_command(claim: Claim) -> str:
    """The command that proves the same."""
    from hpsim.claims.catalogue import catalogue
    from hpsim.conjecture.in_words import in_flow_style

    known = catalogue().get(claim.id)
    words = [claim.id if known is claim else " ".join(claim.parsed.text.split())]
    if known is not claim:
        used = set(claim.parsed.regimes)
        for name, regime in reversed(claim.given.regimes.items()):  # each is like one before it, if any
            if name in used:
                used.add(str(dict(regime.written).get("like")))
        for name, regime in claim.given.regimes.items():
            if name not in used:
                continue
            knobs = {knob: value for knob, value in regime.written if knob != "name"}
            words += ["--regime", f"{name}={in_flow_style(knobs)}"]
        if claim.given.relation is not None:
            words += ["--relation", claim.given.relation]
    return " ".join(["hpsim prove", *map(_quoted, words)])


def _quoted(word: str) -> str:
    """For a shell: in double quotes, as statements are written everywhere, where nothing in it is special there."""
    return f'"{word}"' if " " in word and not set(word) & set('!"$`\\') else shlex.quote(word)


def _writable(save: str | None) -> Path | None:
    """``--save`` as a path, refused before the search where its folder does not exist."""
    if save is None:
        return None
    path = Path(save)
    if not save.strip() or path.is_dir() or not path.parent.is_dir():
        found = "an empty name" if not save.strip() else "is a folder" if path.is_dir() else "its folder does not exist"
        raise HpsimError(f"--save {save[:60]}".strip(), found, "a file in a folder that exists, such as found.yaml")
    return path


def _lines(result: SearchResult) -> list[str]:
    """The outcome in one line; in two where the simplest counterexample lacks a link."""
    if result.example is None and not result.decided:
        return [f"nothing   is said at any of {counted(result.points, 'point')}"]
    if result.example is None:
        return [f"held      on {counted(result.decided, 'point')}{_closest(result)}"]
    how = f"found after {counted(result.points, 'point')}, shrunk from {_before(result)}"
    if result.linked is None:
        return [f"refuted   {_refutation(result)}      ({how})"]
    lines = [f"refuted   {_refutation(result)}      (simplest: {result.without_link}; {how})"]
    if result.linked.example is None:
        held = f"it held on {counted(result.linked.decided, 'point')}"
        return [*lines, f"          with a link {held if result.linked.decided else 'nothing was looked at'}"]
    how = f"simplest with a link; shrunk from {_before(result.linked)}"
    return [*lines, f"          {_refutation(result.linked)}      ({how})"]


def _refutation(result: SearchResult) -> str:
    assert result.example is not None
    point = point_in_words(result.question.pipelines, result.example)
    return f"{point}     {sides_in_words(result.question.decide(result.example))}"


def _before(result: SearchResult) -> str:
    assert result.found is not None
    return f"S={' and '.join(map(str, result.found.shape))} M={result.found.M}"


def _closest(result: SearchResult) -> str:
    if result.margin is None:
        return ""
    if abs(result.margin) < 1e-12:
        return ", with ties"
    return f", never closer to failing than {100 * result.margin:.3g} %"


def _notes(result: SearchResult) -> list[str]:
    notes = []
    if result.shown and not result.refuted:
        notes.append(f"note: the solver shows that there is none with {_small(result)}, whatever the times")
    if result.undefined:
        notes.append(f"note: undefined at {counted(result.undefined, 'point')}, which count neither way")
    if result.artefacts:
        notes.append(f"note: {counted(result.artefacts, 'point')} failed in float64 and hold on exact fractions")
    if result.doubtful:
        notes.append(f"note: {counted(result.doubtful, 'point')} within rounding of failing were not decided exactly")
    return notes


def _small(result: SearchResult) -> str:
    """``S <= 3, M <= 3``; one by one where they do not fill a rectangle."""
    most_stages, most = max(max(stages) for stages, _ in result.shown), max(M for _, M in result.shown)
    unrelated = len(result.question.pipelines) == 2 and result.question.relation is None
    if len(set(result.shown)) == most_stages ** (2 if unrelated else 1) * most:
        return f"S <= {most_stages}, M <= {most}"
    return ", ".join(f"S={' and '.join(map(str, stages))} M={M}" for stages, M in result.shown)


def _as_data(claim: Claim, result: SearchResult, seconds: float) -> dict[str, Any]:
    from hpsim import __version__

    return {"hpsim": __version__, "statement": claim.statement, "seconds": round(seconds, 3)} | _outcome(result)


def _outcome(result: SearchResult) -> dict[str, Any]:
    """The result in plain JSON types; ``with_a_link`` is another one, where the first counterexample lacks a link."""
    from hpsim.conjecture.counterexample import Counterexample, as_data, example_data

    data: dict[str, Any] = {
        "verdict": "refuted" if result.refuted else "held",
        "phase": result.phase,
        "points": result.points,
        "undefined": result.undefined,
        "rounding_artefacts": result.artefacts,
        "undecided": result.doubtful,
        "closest_margin": result.margin,
        "none_with": [{"S": list(stages), "M": M} for stages, M in result.shown],
        "counterexample": None,
        "with_a_link": None if result.linked is None else _outcome(result.linked),
    }
    if result.example is not None and result.found is not None:
        data["counterexample"] = as_data(Counterexample(result.question, result.example))
        data["found"] = example_data(result.question.pipelines, result.found)
    return data
