"""The only place with JIT flags: no fastmath (exactness), no GIL, compiled code kept on disk.

The code is kept by :mod:`hpsim.kernels._code_files` in the folder that Numba would choose; what cannot be used there is
compiled again. Trouble with it is one warning per process, never a failure. The first compilation is announced.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import config, event
from numba.core.caching import CompileResultCacheImpl, FunctionCache

from hpsim.kernels._code_files import CodeFiles

F = TypeVar("F", bound=Callable[..., Any])

_FLAGS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


class KeptCodeWarning(RuntimeWarning):
    """Compiled code could not be kept on disk, or not be read from there; results do not depend on it."""


_warned = False


def kernel(function: F) -> F:
    """Compile ``function`` on first use and keep the result on disk; with no place for it, warn and go on without."""
    compiled: F = numba.njit(**_FLAGS)(function)
    if compiled is not function:  # with NUMBA_DISABLE_JIT it is
        try:
            compiled._cache = _KeptCode(function)  # type: ignore[attr-defined]
        except (RuntimeError, OSError):  # Numba found no folder that it may write
            _warn_once("compiled code is not kept: no folder for it can be written; NUMBA_CACHE_DIR may name one")
    return compiled


class _FirstCompilation(event.Listener):
    """Tells once a process that a kernel is really compiled, not read from the disk; ours, not one of the user's."""

    def on_start(self, _event: event.Event) -> None:
        dispatcher = (_event.data or {}).get("dispatcher")
        if getattr(getattr(dispatcher, "py_func", None), "__module__", "").startswith("hpsim.kernels."):
            event.unregister("numba:compile", self)  # type: ignore[no-untyped-call]
            announce(dispatcher.stats.cache_path)  # type: ignore[union-attr]

    def on_end(self, _event: event.Event) -> None:
        pass


event.register("numba:compile", _FirstCompilation())  # type: ignore[no-untyped-call]


def announce(folder: str | None) -> None:
    """Say that kernels are compiled: a line on stderr where it is a terminal, elsewhere to the logger ``hpsim``."""
    kept = f"the code is kept in {folder}, so this happens once" if folder else "there is no folder to keep the code in"
    told = f"compiling the simulation kernels for this processor, up to half a minute; {kept}"
    if sys.stderr is not None and sys.stderr.isatty():
        print(told, file=sys.stderr)
    else:
        logging.getLogger("hpsim").info(told)


class _Folder(CompileResultCacheImpl):
    """Numba's search for a folder, but never one called ``~`` where the user has no home."""

    if not os.path.isabs(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~")):
        _locator_classes = [
            place for place in CompileResultCacheImpl._locator_classes if "UserWide" not in place.__name__
        ]


class _KeptCode(FunctionCache):
    """Numba's cache of one function, on :class:`CodeFiles`."""

    _impl_class = _Folder

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        source = self._impl.locator.get_source_stamp()
        settings = [getattr(config, name) for name in ("OPT", "BOUNDSCHECK")]
        origin = (source, numba.__version__, settings, sorted(_FLAGS.items()))
        self._cache_file = CodeFiles(  # type: ignore[assignment]
            Path(self.cache_path), self._impl.filename_base, origin
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception as error:  # whatever reading a strange file may lead to
            _warn_once(f"compiled code on disk cannot be used and is made anew ({error})")
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except Exception as error:  # no room, no permission, or a form that Numba cannot write
            _warn_once(f"compiled code is not kept ({error})")


def _warn_once(text: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(text, KeptCodeWarning, stacklevel=3)
