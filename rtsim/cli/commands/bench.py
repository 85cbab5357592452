"""`rtsim bench`: benchmarks on this machine."""

from __future__ import annotations

from rtsim.cli.benches import (
    bench_endurance,
    bench_fuzz,
    bench_kernels,
    bench_replay,
    bench_runs,
    bench_studies,
    bench_tests,
)
from rtsim.cli.benches.bench_group import command

BENCHES = (
    bench_endurance,
    bench_fuzz,
    bench_kernels,
    bench_replay,
    bench_runs,
    bench_studies,
    bench_tests,
)
"""Benches whose commands are in the group."""

__all__ = ["BENCHES", "command"]
