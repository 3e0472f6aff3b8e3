"""The files of compiled code, one by one: what was not written as it is read does not count."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hpsim.kernels import _jit
from hpsim.kernels._code_files import CodeFiles
from hpsim.kernels._jit import KeptCodeWarning


def cut_off(written: bytes) -> bytes:
    return written[:-1]


def empty(written: bytes) -> bytes:
    return b""


def alter_first_bit(written: bytes) -> bytes:
    return bytes([written[0] ^ 1]) + written[1:]


def alter_last_bit(written: bytes) -> bytes:
    return written[:-1] + bytes([written[-1] ^ 0x80])


def put_garbage(written: bytes) -> bytes:
    return b"garbage" * 100


@pytest.fixture
def files(tmp_path: Path) -> CodeFiles:
    """A folder with the code of one function for two signatures."""
    files = CodeFiles((tmp_path,), "module.function-1.py311", ("source", "0.60"))
    files.save("three stages", {"code": b"3" * 1000})
    files.save("four stages", {"code": b"4" * 1000})
    return files


def test_what_was_saved_comes_back(files: CodeFiles) -> None:
    """Each key has its own data, and a key never saved has none."""
    assert files.load("three stages") == {"code": b"3" * 1000}
    assert files.load("four stages") == {"code": b"4" * 1000}
    assert files.load("five stages") is None
    files.save("three stages", "other")
    assert files.load("three stages") == "other"


def test_code_of_other_origin_is_not_ours(files: CodeFiles) -> None:
    """After a change of the source or of Numba nothing is found, and both sets stay side by side."""
    changed = CodeFiles(files.folders, files.function, ("source", "0.61"))
    assert changed.load("three stages") is None
    changed.save("three stages", "new")
    assert files.load("three stages") == {"code": b"3" * 1000}
    assert changed.load("three stages") == "new"


@pytest.mark.parametrize("damage", [cut_off, empty, alter_first_bit, alter_last_bit, put_garbage])
def test_damage_is_noticed(files: CodeFiles, damage: Callable[[bytes], bytes]) -> None:
    """A file that is not as it was written is refused, whichever byte differs, and can be written again."""
    for file in files.folders[0].iterdir():
        file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(ValueError, match="is damaged"):
        files.load("three stages")
    files.save("three stages", "again")
    assert files.load("three stages") == "again"


def test_sound_code_under_another_name_is_noticed(files: CodeFiles) -> None:
    """The files of two signatures exchanged, as two processes could with a shared index, are both refused."""
    one, other = files.folders[0].iterdir()
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    for key in ("three stages", "four stages"):
        with pytest.raises(ValueError, match="is damaged"):
            files.load(key)


def test_a_failed_write_leaves_what_was_there(files: CodeFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the new file cannot take its place, the old one stays and nothing half-written is left."""
    before = {file.name: file.read_bytes() for file in files.folders[0].iterdir()}

    def refuse(path: Path, target: Path) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="No space left"):
        files.save("three stages", "other")
    assert {file.name: file.read_bytes() for file in files.folders[0].iterdir()} == before


def test_all_trouble_is_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading and writing fail for two functions: neither raises, and only the first trouble is told."""
    monkeypatch.setattr(_jit, "_warned", False)

    class Context:
        def refresh(self) -> None:
            raise MemoryError("strange bytes")

    first, second = _jit._KeptCode(cut_off), _jit._KeptCode(empty)

    def use() -> list[object]:
        return [first.load_overload((), Context()), second.load_overload((), Context()), first.save_overload((), None)]

    with pytest.warns(KeptCodeWarning, match=r"cannot be used and is made anew \(strange bytes\)") as told:
        assert use() == [None, None, None]
    assert len(told) == 1
