"""What a shell completes an argument with: files, the names of shipped ones, and the ids of claims.

Every press of the tabulator starts a process, so that nothing here loads more than it must.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

import hpsim

if TYPE_CHECKING:
    from hpsim.sweep.file.yaml_file import Kind


def files(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files and folders, as the shell itself completes them."""
    return [CompletionItem(incomplete, type="file")]


def folders(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Folders, as the shell itself completes them."""
    return [CompletionItem(incomplete, type="dir")]


def sweep_files(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Sweep files, by path or by the name of a shipped one."""
    return _named(_shipped("sweeps"), context, parameter, incomplete)


def pipelines_files(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Pipelines files, by path or by the name of a shipped one."""
    return _named(_shipped("configs"), context, parameter, incomplete)


def counterexamples(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Saved counterexamples, by path, or by the name of a shipped one or the id of a claim."""
    return _named([*_shipped("configs/counterexamples"), *_claim_ids()], context, parameter, incomplete)


def claim_ids(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Ids of the claims that come with hpsim."""
    return [name for name in _claim_ids() if name.startswith(incomplete)]


def _named(
    names: list[str], context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The names that begin so, with the YAML files of this folder beside them; where there is none, any file.

    Not any file in either case, because bash drops the names where it looks for files.
    """
    beginning = [name for name in dict.fromkeys(names) if name.startswith(incomplete)]
    if not beginning:
        return files(context, parameter, incomplete)
    here = sorted(path.name for path in Path().glob("*.yaml") if path.name.startswith(incomplete))
    return [CompletionItem(name) for name in (*beginning, *here)]


def _shipped(kind: Kind) -> list[str]:
    from hpsim.sweep.file.yaml_file import shipped

    return list(shipped(kind))


def _claim_ids() -> list[str]:
    """Found in the text of the catalogue, which takes much longer to read as what it means."""
    catalogue = Path(hpsim.__file__).with_name("claims") / "paper.yaml"
    return re.findall(r"^ *- id: (\S+)$", catalogue.read_text(encoding="utf-8"), re.MULTILINE)
