"""The README says what is true: its commands exist, its output is what is printed, its code runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import hpsim
from hpsim.cli import LazyGroup, cli
from hpsim.sweep.spec import load_sweep

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands(group: LazyGroup, words: tuple[str, ...] = ("hpsim",)) -> list[str]:
    found = []
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        found += commands(command, (*words, name)) if isinstance(command, LazyGroup) else [" ".join((*words, name))]
    return found


def test_every_command_is_in_the_readme() -> None:
    """A command that the README does not name would not be found."""
    assert isinstance(cli, LazyGroup)
    assert [command for command in commands(cli) if command not in README] == []


@pytest.mark.parametrize("block", blocks("console"))
def test_console_blocks_show_what_is_printed(block: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each console block is what is printed, `…` standing for left-out lines; only the wall time may differ."""
    (tmp_path / "sweeps").symlink_to(ROOT / "sweeps")
    monkeypatch.chdir(tmp_path)
    command, shown = block.split("\n", 1)
    words = shlex.split(command.removeprefix("$ "))
    assert words[0] == "hpsim"
    result = CliRunner().invoke(cli, words[1:])
    assert result.exit_code == int(shown.startswith("refuted")), result.stderr  # a counterexample is exit code 1

    def timeless(text: str) -> list[str]:
        return [re.sub(r"[0-9.]+ s →", "… s →", line).rstrip() for line in text.splitlines()]

    printed = timeless(result.stdout)
    for number, part in enumerate("\n".join(timeless(shown)).split("\n…")):
        lines = part.strip("\n").removeprefix("…\n").splitlines()
        starts = [k for k in range(len(printed)) if printed[k : k + len(lines)] == lines]
        assert starts, lines
        assert number or shown.startswith("…") or starts[0] == 0
        printed = printed[starts[0] + len(lines) :]


def test_python_blocks_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The README's Python code runs as it stands, from top to bottom."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), names)
    assert np.array_equal(names["T"], [[11, 46, 506], [7, 28, 304]])


def test_python_results_are_those_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the README shows in a comment what an expression gives, `# <…>`, that is its repr."""
    monkeypatch.chdir(tmp_path)
    shown = [
        pair for block in blocks("python") for pair in re.findall(r"^(\S.*)\n# (<.*>)$", block, flags=re.MULTILINE)
    ]
    assert len(shown) == 3
    for expression, result in shown:
        assert repr(eval(expression, {"hpsim": hpsim})) == result


@pytest.mark.parametrize("block", blocks("yaml"))
def test_yaml_blocks_are_sweeps(block: str, tmp_path: Path) -> None:
    """Each sweep file in the README loads as it stands there."""
    (tmp_path / "shown.yaml").write_text(block, encoding="utf-8")
    assert load_sweep(tmp_path / "shown.yaml").n_points > 0


def test_shipped_files_are_named() -> None:
    """Each shipped sweep is named in the README."""
    assert [path.stem for path in (ROOT / "sweeps").glob("*.yaml") if f"`{path.stem}`" not in README] == []


def test_nothing_tells_to_install_the_wrong_package() -> None:
    """The name hpsim belongs to somebody else on the package index."""
    texts = [path for pattern in ("*.md", "hpsim/**/*.py", "results/*.md") for path in ROOT.glob(pattern)]
    assert len(texts) > 30
    wrong = re.compile(r"pip install (-\S+ )*['\"]?hpsim(?!-pipelines)\b")
    assert [path.name for path in texts if wrong.search(path.read_text(encoding="utf-8"))] == []
