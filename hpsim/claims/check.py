"""Syntax tree → statement tree: every name known, every operation between things that it is defined for."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any, Literal, NoReturn, cast

from hpsim.claims import tree
from hpsim.claims.names import Names, Place
from hpsim.claims.tree import Node, Type
from hpsim.claims.words import CALLS, EXAMPLE, FUNCTIONS, MAKESPANS, VECTORS, refuse, shortened, unknown
from hpsim.exact import exact

_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_NUMBER = re.compile(r"[0-9][0-9_]*\.?[0-9_]*([eE][-+]?[0-9]+)?|\.[0-9][0-9_]*([eE][-+]?[0-9]+)?")
_A = {"number": "a number", "vector": "a vector", "condition": "a condition", "vector condition": "a vector condition"}
_NUMERIC: tuple[Type, ...] = ("number", "vector")
_LOGICAL: tuple[Type, ...] = ("condition", "vector condition")


class Checker(Names):
    """Turns the syntax tree of one text into a checked tree; parameters and attributes as for :class:`Names`.

    ``same_length`` says whether pipelines A and B have the same number of stages, ``most_levels`` how deep the tree may
    be, ``most_parts`` how many names, numbers and operations it may have.
    """

    def __init__(
        self,
        line: str,
        start: int,
        regimes: Sequence[str],
        same_length: bool,
        most_levels: int,
        most_parts: int,
    ) -> None:
        super().__init__(line, start, regimes)
        self.same_length = same_length
        self.most_levels = most_levels
        self.most_parts = most_parts
        self.level = self.seen = 0

    def condition(self, expression: ast.expr) -> Node:
        """The whole statement: one condition."""
        node = self.node(expression)
        if node.type == "vector condition":
            refuse(node.column, "a condition on each stage", f"all({self.text(node)}) or any({self.text(node)})")
        if node.type != "condition":
            refuse(node.column, f"{_A[node.type]}, not a condition", f"a comparison, {EXAMPLE}")
        return node

    def node(self, expression: ast.expr) -> Node:
        """The checked tree of any expression."""
        self.level += 1
        if self.level > self.most_levels:
            refuse(self.place(expression).column, f"nested deeper than {self.most_levels} levels", "a flatter one")
        self.seen += 1
        if self.seen > self.most_parts:
            allowed = f"at most {self.most_parts}; or several statements"
            refuse(self.place(expression).column, f"more than {self.most_parts} names, numbers and operations", allowed)
        place = self.place(expression)
        match expression:
            case ast.Constant():
                node = self._constant(place)
            case ast.Name(id=name):
                node = self.name(place, name, "")
            case ast.Attribute():
                node = self.name(place, *self.prefixed_name(expression))
            case ast.Call():
                node = self._call(place, expression)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                node = self._logic(place, "not", [operand])
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                node = self._unary(place, "-", operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                node = self._typed(operand, _NUMERIC, "the sign + wants")
            case ast.BinOp():
                node = self._binary(place, expression)
            case ast.Compare():
                node = self._comparison(place, expression)
            case ast.BoolOp(op=operation, values=values):
                node = self._logic(place, "and" if isinstance(operation, ast.And) else "or", values)
            case ast.Subscript():
                node = self._entry(place, expression)
            case _:
                self._foreign(place, expression)
        self.level -= 1
        return node

    def _constant(self, place: Place) -> Node:
        written = self.line[place.column - 1 : place.end - 1]
        if not _NUMBER.fullmatch(written):
            refuse(place.column, f"found {shortened(written)}", "a decimal number, for example 2, 0.5 or 1e-3")
        try:
            value = exact(written.replace("_", ""))
        except ValueError as error:
            refuse(place.column, str(error), "a number within the range of float64")
        return tree.Constant(*place, "number", None, value)

    def _call(self, place: Place, expression: ast.Call) -> Node:
        if isinstance(expression.func, ast.Attribute):
            name, pipeline = self.prefixed_name(expression.func)
        elif isinstance(expression.func, ast.Name):
            name, pipeline = expression.func.id, ""
        else:
            refuse(place.column, "a call of something without a name", f"one of {', '.join(CALLS)}")
        if name not in CALLS:
            if name in VECTORS:
                refuse(place.column, f"{name}(…)", f"an entry is written {name}[0]")
            unknown(place.column, "function", name, CALLS)
        if expression.keywords:
            refuse(place.column, f"a named argument in {name}(…)", "arguments without names")
        starred = next((argument for argument in expression.args if isinstance(argument, ast.Starred)), None)
        if starred is not None:
            refuse(self.place(starred).column, "a star before an argument", "arguments one by one")
        if name in FUNCTIONS:
            if pipeline:
                refuse(place.column, f"{pipeline}.{name}", f"{name}(…), and the prefix on the names inside")
            return self._function(place, name, expression.args)
        self.of_pipeline(place, name, pipeline)
        if name in MAKESPANS:
            if len(expression.args) != 1:
                self.arguments(place, name, len(expression.args))
            return self._makespan(place, pipeline, name.removeprefix("T_"), expression.args[0])
        return self._of_a_regime(place, name, pipeline, expression.args)

    def _of_a_regime(self, place: Place, name: str, pipeline: str, arguments: list[ast.expr]) -> Node:
        if not 1 <= len(arguments) <= (2 if name == "T" else 1):
            self.arguments(place, name, len(arguments))
        first = arguments[0]
        column = self.place(first).column
        if not isinstance(first, ast.Name):
            refuse(column, "no name of a regime", f"one of {', '.join(self.regimes)}")
        regime = self.regime(first.id)
        if regime not in self.regimes:
            unknown(column, "regime", regime, self.regimes)
        if name == "T":
            return self._makespan(place, pipeline, regime, arguments[1] if len(arguments) == 2 else None)
        return tree.Steady(*place, "number", None, cast(Literal["slope", "law"], name), pipeline, regime)

    def _makespan(self, place: Place, pipeline: str, regime: str, count: ast.expr | None) -> Node:
        node = None if count is None else self._typed(count, ("number",), "a number of micro-batches is")
        if (
            node is not None and _makespans_within(node) > 1
        ):  # numbers of micro-batches without end, each pipeline its own
            found = "makespans within makespans within the number of micro-batches"
            refuse(node.column, found, "at most one within, for example T_async(T_free(2))")
        return tree.Makespan(*place, "number", None, pipeline, regime, node)

    def _function(self, place: Place, name: str, arguments: list[ast.expr]) -> Node:
        several = name in ("max", "min") and len(arguments) > 1
        if not several and len(arguments) != (2 if name in ("implies", "iff") else 1):
            self.arguments(place, name, len(arguments))
        if several:
            numbers = tuple(self._typed(argument, ("number",), f"{name} of several takes") for argument in arguments)
            return tree.Extreme(*place, "number", None, cast(Any, name), numbers)
        if name in ("implies", "iff"):
            return self._logic(place, name, arguments)
        if name == "abs":
            return self._unary(place, "abs", arguments[0])
        if name in ("max", "min", "sum"):
            operand = self._typed(arguments[0], ("vector",), f"{name} takes")
            return tree.Reduction(*place, "number", None, cast(Any, name), operand)
        operand = self._typed(arguments[0], ("vector condition",), f"{name} takes")
        if name == "count":
            return tree.Count(*place, "number", None, operand)
        return tree.Quantifier(*place, "condition", None, cast(Any, name), operand)

    def _unary(self, place: Place, operation: Literal["-", "abs"], operand: ast.expr) -> Node:
        node = self._typed(operand, _NUMERIC, "abs takes" if operation == "abs" else "the sign - wants")
        return tree.Unary(*place, node.type, node.length_of, operation, node)

    def _binary(self, place: Place, expression: ast.BinOp) -> Node:
        operation = _ARITHMETIC.get(type(expression.op))
        if operation is None:
            refuse(self.after(expression.left), "an operator outside the language", "+ - * /")
        left = self._typed(expression.left, _NUMERIC, f"{operation} is between numbers and vectors;")
        right = self._typed(expression.right, _NUMERIC, f"{operation} is between numbers and vectors;")
        length_of = self._common_length([left, right])
        return tree.Binary(*place, _kind(length_of, "number"), length_of, cast(Any, operation), left, right)

    def _comparison(self, place: Place, expression: ast.Compare) -> Node:
        written = [expression.left, *expression.comparators]
        for before, operator in zip(written, expression.ops, strict=False):
            if type(operator) not in _COMPARISONS:
                refuse(self.after(before), "an operator outside the language", "< <= > >= == !=")
        operands = tuple(
            self._typed(item, _NUMERIC, "comparisons are between numbers and vectors;") for item in written
        )
        operations = cast(Any, tuple(_COMPARISONS[type(operator)] for operator in expression.ops))
        length_of = self._common_length(operands)
        return tree.Comparison(*place, _kind(length_of, "condition"), length_of, operations, operands)

    def _logic(self, place: Place, operation: str, written: list[ast.expr]) -> Node:
        operands = tuple(self._typed(item, _LOGICAL, f"{operation} takes") for item in written)
        length_of = self._common_length(operands)
        return tree.Logic(*place, _kind(length_of, "condition"), length_of, cast(Any, operation), operands)

    def _entry(self, place: Place, expression: ast.Subscript) -> Node:
        operand = self._typed(expression.value, ("vector",), "square brackets follow")
        index, sign = expression.slice, 1
        if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
            index, sign = index.operand, -1
        if not isinstance(index, ast.Constant) or type(index.value) is not int:
            refuse(self.place(index).column, "an index that is no whole number", "for example tau[0] or tau[-1]")
        return tree.Entry(*place, "number", None, operand, sign * index.value)

    def _typed(self, expression: ast.expr, allowed: tuple[Type, ...], wish: str) -> Node:
        """The node of ``expression``, refused unless its type is among ``allowed``; ``wish`` introduces these."""
        node = self.node(expression)
        if node.type not in allowed:
            hint = ""
            if allowed == ("vector condition",) and node.type == "condition":
                hint = ", for example d > 0"
            refuse(node.column, f"found {_A[node.type]}", f"{wish} {' or '.join(_A[kind] for kind in allowed)}{hint}")
        return node

    def _common_length(self, nodes: Sequence[Node]) -> str | None:
        """The pipeline that gives the length of an operation's result; None where no vector takes part."""
        vectors = [node for node in nodes if node.length_of is not None]
        for node in vectors[1:]:
            if node.length_of != vectors[0].length_of and not self.same_length:
                found = f"a vector of {node.length_of} with one of {vectors[0].length_of}"
                refuse(node.column, found, "vectors of equal length; the relation `same S` makes them so")
        return vectors[0].length_of if vectors else None

    def _foreign(self, place: Place, expression: ast.expr) -> NoReturn:
        kind = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(expression).__name__).lower()
        names = {"if exp": "if … else", "tuple": "a comma", "named expr": "an assignment", "unary op": "an operator"}
        refuse(place.column, f"{names.get(kind, kind)} is not part of the language", f"a condition, {EXAMPLE}")


def _makespans_within(node: Node) -> int:
    """How many makespans stand within one another."""
    return isinstance(node, tree.Makespan) + max(map(_makespans_within, node.parts), default=0)


def _kind(length_of: str | None, scalar: Literal["number", "condition"]) -> Type:
    if length_of is None:
        return scalar
    return "vector" if scalar == "number" else "vector condition"
