"""Scaling of a model to a person by a static trial: sizes, masses, muscles, markers.

The steps are those of OpenSim's scale tool, as stated in its setup file: factors by measurements and by
hand, geometry of the bodies, masses, fibre and tendon lengths in proportion to the paths, then the static
pose, in which the markers are placed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.joint_schema import coordinates_of
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.files.osim.markers import read_marker_set
from rtsim.files.osim.setup_scale import Placer, ScaleSetup
from rtsim.files.tables.storage import read_storage
from rtsim.methods.kinematics.static_pose import StaticPose, Wanted, fit_pose, mean_places, place_markers
from rtsim.methods.muscles.moment_arms import MomentArms, arms_of
from rtsim.models.measuring import SegmentMeasure, body_factors, is_unset, static_frames
from rtsim.models.scaling import scale_geometry, scale_masses, scale_muscles
from rtsim.subjects.calibration.masses import notes_on_size
from rtsim.subjects.markers.persons import read_one, share_of

Array = NDArray[np.float64]
Note = Callable[[str], None]


class Scaled(NamedTuple):
    """A model scaled to a person, with the scale factors (3,) of each body, the measurements that these come
    from, the distances of the model's markers from the measured ones in the static pose, before they are
    moved [m], and the new path length of each muscle divided by the former one.
    """

    spec: ModelSpec
    factors: Mapping[str, Array]  # of every body, (3,)
    measured: tuple[SegmentMeasure, ...]
    errors: Mapping[str, float]  # of the markers in the static pose, before they are placed [m]
    ratios: Mapping[str, float]  # of muscles whose path can be computed


def scale(spec: ModelSpec, setup: ScaleSetup, static: Path | None, note: Note, person: str = "") -> Scaled:
    """Scale a model to a person by a setup; `static` replaces the trials that the setup names.

    note : called with sentences for the user
    person : the person, if these trials have several
    """
    if setup.marker_set_file is not None:
        spec = with_markers(spec, setup.marker_set_file, note)
    factors = {body.name: np.ones(3) for body in spec.bodies}
    measured: tuple[SegmentMeasure, ...] = ()
    ratios: Mapping[str, float] = {}
    if setup.scaler is not None:
        scaler = setup.scaler
        trial = read_static(static or scaler.marker_file, spec, person, note)
        arms = arms_of(spec)
        names = tuple(factors)
        factors, measured = body_factors(scaler, names, neutral_markers(spec, arms), trial, note)
        larger = scale_geometry(spec, factors, note)
        larger = scale_masses(larger, factors, setup.mass_kg, scaler.keep_mass_shares)
        for text in notes_on_size(setup.mass_kg) if setup.mass_kg else ():
            note(text)
        if setup.mass_kg and not any(body.mass_kg for body in larger.bodies):
            note(f"the mass of {setup.mass_kg:g} kg is not used, because the bodies of the model have none")
        ratios = length_ratios(arms, arms_of(larger), note)
        spec = scale_muscles(larger, ratios)
    elif setup.mass_kg:
        note(
            f"the mass of {setup.mass_kg:g} kg is not used, because the setup's ModelScaler is switched off "
            "or missing"
        )
    errors: Mapping[str, float] = {}
    if setup.placer is not None:
        spec, found = place(spec, setup.placer, static, note, person)
        errors = found.errors
    return Scaled(spec, factors, measured, errors, ratios)


def with_markers(spec: ModelSpec, path: Path, note: Note) -> ModelSpec:
    """Add the markers of a file to the model's own; markers with the same name are replaced."""
    found, notes = read_marker_set(path, tuple(body.name for body in spec.bodies))
    for text in notes:
        note(text)
    markers = {marker.name: marker for marker in (*spec.markers, *found)}
    return msgspec.structs.replace(spec, markers=tuple(markers.values()))


def read_static(path: Path | None, spec: ModelSpec, person: str, note: Note) -> MarkerTrial | None:
    if path is None:
        return None
    trial = read_one(path, share_of([marker.name for marker in spec.markers]), person, strict=bool(person))
    for text in trial.notes:
        note(f"{path.name}: {text}")
    return trial


def neutral_markers(spec: ModelSpec, arms: MomentArms) -> dict[str, Array]:
    """Return the positions of the model's markers in ground at the initial coordinates [m]."""
    if not spec.markers:
        return {}
    places = arms.body_places(arms.assembled())
    found = {}
    for marker in spec.markers:
        R, p = places[marker.segment]
        found[marker.name] = p + R @ (1e-3 * np.array(marker.offset_mm))
    return found


