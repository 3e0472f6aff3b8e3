"""Opens a log file whatever its name says: what it holds is told by its first bytes."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import cast

from hpsim.logs.columns import LogError, brief
from hpsim.logs.delimited import delimited
from hpsim.logs.json_lines import json_lines
from hpsim.logs.parquet import parquet
from hpsim.logs.source import KINDS, NOT_UTF8, UTF8, Source, Stream

_PEEK = 2**16
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"
_COMPRESSED = {b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip"}


@contextmanager
def opened(path: str, place: str) -> Iterator[Source]:
    """The log in the file ``path``, which messages call ``place``.

    Raises
    ------
    LogError
        When it is missing, unreadable, empty, or none of the kinds that we read; also while it is read.
    """
    import pyarrow

    try:
        with ExitStack() as stack:
            file = cast(io.BufferedReader, stack.enter_context(open(path, "rb", buffering=_PEEK)))
            packed = _head(file).startswith(b"\x1f\x8b")
            stream = Stream(file, place, packed=packed)
            content = cast(io.BufferedReader, io.BufferedReader(stream, _PEEK))
            yield _read_as_found(place, stream, content, content if packed else file)
    except LogError:
        raise
    except pyarrow.ArrowException as fault:
        if "UTF8" in str(fault):
            raise LogError(place, NOT_UTF8, UTF8) from None
        raise LogError(place, f"it cannot be read: {_first_line(fault)}", KINDS) from None
    except (OSError, EOFError, zlib.error, ValueError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) and fault.strerror else _first_line(fault)
        raise LogError(place, f"it cannot be read ({reason})", "a whole, readable file of requests") from None


def _read_as_found(place: str, stream: Stream, content: io.BufferedReader, file: io.BufferedReader) -> Source:
    """``content`` reads ``stream``; ``file`` may be able to seek."""
    head = _head(file)
    if head.startswith(b"PAR1"):
        return parquet(place, file)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise LogError(place, "text in UTF-16", UTF8)
    packed = next((name for magic, name in _COMPRESSED.items() if head.startswith(magic)), None)
    if packed or b"\0" in head:
        found = f"a {packed} archive" if packed else "binary data"
        raise LogError(place, found, f"{KINDS}; unpack or convert it first")
    if head.startswith(_BOM):
        content.read(len(_BOM))
        head = head[len(_BOM) :]
    text = head.lstrip(_BLANK)
    if not text:
        found = "the gzipped data end before the first row" if stream.cut_off else "the file is empty"
        if len(head) >= _PEEK - len(_BOM):
            found = f"nothing but blanks in the first {_PEEK // 1024} KiB"
        raise LogError(place, found, f"a header and at least one request, as {KINDS}")
    if text.startswith(b"["):
        raise LogError(place, "a JSON array", "JSON Lines, one object a line, which `jq -c '.[]'` makes of it")
    return (json_lines if text.startswith(b"{") else delimited)(place, stream, content)


def _head(file: io.BufferedReader) -> bytes:
    return file.peek(_PEEK)[:_PEEK]


def _first_line(fault: Exception) -> str:
    return brief(str(fault).split("\n")[0]) or type(fault).__name__
