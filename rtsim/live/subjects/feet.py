"""The feet of a model that brings its own markers: found, reported, and tracked over a recording."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial, name_some
from rtsim.live.inputs.sources import brings_markers, is_c3d
from rtsim.models.feet import NAMED, PlacedFeet, find_feet, in_words
from rtsim.models.model import build
from rtsim.stages.building.context import StageContext
from rtsim.stages.kinematics import make
from rtsim.subjects.markers.marker_names import find_markers

FloatArray = NDArray[np.float64]
BORNE_BY = "plates.borne_by"
MOST_FRAMES = 20_000
"""Number of frames of a recording that are looked at before a run of a model that brings its own markers."""


def placed_feet(run: RunConfig, spec: ModelSpec) -> PlacedFeet | None:
    """Return the bodies that are the feet of a model with its own markers, on which force plates act. Return
    None for a run with a person's markers.

    The result contains no feet if the run itself states which bodies stand on which plates. Raises
    ConfigError if the model has no feet that could stand on the plates, and if gravity is not along -Y, as
    the axes of the plates require.
    """
    if not brings_markers(run, spec):
        if run.plates.feet or run.plates.borne_by:
            raise ConfigError(
                "bodies on which force plates act can be named only for a model that defines its own markers",
                where=NAMED if run.plates.feet else BORNE_BY,
                remedy="remove this key, and give the forces with --forces",
            )  # fmt: skip
        return None
    x, y, z = spec.gravity_m_s2
    if not y < 0.0 or x or z:
        raise ConfigError(
            f"gravity in the model is along ({x:g}, {y:g}, {z:g}), but force plates need a ground "
            "whose Y axis is up",
            where=f"model {spec.name}", remedy="leave the force plates out, or rotate the model so that its "
                                               "gravity is along -Y",
        )  # fmt: skip
    if run.plates.borne_by:
        check_bodies(run.plates.borne_by, spec)
        return PlacedFeet(())
    return PlacedFeet(find_feet(build(spec), run.plates.feet))


def check_bodies(borne_by: Mapping[str, Mapping[str, float]], spec: ModelSpec) -> None:
    """Raise ConfigError for a plate that is assigned to a body the model does not have; borne_by : plate ->
    body -> part of the plate's load that it bears
    """
    names = [body.name for body in spec.bodies]
    for plate, parts in borne_by.items():
        for body in parts:
            if body not in names:
                raise ConfigError(
                    f"the model {spec.name} has no body {body!r}", where=f"{BORNE_BY}.{plate}",
                    allowed=name_some(names),
                )  # fmt: skip


def told_feet(run: RunConfig, spec: ModelSpec) -> list[str]:
    """Return at most one note for the user: which bodies of a model with its own markers the force plates act
    on, or why the force plates of the recording or stream `run.source` are not used. It is empty if the run
    has no forces, or fits a person's markers.
    """
    if not (run.forces or is_c3d(run.source)):
        return []
    try:
        placed = placed_feet(run, spec)
    except ConfigError as fault:
        return [f"force plates in {run.source}, if there are any, are not used: {fault}"]
    if placed is None:
        return []
    if run.plates.borne_by:
        return [f"force plates: {'; '.join(told_parts(run.plates.borne_by))}"]
    return [in_words(build(spec), placed.feet)]


def told_parts(borne_by: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return notes that say which bodies load which plates; borne_by : plate -> body -> fraction of the
    plate's load that acts on the body, as the run states
    """
    return [
        f"{plate} on {', '.join(f'{body} ({100.0 * part:g} %)' for body, part in parts.items())}"
        for plate, parts in borne_by.items()
    ]


def beginning(trial: MarkerTrial) -> MarkerTrial:
    """Return the first frames of a recording, in which the model's feet are searched."""
    rows = slice(0, MOST_FRAMES)
    return trial._replace(times=trial.times[rows], positions=trial.positions[rows])


def lines_of_model(run: RunConfig, spec: ModelSpec, trial: MarkerTrial, placed: PlacedFeet) -> FloatArray:
    """Track a trial with a model that brings its own markers, and return where its feet are in each frame.

    Returns (n, 2, 2, 3) [m] in ground: for each frame and foot the heel and the tip of the toes; NaN = not
    visible.
    """
    estimator = make(StageContext(run, spec, None)).estimator
    names = estimator.model.names.markers
    followed = PlacedFeet(placed.feet, estimator.model.markers.body)
    found = find_markers(names, trial.names)
    measured = np.full((len(trial.times), len(names), 3), np.nan)
    for name, column in found.items():
        measured[:, names.index(name)] = trial.positions[:, column]
    lines = np.full((len(measured), 2, 2, 3), np.nan)
    for k, (frame, dt) in enumerate(zip(measured, np.diff(trial.times, prepend=trial.times[0]), strict=True)):
        estimator.aim(float(trial.times[k]))
        if estimator.estimate(frame, float(dt)).n_visible:
            lines[k] = followed.at(*estimator.pose, frame)
    return lines
