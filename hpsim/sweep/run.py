"""A sweep from start to finish: every chunk that is not finished is computed, written and recorded; totals add up."""

from __future__ import annotations

import json
import platform
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpsim.errors import HpsimError, RunFolderError, SweepFileError
from hpsim.processors import threads
from hpsim.sweep.durable import check_is_folder
from hpsim.sweep.executors import Interrupted, run_all
from hpsim.sweep.store import RunFolder
from hpsim.sweep.totals import Totals
from hpsim.vectors import in_short

if TYPE_CHECKING:
    from hpsim.sweep.spec import Sweep

VIOLATIONS_REPORTED = 5
FAILURES_REPORTED = 5
LARGEST_COUNT = 2**53  # of seconds or parts in a run.json

_version = cache(version)  # which reads a file


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes
    ----------
    parts_recorded : int
        Parts that had a record when this session started.
    parts_done, parts_failed, parts_total : int
        Parts finished by now (in this session or before), failed in this session, and in the whole sweep.
    points_done, points_computed, points_total : int
        Points of the finished parts, those of them computed in this session, and those of the whole sweep.
    """

    parts_recorded: int
    parts_done: int
    parts_failed: int
    parts_total: int
    points_done: int
    points_computed: int
    points_total: int


@dataclass(frozen=True)
class FailedChunk:
    """A chunk that raised an unexpected error: its number, its configurations, and the error with its line of code."""

    index: int
    configs: range
    error: str


@dataclass(frozen=True)
class RunReport:
    """What a run came to.

    Attributes
    ----------
    folder : Path
        The run folder.
    run : dict
        The content of its ``run.json``.
    totals : Totals
        Over all finished parts, whichever session computed them.
    wall_seconds : float
        Time spent, over all sessions that computed a part and were not killed.
    parts_skipped : int
        Parts that were finished before this session.
    parts_failed : int
        Parts that raised an unexpected error in this session; the same run again tries them again.
    failures : list of FailedChunk
        The first of them.
    violations : list of dict
        Of the first configurations that violate a claim, the first row of each of the table ``violations``.
    """

    folder: Path
    run: dict[str, Any]
    totals: Totals
    wall_seconds: float
    parts_skipped: int
    parts_failed: int
    failures: list[FailedChunk]
    violations: list[dict[str, Any]]

    def __repr__(self) -> str:
        counts = {name: getattr(self.totals, name) for name in ("configs", "points", "violations")}
        failed = f", {self.parts_failed:,} parts failed" if self.parts_failed else ""
        told = "{configs:,} configurations, {points:,} points, {violations:,} violations".format(**counts)
        return f"<RunReport: {told}{failed}, in {self.folder}>"


class RunInterrupted(KeyboardInterrupt):
    """A run that SIGINT or SIGTERM stopped in good order; the same run again resumes.

    Attributes
    ----------
    signum : int
        The signal.
    progress : Progress
        How far it came.
    """

    def __init__(self, signum: int, progress: Progress) -> None:
        super().__init__(signum, progress)
        self.signum = signum
        self.progress = progress


def run_sweep(
    sweep: Sweep | str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    set: Sequence[str] | Mapping[str, Any] = (),
    fresh: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> RunReport:
    """Run ``sweep`` in the folder ``out``, or what is left of it there; memory does not grow with the sweep.

    Parameters
    ----------
    sweep : path, name, mapping or Sweep
        A sweep file or the bare name of a shipped one, the content of such a file as plain data, or one that was read.
    out : path, optional
        The run folder (see ``results/README.md``): new, empty, or with an unfinished or finished run of the same sweep;
        by default ``results/<name of the sweep>``.
    workers : int, optional
        Threads that compute; by default as many as this process has CPUs. As many others bring to the disk what is
        computed. The result does not depend on it.
    set : sequence of ``"key=value"``, or mapping
        Keys that beat those of the file, for example ``{"configs": 100}``.
    fresh : bool
        Remove the run that is in ``out`` first, of whatever sweep.
    on_progress : callable, optional
        Called at the start and after each part, always in the calling thread.

    Raises
    ------
    HpsimError
        When ``workers`` is below 1, the sweep makes no sense (SweepFileError), or the folder cannot be used or loses
        parts while running (RunFolderError).
    RunInterrupted
        After SIGINT or SIGTERM, when the running chunks are finished.

    Examples
    --------
    >>> run_sweep("paper_fuzz", "results/small", set={"configs": 100})
    <RunReport: 100 configurations, 800 points, 0 violations, in results/small>
    """
    from hpsim.sweep.chunk import run_chunk
    from hpsim.sweep.spec import sweep_of

    n_threads = threads(workers)
    sweep = sweep_of(sweep, _settings(set))
    with RunFolder.open(folder_of(sweep, out), sweep, fresh=fresh) as folder, _on_the_disk(n_threads) as disk:

        def compute(index: int) -> _Part:
            totals = folder.finished(index)
            if totals is not None:
                return _Part(totals)
            result = run_chunk(sweep, index)
            written = folder.write(index, result.tables, result.totals)
            with written.or_nothing():  # where the run was given up meanwhile, the disk takes nothing more
                return _Part(result.totals, disk.submit(folder.commit, written))

        session = _Session(folder, fresh)
        try:
            notify = on_progress or (lambda progress: None)
            notify(session.progress())
            with closing(run_all(compute, range(sweep.n_chunks), n_threads, apart=True)) as outcomes:
                for index, outcome in outcomes:
                    try:
                        session.add(index, _committed(outcome))
                    except KeyboardInterrupt as stop:  # the second one: those who compute are not waited for
                        outcomes.throw(stop)
                    notify(session.progress())
        except Interrupted as stop:
            raise RunInterrupted(stop.signum, session.progress()) from None
        finally:
            session.end()
        return session.report()


def folder_of(sweep: Sweep, out: str | Path | None) -> Path:
    """The run folder: ``out``, or by default ``results/<name of the sweep>``.

    Raises
    ------
    RunFolderError
        When ``out`` is empty, or an address elsewhere.
    """
    if out is None:
        return Path("results") / sweep.name
    if not isinstance(out, str | Path):
        raise RunFolderError("out", in_short(out), "a folder, for example results/mine")
    if not str(out).strip():
        raise RunFolderError("out", "an empty name", "a folder, for example results/mine")
    check_is_folder(str(out))
    return Path(out)


def _settings(given: Sequence[str] | Mapping[str, Any]) -> list[str]:
    """``key=value`` for each key; values in YAML, of which JSON is a part."""
    if isinstance(given, Mapping):
        return [f"{key}={json.dumps(value, default=str)}" for key, value in given.items()]
    settings = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    if not all(isinstance(setting, str) for setting in settings):
        raise SweepFileError("set", in_short(given), 'a mapping such as {"configs": 100}, or ["configs=100"]')
    return settings


@contextmanager
def _on_the_disk(n_threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that commit parts, waited for at the end; only after a second Ctrl-C they are not."""
    disk = ThreadPoolExecutor(n_threads, "hpsim-disk")
    patient = True
    try:
        yield disk
    except KeyboardInterrupt as stop:
        patient = isinstance(stop, RunInterrupted)
        raise
    finally:
        disk.shutdown(wait=patient, cancel_futures=not patient)


