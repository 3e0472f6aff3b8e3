"""Compiled code that another user can have written is not run, and none is kept where another user could change it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from faults.planted import plant
from hpsim.kernels import _trust
from hpsim.kernels._code_files import CodeFiles
from hpsim.kernels._trust import NotOursError

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no owners and modes")
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")

SOMEBODY = 54321


def files_in(*folders: Path) -> CodeFiles:
    return CodeFiles(folders, "module.function-1.py311", "source")


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def planted(tmp_path: Path) -> tuple[Path, Path]:
    """A planted file in ``tmp_path/parent/folder``, ours so far, and what it would make when it is run."""
    folder, marker = tmp_path / "parent" / "folder", tmp_path / "marker"
    files_in(folder).save("key", "code")
    (file,) = folder.iterdir()
    plant(file, marker)
    _trust.check_folder.cache_clear()  # another process comes
    return file, marker


def test_the_payload_is_real(planted: tuple[Path, Path]) -> None:
    """Unless something says that it is not ours, what was planted is run: in the tests below it would be, too."""
    file, marker = planted
    files_in(file.parent).load("key")
    assert marker.exists()


def another_owner_of_the_file(file: Path) -> None:
    os.chown(file, SOMEBODY, SOMEBODY)


def another_owner_of_the_folder(file: Path) -> None:
    os.chown(file.parent, SOMEBODY, SOMEBODY)


def another_owner_of_the_parent(file: Path) -> None:
    os.chown(file.parent.parent, SOMEBODY, SOMEBODY)


def file_open_to_the_group(file: Path) -> None:
    file.chmod(0o664)


def file_open_to_all(file: Path) -> None:
    file.chmod(0o646)


def folder_open_to_the_group(file: Path) -> None:
    file.parent.chmod(0o775)


def folder_open_to_all(file: Path) -> None:
    file.parent.chmod(0o757)


def sticky_folder(file: Path) -> None:
    file.parent.chmod(0o1777)


def parent_open_to_all(file: Path) -> None:
    file.parent.parent.chmod(0o777)


def link_in_place_of_the_file(file: Path) -> None:
    real = file.rename(file.parent.parent / file.name)
    file.symlink_to(real)


def link_of_somebody_in_place_of_the_folder(file: Path) -> None:
    link_in_place_of_the_folder(file)
    os.chown(file.parent, SOMEBODY, SOMEBODY, follow_symlinks=False)


def link_in_place_of_the_folder_by_way_of_an_open_one(file: Path) -> None:
    """The first link is ours, the second lies where others can exchange it."""
    real, way = file.parent.parent / "real", file.parent.parent / "open"
    file.parent.rename(real)
    way.mkdir()
    (way / "link").symlink_to(real)
    file.parent.symlink_to(way / "link")
    way.chmod(0o777)


def link_to_a_sticky_folder(file: Path) -> None:
    link_in_place_of_the_folder(file)
    file.parent.chmod(0o1777)


def link_in_place_of_the_folder(file: Path) -> None:
    real = file.parent.rename(file.parent.parent / "real")
    file.parent.symlink_to(real)


def pipe_in_place_of_the_file(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param(another_owner_of_the_file, r"folder/module\S+ belongs to another user", marks=as_root),
        pytest.param(another_owner_of_the_folder, "folder belongs to another user", marks=as_root),
        pytest.param(another_owner_of_the_parent, "parent belongs to another user", marks=as_root),
        pytest.param(link_of_somebody_in_place_of_the_folder, "folder belongs to another user", marks=as_root),
        (file_open_to_the_group, r"other users may write to \S+\.nbc"),
        (file_open_to_all, r"other users may write to \S+\.nbc"),
        (folder_open_to_the_group, r"other users may write to \S+folder$"),
        (folder_open_to_all, r"other users may write to \S+folder$"),
        (sticky_folder, r"other users may write to \S+folder$"),
        (link_to_a_sticky_folder, r"other users may write to \S+folder$"),
        (parent_open_to_all, r"other users may write to \S+parent$"),
        (link_in_place_of_the_folder_by_way_of_an_open_one, r"other users may write to \S+open$"),
        (link_in_place_of_the_file, r"\.nbc"),
        (pipe_in_place_of_the_file, "is not a file"),
    ],
)
def test_what_another_user_can_have_written_is_not_run(
    planted: tuple[Path, Path], change: Callable[[Path], None], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file, its folder, a parent or a link that is not ours alone: refused, and the payload does not run."""
    monkeypatch.setattr(_trust, "_alone_in", lambda group, owner: False)
    file, marker = planted
    change(file)
    with pytest.raises(OSError, match=told):
        files_in(file.parent).load("key")
    assert not marker.exists()


def sticky_parent(file: Path) -> None:
    file.parent.parent.chmod(0o1777)


def read_only_folder(file: Path) -> None:
    file.parent.chmod(0o555)


@pytest.mark.parametrize("change", [sticky_parent, link_in_place_of_the_folder, read_only_folder])
def test_what_only_this_user_can_have_written_is_used(tmp_path: Path, change: Callable[[Path], None]) -> None:
    """In a sticky folder as ``/tmp`` nobody can exchange ours; links of our own and closed folders are usual."""
    folder = tmp_path / "parent" / "folder"
    files_in(folder).save("key", "code")
    _trust.check_folder.cache_clear()
    change(next(folder.iterdir()))
    assert files_in(folder).load("key") == "code"


