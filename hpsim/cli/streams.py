"""Standard output and standard error that may be closed, full, or without the characters that we print.

What cannot be printed on standard error is dropped: no job ends because nobody can read its progress. The first write
that standard output refuses raises :class:`OutputLost`, once, and what comes after it is dropped.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class OutputLost(Exception):  # noqa: N818 - no OSError either: those are taken for trouble with the user's files
    """Standard output takes nothing more.

    Attributes
    ----------
    reader_left : bool
        Whether somebody read it and has seen enough.
    reason : str
        What is wrong, in words.
    """

    def __init__(self, error: OSError) -> None:
        self.reader_left = error.errno == errno.EPIPE
        reason = "it is closed" if error.errno == errno.EBADF else (error.strerror or str(error))
        self.reason = reason[:1].lower() + reason[1:]
        super().__init__(self.reason)


class _Descriptor(io.FileIO):
    """A descriptor that takes every write; the first that fails raises OutputLost where output ``matters``."""

    def __init__(self, number: int, *, matters: bool) -> None:
        super().__init__(number, "w", closefd=False)
        self._matters = matters
        self._lost = False

    def write(self, data: ReadableBuffer, /) -> int:
        if self._lost:
            return memoryview(data).nbytes
        try:
            while (written := super().write(data)) is None:  # somebody made it non-blocking
                select.select([], [self], [])
            return written
        except OSError as error:
            self._lost = self._matters
            if self._matters:
                raise OutputLost(error) from None
            return memoryview(data).nbytes


def guard_streams() -> None:
    """Make the standard streams of this process keep the promises of this module; streams of a test are left alone."""
    _occupy_closed_descriptors()
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - open as long as the process
    if sys.stdout is sys.__stdout__:
        sys.stdout = _guarded(sys.stdout, 1, errors="replace")
    if sys.stderr is sys.__stderr__:
        sys.stderr = _guarded(sys.stderr, 2, errors="backslashreplace")


def _occupy_closed_descriptors() -> None:
    """Descriptors 0, 1 and 2, when the caller closed them: otherwise the next file we open would be one of them.

    Opened for reading, so that writing there fails as it does on a closed descriptor.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # the lowest free number


def _guarded(stream: TextIO | None, number: int, *, errors: str) -> TextIO:
    """``stream``, which is None where the caller closed it, on a descriptor that is guarded."""
    if stream is None:
        encoding, line_buffering, write_through = "utf-8", False, False
    else:
        binary = getattr(stream, "buffer", None)
        if not isinstance(stream, io.TextIOWrapper) or type(getattr(binary, "raw", binary)) is not io.FileIO:
            return stream  # a console of Windows, or guarded already
        stream.flush()
        encoding, line_buffering, write_through = stream.encoding, stream.line_buffering, stream.write_through
    descriptor = _Descriptor(number, matters=number == 1)
    return io.TextIOWrapper(
        io.BufferedWriter(descriptor),
        encoding=encoding,
        errors=errors,
        line_buffering=line_buffering,
        write_through=write_through,
    )
