"""``hpsim sweep``: run sweep files and look at what they mean."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from hpsim.cli import LazyGroup
from hpsim.cli.announce import announce_compilation
from hpsim.cli.completion import sweep_files
from hpsim.cli.options import WHOLE
from hpsim.cli.words import counted
from hpsim.errors import SweepFileError, printable

if TYPE_CHECKING:
    from hpsim.sweep.estimate import Estimate

_PIPED_WIDTH = 200  # a pipe has no width; nothing here should wrap

settings_option = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override a key of the file; repeatable."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(
    cls=LazyGroup,
    commands_at={
        "run": ("hpsim.cli.sweep_run:run", "Run a sweep into a run folder, or resume it."),
        "show": ("hpsim.cli.sweep:show", "The sweep with all defaults filled in, and its size."),
        "config": ("hpsim.cli.sweep:config", "One configuration of a sweep."),
        "list": ("hpsim.cli.sweep:list_shipped", "The sweeps that come with hpsim."),
        "schema": ("hpsim.cli.sweep:schema", "The JSON Schema of sweep files, for editors."),
    },
)
def sweep() -> None:
    """Run and inspect YAML sweeps."""


@click.command()
@click.argument("file", shell_complete=sweep_files)
@settings_option
@json_option
def show(file: str, settings: tuple[str, ...], as_json: bool) -> None:
    """Show what the sweep FILE (a path, or the name of a shipped sweep) means, without running it.

    The output is itself a sweep file: the resolved form, with the size of the run in comments.
    """
    from hpsim.sweep.estimate import estimate
    from hpsim.sweep.file.yaml_file import dump
    from hpsim.sweep.spec import load_sweep

    loaded = load_sweep(file, settings)
    size, notes = estimate(loaded), loaded.rounding()
    if as_json:
        click.echo(json.dumps({"sweep": loaded.resolved(), "size": vars(size), "notes": notes}, indent=2))
        return
    click.echo(dump(loaded.resolved()), nl=False)
    about = "about " if loaded.source == "sampled" else ""
    for line in (*_size_lines(size, about), *(f"note: {note}" for note in notes)):
        click.echo(f"# {printable(line)}")


@click.command(name="list")
@json_option
def list_shipped(as_json: bool) -> None:
    """List the sweeps that come with hpsim: `hpsim sweep run NAME` runs one of them, from anywhere."""
    from hpsim.sweep.file.yaml_file import shipped
    from hpsim.sweep.spec import load_sweep

    listed = []
    for name, path in shipped("sweeps").items():
        loaded = load_sweep(path)
        about = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("#").strip()
        listed.append({"name": name, "configs": loaded.n_configs, "points": loaded.n_points, "about": about})
    click.echo(json.dumps(listed, indent=2) if as_json else _list_page(listed))


def _list_page(listed: list[dict[str, Any]]) -> str:
    from rich import box
    from rich.table import Table

    from hpsim.cli.page import page_console, page_text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("configurations", justify="right", no_wrap=True)
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("what it is")
    for row in listed:
        table.add_row(row["name"], f"{row['configs']:,}", f"{row['points']:,}", row["about"])
    console = page_console(_PIPED_WIDTH)
    with console.capture() as capture:
        console.print(table)
    return page_text(capture).lstrip("\n")


@click.command()
def schema() -> None:
    """Print the JSON Schema of sweep files."""
    from hpsim.sweep.json_schema import sweep_json_schema

    click.echo(json.dumps(sweep_json_schema(), indent=2, ensure_ascii=False))


@click.command()
@click.argument("file", shell_complete=sweep_files)
@click.option("--id", "number", type=WHOLE, required=True, metavar="N", help="Number of the configuration, from 0.")
@settings_option
@json_option
def config(file: str, number: int, settings: tuple[str, ...], as_json: bool) -> None:
    """Print configuration N of the sweep FILE, regenerated alone."""
    from hpsim.sweep.spec import load_sweep

    loaded = load_sweep(file, settings)
    if not 0 <= number < loaded.n_configs:
        raise SweepFileError("--id", f"{number}", f"configurations of this sweep are 0 to {loaded.n_configs - 1}")
    from hpsim.sweep.knobs import drawn_for
    from hpsim.sweep.sample import configuration

    announce_compilation()
    values = configuration(loaded, number)
    drawn = drawn_for(loaded, number)
    if drawn:
        values["knobs"] = drawn
    if loaded.pipelines is not None:
        values = {"config_id": number, "name": loaded.pipelines[number].name} | values
    click.echo(json.dumps(values) if as_json else _aligned(values))


def _size_lines(size: Estimate, about: str) -> list[str]:
    return [
        f"{counted(size.configs, 'configuration')} in {counted(size.chunks, 'chunk')}",
        f"{counted(size.points, 'point')} (configuration and number of micro-batches)",
        f"{about}{counted(size.cells, 'cell')} (micro-batch, stage and regime)",
        f"about {_bytes(size.bytes)} of Parquet" if size.bytes else "no Parquet unless a check fails",
    ]


def _bytes(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"


def _aligned(values: dict[str, Any]) -> str:
    """One line a value; what the sweep does not have, such as a share of overlap, is left out."""
    width = max(map(len, values))
    return "\n".join(f"{key:<{width}}  {printable(_text(value))}" for key, value in values.items() if value is not None)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_text(inner)}" for key, inner in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
