"""The first run on a machine compiles kernels for some seconds: commands say so on stderr, terminal or not."""

from __future__ import annotations

import logging
import sys


def announce_compilation() -> None:
    """Show what the library logs when it compiles; on a terminal it says so by itself."""

    class OnStderr(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            print(record.getMessage(), file=sys.stderr)

    logger = logging.getLogger("hpsim")
    if not logger.handlers:
        logger.addHandler(OnStderr())
        logger.setLevel(logging.INFO)
