"""The checked tree of a statement: what each node is, its type, and where in the text it stands.

A node's ``type`` is ``number``, ``vector`` (one number for each stage), ``condition`` or ``vector condition``. Its
``column`` is the place of its first character in the text, counted from 1, and ``end`` the place after its last one.
``length_of`` is the pipeline that gives a vector its length, and None for what has no length. A pipeline is named
``""`` where the statement is about one, and ``"A"`` or ``"B"`` where it is about two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Literal

from hpsim.errors import HpsimError

Type = Literal["number", "vector", "condition", "vector condition"]
GPIPE = "gpipe"
"""The name under which the classic formula ``(S+M-1)·tau_max`` stands among the makespans; it is no regime."""


class StatementError(HpsimError):
    """A statement that cannot be read, or that means nothing."""


@dataclass(frozen=True)
class Node:
    """A piece of a statement; the subclasses say of which kind."""

    column: int
    end: int
    type: Type
    length_of: str | None

    @property
    def parts(self) -> tuple[Node, ...]:
        """The nodes directly below, in the order of the text."""
        below: list[Node] = []
        for field in fields(self):
            value = getattr(self, field.name)
            below += [item for item in (value if isinstance(value, tuple) else (value,)) if isinstance(item, Node)]
        return tuple(below)


@dataclass(frozen=True)
class Constant(Node):
    """A number as written: ``0.1`` is 1/10."""

    value: Fraction


@dataclass(frozen=True)
class Shared(Node):
    """What all pipelines of a statement share: the number of micro-batches ``M``, the overlapped share ``rho``."""

    name: Literal["M", "rho"]


@dataclass(frozen=True)
class Stages(Node):
    """The number of stages ``S``."""

    pipeline: str


@dataclass(frozen=True)
class Times(Node):
    """One of the vectors ``tau``, ``d``, ``latency``, all of length S; the last ``d`` and ``latency`` are 0."""

    name: Literal["tau", "d", "latency"]
    pipeline: str


@dataclass(frozen=True)
class Makespan(Node):
    """``T`` in a regime (or :data:`GPIPE`) with ``count`` micro-batches; without ``count`` there are ``M``."""

    pipeline: str
    regime: str
    count: Node | None


@dataclass(frozen=True)
class Steady(Node):
    """Time per micro-batch in the long run: by cycle ratio (``slope``) or in closed form (``law``)."""

    kind: Literal["slope", "law"]
    pipeline: str
    regime: str


@dataclass(frozen=True)
class Unary(Node):
    """``-x`` or ``abs(x)`` of a number, or of each entry of a vector."""

    operation: Literal["-", "abs"]
    operand: Node


@dataclass(frozen=True)
class Binary(Node):
    """Arithmetic of two numbers; where a vector takes part, entry by entry."""

    operation: Literal["+", "-", "*", "/"]
    left: Node
    right: Node


@dataclass(frozen=True)
class Extreme(Node):
    """The largest or smallest of two or more numbers."""

    operation: Literal["max", "min"]
    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Reduction(Node):
    """One number from the entries of a vector."""

    operation: Literal["sum", "max", "min"]
    operand: Node


@dataclass(frozen=True)
class Entry(Node):
    """One entry of a vector, counted from 0, or from the end with a negative index."""

    operand: Node
    index: int


@dataclass(frozen=True)
class Count(Node):
    """How many entries of a vector condition hold."""

    operand: Node


@dataclass(frozen=True)
class Comparison(Node):
    """``a < b <= c``: one operation fewer than operands, each between neighbours, all of them to hold."""

    operations: tuple[Literal["<", "<=", ">", ">=", "==", "!="], ...]
    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Logic(Node):
    """``and``, ``or`` (two or more operands), ``not`` (one), ``implies``, ``iff`` (two); vectors entry by entry."""

    operation: Literal["and", "or", "not", "implies", "iff"]
    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Quantifier(Node):
    """Whether all or any entries of a vector condition hold."""

    operation: Literal["all", "any"]
    operand: Node


@dataclass(frozen=True)
class Statement:
    """A statement that has been read and checked.

    Attributes
    ----------
    text : str
        As written, on one line.
    root : Node
        A condition.
    pipelines : tuple of str
        ``("",)``, or ``("A", "B")`` where names are prefixed.
    """

    text: str
    root: Node
    pipelines: tuple[str, ...]

    def nodes(self) -> Iterator[Node]:
        """Every node, parents before children, in the order of the text."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.parts)

    def source(self, node: Node) -> str:
        """The text of one node."""
        return self.text[node.column - 1 : node.end - 1]

    @cached_property
    def makespans(self) -> tuple[Makespan, ...]:
        """Every use of a makespan, in the order of the text."""
        return tuple(node for node in self.nodes() if isinstance(node, Makespan))

    @cached_property
    def regimes(self) -> tuple[str, ...]:
        """The regimes whose makespan, slope or law is used, each once, in the order of the text."""
        used = (node.regime for node in self.nodes() if isinstance(node, Makespan | Steady))
        return tuple(dict.fromkeys(regime for regime in used if regime != GPIPE))

    @cached_property
    def uses_rho(self) -> bool:
        """Whether the statement depends on the overlapped share."""
        return "partial" in self.regimes or any(isinstance(n, Shared) and n.name == "rho" for n in self.nodes())

    @cached_property
    def uses(self) -> frozenset[str]:
        """Which of ``S``, ``M``, ``rho``, ``tau``, ``d``, ``latency`` are named outright."""
        return frozenset(
            "S" if isinstance(node, Stages) else node.name
            for node in self.nodes()
            if isinstance(node, Stages | Shared | Times)
        )
