"""The command line: one small file per command, imported when the command is called, so that ``--help`` is instant."""

from __future__ import annotations

import importlib
import io
import sys
import warnings
from contextlib import suppress

import click
from click.shell_completion import CompletionItem

from hpsim import __version__
from hpsim.cli.exits import INTERRUPTED, OUTPUT_CLOSED, WRONG_INPUT
from hpsim.cli.streams import OutputLost, guard_streams
from hpsim.errors import HpsimError, in_brief, printable


class LazyGroup(click.Group):
    """A group whose commands are named by ``module:attribute`` and imported when first used.

    No option of theirs that has one value may be given twice: the first value would be lost.

    Parameters
    ----------
    commands_at : dict of str to (str, str)
        Command name → (``module:attribute``, the one-line help shown in the list of commands).
    """

    def __init__(self, *args: object, commands_at: dict[str, tuple[str, str]], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.commands_at = commands_at

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands_at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands_at:
            return None
        module, attribute = self.commands_at[cmd_name][0].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word[:1].isalnum() and word not in self.commands_at and not ctx.resilient_parsing:
            from difflib import get_close_matches

            close = get_close_matches(word.lower(), self.commands_at, n=1)
            ctx.fail(f"No such command {word!r}." + (f" Did you mean {close[0]!r}?" if close else ""))
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _refuse_repeated(click.Context(command, ctx, name), rest)
        return name, command, rest

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands with their help, and options; no command is imported for it."""
        listed = ((name, help_line) for name, (_, help_line) in self.commands_at.items())
        commands = [CompletionItem(name, help=words) for name, words in listed if name.startswith(incomplete)]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_line) for name, (_, help_line) in self.commands_at.items()])


def _refuse_repeated(ctx: click.Context, args: list[str]) -> None:
    """Refuse an option with one value that stands in ``args`` several times; flags say the same however often.

    Raises
    ------
    HpsimError
        Naming the first such option.
    """
    given: list[click.Parameter] = []
    with suppress(click.UsageError):  # of which the command itself will tell
        given = ctx.command.make_parser(ctx).parse_args(args=list(args))[2]
    for option in given:
        if isinstance(option, click.Option) and not (option.multiple or option.is_flag) and given.count(option) > 1:
            name = option.opts[0]
            allowed = f"once: {name} {option.make_metavar(ctx)}"
            raise HpsimError(name, f"given {given.count(option)} times", allowed)


@click.group(
    cls=LazyGroup,
    commands_at={
        "calc": ("hpsim.cli.calc:calc", "Everything about one pipeline, from flags or a file."),
        "timeline": ("hpsim.cli.timeline:timeline", "Draw when each micro-batch is where in one pipeline."),
        "sweep": ("hpsim.cli.sweep:sweep", "Run and inspect YAML sweeps."),
        "summary": ("hpsim.cli.summary:summary", "What a run adds up to: errors, phase transitions, quantiles."),
        "query": ("hpsim.cli.query:query", "Ask a run in SQL."),
        "plot": ("hpsim.cli.plot:plot", "Draw a run."),
        "claims": ("hpsim.cli.claims:claims", "What is claimed, where, and whether it holds."),
        "search": ("hpsim.cli.search:search", "Hunt for a counterexample to a statement, and shrink it."),
        "replay": ("hpsim.cli.replay:replay", "Decide a saved counterexample again."),
        "verify": ("hpsim.cli.verify:verify", "Check again that every theorem and claim is as expected."),
        "prove": ("hpsim.cli.prove:prove", "Prove a statement over all pipelines, or refute it exactly."),
        "paper": ("hpsim.cli.paper:paper", "Compute the paper's numbers, tables and figures again."),
        "log": ("hpsim.cli.log:log", "Service times, waits and pipelines from request logs."),
        "calculator": ("hpsim.cli.calculator:calculator", "Write the browser calculator, one page that works offline."),
        "bench": ("hpsim.cli.bench:bench", "Measure speed, memory and start-up on this machine."),
        "warmup": ("hpsim.cli.warmup:warmup", "Compile every kernel now, so that later runs start at once."),
    },
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name="hpsim")
def cli() -> None:
    """Exact, compiled simulation of micro-batch pipelines with unequal stages."""


def main() -> None:
    """Entry point of the ``hpsim`` command: a user's mistake is one line on stderr and exit code 2."""
    warnings.formatwarning = lambda message, *_, **__: _warning_line(message)
    guard_streams()
    try:
        try:
            sys.exit(cli(prog_name="hpsim", standalone_mode=False))
        finally:
            sys.stdout.flush()  # here, and not when Python ends: its exit code counts, whatever the command's was
    except OutputLost as lost:
        if lost.reader_left:
            sys.exit(OUTPUT_CLOSED)
        click.echo(f"error: stdout: {lost.reason}; another place for what is printed", err=True)
        sys.exit(WRONG_INPUT)
    except HpsimError as error:
        error.place = _as_typed(error.place)
        click.echo(f"error: {error}", err=True)
        sys.exit(WRONG_INPUT)
    except click.ClickException as error:
        told = io.StringIO()
        error.show(file=told)
        for line in told.getvalue().splitlines():
            click.echo(in_brief(line), err=True)
        sys.exit(error.exit_code)
    except click.Abort:  # what click makes of Ctrl-C
        sys.exit(INTERRUPTED)


def _as_typed(place: str) -> str:
    """An argument of the library under the name of the option that was typed for it."""
    option = f"--{place.partition(' ')[0]}"
    return f"--{place}" if any(word.partition("=")[0] == option for word in sys.argv[1:]) else place


def _warning_line(message: Warning | str) -> str:
    """A warning as the user of a command needs it: what is wrong, not which line of our code noticed."""
    return f"warning: {printable(' '.join(str(message).split()))}\n"
