"""Random statements that follow the grammar of the language."""

from __future__ import annotations

import random

NUMBERS = ["0", "1", "2", "3", "0.5", "0.1", "1e-3", "7"]
NAMES = ["S", "M", "rho", "tau_max", "sigma_max"]
MAKESPANS = ["T_free", "T_async", "T_blocking", "T_partial", "T_rendezvous", "T_gpipe"]
REGIMES = ["free", "async", "blocking", "partial", "rendezvous", "tight"]
COUNTS = ["1", "M+1", "M-1", "2*M", "S", "M/2", "M/3*3", "max(M - 2, 1)"]
SIGNS = ["<", "<=", ">", ">=", "==", "!="]


class Writer:
    """Writes statements; those about two pipelines use prefixes throughout."""

    def __init__(self, generator: random.Random, two: bool = False) -> None:
        self.random = generator
        self.two = two

    def statement(self) -> str:
        return self.condition(3)

    def condition(self, depth: int) -> str:
        kind = self.random.randrange(8 if depth > 0 else 3)
        if kind < 2:
            return self.comparison(self.number(depth - 1), self.number(depth - 1))
        if kind == 2:
            return f"{self.random.choice(['all', 'any'])}({self.vector_condition(depth - 1)})"
        if kind == 3:
            return f"not ({self.condition(depth - 1)})"
        if kind == 4:
            return f"{self.random.choice(['implies', 'iff'])}({self.condition(depth - 1)}, {self.condition(depth - 1)})"
        if kind == 5:
            return f"{self.number(0)} <= {self.number(depth - 1)} {self.sign()} {self.number(0)}"
        return f"({self.condition(depth - 1)} {self.random.choice(['and', 'or'])} {self.condition(depth - 1)})"

    def vector_condition(self, depth: int) -> str:
        one = self.comparison(self.vector(depth - 1), self.random.choice([self.vector, self.number])(depth - 1))
        if depth > 0 and self.random.random() < 0.3:
            return f"({one} {self.random.choice(['and', 'or'])} {self.vector_condition(depth - 1)})"
        return one

    def number(self, depth: int) -> str:
        kind = self.random.randrange(9 if depth > 0 else 4)
        if kind == 0:
            return self.random.choice(NUMBERS)
        if kind == 1:
            return self.named(self.random.choice(NAMES))
        if kind in (2, 3):
            return self.makespan()
        if kind == 4:
            return f"{self.random.choice(['sum', 'max', 'min'])}({self.vector(depth - 1)})"
        if kind == 5:
            return f"({self.vector(depth - 1)})[{self.random.choice([0, 1, -1, 3])}]"
        if kind == 6:
            return f"{self.random.choice(['max', 'min'])}({self.number(depth - 1)}, {self.number(depth - 1)})"
        if kind == 7 and self.random.random() < 0.5:
            return f"count({self.vector_condition(depth - 1)})"
        return self.arithmetic(self.number(depth - 1), self.number(depth - 1))

    def vector(self, depth: int) -> str:
        kind = self.random.randrange(4 if depth > 0 else 1)
        if kind == 0:
            return self.named(self.random.choice(["tau", "d", "latency"]))
        if kind == 1:
            return f"{self.random.choice(['abs', '-'])}({self.vector(depth - 1)})"
        return self.arithmetic(self.vector(depth - 1), self.random.choice([self.vector, self.number])(depth - 1))

    def makespan(self) -> str:
        kind = self.random.randrange(4)
        if kind == 0:
            return self.named(
                f"{self.random.choice(MAKESPANS)}({self.random.choice(COUNTS)})".replace("S", self.stages)
            )
        if kind == 1:
            return self.named(f"T({self.random.choice(REGIMES)})")
        if kind == 2 and self.random.random() < 0.3:
            return self.named(f"law({self.random.choice(REGIMES)})")
        return self.named(self.random.choice(MAKESPANS))

    @property
    def stages(self) -> str:
        return "A.S" if self.two else "S"

    def named(self, name: str) -> str:
        if not self.two or name in ("M", "rho"):
            return name
        return f"{self.random.choice('AB')}.{name}"

    def arithmetic(self, left: str, right: str) -> str:
        return f"({left} {self.random.choice('+-**/')} {right})"

    def comparison(self, left: str, right: str) -> str:
        return f"{left} {self.sign()} {right}"

    def sign(self) -> str:
        return self.random.choice(SIGNS)
