"""Recomputation of a recorded run from its journal, and comparison with the recorded results."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from rtsim.config.runs.run_schema import RunConfig
from rtsim.live.exact.build import build_facts, differences_of_builds
from rtsim.live.exact.reading import RecordedRun
from rtsim.live.exact.replayed_loop import JournalInput, ReplayedLoop
from rtsim.live.exact.replayed_results import ReplayedResults
from rtsim.live.exact.restored_files import restored_run
from rtsim.live.processes.serve import meta_of, stages_of
from rtsim.methods.plates.force_feed import ForceFeed

ROUNDING = 1e-9
"""Difference, relative to a quantity's peak, that builds and machines may have: rounding errors, enlarged by
solvers that end at a tolerance (6e-11 was seen with other compiler settings)."""


class ReplayOutcome(NamedTuple):
    """Outcome of a replay.

    recorded : the recorded run
    results : comparison of recorded and recomputed results
    build : facts, such as versions and the processor, in which this build differs from the recorded one, as
        text
    n_frame : number of frames that were computed
    tolerance : allowed difference relative to the peak of a quantity
    """

    recorded: RecordedRun
    results: ReplayedResults
    build: tuple[str, ...]
    n_frame: int
    tolerance: float

    @property
    def is_equal(self) -> bool:
        """Whether all results and descriptors are equal byte by byte, and none is missing."""
        results = self.results
        return (
            results.n_equal == results.n_result
            and results.n_session_equal == results.n_session
            and not results.n_missing
        )

    @property
    def is_close(self) -> bool:
        """Return whether no quantity differs by more than the tolerance, all status flags are equal, and no
        result is missing.
        """
        results = self.results
        near = all(found.within(self.tolerance, 0.0) for found in results.quantities.values())
        return near and not results.status.n_differ and not results.n_missing

    @property
    def code(self) -> int:
        """Return the exit code: 0 = equal byte by byte; also 0 = equal within the tolerance, if the build is
        another one or the user has given a tolerance; 1 = different; 2 = there are no results to compare.
        """
        if not self.results.n_result:
            return 2
        return int(not (self.is_equal or ((self.build or self.tolerance != ROUNDING) and self.is_close)))

    def row(self) -> dict[str, Any]:
        """Return the outcome as a dictionary, for programs."""
        results, recorded = self.results, self.recorded
        return {
            "recording": str(recorded.path),
            "equal_byte_for_byte": self.is_equal,
            "equal_but_for_rounding": self.is_close,
            "results": results.n_result,
            "results_equal": results.n_equal,
            "descriptors": results.n_session,
            "descriptors_equal": results.n_session_equal,
            "results_not_recorded": results.n_unrecorded,
            "results_missing": results.n_missing,
            "results_beyond_the_journal": results.n_beyond,
            "frames": self.n_frame,
            "frames_skipped_in_the_run": recorded.n_skipped,
            "commands": recorded.n_command,
            "sessions": recorded.n_session,
            "cut": recorded.cut,
            "same_build": not self.build,
            "build": list(self.build),
            "altered": results.altered,
            "status": results.status.row(),
            "quantities": [found.row() for found in results.quantities.values() if found.n_differ],
            "tolerance": self.tolerance,
            "code": self.code,
        }


def replayed(
    recorded: RecordedRun,
    tolerance: float = ROUNDING,
    before: Callable[[RunConfig], None] = lambda run: None,
    progress: Callable[[int], None] = lambda n_done: None,
) -> ReplayOutcome:
    """Compute a recorded run again and compare its results.

    tolerance : allowed difference relative to the peak of a quantity
    before : function called with the run before its stages are built, for example to compile its kernels
    progress : function called with the number of finished frames

    ConfigError if the run cannot be repeated or its journal is invalid.
    """
    with tempfile.TemporaryDirectory(prefix="rtsim-replay-") as folder:
        run = restored_run(recorded, Path(folder))
        before(run)
        request = recorded.request
        feed = ForceFeed() if run.forces else None
        stages, _ = stages_of(replace(request, run=run), feed)
        source = JournalInput(recorded, feed, progress)
        output = ReplayedResults(recorded, source)
        meta = meta_of(request.run, request.notes, request.markers)
        ReplayedLoop(source, stages, output, meta).run()
    build = differences_of_builds(recorded.build, build_facts())
    return ReplayOutcome(recorded, output, tuple(build), source.n_done, tolerance)
