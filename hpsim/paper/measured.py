"""What a request log says about the numbers of §7.2 and §9; hosts are found by the digits in their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hpsim.paper.verdict import NOT_IN_LOG, Unavailable

if TYPE_CHECKING:
    from hpsim.logs import RequestLog, Summary
    from hpsim.logs.statistics import Group


class Measured:
    """A request log and its statistics, in seconds.

    Attributes
    ----------
    log : RequestLog
    summary : Summary
    """

    def __init__(self, log: RequestLog, summary: Summary) -> None:
        self.log = log
        self.summary = summary

    @classmethod
    def read(cls, files: Sequence[Path | str]) -> Measured:
        """Read request logs.

        Raises
        ------
        hpsim.logs.LogError
            When one cannot be read or lacks a column.
        """
        from hpsim.logs import read_log, summarize
        from hpsim.logs.bootstrap import Bootstrap

        log = read_log(files)
        return cls(log, summarize(log, Bootstrap(0)))

    def groups(self, model: str, digits: str = "") -> list[Group]:
        """The hosts that served ``model`` and have all the numbers of ``digits`` ("3090-97") in their names.

        Raises
        ------
        Unavailable
            When there is none.
        """
        wanted = set(re.findall(r"[0-9]+", digits))
        found = [
            group
            for group in self.summary.groups
            if group.model == model and wanted <= set(re.findall(r"[0-9]+", group.host))
        ]
        if not found:
            where = f" on a host with {digits} in its name" if digits else ""
            raise Unavailable(NOT_IN_LOG, f"the log has no {model}{where}")
        return found

    def group(self, model: str, digits: str) -> Group:
        """The one host that :meth:`groups` finds.

        Raises
        ------
        Unavailable
            When there is none, or there are several.
        """
        found = self.groups(model, digits)
        if len(found) > 1:
            raise Unavailable(NOT_IN_LOG, f"the log has several hosts with {digits} in their names that served {model}")
        return found[0]
