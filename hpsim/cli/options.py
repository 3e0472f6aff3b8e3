"""Kinds of options that commands share."""

from __future__ import annotations

from typing import Any

import click


class WholeNumber(click.types.IntParamType):
    """A whole number in the digits 0 to 9; Python would take those of every script, and underscores between them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, str) and not value.strip().lstrip("+-").encode().isdigit():
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        number: int = super().convert(value, param, ctx)
        return number


class Renamed(click.Option):
    """An option whose other names are old ones: they work, and the help shows the first alone."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        names = self.opts
        self.opts = names[:1]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = names


WHOLE = WholeNumber()
workers_option = click.option(
    "--workers", type=WHOLE, metavar="N", help="Threads [default: the CPUs this process may use]."
)
