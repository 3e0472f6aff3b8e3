"""The sweep file: one frozen model of what is run, with every default filled in."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic.config import JsonDict

from hpsim.claims.tree import Statement
from hpsim.errors import SweepFileError
from hpsim.regime import NAMES
from hpsim.sweep.claims import in_order, statement_of
from hpsim.sweep.file.checks import CHECKS, for_regimes
from hpsim.sweep.file.combinations import (
    LARGEST_USUAL_CHUNK,
    SAMPLED_ONLY,
    SOURCES,
    Source,
    check_arithmetic,
    check_memory,
    check_rho,
    check_source,
    check_tau,
    defaults,
    usual_chunk,
)
from hpsim.sweep.file.distribution import DistributionField, StagesField
from hpsim.sweep.file.document import Document
from hpsim.sweep.file.exactness import (
    Demands,
    check_grid,
    check_knobs,
    check_pipelines,
    check_sampled,
    check_sixteenths,
)
from hpsim.sweep.file.fields import (
    MAX_CONFIGS,
    Chunk,
    Configs,
    Listed,
    MicroBatches,
    Part,
    Resolution,
    Seed,
    plain,
    refusal,
    shown,
)
from hpsim.sweep.file.grid import Grid
from hpsim.sweep.file.knob_regime import Entry, KnobRegime, name_of
from hpsim.sweep.file.pipelines_file import EXAMPLE, PipelineEntry, Text, listed, load_pipelines, unique_names
from hpsim.sweep.file.regimes import RegimeEntry, resolve
from hpsim.sweep.file.settings import with_settings
from hpsim.sweep.file.validation import validated
from hpsim.sweep.file.values import ClaimText, Name, Share, Tolerance, each_once, safe_name
from hpsim.sweep.file.yaml_file import find, load

_NOT_EMPTY: JsonDict = {"minItems": 1, "uniqueItems": True}
_TAU = (
    "Service time of each stage. Where every draw of a configuration is 0, one of its stages gets the upper end, "
    "so that no pipeline is without work."
)


class Sweep(Part):
    """What is run: where configurations come from, what is computed for each, what is checked and what is kept.

    Exactly one source is given: ``configs`` (with ``stages``, ``tau``, ``d``, ``latency``, ``edge_cases``),
    ``pipelines`` or ``grid``; keys of the other sources are None. ``rho`` is None without the regime ``partial`` and
    for a grid, which has its own. Times share the unit of the file.
    """

    name: Name = Field("sweep", description="Name of the run; its folder is results/<name>. Default: the file's name.")
    unit: Text | None = Field(None, description="Unit of all times, for display; default: the pipelines file's.")
    seed: Seed = Field(0, description="Seed of the random numbers; the same seed gives the same configurations.")
    configs: Configs | None = Field(None, description="Source: this many random configurations.")
    stages: StagesField | None = Field(None, description="Number of stages S (uniform is over whole numbers).")
    tau: DistributionField | None = Field(None, description=_TAU)
    d: DistributionField | None = Field(None, description="Transfer time of each link; 0 when left out.")
    latency: DistributionField | None = Field(None, description="Travel time of each link that occupies nothing.")
    rho: DistributionField | None = Field(None, description="Overlapped share of each transfer, for `partial`.")
    edge_cases: Share | None = Field(None, description="Share of configurations forced onto a tie or a boundary.")
    pipelines: Listed[PipelineEntry] | None = Field(
        None, min_length=1, description="Source: a pipelines file (path or shipped name), or a list of pipelines."
    )
    grid: Grid | None = Field(None, description="Source: every combination of explicit values.")
    microbatches: Listed[MicroBatches] = Field(
        [1, 2, 4, 8, 16, 32, 64, 100], description="Numbers of micro-batches M.", json_schema_extra=_NOT_EMPTY
    )
    regimes: Listed[RegimeEntry] = Field(
        ["async", "blocking"],
        description="How stages and links interact: names, or mappings of knobs with a name.",
        json_schema_extra=_NOT_EMPTY,
    )
    arithmetic: Literal["exact", "float64"] = Field(
        "exact", description="exact: checks are equalities; float64: within a relative tolerance."
    )
    tolerance: Tolerance | None = Field(None, description="Relative tolerance of the checks in float64; default 1e-9.")
    resolution: Resolution | None = Field(None, description="Sampled times are multiples of 2^-resolution; default 20.")
    claims: Listed[ClaimText] = Field(
        ["paper"],
        description="What is checked at every point: `paper`, or ids of claims and statements.",
        json_schema_extra={"uniqueItems": True},
    )
    record: Literal["points", "violations"] = Field("points", description="Keep every point, or only violations.")
    chunk: Chunk = Field(
        LARGEST_USUAL_CHUNK,
        description="Configurations a chunk; default 262144 with `record: violations`, "
        f"else {LARGEST_USUAL_CHUNK}, or fewer where a configuration has many stages, regimes and micro-batches.",
    )

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, data: Any) -> Any:
        return defaults(data) | data if isinstance(data, dict) else data

    @field_validator("microbatches", "regimes", "claims", mode="before")
    @classmethod
    def _one_value(cls, value: Any) -> Any:
        return value if isinstance(value, list | tuple) else [value]

    @field_validator("microbatches")
    @classmethod
    def _ascending(cls, value: list[int]) -> list[int]:
        return sorted(each_once(value, "number of micro-batches"))

    @field_validator("regimes")
    @classmethod
    def _known_order(cls, value: list[Any]) -> list[Entry]:
        if not value:
            raise refusal((), "an empty list", "allowed: at least one regime")
        return resolve(value)

    @field_validator("claims", mode="wrap")
    @classmethod
    def _resolved_claims(cls, value: Any, handler: Any, info: ValidationInfo) -> list[str]:
        regimes = [name_of(entry) for entry in info.data.get("regimes", NAMES)]
        if value in ("paper", ["paper"]) or (value == [] and not for_regimes(regimes)):
            return for_regimes(regimes)
        return in_order(each_once(handler(value), "claim"), regimes)

    @field_validator("pipelines", mode="before")
    @classmethod
    def _file_or_list(cls, value: Any) -> Any:
        allowed = f"allowed: a file name, for example hand_crafted, or a list of pipelines, for example [{EXAMPLE}]"
        return value if value is None else listed(value, allowed)

    @field_validator("pipelines")
    @classmethod
    def _unique_names(cls, value: list[PipelineEntry] | None) -> list[PipelineEntry] | None:
        return value if value is None else unique_names(value)

    @model_validator(mode="after")
    def _makes_sense(self) -> Sweep:
        check_source([key for key in (*SOURCES, *SAMPLED_ONLY) if getattr(self, key) is not None])
        if self.tau is not None:
            check_tau(self.tau)
        check_rho("partial" in self.regimes, self.rho, self.grid)
        for index, text in enumerate(self.claims):
            if text in self.statements and self.statements[text].uses_rho and "partial" not in self.regimes:
                raise refusal(("claims", index), f"{text} depends on rho", "allowed with the regime partial")
        least, most = self.stage_range
        for regime in self.knob_regimes.values():
            regime.check_fit(least, most, self.microbatches[-1])
        check_arithmetic(self.arithmetic == "exact", self.tolerance, self.resolution, self.source)
        self._check_totals()
        if self.record == "points":  # violations are looked for tile by tile, whatever the chunk
            numbers = 2 * most + len(self.microbatches) * (1 + 3 * len(self.regimes))
            if "chunk" not in self.model_fields_set:
                object.__setattr__(self, "chunk", usual_chunk(numbers))
            check_memory(self.chunk, self.n_configs, numbers)
        if self.n_configs > MAX_CONFIGS:
            found = f"10^{math.floor(math.log10(self.n_configs))} configurations or more"
            raise refusal(("grid",), found, f"allowed: at most {MAX_CONFIGS}")
        return self

    def _check_totals(self) -> None:
        """Totals, shares and feedback times that the arithmetic can hold."""
        exact = self.arithmetic == "exact"
        demands = Demands.of(self.microbatches[-1], exact, self.regimes)
        if self.pipelines is not None:
            check_pipelines(self.pipelines, demands)
            units = {Fraction(1, scale) for scale in {entry.scale for entry in self.pipelines}}
        elif self.grid is not None:
            check_grid(self.grid, demands)
            units = {Fraction(1, self.grid.scale)}
            if exact:
                check_sixteenths(self.grid.rho, ("grid", "rho"))
        else:
            times = {"tau": self.tau, "d": self.d, "latency": self.latency}
            known = {key: distribution for key, distribution in times.items() if distribution is not None}
            check_sampled(self.stage_range[1], demands, known, self.resolution)
            units = {Fraction(1, 2 ** (self.resolution or 0))}
        if exact and self.rho is not None and self.rho.kind in ("constant", "choice"):
            check_sixteenths(self.rho.values, ("rho", "choice"))
        if exact:
            check_knobs(self.knob_regimes.values(), units)

    @property
    def source(self) -> Source:
        """Where configurations come from."""
        return next(source for key, source in SOURCES.items() if getattr(self, key) is not None)

    @property
    def regime_names(self) -> list[str]:
        """The names of the regimes, in the order of the columns."""
        return [name_of(entry) for entry in self.regimes]

    @property
    def knob_regimes(self) -> dict[str, KnobRegime]:
        """The regimes given by knobs, by name."""
        return {entry.name: entry for entry in self.regimes if isinstance(entry, KnobRegime)}

    @cached_property
    def statements(self) -> dict[str, Statement]:
        """The claims that are no built-in checks, as parsed."""
        return {text: statement_of(text, self.regime_names) for text in self.claims if text not in CHECKS}

    @property
    def n_configs(self) -> int:
        """Number of configurations."""
        if self.pipelines is not None:
            return len(self.pipelines)
        return self.grid.total if self.grid is not None else (self.configs or 0)

    @property
    def stage_range(self) -> tuple[int, int]:
        """The smallest and the largest number of stages."""
        if self.pipelines is not None:
            stages = [entry.S for entry in self.pipelines]
        elif self.grid is not None:
            stages = list(self.grid.stages)
        else:
            stages = [1] if self.stages is None else [int(value) for value in self.stages.values]
        return min(stages), max(stages)

    @property
    def n_chunks(self) -> int:
        """Number of chunks; the last may be short."""
        return -(-self.n_configs // self.chunk)

    @property
    def n_points(self) -> int:
        """Number of (configuration, M) pairs."""
        return self.n_configs * len(self.microbatches)

    def chunk_range(self, index: int) -> range:
        """The configuration ids of chunk ``index``, from 0."""
        return range(index * self.chunk, min((index + 1) * self.chunk, self.n_configs))

    def rounding(self) -> list[str]:
        """One sentence for each fixed time of a sampled sweep that is rounded to a multiple of 2^-resolution."""
        grid = 2 ** (self.resolution or 0)
        return [
            f"{key} {shown(value)} is rounded to {shown(Fraction(round(value * grid), grid))}, a multiple of 1/{grid}"
            for key, distribution in (("tau", self.tau), ("d", self.d), ("latency", self.latency))
            if self.resolution is not None and distribution is not None and distribution.times is None
            for value in (distribution.values if distribution.kind in ("constant", "choice") else ())
            if (value * grid).denominator != 1
        ]

    def resolved(self) -> dict[str, Any]:
        """The sweep in plain JSON types, in the words of a sweep file; loading it gives an equal sweep."""
        values = {key: _plain(getattr(self, key)) for key in type(self).model_fields}
        return {key: value for key, value in values.items() if value is not None}

    @cached_property
    def sha256(self) -> str:
        """Hash of the resolved form: equal sweeps have equal hashes."""
        canonical = json.dumps(self.resolved(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()


def load_sweep(path_or_name: str | Path, settings: Sequence[str] = ()) -> Sweep:
    """Read a sweep file: a path, or the bare name of a shipped one such as ``paper_fuzz``.

    Parameters
    ----------
    path_or_name : str or Path
        The file.
    settings : sequence of str
        ``key=value`` pairs that beat the file, as after ``--set``.

    Raises
    ------
    SweepFileError
        For the first mistake: file, line and key, what was found, and what is allowed.
    """
    path = find(str(path_or_name), "sweeps")
    document = with_settings(load(path), settings)
    return _sweep(document, path.parent, path.stem)


def make_sweep(data: Mapping[str, Any], name: str = "sweep") -> Sweep:
    """A sweep from plain data in the words of a sweep file; paths are relative to the working directory.

    Raises
    ------
    SweepFileError
        As :func:`load_sweep`; places open with ``name``.
    """
    return _sweep(Document(name, dict(data), {(): 1}), Path(), name)


def sweep_of(given: Sweep | str | Path | Mapping[str, Any], settings: Sequence[str] = ()) -> Sweep:
    """A sweep as a caller gives it: one that was read before, a path or bare name, or plain data.

    ``settings`` as in :func:`load_sweep`; a sweep that was read before takes none.

    Raises
    ------
    SweepFileError
        As :func:`load_sweep`.
    """
    if isinstance(given, str | Path):
        return load_sweep(given, settings)
    if isinstance(given, Mapping):
        return _sweep(with_settings(Document("sweep", dict(given), {(): 1}), settings), Path(), "sweep")
    if settings:
        raise SweepFileError("set", f"{', '.join(settings)[:60]} beside a sweep that was read", "a file, or plain data")
    if not hasattr(given, "n_chunks"):
        raise SweepFileError(
            "sweep", f"found {shown(given)}", "a path, the name of a shipped sweep, a mapping or a Sweep"
        )
    return given


def _sweep(document: Document, folder: Path, stem: str) -> Sweep:
    data: dict[str, Any] = {"name": safe_name(stem)} | document.data
    if isinstance(data.get("pipelines"), str):
        place, typed = document.place(("pipelines",)), ("pipelines",) in document.settings
        path = find(data["pipelines"], "configs", Path() if typed else folder, place)
        loaded = load_pipelines(path)
        if loaded.unit is not None and data.get("unit", loaded.unit) != loaded.unit:
            found = f"{shown(data['unit'])}, but the times of {path} are in {shown(loaded.unit)}"
            raise SweepFileError(document.place(("unit",)), found, "leave unit out, or give that one")
        unit = {} if loaded.unit is None else {"unit": loaded.unit}
        data = unit | data | {"pipelines": loaded.pipelines}
    return validated(Sweep, Document(document.file, data, document.lines, document.settings))


def _plain(value: Any) -> Any:
    """A field of a sweep in plain JSON types."""
    if isinstance(value, Fraction):
        return plain(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.resolved() if hasattr(value, "resolved") else value
