"""Parts that are cut off, altered or missing are noticed and made anew; a full disk loses none that is finished."""

from __future__ import annotations

import random
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import slow
from fake_runs import content

from faults.runs import Undisturbed, compiled_only, every_part_opens, namespace, records, run, warnings_in

pytestmark = compiled_only

BLOCK = 4096
PER_KIND = 8  # damaged files of each kind


def cut_off(file: Path, rng: random.Random) -> None:
    written = file.read_bytes()
    file.write_bytes(written[: rng.randrange(len(written))])


def alter_one_bit(file: Path, rng: random.Random) -> None:
    written = bytearray(file.read_bytes())
    written[rng.randrange(len(written))] ^= 1 << rng.randrange(8)
    file.write_bytes(written)


def remove(file: Path, rng: random.Random) -> None:
    file.unlink()


def inodes(folder: Path) -> dict[str, tuple[int, int]]:
    """Which file each name is, and since when: a rewritten file is another one, or has an old one's inode anew."""
    files = {path.relative_to(folder).as_posix(): path.stat() for path in folder.rglob("*") if path.is_file()}
    return {name: (stat.st_ino, stat.st_mtime_ns) for name, stat in files.items()}


@pytest.mark.parametrize("damage", [cut_off, alter_one_bit, remove])
@pytest.mark.parametrize("name", [slow("fuzz"), "violating"])
def test_damaged_files_are_made_anew(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    rng: random.Random,
    damage: Callable[[Path, random.Random], None],
    name: str,
) -> None:
    """Damage to parts, records and sweep.yaml is noticed: just those parts are computed again, byte for byte."""
    reference: Undisturbed = request.getfixturevalue(name)
    out = tmp_path / "run"
    shutil.copytree(reference.folder, out)
    kinds = [kind for kind in ("_parts", "configs", "points", "violations") if any((out / kind).glob("*"))]
    numbers = rng.sample(range(reference.parts), PER_KIND * len(kinds))
    for k, number in enumerate(numbers):
        (file,) = (out / kinds[k % len(kinds)]).glob(f"*{number:06d}.*")
        damage(file, rng)
    damage(out / "sweep.yaml", rng)
    before = inodes(out)

    again = reference.ends_alike(out)
    assert not warnings_in(again.stderr)
    written = {name for name, inode in inodes(out).items() if before.get(name) != inode} - {"run.json"}
    parts = {name for name in reference.content if any(f"{number:06d}" in name for number in numbers)}
    assert written == parts | {"sweep.yaml"}


FULL_THEN_ROOM = """
set -eu
mount -t tmpfs -o size={size} none {disk}
code=0; {command} >{told}/stdout 2>{told}/stderr || code=$?
echo $code >{told}/code
cp -r {disk}/run {told}/full
mount -o remount,size=1g {disk}
code=0; {command} >/dev/null 2>{told}/again || code=$?
cp -r {disk}/run {told}/resumed
exit $code
"""


@pytest.mark.slow
@pytest.mark.skipif(namespace() is None, reason="no small disk can be made: mounting is not allowed here")
@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9])
def test_full_disk(fuzz: Undisturbed, tmp_path: Path, share: float) -> None:
    """With room for a share of the run: one line, exit code 2, finished parts intact; with more room it resumes."""
    needed = sum(-(-len(written) // BLOCK) * BLOCK for written in fuzz.content.values())
    disk = tmp_path / "disk"
    disk.mkdir()
    script = FULL_THEN_ROOM.format(
        size=max(4 * BLOCK, int(share * needed)),
        disk=shlex.quote(str(disk)),
        told=shlex.quote(str(tmp_path)),
        command=shlex.join(fuzz.sweep.command(disk / "run")),
    )
    ended = run([*(namespace() or []), "sh", "-c", script], fuzz.sweep.environment)
    assert ended.returncode == 0, ended.stderr + (tmp_path / "again").read_text()
    told = (tmp_path / "stderr").read_text()
    assert ((tmp_path / "code").read_text(), (tmp_path / "stdout").read_text()) == ("2\n", ""), told
    assert "Traceback" not in told
    errors = [line for line in told.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, told
    assert "no room to write (No space left on device); finished parts are intact; make room" in errors[0]

    full = tmp_path / "full"
    written = content(full)
    assert written.items() <= fuzz.content.items(), "whatever is there is whole"
    assert 2 * records(full) <= every_part_opens(full) < 2 * fuzz.parts
    assert records(full) >= int(0.8 * share * fuzz.parts) - 2
    assert content(tmp_path / "resumed") == fuzz.content
