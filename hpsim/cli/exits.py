"""Exit codes that commands share, and how a signal ends one of them."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

import click

from hpsim.cli.streams import OutputLost

COUNTEREXAMPLE = 1
WRONG_INPUT = 2
FAILED_CHUNKS = 4
SIGNAL_BASE = 128  # a shell reports this much plus the signal's number
INTERRUPTED = SIGNAL_BASE + signal.SIGINT
OUTPUT_CLOSED = SIGNAL_BASE + signal.SIGPIPE


def stopped_by(signum: int, told: str) -> NoReturn:
    """End after an orderly stop: ``told`` says what is left."""
    click.echo(f"stopped by {signal.Signals(signum).name}: {told}", err=True)
    sys.exit(SIGNAL_BASE + signum)


def quit_at_once(told: str) -> NoReturn:
    """End without waiting for the running chunks, which Python would do."""
    click.echo(f"stopped at once: {told}", err=True)
    with suppress(OutputLost):
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(SIGNAL_BASE + signal.SIGINT)
