"""A run over a recording, from its config to its results, as fast as possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.files.recording import Results
from rtsim.live.forces import checked_before, forces_of
from rtsim.live.inputs.recorded import RecordingInput, TimesInput
from rtsim.live.inputs.sources import load_trial, side_of_walker
from rtsim.live.processes.serve import prepare
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.stages.building.first_stage import kinematics_if_any
from rtsim.stages.poses.frame_steps import LONGEST_STEP_S, SHORTEST_STEP_S
from rtsim.stages.stage import Stage
from streams.messages import UNUSABLE, marker_session

if TYPE_CHECKING:
    from rtsim.files.forces.force_trial import ForceTrial

OF_PLATES = ("joint_moments", "coordinate_moments", "coordinate_forces", "foot_contact_forces")
"""Results that depend on the forces of the plates."""


class Ready(NamedTuple):
    """A run over a recording with its stages, ready to start.

    n_frame : number of frames of the source
    open_source : function that opens the input; the input reports the number of finished frames
    stages : computations that are carried out for each frame, with their kernels compiled
    notes : sentences that are stored with the results
    wrong : reason why no force plate can be used; "" = they can be used
    person : name of the person whose markers are solved; "" = not known
    plates : notes on the plates
    """

    n_frame: int
    open_source: Callable[[Callable[[int], None]], TimesInput]
    stages: Sequence[Stage]
    notes: Sequence[str]
    wrong: str = ""
    person: str = ""
    plates: Sequence[str] = ()


def trial_of(run: RunConfig) -> MarkerTrial:
    """Return the markers of a run's source."""
    return load_trial(
        run.source,
        units=run.units or None,
        up=run.up or None,
        side=side_of_walker(run),
        person=run.person,
        unnamed=run.label_unnamed,
    )


def made_ready(run: RunConfig, trial: MarkerTrial, notes: Sequence[str]) -> Ready:
    """Build the stages of a checked run over a trial; compile kernels if necessary.

    notes : sentences to store with the results
    """
    forces = forces_of(run, trial)
    feed = ForceFeed() if forces is not None else None
    stages = prepare(run, feed)
    wrong, plates = plates_judged(run, trial, forces)
    return Ready(
        n_frame=len(trial.times),
        open_source=lambda progress: RecordingInput(trial, progress, forces, feed),
        stages=stages,
        notes=notes,
        wrong=wrong,
        person=run.person,
        plates=plates,
    )


def name_ahead(
    ready: Ready, trial: MarkerTrial, progress: Callable[[int], None] = lambda n_done: None
) -> None:
    """Label markers without names in the whole trial, forwards and backwards, before the run.

    progress : function called with the number of finished frames; each frame counts twice, forwards and
      backwards
    """
    kinematics = kinematics_if_any(ready.stages)
    if kinematics is None or kinematics.unnamed is None:
        return
    steps = np.diff(trial.times, prepend=trial.times[:1])
    steps[~((steps >= SHORTEST_STEP_S) & (steps < LONGEST_STEP_S))] = 0.0
    kinematics.begin(marker_session(trial.names, rate=trial.rate, t_start=0), True)
    assert kinematics.marker_input is not None
    kinematics.marker_input.name_ahead(trial.positions, steps, progress)
    kinematics.reset()


def plates_judged(run: RunConfig, trial: MarkerTrial, forces: ForceTrial | None) -> tuple[str, list[str]]:
    """Return the fault that makes all plates unusable, "" if there is none, and notes on the plates."""
    if forces is None:
        return "", []
    said, wrong = checked_before(run, trial, forces)
    return wrong, [f"{forces.source}: {note}" for note in (*forces.notes, *said)]


def check_results(results: Results, source: str, wrong: str = "", plates: bool = False) -> None:
    """Raise ConfigError if no frame shows a marker or has a usable solution, or if no force plate can be used
    although plates are needed.

    Plates are needed if the command requires them, or if the results contain quantities that are computed
    from their forces, such as joint moments. Angles alone are valid without them.

    wrong : reason why no plate can be used; "" = plates can be used
    plates : whether the command requires plates
    """
    good = (results.status.astype(np.int64) & int(UNUSABLE)) == 0
    rms = results.fields.get("marker_rms")
    if rms is not None:
        good &= np.isfinite(rms.reshape(len(good), -1)).all(axis=1)
    if not good.any():
        raise ConfigError(
            f"none of {len(good)} frames gave usable results", where=source,
            remedy="read the messages above, and check model and subject by `rtsim check`",
        )  # fmt: skip
    if wrong and (plates or not results.fields.keys().isdisjoint(OF_PLATES)):
        raise ConfigError(f"the results of the force plates cannot be used: {wrong}", where=source)
