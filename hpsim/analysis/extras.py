"""Optional packages: imported where they are used, and named with their installation when they are missing."""

from __future__ import annotations

import importlib
from typing import Any

from hpsim.errors import MissingExtraError


def require(package: str, extra: str) -> Any:
    """The module ``package``, which the extra ``extra`` installs.

    Raises
    ------
    MissingExtraError
        When it is not installed.
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:  # it is there, and broken in itself
            raise
        raise MissingExtraError(
            package, "is not installed", f'it comes with: pip install "hpsim-pipelines[{extra}]"'
        ) from None