def length_ratios(before: MomentArms, after: MomentArms, note: Note) -> dict[str, float]:
    """Return for each muscle its path length after scaling divided by that before, at the initial
    coordinates. A muscle whose path cannot be computed is left out, with a note, so that its fibre length is
    not scaled.
    """
    lengths = [arms.lengths(arms.assembled()) for arms in (before, after)]
    ratios = {}
    for name, old, new in zip(before.model.names.muscles, *lengths, strict=True):
        if np.isfinite(old) and np.isfinite(new) and old > 0.0:
            ratios[name] = float(new / old)
        else:
            note(
                f"muscle {name}: its path cannot be computed in the starting pose; the fibre length "
                "of this muscle was not scaled"
            )
    return ratios


def place(
    spec: ModelSpec, placer: Placer, static: Path | None, note: Note, person: str = ""
) -> tuple[ModelSpec, StaticPose]:
    """Find the pose of the model in a static trial and move the model's markers to their measured positions;
    return model and pose.

    placer : the setup's settings for this; static : the trial, None = the one that the setup names
    person : the person, if the trial has several
    """
    trial = read_static(static or placer.marker_file, spec, person, lambda text: None)  # told once already
    if trial is None:
        raise ConfigError(
            "markers can be placed only by a static trial",
            where="marker placement",
            remedy="give the static trial with --static",
        )
    inside = static_frames(trial.times, *placer.times, where="MarkerPlacer", note=note)
    measured, moved = mean_places(trial.names, trial.positions[inside])
    if placer.most_movement > 0.0:
        far = [name for name, by in moved.items() if 1e3 * by > placer.most_movement]
        if far:
            note(
                f"markers that move more than the setup's {placer.most_movement:g} mm within its time_range: "
                f"{', '.join(far)}"
            )
    known = {marker.name for marker in spec.markers}
    for name in placer.tasks.markers:
        if name not in known:
            note(f"the task of marker {name} is left out, because the model has no such marker")
    arms = arms_of(spec)
    seen = {name: x for name, x in measured.items() if np.isfinite(x).all()}
    goals = coordinate_goals(placer, spec, arms, trial, note)
    found = fit_pose(spec, Wanted(seen, placer.tasks.markers, goals))
    return place_markers(spec, found.places, measured, note), found


def coordinate_goals(
    placer: Placer, spec: ModelSpec, arms: MomentArms, trial: MarkerTrial, note: Note
) -> dict[str, tuple[float, float]]:
    """Return the target value [rad, m] and the weight of every coordinate that the setup for the static pose
    names.

    placer : this setup; spec, arms : the model; trial : the static trial
    note : called with sentences on the coordinate file
    """
    model, goals = arms.model, {}
    told: dict[str, None] = {}
    defaults = {c.name: c.default for body in spec.bodies for c in coordinates_of(body)}
    for task in placer.tasks.coordinates:
        value = task.value
        if task.name in model.coordinates.names:
            k = model.coordinates.names.index(task.name)
            if task.value_kind == "default_value":
                value = defaults[task.name]
            elif task.value_kind == "from_file":
                value = of_file(placer, task.name, bool(model.coordinates.in_degrees[k]), trial, told)
        goals[task.name] = value, task.weight
    for text in told:
        note(text)
    return goals


def of_file(placer: Placer, name: str, in_degrees: bool, trial: MarkerTrial, told: dict[str, None]) -> float:
    """Read the value of a coordinate [rad, m] at the time of the static pose from the coordinate file that
    the setup names.

    in_degrees : whether it is an angle that such files may state in degrees
    told : receives notes on the file, each note once
    """
    if placer.coordinate_file is None:
        raise ConfigError(
            f"the setup takes the value of {name} from a coordinate_file, but names none",
            where="coordinate tasks",
        )
    table = read_storage(placer.coordinate_file)
    told.update(dict.fromkeys(f"{placer.coordinate_file}: {note}" for note in table.notes))
    stated = np.isfinite(placer.times[0]) and not is_unset(trial.times, *placer.times)
    time = placer.times[0] if stated else float(trial.times[0])
    values = table.column(name)
    seen = np.isfinite(values)
    if not seen.any():
        raise ConfigError(f"the column {name!r} contains no number", where=str(placer.coordinate_file))
    times = table.column("time")[seen]
    if len(times) > 1 and not times[0] <= time <= times[-1]:  # one row is a pose, whatever its time
        told[
            f"{placer.coordinate_file}: {name} has values from {times[0]:g} to {times[-1]:g} s, so the one "
            f"nearest to {time:g} s is taken for the static pose"
        ] = None
    value = float(np.interp(time, times, values[seen]))
    return float(np.radians(value)) if in_degrees and table.in_degrees else value
