"""Compiled code on disk may be damaged, missing or impossible to keep: one warning at most, and the same result."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import sys
from pathlib import Path

import children
import pytest
from conftest import slow
from fake_runs import content

from faults.planted import plant
from faults.runs import PACKAGE, Undisturbed, compiled_only, environment, namespace, ordinary_user, run, warnings_in

pytestmark = compiled_only


def compiled_in(folder: Path) -> list[Path]:
    """The files of compiled code in ``folder`` and below."""
    return sorted(folder.rglob("*.nbc"))


def randomise(file: Path, rng: random.Random) -> None:
    file.write_bytes(rng.randbytes(file.stat().st_size))


def cut_off(file: Path, rng: random.Random) -> None:
    written = file.read_bytes()
    file.write_bytes(written[: rng.randrange(len(written))])


def alter_one_bit(file: Path, rng: random.Random) -> None:
    """Somewhere in the second half, where the machine code is: unpickled it would look sound."""
    written = bytearray(file.read_bytes())
    written[rng.randrange(len(written) // 2, len(written))] ^= 1 << rng.randrange(8)
    file.write_bytes(written)


def exchange(file: Path, rng: random.Random) -> None:
    """Sound code of another function."""
    other = rng.choice([path for path in file.parent.iterdir() if path.name != file.name])
    file.write_bytes(other.read_bytes())


DAMAGES = (randomise, cut_off, alter_one_bit, exchange)


@pytest.mark.slow
def test_damaged_code_is_compiled_again(small: Undisturbed, tmp_path: Path, rng: random.Random) -> None:
    """Every file damaged, each in its way: one warning, the right result, and the next run needs neither again."""
    code = tmp_path / "code"
    shutil.copytree(small.sweep.environment["NUMBA_CACHE_DIR"], code)
    files = compiled_in(code)
    assert len(files) >= 2 * len(DAMAGES)
    for file, damage in zip(files, itertools.cycle(DAMAGES), strict=False):
        damage(file, rng)
    reference = small.elsewhere(environment(code))

    (warning,) = warnings_in(reference.ends_alike(tmp_path / "first").stderr)
    assert warning.startswith(f"warning: compiled code on disk cannot be used and is made anew ({code}")
    again = reference.ends_alike(tmp_path / "second").stderr
    assert not warnings_in(again)
    assert "compiling" not in again


@pytest.mark.slow
def test_code_that_cannot_be_replaced(small: Undisturbed, tmp_path: Path) -> None:
    """Folders in the place of all files: neither reading nor writing works, one warning, and the right result."""
    code = tmp_path / "code"
    shutil.copytree(small.sweep.environment["NUMBA_CACHE_DIR"], code)
    for file in compiled_in(code):
        file.unlink()
        file.mkdir()
    stderr = small.elsewhere(environment(code)).ends_alike(tmp_path / "run").stderr
    assert len(warnings_in(stderr)) == 1


def installation(folder: Path, *, read_only: bool = False) -> Path:
    """Our package once more, in ``folder``, with nothing compiled; returns its folder."""
    copied = folder / "hpsim"
    shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__"))
    for data in ("sweeps", "configs"):  # beside the package in a checkout, inside it in a wheel
        if not (PACKAGE / data).is_dir():
            shutil.copytree(PACKAGE.parent / data, copied / data)
    if read_only:
        allow_writing(copied, allowed=False)
    return copied


def allow_writing(folder: Path, *, allowed: bool) -> None:
    for path in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        path.chmod(0o700 if allowed else 0o500)


def place(tmp_path: Path, fault: str) -> tuple[dict[str, str], Path | None]:
    """Variables for a process that has this trouble with places for compiled code, and where it should end up."""
    home, code = tmp_path / "home", tmp_path / "code"
    home.mkdir()
    (tmp_path / "file").write_text("")
    read_only = fault.startswith("read-only installation")
    package = installation(tmp_path / "installed", read_only=read_only)
    at_home = {"HOME": str(home), "XDG_CACHE_HOME": str(home)}
    nowhere = {"HOME": str(tmp_path / "file"), "XDG_CACHE_HOME": str(tmp_path / "file")}
    variables, expected = {
        "missing folder": (environment(code / "deep" / "er", package), code),
        "file for a folder": (environment(tmp_path / "file", package), package),
        "read-only folder": (environment(code, package), package),
        "no variables": (environment(None, package), package),
        "installation open to others": (environment(None, package, **at_home), home),
        "read-only installation": (environment(None, package, **at_home), home),
        "read-only installation, no home": (environment(None, package, **nowhere), None),
        "read-only installation, unknown user": (environment(None, package), None),
    }[fault]
    if fault in ("no variables", "read-only installation, unknown user"):
        variables = {name: value for name, value in variables.items() if name not in ("HOME", "XDG_CACHE_HOME")}
    if fault == "read-only folder":
        code.mkdir(mode=0o500)
    if fault == "installation open to others":
        (package / "kernels").chmod(0o757)
    return variables, expected


@pytest.mark.skipif(os.geteuid() == 0 and ordinary_user() is None, reason="nothing is read-only for root")
@pytest.mark.parametrize(
    "fault",
    [
        slow("missing folder"),
        slow("file for a folder"),
        slow("read-only folder"),
        slow("no variables"),
        slow("installation open to others"),
        slow("read-only installation"),
        "read-only installation, no home",
        slow("read-only installation, unknown user"),
    ],
)
def test_no_usual_place_for_compiled_code(tmp_path: Path, fault: str) -> None:
    """Code goes to the next best place, or with one warning to none; the result is right, the current folder clean."""
    if fault.endswith("unknown user") and ordinary_user() is None:
        pytest.skip("no user unknown to the system can be made here")
    variables, expected = place(tmp_path, fault)
    current = tmp_path / "current"
    current.mkdir()
    ended = run([*(ordinary_user() or []), sys.executable, "-P", "-c", SIMULATE, "3"], variables, current)
    allow_writing(tmp_path, allowed=True)
    assert (ended.returncode, ended.stdout) == (0, right(3)[0]), ended.stderr
    assert not list(current.iterdir())
    warnings = warnings_in(ended.stderr)
    if expected is None:
        (warning,) = warnings
        assert warning.endswith(
            "Warning: compiled code is not kept: no folder for it can be written; NUMBA_CACHE_DIR may name "
            "a folder of your own"
        )
        assert compiled_in(tmp_path) == []
    else:
        assert not warnings
        assert compiled_in(expected) == compiled_in(tmp_path) != []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("owner", "runs"),
    [
        (None, True),
        pytest.param(
            54321,
            False,
            marks=pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can give files away"),
        ),
    ],
)
def test_code_planted_by_another_user_is_not_run(
    small: Undisturbed, tmp_path: Path, owner: int | None, runs: bool
) -> None:
    """Sealed as ours is, it would run (and does when it is our own): of another user, it is compiled anew, once."""
    code, marker = tmp_path / "code", tmp_path / "marker"
    shutil.copytree(small.sweep.environment["NUMBA_CACHE_DIR"], code)
    for file in compiled_in(code):
        plant(file, marker)
        if owner is not None:
            os.chown(file, owner, owner)
    reference = small.elsewhere(environment(code))
    (warning,) = warnings_in(reference.ends_alike(tmp_path / "first").stderr)
    assert marker.exists() is runs
    assert warning.endswith(" belongs to another user)") is not runs
    again = reference.ends_alike(tmp_path / "second").stderr
    assert not warnings_in(again)
    assert "compiling" not in again


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="this system has no modes")
def test_a_shared_folder_is_not_used(small: Undisturbed, tmp_path: Path) -> None:
    """NUMBA_CACHE_DIR open to all: one warning, the next best place, and from there the next run reads in silence."""
    code, package = tmp_path / "code", installation(tmp_path / "installed")
    code.mkdir()
    code.chmod(0o777)
    reference = small.elsewhere(environment(code, package))
    (warning,) = warnings_in(reference.ends_alike(tmp_path / "first").stderr)
    kept = package / "kernels" / "__pycache__"
    assert warning == (
        f"warning: compiled code is kept in {kept}: other users may write to {code}; "
        "NUMBA_CACHE_DIR may name a folder of your own"
    )
    assert not [*code.iterdir()]
    again = reference.ends_alike(tmp_path / "second").stderr
    assert not warnings_in(again)
    assert "compiling" not in again


@pytest.mark.slow
@pytest.mark.skipif(ordinary_user() is None, reason="no ordinary user can be made here")
def test_an_installation_compiled_before_it_became_read_only(small: Undisturbed, tmp_path: Path) -> None:
    """As in an image where root ran ``hpsim warmup``: a user without a home finds everything and writes nothing."""
    package, nowhere = installation(tmp_path / "installed"), tmp_path / "file"
    nowhere.write_text("")
    variables = environment(None, package, HOME=str(nowhere), XDG_CACHE_HOME=str(nowhere))
    assert run(small.sweep.command(tmp_path / "first"), variables).returncode == 0
    before = {file: file.stat().st_ino for file in compiled_in(tmp_path)}
    assert before
    allow_writing(package, allowed=False)
    ended = run([*(ordinary_user() or []), *small.sweep.command(tmp_path / "second")], variables)
    allow_writing(package, allowed=True)
    assert ended.returncode == 0, ended.stderr
    assert content(tmp_path / "second") == small.content
    assert not warnings_in(ended.stderr)
    assert "compiling" not in ended.stderr
    assert {file: file.stat().st_ino for file in compiled_in(tmp_path)} == before


@pytest.mark.slow
@pytest.mark.skipif(namespace() is None, reason="no small disk can be made: mounting is not allowed here")
def test_no_room_for_compiled_code(small: Undisturbed, tmp_path: Path) -> None:
    """A full disk under the compiled code: one warning, and the right result."""
    code = tmp_path / "code"
    code.mkdir()
    command = small.sweep.command(tmp_path / "run")
    script = 'mount -t tmpfs -o size=64k none "$0" && exec "$@"'
    ended = run([*(namespace() or []), "sh", "-c", script, str(code), *command], environment(code))
    assert ended.returncode == 0, ended.stderr
    assert content(tmp_path / "run") == small.content
    (warning,) = warnings_in(ended.stderr)
    assert warning.startswith("warning: compiled code is not kept (")
    assert "No space left on device" in warning


SIMULATE = """
import sys, hpsim
for S in map(int, sys.argv[1:]):
    print(hpsim.simulate([[s + 1 for s in range(S)]], [[0.5] * (S - 1)], M=[1, 3], regime="blocking").tolist())
