"""What holds for the options of every command: a value given twice is refused, an option has one name."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from hpsim.cli import LazyGroup, cli


def options(group: LazyGroup, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Option]]:
    """Every option with its command, the groups' commands included."""
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        if isinstance(command, LazyGroup):
            yield from options(command, (*words, name))
        else:
            yield from (((*words, name), param) for param in command.params if isinstance(param, click.Option))


assert isinstance(cli, LazyGroup)
EVERY = list(options(cli))
SINGLE = [(words, option) for words, option in EVERY if not (option.multiple or option.is_flag)]


@pytest.mark.parametrize(("words", "option"), SINGLE, ids=lambda part: getattr(part, "name", None) or " ".join(part))
def test_a_value_given_twice_is_refused(words: tuple[str, ...], option: click.Option) -> None:
    """In every command, and in both spellings, before anything else is looked at."""
    for name in option.opts:
        result = CliRunner().invoke(cli, [*words, name, "1", f"{name}=2"])
        assert str(result.exception).startswith(f"{option.opts[0]}: given 2 times; once: {option.opts[0]} ")


def test_there_are_many_of_them() -> None:
    """The test above is about dozens of options."""
    assert len(SINGLE) > 50


def test_what_may_be_repeated_still_may() -> None:
    """Options of several values, and flags, which say the same however often."""
    result = CliRunner().invoke(cli, ["sweep", "show", "hand_crafted", "--set", "name=a", "--set", "seed=2", "--json"])
    assert result.exit_code == 0
    assert CliRunner().invoke(cli, ["calc", "--tau", "1", "--json", "--json"]).exit_code == 0


def test_another_mistake_is_told_as_ever() -> None:
    """An unknown option is answered by the command itself."""
    result = CliRunner().invoke(cli, ["calc", "--M", "1", "--M", "2", "--nope"])
    assert "No such option" in result.output


def test_micro_batches_are_M_everywhere() -> None:
    """No help shows another name for their number, and the old one of ``prove`` works still."""
    shown = {name for words, option in EVERY for name in option.opts[:1] if option.name in ("M", "microbatches")}
    assert shown == {"--M"}
    assert "--microbatches" not in CliRunner().invoke(cli, ["prove", "--help"]).output
    for name in ("--M", "--microbatches"):
        result = CliRunner().invoke(cli, ["prove", "S > 0", name, "x"])
        assert "'x' is not a valid integer" in result.output
