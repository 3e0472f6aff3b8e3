"""The names of a statement: which are known, what each stands for, and to which pipeline it belongs."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, NoReturn, cast

from hpsim.claims import tree
from hpsim.claims.tree import Node
from hpsim.claims.words import (
    CALLS,
    FORMS,
    MAKESPANS,
    NAMES,
    OF_A_REGIME,
    PIPELINES,
    REGIME_ALIAS,
    SHARED,
    SHORTHANDS,
    refuse,
    shortened,
    unknown,
)
from hpsim.regime import NAMES as REGIMES


class Place(NamedTuple):
    """Where an expression stands: columns from 1, the end after its last character."""

    column: int
    end: int


class Names:
    """Reads the names in the syntax tree of one text.

    Parameters
    ----------
    line : str
        The text; the syntax tree is of ``line[start:]``.
    start : int
    regimes : sequence of str
        Names of regimes beyond the built-in ones.

    Attributes
    ----------
    prefixed : bool
        Whether names with a prefix ``A.`` or ``B.`` have been met.
    """

    def __init__(self, line: str, start: int, regimes: Sequence[str]) -> None:
        self.line = line
        self.start = start
        self.regimes = tuple(dict.fromkeys((*REGIMES, *regimes)))
        self.prefixed = False
        self.bare_at: int | None = None
        self.bare_name = ""

    def prefixed_name(self, expression: ast.Attribute) -> tuple[str, str]:
        """The name and the pipeline of ``A.tau``."""
        before, name = expression.value, expression.attr
        if not isinstance(before, ast.Name) or before.id not in PIPELINES:
            column = self.place(expression).column
            refuse(
                column,
                f"a dot in {shortened(self.line[slice(*(end - 1 for end in self.place(expression)))])}",
                "only after A and B, for example A.tau",
            )
        if name in SHARED:
            refuse(self.place(expression).column, f"{before.id}.{name}", f"{name} is shared and written bare")
        return name, before.id

    def of_pipeline(self, place: Place, name: str, pipeline: str) -> None:
        """Refuse a mixture of names with and without a prefix."""
        if pipeline:
            self.prefixed = True
        elif self.bare_at is None:
            self.bare_at, self.bare_name = place.column, name
        if self.prefixed and self.bare_at is not None:
            allowed = f"A.{self.bare_name} or B.{self.bare_name}; only M and rho are shared"
            refuse(self.bare_at, f"{self.bare_name} beside names of A and B", allowed)

    def name(self, place: Place, name: str, pipeline: str) -> Node:
        if name in SHARED:
            return tree.Shared(*place, "number", None, cast(Literal["M", "rho"], name))
        if name in CALLS and name not in MAKESPANS:
            refuse(place.column, f"{name} without brackets", f"{name}(…): {self.form(name)}")
        if name not in NAMES:
            if name in PIPELINES and not pipeline:
                refuse(place.column, f"{name} alone", f"one of its names, for example {name}.tau")
            shown = self.regime(name)
            if shown in self.regimes:
                refuse(place.column, f"{shown} is a regime", f"T({shown}), slope({shown}) or law({shown})")
            prefix = f"{pipeline}." if pipeline else ""
            unknown(place.column, "name", prefix + name, [prefix + n for n in NAMES if not (prefix and n in SHARED)])
        self.of_pipeline(place, name, pipeline)
        if name == "S":
            return tree.Stages(*place, "number", None, pipeline)
        if name in MAKESPANS:
            return tree.Makespan(*place, "number", None, pipeline, name.removeprefix("T_"), None)
        if name in SHORTHANDS:
            return self.shorthand(place, name, pipeline)
        return self.times(place, name, pipeline)

    @staticmethod
    def times(place: Place, name: str, pipeline: str) -> Node:
        return tree.Times(*place, "vector", pipeline, cast(Literal["tau", "d", "latency"], name), pipeline)

    def shorthand(self, place: Place, name: str, pipeline: str) -> Node:
        operand = self.times(place, "tau", pipeline)
        if name == "sigma_max":
            d = self.times(place, "d", pipeline)
            operand = tree.Binary(*place, "vector", pipeline, "+", operand, d)
        return tree.Reduction(*place, "number", None, "max", operand)

    def arguments(self, place: Place, name: str, given: int) -> NoReturn:
        refuse(place.column, f"{name} with {given} argument{'' if given == 1 else 's'}", self.form(name))

    def form(self, name: str) -> str:
        if name in OF_A_REGIME:
            more = " and perhaps a number of micro-batches, T(async, M+1)" if name == "T" else f", {name}(async)"
            return f"a regime{more}; regimes: {', '.join(self.regimes)}"
        return FORMS.get(name, f"a number of micro-batches, for example {name}(M+1)")

    def place(self, expression: ast.expr) -> Place:
        """Columns from 1; the text is ASCII on one line, so that bytes are characters."""
        shift = self.start + 1
        return Place(expression.col_offset + shift, (expression.end_col_offset or expression.col_offset) + shift)

    def after(self, expression: ast.expr) -> int:
        """The column of the operator that follows ``expression``."""
        end = self.place(expression).end
        operator = re.compile(r"[^\s)]").search(self.line, end - 1)
        return operator.start() + 1 if operator else end

    def text(self, node: Node) -> str:
        return self.line[node.column - 1 : node.end - 1]

    @staticmethod
    def regime(name: str) -> str:
        """The regime that the parser was shown under ``name``."""
        return next((regime for regime, alias in REGIME_ALIAS.items() if alias == name), name)
