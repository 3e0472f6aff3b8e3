"""Whether the solver is there, and how it is stopped."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from hpsim.analysis.extras import require
from hpsim.analysis.interrupt import stopping_at_once
from hpsim.errors import MissingExtraError

_SECONDS_BETWEEN = 0.02


def missing_solver() -> str | None:
    """What is missing, and what brings it, where the solver is not installed; None where it is."""
    try:
        require("z3", "prove")
    except MissingExtraError as missing:
        return str(missing)
    return None


@contextmanager
def stoppable_solver() -> Iterator[None]:
    """Within the block, SIGINT and SIGTERM go to Python's handlers, and the solver is told to give up.

    By itself it takes Ctrl-C, and the signal is lost where nobody asks why it gave up. A proof is many short questions:
    it is told again and again, so that a signal between two of them ends the next one. The prover then raises
    KeyboardInterrupt.
    """
    z3 = importlib.import_module("z3")
    ended = Event()

    def interrupt() -> None:
        while not ended.wait(_SECONDS_BETWEEN):
            z3.main_ctx().interrupt()

    before = z3.get_param("ctrl_c")
    z3.set_param("ctrl_c", False)
    try:
        with stopping_at_once(interrupt):
            try:
                yield
            finally:
                ended.set()
    finally:
        z3.set_param("ctrl_c", before)