def test_another_folder_is_looked_in_too(planted: tuple[Path, Path], tmp_path: Path) -> None:
    """What is refused in the first folder does not hide sound code in the second."""
    file, marker = planted
    file.parent.chmod(0o777)
    files_in(tmp_path / "second").save("key", "sound")
    assert files_in(file.parent, tmp_path / "second").load("key") == "sound"
    assert not marker.exists()


def test_behind_the_folder_that_is_written_nothing_is_looked_for(tmp_path: Path) -> None:
    """Who names an empty folder starts from nothing, whatever other folders hold."""
    files_in(tmp_path / "second").save("key", "sound")
    assert files_in(tmp_path / "first", tmp_path / "second").load("key") is None


@as_root
def test_what_root_compiled_serves_all_but_not_the_other_way_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ordinary user reads root's files; root, and a third user, do not read that user's."""
    files_in(tmp_path / "roots").save("key", "of root")
    files_in(tmp_path / "theirs").save("key", "of somebody")
    for path in (tmp_path / "theirs", *(tmp_path / "theirs").iterdir()):
        os.chown(path, SOMEBODY, SOMEBODY)
    folders = {"of root": tmp_path / "roots", "of somebody": tmp_path / "theirs"}
    for user, readable in {SOMEBODY: {"of root", "of somebody"}, SOMEBODY + 1: {"of root"}, 0: {"of root"}}.items():
        _trust.check_folder.cache_clear()
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        for code, folder in folders.items():
            if code in readable:
                assert files_in(folder).load("key") == code
            else:
                with pytest.raises(NotOursError, match="belongs to another user"):
                    files_in(folder).load("key")


@pytest.mark.parametrize(
    ("owner", "group_name", "members", "access_list", "private"),
    [
        (1000, "ada", [], False, True),
        (1000, "ada", ["ada"], False, True),
        (1000, "ada", ["bob"], False, False),
        (1000, "users", [], False, False),
        (1000, "ada", [], True, False),
        (0, "ada", [], False, False),
    ],
)
def test_the_group_of_one_user_alone(
    tmp_path: Path,
    owner: int,
    group_name: str,
    members: list[str],
    access_list: bool,
    private: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With umask 002 all is open to the user's own group: fine when nobody else is in it, or named in a list."""
    grp, pwd = pytest.importorskip("grp"), pytest.importorskip("pwd")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(pwd, "getpwuid", lambda user: SimpleNamespace(pw_name="ada", pw_gid=1000))
    monkeypatch.setattr(grp, "getgrgid", lambda group: SimpleNamespace(gr_name=group_name, gr_mem=members))
    monkeypatch.setattr(os, "listxattr", lambda path: ["system.posix_acl_access"] * access_list, raising=False)
    found = SimpleNamespace(st_mode=stat.S_IFDIR | 0o775, st_uid=owner, st_gid=1000)
    _trust._alone_in.cache_clear()
    try:
        assert _trust._others_may_write(tmp_path, found) is not private  # type: ignore[arg-type]
    finally:
        _trust._alone_in.cache_clear()


@pytest.mark.parametrize("umask", [0, 0o002, 0o022, 0o077])
def test_what_is_made_is_closed_to_others(tmp_path: Path, umask: int) -> None:
    """Whatever the umask, others can write to no file or folder of ours; and what was saved comes back."""
    os.umask(umask)
    files = files_in(tmp_path / "missing" / "folders")
    files.save("key", "code")
    made = sorted((tmp_path / "missing").rglob("*"))
    assert len(made) == 2
    for path in (tmp_path / "missing", *made):
        assert stat.S_IMODE(path.stat().st_mode) == (0o644 if path.is_file() else 0o755) & ~umask
    assert files.load("key") == "code"


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o757])
def test_nothing_is_kept_in_a_folder_open_to_others(tmp_path: Path, mode: int) -> None:
    """The next folder is taken, the open one stays empty, and why is known."""
    shared, own = tmp_path / "shared", tmp_path / "own"
    shared.mkdir()
    shared.chmod(mode)
    files = files_in(shared, own)
    files.save("key", "code")
    assert (files.folder, [*shared.iterdir()], len([*own.iterdir()])) == (own, [], 1)
    assert str(files.refused[shared]) == f"other users may write to {shared}"


def test_no_folder_is_made_where_others_could_exchange_it(tmp_path: Path) -> None:
    """A missing folder in one that is open without the sticky bit is not made; with it, it is."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(NotOursError, match=f"other users may write to {shared}"):
        _trust.make_folder(shared / "missing" / "folder")
    assert not [*shared.iterdir()]
    shared.chmod(0o1777)
    _trust.make_folder(shared / "missing" / "folder")
    assert (shared / "missing" / "folder").is_dir()


def test_a_system_without_owners(planted: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows modes say nothing: a folder that seems open is read and written as any other."""
    monkeypatch.setattr(_trust, "_HAS_OWNERS", False)
    file, _ = planted
    file.parent.chmod(0o777)
    files = files_in(file.parent)
    files.save("key", "code")
    assert files.load("key") == "code"


def test_the_way_to_a_folder_is_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred files of one folder: its parents are examined for the first alone."""
    files = files_in(tmp_path / "folder")
    for key in range(100):
        files.save(key, key)
    _trust.check_folder.cache_clear()
    steps: list[Path] = []
    way = _trust._way
    monkeypatch.setattr(_trust, "_way", lambda path: (steps.append(path), way(path))[1])
    assert [files.load(key) for key in range(100)] == list(range(100))
    assert steps == [tmp_path / "folder"]
