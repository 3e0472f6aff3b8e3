"""``hpsim`` as a process of its own, to be stopped, killed and starved, and what it must leave behind."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import children
import pyarrow.parquet as pq
import pytest
from fake_runs import content

import hpsim

PACKAGE = Path(hpsim.__file__).resolve().parent
RUN = """
import os
from hpsim.cli import main
if "READY" in os.environ:
    os.close(os.open(os.environ["READY"], os.O_CREAT))
main()
"""
HPSIM = [sys.executable, "-P", "-c", RUN]  # -P: the installed package, not what lies in the current folder

compiled_only = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="these processes are about compiled code, and slow without"
)


@dataclass(frozen=True)
class Sweep:
    """A sweep as given on the command line, and where its compiled code is kept."""

    arguments: tuple[str, ...]
    environment: dict[str, str]

    def elsewhere(self, environment: dict[str, str]) -> Sweep:
        """The same sweep with other variables."""
        return Sweep(self.arguments, environment)

    def command(self, out: Path, *more: str) -> list[str]:
        """``hpsim sweep run`` of it in the folder ``out``."""
        return [*HPSIM, "sweep", "run", *self.arguments, "--out", str(out), *more]

    def start(self, out: Path, *more: str) -> children.Child:
        """Run it in the background."""
        return children.start(self.command(out, *more), env=self.environment)

    def run(self, out: Path, *more: str) -> children.Ended:
        """Run it to its end."""
        return run(self.command(out, *more), self.environment)


@dataclass(frozen=True)
class Undisturbed:
    """A sweep that has run from start to end without a fault: every other run of it must end with these bytes."""

    sweep: Sweep
    folder: Path
    content: dict[str, bytes]
    code: int

    @property
    def parts(self) -> int:
        """How many parts it has."""
        return sum(name.startswith("_parts/") for name in self.content)

    def elsewhere(self, environment: dict[str, str]) -> Undisturbed:
        """The same, for processes with other variables."""
        return replace(self, sweep=self.sweep.elsewhere(environment))

    def ends_alike(self, out: Path, *more: str) -> children.Ended:
        """Run the same sweep in ``out``, whatever is there, and compare every byte; returns how it went."""
        again = self.sweep.run(out, *more)
        assert again.returncode == self.code, again.stderr
        assert content(out) == self.content
        return again


def undisturbed(folder: Path, environment: dict[str, str], *arguments: str, code: int = 0) -> Undisturbed:
    """Run a sweep without any fault; ``code`` is its exit code."""
    sweep = Sweep(arguments, environment)
    first = sweep.run(folder)
    assert first.returncode == code, first.stderr
    return Undisturbed(sweep, folder, content(folder), code)


def environment(code: Path | None, package: Path = PACKAGE, **more: str) -> dict[str, str]:
    """The variables for a process that keeps compiled code in ``code`` and imports hpsim from ``package``."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    path = os.pathsep.join([str(package.parent), os.environ.get("PYTHONPATH", "")])
    kept = {} if code is None else {"NUMBA_CACHE_DIR": str(code)}
    return {**inherited, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **kept, **more}


def run(command: list[str], environment: dict[str, str], folder: Path | None = None) -> children.Ended:
    """Run a command to its end."""
    return children.run(command, env=environment, cwd=folder)


def records(out: Path) -> int:
    """How many parts have a record."""
    return len(list((out / "_parts").glob("[0-9]*.json")))


def wait_for_records(out: Path, process: children.Child, count: int) -> None:
    """Wait until this process has written a part and so many have a record."""
    count = max(count, records(out) + 1)
    children.wait_until(process, lambda: records(out) >= count)


def end(process: children.Child) -> tuple[int, str, str]:
    """Exit code as a shell tells it, stdout and stderr."""
    ended = children.finish(process)
    code = ended.returncode
    return (code if code >= 0 else 128 - code), ended.stdout, ended.stderr


def every_part_opens(out: Path) -> int:
    """Open every Parquet file of a run folder; returns how many there are."""
    parts = list(out.glob("*/*.parquet"))
    for part in parts:
        pq.read_metadata(part)
    return len(parts)


def warnings_in(stderr: str) -> list[str]:
    """The lines that warn; nothing else of a fault may be seen, and no traceback."""
    assert "Traceback" not in stderr, stderr
    return [line for line in stderr.splitlines() if "arning" in line]


@cache
def namespace() -> list[str] | None:
    """The start of a command that may mount, for itself alone; None where nobody lets us."""
    for command in (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"]):
        if _works([*command, "sh", "-c", "mount -t tmpfs none /tmp"]):
            return command
    return None


@cache
def ordinary_user() -> list[str] | None:
    """The start of a command that runs as an ordinary user unknown to the system; None where nobody lets us.

    The files of the caller remain its own, but the permission bits bind it even when the caller is root.
    """
    command = ["unshare", "--user", "--map-user=54321", "--map-group=54321"]
    return command if _works([*command, "true"]) else None


def _works(command: list[str]) -> bool:
    try:
        return children.run(command).returncode == 0
    except FileNotFoundError:  # no unshare on this system
        return False
