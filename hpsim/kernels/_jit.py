"""The only place with JIT flags: no fastmath (exactness), no GIL, compiled code cached on disk."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import event

F = TypeVar("F", bound=Callable[..., Any])

_FLAGS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(function: F) -> F:
    """Compile ``function`` on first use and keep the result on disk; with no place for it, warn and go on without."""
    try:
        compiled: F = numba.njit(cache=True, **_FLAGS)(function)
    except RuntimeError as error:  # numba found no place for its cache
        warnings.warn(f"compiled code is not kept between runs: {error}", RuntimeWarning, stacklevel=2)
        compiled = numba.njit(**_FLAGS)(function)
    return compiled


def on_first_compilation(announce: Callable[[], None]) -> None:
    """Call ``announce`` once, when a kernel is really compiled in this process and not read from the cache."""

    class Listener(event.Listener):
        def on_start(self, _event: event.Event) -> None:
            event.unregister("numba:compile", self)  # type: ignore[no-untyped-call]
            announce()

        def on_end(self, _event: event.Event) -> None:
            pass

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]
