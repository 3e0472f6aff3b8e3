"""``hpsim sweep run``: a sweep file → a run folder and one line."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from hpsim.cli.sweep import settings_option

if TYPE_CHECKING:
    from hpsim.sweep.run import RunInterrupted, RunReport
    from hpsim.sweep.spec import Sweep

COUNTEREXAMPLE = 1
FAILED_CHUNKS = 4
# What a shell reports for a process that a signal ended.
SIGNAL_BASE = 128


@click.command()
@click.argument("file")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Run folder [default: results/<name>].")
@click.option("--workers", type=int, metavar="N", help="Threads [default: the CPUs this process may use].")
@settings_option
@click.option("--fresh", is_flag=True, help="Remove the run that is in the folder and start over.")
@click.option("--json", "as_json", is_flag=True, help="Print the content of run.json, and the folder.")
def run(
    file: str, out: Path | None, workers: int | None, settings: tuple[str, ...], fresh: bool, as_json: bool
) -> None:
    """Run the sweep FILE (a path, or the name of a shipped sweep), or resume it.

    Exit code 0: every check held; 1: a violation was found; 2: wrong input; 4: finished, but some chunks failed;
    130, 143: stopped by Ctrl-C, by SIGTERM (the same command resumes).
    """
    from hpsim.cli.progress import progress_on_stderr
    from hpsim.kernels._jit import on_first_compilation
    from hpsim.sweep.run import RunInterrupted, run_sweep
    from hpsim.sweep.spec import load_sweep

    sweep = load_sweep(file, settings)
    for sentence in sweep.rounding():
        click.echo(f"note: {sentence}", err=True)
    folder = out or Path("results") / sweep.name
    on_first_compilation(lambda: click.echo("compiling kernels; the code is kept, so this happens once", err=True))
    try:
        with progress_on_stderr(sweep.name) as show:
            report = run_sweep(sweep, folder, workers=workers, fresh=fresh, on_progress=show)
    except RunInterrupted as stop:
        click.echo(_interrupted(stop, folder), err=True)
        sys.exit(SIGNAL_BASE + stop.signum)
    except KeyboardInterrupt:
        _quit_at_once()

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
        _counted(totals.configs, "configuration"),
        _counted(totals.points, "point"),
        _counted(len(sweep.regimes), "regime"),
        _counted(totals.violations, "violation"),
        sweep.arithmetic,
    ]
    if sweep.arithmetic == "float64":
        errors = (f"{regime} {error:.1e}" for regime, error in totals.max_rel_err.items())
        words.append(f"worst relative error {', '.join(errors)}")
    words.append(f"{report.wall_seconds:,.1f} s")
    return f"{' · '.join(words)} → {report.folder}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _violations(sweep: Sweep, report: RunReport, file: str, settings: Sequence[str]) -> Iterator[str]:
    if not report.violations:
        return
    yield f"{_counted(report.totals.violations, 'violation')}; the first {len(report.violations)}:"
    for row in report.violations:
        yield f"  {_in_words(row, sweep.regimes)}"
    overrides = [word for setting in settings for word in ("--set", setting)]
    alone = ["hpsim", "sweep", "config", file, *overrides, "--id", str(report.violations[0]["config_id"])]
    yield f"one configuration alone: {shlex.join(alone)}"


def _in_words(row: dict[str, Any], regimes: Sequence[str]) -> str:
    inputs = {"M": row["M"], "tau": row["tau"], "d": row["d"]}
    if any(row["latency"]):
        inputs["latency"] = row["latency"]
    if row["rho"] is not None:
        inputs["rho"] = row["rho"]
    given = ", ".join(f"{name} = {value}" for name, value in inputs.items())
    values = "; ".join(f"T_{name} = {row[f'T_{name}']}, closed {row[f'closed_{name}']}" for name in regimes)
    return f"{row['claim']} fails at configuration {row['config_id']}, {given}: {values}"


def _failures(report: RunReport) -> Iterator[str]:
    if not report.parts_failed:
        return
    yield f"{_counted(report.parts_failed, 'chunk')} failed (the same command tries again):"
    for failure in report.failures:
        configs = failure.configs
        yield f"  chunk {failure.index}, configurations {configs.start} to {configs.stop - 1}: {failure.error}"


def _interrupted(stop: RunInterrupted, folder: Path) -> str:
    progress = stop.progress
    name = signal.Signals(stop.signum).name
    return (
        f"stopped by {name}: {progress.parts_done:,} of {progress.parts_total:,} parts are finished in {folder}; "
        "the same command resumes"
    )


def _quit_at_once() -> NoReturn:
    """End without waiting for the running chunks, which Python would do: what they leave is swept up on resume."""
    click.echo("stopped at once: finished parts are intact; the same command resumes", err=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(SIGNAL_BASE + signal.SIGINT)