@dataclass(frozen=True)
class _Part:
    """A part that was finished before, or is being committed while its thread computes the next one."""

    totals: Totals
    commit: Future[None] | None = None


def _committed(outcome: _Part | Exception) -> _Part | Exception:
    """``outcome`` once its part is on the disk, or what went wrong there."""
    try:
        if isinstance(outcome, _Part) and outcome.commit is not None:
            outcome.commit.result()
    except Exception as error:
        return error
    return outcome


@dataclass
class _Session:
    """The tally of one call of :func:`run_sweep`, and its ``run.json``."""

    folder: RunFolder
    fresh: bool
    totals: Totals = field(default_factory=Totals)
    parts_done: int = 0
    parts_skipped: int = 0
    parts_failed: int = 0
    points_computed: int = 0
    failures: list[FailedChunk] = field(default_factory=list)

    def __post_init__(self) -> None:
        earlier = {} if self.fresh else self.folder.read_run()
        self.wall_seconds = _number(earlier.get("wall_seconds"))
        totals = earlier.get("totals")
        known = totals if isinstance(totals, dict) else asdict(Totals())
        self.run = self._write("running", int(_number(earlier.get("parts_done"))), known)
        self.parts_recorded = self.folder.recorded()
        self.started = time.monotonic()

    def _write(self, status: str, parts_done: int, totals: dict[str, Any]) -> dict[str, Any]:
        packages = {name: _version(name) for name in ("numba", "numpy", "pyarrow")}
        return self.folder.write_run(
            {
                "versions": {"python": platform.python_version(), **packages},
                "name": self.folder.sweep.name,
                "status": status,
                "parts_done": parts_done,
                "parts_total": self.folder.sweep.n_chunks,
                "totals": totals,
                "wall_seconds": round(self.wall_seconds, 3),
            }
        )

    def add(self, index: int, outcome: _Part | Exception) -> None:
        if isinstance(outcome, HpsimError):  # not this chunk's fault: the folder, which all others need as well
            raise outcome
        if isinstance(outcome, Exception):
            self.parts_failed += 1
            if len(self.failures) < FAILURES_REPORTED:
                configs = self.folder.sweep.chunk_range(index)
                self.failures.append(FailedChunk(index, configs, _one_line(outcome)))
            return
        self.totals += outcome.totals
        self.parts_done += 1
        if outcome.commit is not None:
            self.points_computed += outcome.totals.points
        else:
            self.parts_skipped += 1

    def progress(self) -> Progress:
        sweep = self.folder.sweep
        return Progress(
            self.parts_recorded,
            self.parts_done,
            self.parts_failed,
            sweep.n_chunks,
            self.totals.points,
            self.points_computed,
            sweep.n_points,
        )

    def end(self) -> None:
        if self.parts_done + self.parts_failed > self.parts_skipped:
            self.wall_seconds += time.monotonic() - self.started
        if self.parts_done < self.folder.sweep.n_chunks:
            self.run = self._write("running", self.parts_done, asdict(self.totals))
            return
        there = self.folder.written()
        self.run = self._write("complete" if there == self.parts_done else "running", there, asdict(self.totals))
        if there < self.parts_done:
            vanished = f"{self.parts_done - there} of {self.parts_done} parts vanished while the sweep was running"
            raise RunFolderError(str(self.folder.path), vanished, "the same command computes them again")

    def report(self) -> RunReport:
        return RunReport(
            self.folder.path,
            self.run,
            self.totals,
            self.wall_seconds,
            self.parts_skipped,
            self.parts_failed,
            self.failures,
            self.folder.first_violations(VIOLATIONS_REPORTED) if self.totals.violations else [],
        )


def _number(value: object) -> float:
    """A number of an earlier ``run.json``, which only informs; 0 for what it cannot have been."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return 0.0
    return float(value) if 0 <= value <= LARGEST_COUNT else 0.0


def _one_line(error: Exception) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f" ({Path(frame.filename).name}:{frame.lineno})" for frame in where)
    return f"{type(error).__name__}: {error}{place}"
