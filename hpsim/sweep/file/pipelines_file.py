"""Pipelines in YAML: a unit and a list of named pipelines, with exact numbers."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, field_validator, model_validator

from hpsim.sweep.file.fields import (
    MAX_STAGES,
    Listed,
    Number,
    Part,
    common_denominator,
    counted,
    plain,
    refusal,
    repeated,
    shown,
)
from hpsim.sweep.file.validation import validated
from hpsim.sweep.file.yaml_file import find, load

if TYPE_CHECKING:
    from hpsim.pipeline import Pipeline

Text = Annotated[str, Field(min_length=1, max_length=10_000)]
EXAMPLE = "{name: a, tau: [1, 2]}"


class PipelineEntry(Part):
    """One pipeline of a file.

    Attributes
    ----------
    name : str
        Its name, unique in the file.
    tau : list of Fraction
        Service times, S values, not all zero.
    d, latency : list of Fraction
        Transfer times and travel times of the links, S - 1 values; zeros when left out.
    stages : list of str
        Names of the stages, S texts; empty when they have none.
    note : str or None
        Anything worth saying, such as where the numbers come from.
    """

    name: Text = Field(description="Name of the pipeline, unique in the file.")
    tau: Listed[Number] = Field(min_length=1, max_length=MAX_STAGES, description="Service time of each stage.")
    d: Listed[Number] = Field(default=[], description="Transfer time of each link, one fewer than stages.")
    latency: Listed[Number] = Field(default=[], description="Travel time of each link that occupies nothing.")
    stages: Listed[Text] = Field(default=[], description="Names of the stages.")
    note: str | None = Field(None, description="Where the numbers come from, for example.")

    @model_validator(mode="before")
    @classmethod
    def _no_communication(cls, data: Any) -> Any:
        """Links that are not mentioned take no time."""
        if isinstance(data, dict) and isinstance(data.get("tau"), list | tuple):
            links = [0] * (len(data["tau"]) - 1)
            return {"d": links, "latency": links} | data
        return data

    @model_validator(mode="after")
    def _fits(self) -> PipelineEntry:
        if not any(self.tau):
            raise refusal(("tau",), "every service time is 0", "allowed: at least one above 0")
        for key in ("d", "latency"):
            values = getattr(self, key)
            if len(values) != self.S - 1:
                found = f"{counted(len(values), 'value')} for {counted(self.S, 'stage')}"
                raise refusal((key,), found, f"allowed: {counted(self.S - 1, 'value')}, one a link")
        if self.stages and len(self.stages) != self.S:
            found = f"{counted(len(self.stages), 'name')} for {counted(self.S, 'stage')}"
            raise refusal(("stages",), found, f"allowed: {counted(self.S, 'name')}")
        self.scale  # noqa: B018 - refuses what is too long
        return self

    @property
    def S(self) -> int:
        """Number of stages."""
        return len(self.tau)

    @cached_property
    def scale(self) -> int:
        """Common denominator of all times: multiplied by it, they are whole."""
        return common_denominator((*self.tau, *self.d, *self.latency))

    def pipeline(self) -> Pipeline:
        """The pipeline to compute with, its numbers exact."""
        from hpsim.pipeline import Pipeline

        return Pipeline(self.tau, d=self.d, latency=self.latency)

    def resolved(self) -> dict[str, Any]:
        """As in a pipelines file, in plain JSON types."""
        times = {key: [plain(value) for value in getattr(self, key)] for key in ("tau", "d", "latency")}
        words = {"stages": self.stages, "note": self.note}
        return {"name": self.name} | times | {key: value for key, value in words.items() if value}


def listed(pipelines: Any, allowed: str = f"allowed: a list of pipelines, for example [{EXAMPLE}]") -> Any:
    """``pipelines``, when it is a list."""
    if not isinstance(pipelines, list | tuple):
        raise refusal((), f"found {shown(pipelines)}", allowed)
    return pipelines


def unique_names(pipelines: list[PipelineEntry]) -> list[PipelineEntry]:
    """``pipelines``, when no two have the same name."""
    index = repeated(entry.name for entry in pipelines)
    if index is not None:
        found = f"a second pipeline named {pipelines[index].name[:60]!r}"
        raise refusal((index, "name"), found, "allowed: each name once")
    return pipelines


class PipelinesFile(Part):
    """A file of pipelines.

    Attributes
    ----------
    unit : str or None
        Unit of all times, for display.
    pipelines : list of PipelineEntry
        At least one.
    """

    unit: Text | None = Field(None, description="Unit of all times, for example s or ms.")
    pipelines: Listed[PipelineEntry] = Field(min_length=1, description="The pipelines.")

    _listed = field_validator("pipelines", mode="before")(lambda pipelines: listed(pipelines))
    _names = field_validator("pipelines")(unique_names)


def load_pipelines(path_or_name: str | Path) -> PipelinesFile:
    """Read a pipelines file: a path, or the bare name of a shipped one such as ``paper_clusters``.

    Raises
    ------
    SweepFileError
        When there is no such file, or it says something that is not allowed.
    """
    return validated(PipelinesFile, load(find(str(path_or_name), "configs"), f"pipelines: [{EXAMPLE}]"))
