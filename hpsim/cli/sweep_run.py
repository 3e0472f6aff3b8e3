"""``hpsim sweep run``: a sweep file → a run folder and one line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from hpsim.cli.announce import announce_compilation
from hpsim.cli.completion import folders, sweep_files
from hpsim.cli.exits import COUNTEREXAMPLE, FAILED_CHUNKS, quit_at_once, stopped_by
from hpsim.cli.memory import keep_freed_memory
from hpsim.cli.options import workers_option
from hpsim.cli.sweep import settings_option
from hpsim.cli.violations import config_command, in_words
from hpsim.cli.words import counted
from hpsim.errors import in_brief, printable

if TYPE_CHECKING:
    from pathlib import Path

    from hpsim.sweep.run import RunInterrupted, RunReport
    from hpsim.sweep.spec import Sweep


@click.command()
@click.argument("file", shell_complete=sweep_files)
@click.option("--out", metavar="DIR", shell_complete=folders, help="Run folder [default: results/<name>].")
@workers_option
@settings_option
@click.option("--fresh", is_flag=True, help="Remove the run that is in the folder and start over.")
@click.option("--json", "as_json", is_flag=True, help="Print the content of run.json, and the folder.")
def run(file: str, out: str | None, workers: int | None, settings: tuple[str, ...], fresh: bool, as_json: bool) -> None:
    """Run the sweep FILE (a path, or the name of a shipped sweep), or resume it.

    Exit code 0: every check held; 1: a violation was found; 2: wrong input; 4: finished, but some chunks failed;
    130, 143: stopped by Ctrl-C, by SIGTERM (the same command resumes).
    """
    from hpsim.cli.progress import progress_on_stderr
    from hpsim.sweep.run import RunInterrupted, folder_of, run_sweep
    from hpsim.sweep.spec import load_sweep

    sweep = load_sweep(file, settings)
    for sentence in sweep.rounding():
        click.echo(f"note: {sentence}", err=True)
    folder = folder_of(sweep, out)
    announce_compilation()
    keep_freed_memory()
    try:
        with progress_on_stderr(sweep.name) as show:
            report = run_sweep(sweep, folder, workers=workers, fresh=fresh, on_progress=show)
    except RunInterrupted as stop:
        stopped_by(stop.signum, _finished(stop, folder))
    except KeyboardInterrupt:
        quit_at_once("finished parts are intact; the same command resumes")  # what chunks leave is swept up then

    click.echo(json.dumps({**report.run, "folder": str(folder)}, indent=2) if as_json else summary(sweep, report))
    for line in (*_violations(sweep, report, file, settings), *_failures(report)):
        click.echo(line, err=True)
    if report.totals.violations:
        sys.exit(COUNTEREXAMPLE)
    if report.parts_failed:
        sys.exit(FAILED_CHUNKS)


def summary(sweep: Sweep, report: RunReport) -> str:
    """The run in one line."""
    totals = report.totals
    words = [
        counted(totals.configs, "configuration"),
        counted(totals.points, "point"),
        counted(len(sweep.regimes), "regime"),
        counted(totals.violations, "violation"),
        sweep.arithmetic,
    ]
    if totals.undefined:
        words.insert(-1, f"undefined at {counted(totals.undefined, 'point')}")
    if totals.vanished:
        words.insert(-1, f"{counted(totals.vanished, 'failure')} taken back by exact numbers")
    if sweep.arithmetic == "float64":
        errors = (f"{regime} {error:.1e}" for regime, error in totals.max_rel_err.items())
        words.append(f"worst relative error {', '.join(errors)}")
    checked = report.parts_skipped == sweep.n_chunks
    words.append("already complete, checked" if checked else f"{report.wall_seconds:,.1f} s")
    return f"{' · '.join(words)} → {printable(str(report.folder))}"


def _violations(sweep: Sweep, report: RunReport, file: str, settings: Sequence[str]) -> Iterator[str]:
    if not report.violations:
        return
    shown = len(report.violations)
    first = "the first" if shown == 1 else f"the first in each of {shown} configurations"
    yield f"{counted(report.totals.violations, 'violation')}; {first}:"
    for row in report.violations:
        yield f"  {in_words(row, sweep.regime_names)}"
    yield f"one configuration alone: {config_command(file, settings, report.violations[0]['config_id'])}"


def _failures(report: RunReport) -> Iterator[str]:
    if not report.parts_failed:
        return
    yield f"{counted(report.parts_failed, 'chunk')} failed (the same command tries again):"
    for failure in report.failures:
        configs = failure.configs
        where = f"chunk {failure.index}, configurations {configs.start} to {configs.stop - 1}"
        yield f"  {where}: {in_brief(failure.error)}"


def _finished(stop: RunInterrupted, folder: Path) -> str:
    progress = stop.progress
    done = f"{progress.parts_done:,} of {progress.parts_total:,} parts are finished in {printable(str(folder))}"
    return f"{done}; the same command resumes"
