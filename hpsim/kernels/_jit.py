"""The only place with JIT flags: no fastmath (exactness), no GIL, compiled code kept on disk.

The code is kept by :mod:`hpsim.kernels._code_files` in the folders where Numba would look: that which NUMBA_CACHE_DIR
names, the one beside the source (read-only where root has compiled for all), that of the user. What cannot be used is
compiled again. Trouble with it is one warning per process, never a failure. The first compilation is
announced.
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import config, event
from numba.core.caching import CompileResultCacheImpl, FunctionCache

from hpsim.kernels import _compiling
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
        except (RuntimeError, OSError) as error:  # a source that Numba cannot find again
            _warn_once(f"compiled code is not kept ({error})")
    return compiled


class _Compilations(event.Listener):
    """Tells of kernels that are really compiled, not read from the disk; of ours, not of one of the user's."""

    def on_start(self, _event: event.Event) -> None:
        dispatcher = _ours(_event)
        if dispatcher is not None:
            _compiling.started(dispatcher.stats.cache_path)

    def on_end(self, _event: event.Event) -> None:
        if _ours(_event) is not None:
            _compiling.ended()


def _ours(_event: event.Event) -> Any:
    dispatcher = (_event.data or {}).get("dispatcher")
    own = getattr(getattr(dispatcher, "py_func", None), "__module__", "").startswith("hpsim.kernels.")
    return dispatcher if own else None


event.register("numba:compile", _Compilations())  # type: ignore[no-untyped-call]


class _Named:
    """Of Numba's rules for a folder only its name: whether it is ours, and can be written, we see for ourselves."""

    def ensure_cache_path(self) -> None:
        pass


_HOME = os.path.isabs(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~"))  # or a folder called ~ would be made
_PLACES: list[Any] = [
    type(place.__name__, (_Named, place), {})
    for place in CompileResultCacheImpl._locator_classes
    if _HOME or "UserWide" not in place.__name__
]


class _Folders(CompileResultCacheImpl):
    """Every folder in which Numba would keep the code of a function, in its order."""

    _locator_classes = _PLACES

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        source = inspect.getfile(function)
        found = [self.locator, *(place.from_function(function, source) for place in _PLACES)]
        names = [place.get_cache_path() for place in found if place is not None]
        self.folders = tuple(dict.fromkeys(Path(name).absolute() for name in names))


class _KeptCode(FunctionCache):
    """Numba's cache of one function, on :class:`CodeFiles`."""

    _impl_class = _Folders

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        source = self._impl.locator.get_source_stamp()
        settings = [getattr(config, name) for name in ("OPT", "BOUNDSCHECK")]
        origin = (source, numba.__version__, settings, sorted(_FLAGS.items()))
        self._files = CodeFiles(self._impl.folders, self._impl.filename_base, origin)
        self._cache_file = self._files  # type: ignore[assignment]

    @property
    def cache_path(self) -> str | None:
        """Where newly compiled code goes, None when it is not kept."""
        folder = self._files.folder
        return None if folder is None else str(folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception as error:  # whatever reading a strange file may lead to
            _warn_once(f"compiled code on disk cannot be used and is made anew ({error})")
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            self._warn_of_refused()
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except Exception as error:  # no room, no permission, or a form that Numba cannot write
            _warn_once(f"compiled code is not kept ({error})")

    def _warn_of_refused(self) -> None:
        """Others can change the folder that the user named, or there is no other."""
        files = self._files
        named = files.refused.get(files.folders[0]) if getattr(config, "CACHE_DIR", "") else None
        why = named or next(iter(files.refused.values()), "no folder for it can be written")
        if files.folder is None:
            _warn_once(f"compiled code is not kept: {why}; NUMBA_CACHE_DIR may name a folder of your own")
        elif named:
            _warn_once(f"compiled code is kept in {files.folder}: {why}; NUMBA_CACHE_DIR may name a folder of your own")


def _warn_once(text: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(text, KeptCodeWarning, stacklevel=3)
