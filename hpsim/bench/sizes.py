"""How much a benchmark measures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """The size of each measurement.

    Attributes
    ----------
    pipelines : int
        N of ``simulate``.
    stages, microbatches : tuple of int
        S and M of ``simulate``; the largest M is what its targets are about.
    beside_numpy : tuple of int
        S of the comparison with NumPy.
    limited_stages : tuple of int
        S of the comparison of limited places, channels and windows with the chain.
    limited_pipelines : int
        N of the timed run with limited places.
    numpy_chunks : tuple of int
        Configurations that NumPy takes at a time; the fastest counts.
    in_python : int
        Pipelines that the plain-Python twin simulates.
    adder_passes : int
        Passes of the adder loop in a run.
    violations, points : tuple of str
        Settings of the sweeps ``billion`` and ``paper_fuzz``, as after ``--set``.
    search : tuple of str
        Settings of ``billion`` where a search is compared with it.
    memory : tuple of int
        Configurations of the two ``record: points`` sweeps whose peak memory is compared.
    memory_chunk : int
        Configurations a chunk in those.
    start : tuple of str
        Settings of ``paper_fuzz`` when its start-up is timed.
    sample : float
        Seconds that a timing of ``simulate`` beside the adders takes at least.
    repeats, repeats_unjudged, sweep_repeats, start_repeats : int
        Timings of each run: kernels, those beside the adders without a target, whole sweeps, new processes.
    """

    pipelines: int
    stages: tuple[int, ...]
    microbatches: tuple[int, ...]
    beside_numpy: tuple[int, ...]
    limited_stages: tuple[int, ...]
    limited_pipelines: int
    numpy_chunks: tuple[int, ...]
    in_python: int
    adder_passes: int
    violations: tuple[str, ...]
    points: tuple[str, ...]
    search: tuple[str, ...]
    memory: tuple[int, int]
    memory_chunk: int
    start: tuple[str, ...]
    sample: float
    repeats: int
    repeats_unjudged: int
    sweep_repeats: int
    start_repeats: int


FULL = Size(
    pipelines=65_536,
    stages=(2, 3, 4, 5, 6, 7, 8, 16, 64),
    microbatches=(100, 400),
    beside_numpy=(2, 4, 8),
    limited_stages=(4, 8),
    limited_pipelines=1_000_000,
    numpy_chunks=(512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536),
    in_python=50,
    adder_passes=300_000,
    violations=("configs=1048576",),
    points=("configs=262144", "chunk=32768"),
    search=("configs=524288", "chunk=65536"),
    memory=(125_000, 1_250_000),
    memory_chunk=32_768,
    start=(),
    sample=0.02,
    repeats=25,
    repeats_unjudged=7,
    sweep_repeats=9,
    start_repeats=5,
)

QUICK = Size(
    pipelines=64,
    stages=(2, 4),
    microbatches=(2, 5),
    beside_numpy=(2,),
    limited_stages=(2,),
    limited_pipelines=64,
    numpy_chunks=(16, 64),
    in_python=2,
    adder_passes=2,
    violations=("configs=64", "chunk=16", "microbatches=[1, 4]"),
    points=("configs=64", "chunk=16", "microbatches=[1, 4]"),
    search=("configs=64", "chunk=16", "microbatches=[1, 4]"),
    memory=(16, 64),
    memory_chunk=16,
    start=("configs=16", "stages=2"),
    sample=0.0,
    repeats=2,
    repeats_unjudged=1,
    sweep_repeats=2,
    start_repeats=1,
)
