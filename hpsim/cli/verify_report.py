"""What ``hpsim verify`` prints: the sweeps, a row a claim, and what is not as expected; or the same as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hpsim import __version__
from hpsim.cli.violations import config_command, in_words, run_command
from hpsim.cli.words import counted
from hpsim.conjecture.in_words import in_flow_style, point_in_words, sides_in_words
from hpsim.regime import NAMES

if TYPE_CHECKING:
    from rich.table import Table

    from hpsim.conjecture.claims_verify import Kept, Outcome
    from hpsim.conjecture.verify import Verdict

_WIDTH = 120  # more than the table of the sweeps ever needs, so that no number is cut short
_PIPED_WIDTH = 120  # a pipe has no width; this fits most terminals
_SOURCE_WIDTH = 30


@dataclass(frozen=True)
class Verified:
    """All that was found.

    Attributes
    ----------
    sweeps : sequence of Verdict
        Of the recurrences against the closed forms; empty where only some claims were asked for.
    kept : sequence of Kept
        The shipped counterexamples.
    claims : sequence of Outcome
        One for each claim.
    """

    sweeps: Sequence[Verdict]
    kept: Sequence[Kept]
    claims: Sequence[Outcome]

    @property
    def holds(self) -> bool:
        """Whether everything is as expected."""
        return (
            all(verdict.holds for verdict in self.sweeps)
            and all(one.as_expected for one in self.kept)
            and all(outcome.as_expected for outcome in self.claims)
        )


def as_data(verified: Verified) -> dict[str, Any]:
    """Everything in plain JSON types."""
    return {
        "hpsim": __version__,
        "holds": verified.holds,
        "verdicts": [_sweep_data(verdict) for verdict in verified.sweeps],
        "counterexamples": [{"name": one.name, "as_expected": one.as_expected} for one in verified.kept],
        "claims": [_claim_data(outcome) for outcome in verified.claims],
    }


def _sweep_data(verdict: Verdict) -> dict[str, Any]:
    return {
        "sweep": verdict.check.sweep,
        "settings": verdict.check.settings,
        "source": verdict.check.source,
        "claims": verdict.sweep.claims,
        "regimes": verdict.sweep.regime_names,
        "microbatches": verdict.sweep.microbatches,
        "arithmetic": verdict.sweep.arithmetic,
        "tolerance": verdict.sweep.tolerance,
        **vars(verdict.totals),
        "seconds": round(verdict.seconds, 3),
        "violation": verdict.violation,
        "commands": _commands(verdict),
    }


def _claim_data(outcome: Outcome) -> dict[str, Any]:
    from hpsim.conjecture.counterexample import as_data as counterexample_data

    claim, proof = outcome.claim, outcome.proof
    proved = proof is not None and proof.status == "proved"
    return {
        "id": claim.id,
        "source": claim.source,
        "statement": claim.statement,
        "expect": claim.expect,
        "as_expected": outcome.as_expected,
        "complaint": outcome.complaint or None,
        "verdict": outcome.verdict,
        "words": verdict_in_words(outcome),
        "proof": None
        if proof is None
        else {
            "verdict": proof.status,
            "bounds": proof.bounds if proved else None,
            "stages": proof.stages,
            "microbatches": proof.microbatches,
            "method": proof.method,
            "lemmas": len(proof.lemmas),
            "assumptions": proof.assumptions,
            "reason": proof.reason or None,
        },
        "points": None if outcome.search is None else outcome.points,
        "undefined": None if outcome.search is None else outcome.search.undefined,
        "undecided": None if outcome.search is None else outcome.search.doubtful,
        "counterexample": None if outcome.refutation is None else counterexample_data(outcome.refutation),
        "seconds": round(outcome.seconds, 3),
    }


def report(verified: Verified) -> Iterator[str]:
    """The lines of the page."""
    if verified.sweeps:
        yield from _sweeps(verified.sweeps)
        yield ""
    yield _drawn(_claims_table(verified.claims))
    yield ""
    yield from _claims_lines(verified)
    for one in verified.kept:
        if not one.as_expected:
            yield ""
            yield f"{one.name}: this known counterexample no longer refutes its statement; to see it again:"
            yield f"  hpsim replay {one.name}"
    for outcome in verified.claims:
        if not outcome.as_expected:
            yield ""
            yield from _complaint(outcome)


def verdict_in_words(outcome: Outcome) -> str:
    """``proved ∀S,M``, ``proved S≤6, M≤6; held on 190,000 points``, ``refuted: tau = [1, 2], d = [1], M = 2``."""
    if outcome.refutation is not None:
        question, example = outcome.refutation.question, outcome.refutation.example
        return f"refuted: {point_in_words(question.pipelines, example).replace('   ', ', ')}"
    words = []
    if outcome.proof is not None and outcome.proof.status == "proved":
        words.append(f"proved {_bounds(outcome.proof.stages, outcome.proof.microbatches)}")
    if outcome.points:
        words.append(f"held on {counted(outcome.points, 'point')}")
    return "; ".join(words) or "undecided"


def _bounds(stages: int | None, microbatches: int | None) -> str:
    if stages is None:
        return "∀S,M" if microbatches is None else f"∀S, M≤{microbatches}"
    return f"S≤{stages} ∀M" if microbatches is None else f"S≤{stages}, M≤{microbatches}"


def _claims_lines(verified: Verified) -> Iterator[str]:
    verdicts = [outcome.verdict for outcome in verified.claims]
    everywhere = [verdict_in_words(outcome) for outcome in verified.claims].count(f"proved {_bounds(None, None)}")
    counts = {
        "proved for every S and M": everywhere,
        "proved within bounds": verdicts.count("proved") - everywhere,
        "held on points": verdicts.count("held"),
        "refuted": verdicts.count("refuted"),
        "undecided": verdicts.count("undecided"),
    }
    words = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    seconds = sum(outcome.seconds for outcome in verified.claims)
    odd = sum(not outcome.as_expected for outcome in verified.claims)
    refuting = sum(one.as_expected for one in verified.kept)
    yield f"{refuting} of {counted(len(verified.kept), 'known counterexample')} refute"
    start = f"NOT AS EXPECTED, {odd} of {counted(len(verdicts), 'claim')}" if odd else "as expected"
    yield f"{start}: {counted(len(verdicts), 'claim')}, {words}; {seconds:,.1f} s"


def _complaint(outcome: Outcome) -> Iterator[str]:
    claim = outcome.claim
    yield f"{claim.id} ({claim.source}): {outcome.complaint}"
    yield f"  {claim.parsed.text.strip()}"
    yield f"  {verdict_in_words(outcome)}"
    if outcome.refutation is not None:
        from hpsim.conjecture.counterexample import as_data as counterexample_data

        sides = sides_in_words(outcome.refutation.question.decide(outcome.refutation.example))
        yield from [f"  {sides}"] if sides else []
        given = counterexample_data(outcome.refutation).get("given", {})
        yield from (f"  {name} = {in_flow_style(knobs)}" for name, knobs in given.get("regimes", {}).items())
    yield "to see more:"
    yield f"  hpsim claims {claim.id}"
    yield f"  hpsim {'prove' if outcome.verdict == 'proved' else 'search'} {claim.id}"


def _claims_table(outcomes: Sequence[Outcome]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    table.add_column("claim", no_wrap=True)
    table.add_column("source", overflow="fold", max_width=_SOURCE_WIDTH)
    table.add_column("verdict", overflow="fold")
    table.add_column("seconds", justify="right", no_wrap=True)
    for outcome in outcomes:
        style = None if outcome.as_expected else "bold red"
        mark = "" if outcome.as_expected else "   NOT AS EXPECTED"
        claim = outcome.claim
        words = f"{verdict_in_words(outcome)}{mark}"
        table.add_row(claim.id, claim.source.split(",")[0], words, f"{outcome.seconds:.2f}", style=style)
    return table


def _commands(verdict: Verdict) -> list[str]:
    """The commands that run the violated sweep again, and that print the violating configuration."""
    if verdict.violation is None:
        return []
    file, settings = verdict.check.sweep, verdict.check.settings
    return [
        run_command(file, settings, f"results/verify-{file}"),
        config_command(file, settings, verdict.violation["config_id"]),
    ]


def _sweeps(verdicts: Sequence[Verdict]) -> Iterator[str]:
    from hpsim.cli.page import page_console

    yield _drawn(_sweeps_table(verdicts), _WIDTH)
    yield ""
    width = page_console(_PIPED_WIDTH).width
    for verdict in verdicts:
        yield from textwrap.wrap(f"{verdict.check.sweep}: {verdict.check.source}", width, subsequent_indent="  ")
    yield ""
    points, violations = (sum(getattr(v.totals, count) for v in verdicts) for count in ("points", "violations"))
    seconds = sum(verdict.seconds for verdict in verdicts)
    outcome = "holds" if all(verdict.holds for verdict in verdicts) else "VIOLATED"
    yield f"{outcome}: {points:,} points, {counted(violations, 'violation')}, {seconds:,.1f} s"
    for verdict in verdicts:
        if verdict.violation is not None:
            yield ""
            yield f"{verdict.check.sweep}: {counted(verdict.totals.violations, 'violation')}; the first:"
            yield f"  {in_words(verdict.violation, verdict.sweep.regime_names)}"
            yield "to see it again:"
            yield from (f"  {command}" for command in _commands(verdict))


def _sweeps_table(verdicts: Sequence[Verdict]) -> Table:
    """One column a sweep, which fits any terminal."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    table.add_column("", no_wrap=True)
    for verdict in verdicts:
        style = None if verdict.holds else "bold red"
        table.add_column(verdict.check.sweep, justify="right", no_wrap=True, style=style)
    for row in _rows(verdicts):
        table.add_row(*row)
    return table


def _drawn(table: Table, width: int | None = None) -> str:
    from hpsim.cli.page import page_console

    console = page_console(_PIPED_WIDTH, width)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines() if line.strip())


def _rows(verdicts: Sequence[Verdict]) -> Iterator[list[str]]:
    yield ["arithmetic", *(verdict.sweep.arithmetic for verdict in verdicts)]
    for name, count in (("configurations", "configs"), ("points", "points"), ("violations", "violations")):
        yield [name, *(f"{getattr(verdict.totals, count):,}" for verdict in verdicts)]
    for regime in NAMES:
        if any(regime in verdict.sweep.regime_names for verdict in verdicts):
            yield [f"worst error, {regime}", *(_error(verdict.totals.max_rel_err.get(regime)) for verdict in verdicts)]
    yield ["seconds", *(f"{verdict.seconds:.2f}" for verdict in verdicts)]


def _error(worst: float | None) -> str:
    """The worst relative error of a regime."""
    if worst is None:
        return "-"
    return f"{worst:.1e}" if worst else "0"
