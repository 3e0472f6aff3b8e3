"""Request logs of a serving cluster: service times of each model on each host, and pipelines made from them (§7.2)."""

from __future__ import annotations

from hpsim.logs.assemble import Assembly, assemble
from hpsim.logs.columns import LogError
from hpsim.logs.read import RequestLog, read_log
from hpsim.logs.statistics import Summary, summarize

__all__ = ["Assembly", "LogError", "RequestLog", "Summary", "assemble", "read_log", "summarize"]
