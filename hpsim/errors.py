"""One exception family with one message form: *place: what was found; what is allowed*."""

from __future__ import annotations

_HEAD, _TAIL = 200, 80  # characters of a long text that are shown


def printable(text: str) -> str:
    """``text`` on one line, without characters that would move a cursor or change the colours of a terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


def in_brief(text: str) -> str:
    """``text`` as it is printed in a message: on one line, and of a very long one the beginning and the end."""
    text = printable(text)
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]} … {text[-_TAIL:]}"


class HpsimError(ValueError):
    """A mistake in what the user gave, told in one line.

    Attributes
    ----------
    place : str
        Where the mistake stands: an argument (``tau[2]``), a file with line and key.
    found : str
        What was found there.
    allowed : str
        What would have been right, with an example where that helps.
    """

    def __init__(self, place: str, found: str, allowed: str) -> None:
        super().__init__(place, found, allowed)
        self.place = place
        self.found = found
        self.allowed = allowed

    def __str__(self) -> str:
        return f"{in_brief(self.place)}: {in_brief(self.found)}; {printable(self.allowed)}"


class PipelineError(HpsimError):
    """A pipeline, or a number of micro-batches, that does not make sense."""


class RegimeError(HpsimError):
    """An unknown regime, or a combination of knobs without meaning."""


class SweepFileError(HpsimError):
    """A YAML file that is missing, unreadable, or says something that is not allowed."""


class RunFolderError(HpsimError):
    """A run folder that cannot be written, read, or continued."""


class MissingExtraError(HpsimError):
    """An optional dependency that is not installed."""