"""
MAKESPANS = {3: [[7.0, 13.0]], 4: [[11.5, 19.5]], 5: [[17.0, 27.0]]}


def simulating(code: Path, *lengths: int, package: Path = PACKAGE) -> children.Child:
    """A process that needs the kernels for so many stages, compiled or found in ``code``; warnings end it."""
    command = [sys.executable, "-P", "-W", "error", "-c", SIMULATE, *map(str, lengths)]
    return children.start(command, env=environment(code, package))


def said(process: children.Child) -> tuple[str, str]:
    """What it prints until its end."""
    ended = children.finish(process)
    return ended.stdout, ended.stderr


def right(*lengths: int) -> tuple[str, str]:
    """What such a process prints."""
    return "".join(f"{MAKESPANS[S]}\n" for S in lengths), ""


FOR_ANY_S, FOR_EACH_S = 3, 2
"""Kept functions of ``simulate``: checks and packing; for each S the recurrence, and what packs for it."""


@pytest.mark.slow
def test_processes_that_compile_at_once(tmp_path: Path) -> None:
    """Two compile the same kernel and two others of the same function, all at once; afterwards each is on disk."""
    processes = {simulating(tmp_path, S): S for S in (3, 4, 5)} | {simulating(tmp_path, 3): 3}
    assert [said(process) for process in processes] == [right(S) for S in processes.values()]
    before = {file: file.stat().st_ino for file in compiled_in(tmp_path)}
    assert len(before) == FOR_ANY_S + 3 * FOR_EACH_S
    assert said(simulating(tmp_path, 3, 4, 5)) == right(3, 4, 5)
    assert {file: file.stat().st_ino for file in compiled_in(tmp_path)} == before


@pytest.mark.slow
def test_versions_side_by_side(tmp_path: Path) -> None:
    """Two installations, one of them then changed, keep code in one folder: none uses another's or loses its own."""
    code = tmp_path / "code"
    package = installation(tmp_path / "theirs")
    chain = package / "kernels" / "chain.py"
    original, times = chain.read_text(), chain.stat()

    def new_files(package: Path) -> int:
        before = len(compiled_in(code))
        assert said(simulating(code, 3, package=package)) == right(3)
        return len(compiled_in(code)) - before

    assert new_files(PACKAGE) == FOR_ANY_S + FOR_EACH_S
    assert new_files(package) == FOR_ANY_S + FOR_EACH_S, "though the sources are the same"
    chain.write_text(original + "\n")
    assert new_files(package) == FOR_ANY_S + FOR_EACH_S
    chain.write_text(original)
    os.utime(chain, ns=(times.st_atime_ns, times.st_mtime_ns))  # by which older versions of Numba go
    assert new_files(package) == 0
    assert new_files(PACKAGE) == 0
