"""Content of a report: trials of one person in one session, their strides and their curves over the cycle."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.norms.variables import CGM, ISB, VARIABLES
from rtsim.files.recording import Results
from rtsim.files.tables.legs import SIDES, groups_of
from rtsim.files.tables.sound import Sound
from rtsim.files.tables.tables import labels_of
from rtsim.methods.gait.cycle_curves import averaged, deviation_of, instants_of, mean_of, strides_of
from rtsim.methods.gait.cycles import GaitCycle
from rtsim.methods.gait.summary import RunGait, gait_of, without_stride
from rtsim.units import DEGREES
from streams.messages import FieldSpec

FloatArray = NDArray[np.float64]
GRAVITY = 9.80665
WITHOUT_FEET = (
    "no segment of these results has the name of a foot, so no strides are found; models with their "
    "own markers are not evaluated over the gait cycle"
)


class ReportTrial(NamedTuple):
    """One recording in a report.

    name : name of its file
    gait : gait events of the trial, and the sides of the feet in its results
    cycles : the strides that enter the report
    notes : notes for the user
    doubts : those of the notes that say that force plates do not fit the mass, the feet or the model
    """

    name: str
    results: Results
    gait: RunGait
    cycles: tuple[GaitCycle, ...]
    notes: tuple[str, ...]
    doubts: tuple[str, ...] = ()

    @property
    def mass(self) -> float:
        """Mass of the person [kg]; 0 = not known."""
        return number_of(self.results.session.meta, "mass_kg")


class ReportSession(NamedTuple):
    """The trials of one person in one session; label : name of the session in legends and tables."""

    label: str
    trials: tuple[ReportTrial, ...]


class ReportCurve(NamedTuple):
    """A quantity over the gait cycles of both sides, for all trials of a session.

    up, down : meaning of positive and negative values, such as flexion and extension
    strides : side -> (n_stride, 101) values
    sound : side -> (n_stride, 101) whether these values are reliable, as their frames or joints have no flag
    trials : side -> name of the trial of each stride
    """

    name: str
    title: str
    unit: str
    up: str
    down: str
    strides: dict[str, FloatArray]
    sound: dict[str, NDArray[np.bool_]]
    trials: dict[str, tuple[str, ...]]

    def usable(self, side: str) -> FloatArray:
        """Return the values of all strides of a side, (n_stride, 101); NaN where they are flagged."""
        return np.where(self.sound[side], self.strides[side], math.nan)

    def mean(self, side: str) -> FloatArray:
        """Return the mean over the strides of a side that have no gaps and no flags, (101,). If there is no
        such stride, the mean is over those with the longest known part, and NaN outside it.
        """
        return mean_of(self.usable(side))

    def deviation(self, side: str) -> FloatArray:
        """Return the standard deviation (n - 1) over the strides of a side that enter the mean, (101,)."""
        return deviation_of(self.usable(side))

    def n_averaged(self, side: str) -> int:
        """Return the number of strides of a side that enter the mean."""
        return int(averaged(self.usable(side)).sum())


class CurveSource(NamedTuple):
    """Where the curve of an angle, moment or power is found in the results, and how it is printed.

    name, title, unit : name in tables, title of the panel, printed unit
    up, down : meaning of positive and negative values, such as flexion and extension
    field, label : field of the results and label of its entry, without side
    scale : function of a trial that returns the factor from SI to the printed unit; 0 = the factor is not
        known, for example without the person's mass
    part : index of the component, for a field with several components per label
    turned : whether the sign of the values is reversed for the left side
    """

    name: str
    title: str
    unit: str
    up: str
    down: str
    field: str
    label: str
    scale: Callable[[ReportTrial], float]
    part: int | None = None
    turned: bool = False


def number_of(meta: Mapping[str, Any], key: str) -> float:
    """Return the positive number that the metadata of a recording's results have under `key`; 0 if it is
    missing, as in a file by other software."""
    value = meta.get(key)
    sound = isinstance(value, (int, float)) and not isinstance(value, bool) and 0.0 < value < math.inf
    return float(value) if sound and value is not None else 0.0


def trial_of(results: Results, name: str) -> ReportTrial:
    """Return a trial of the report from its results: with gait events and strides (strides of turns are left
    out if there are straight ones) and notes; name : name of its file.
    """
    meta = results.session.meta
    gait = gait_of(results, str(meta.get("source") or ""), str(meta.get("person") or ""))
    doubts = _doubts_of(results)
    lacks = without_stride(gait) or ("" if gait.feet else WITHOUT_FEET)
    notes = (*results.notes, *doubts, *gait.notes, *((lacks,) if lacks else ()))
    return ReportTrial(
        name=name, results=results, gait=gait, cycles=gait.straight, notes=notes, doubts=doubts
    )


def _doubts_of(results: Results) -> tuple[str, ...]:
    """Return the notes on force plates that do not fit the person."""
    if "plate_status" not in results.fields:
        return ()
    from rtsim.methods.plates.kinetic_figures import warnings_of  # its kernels load the compiler

    return tuple(warnings_of(results))


def curve_of(session: ReportSession, source: CurveSource) -> ReportCurve:
    """Return a quantity over all strides of a session; source : where the quantity is found in the results"""
    strides: dict[str, list[FloatArray]] = {}
    sound: dict[str, list[NDArray[np.bool_]]] = {}
    trials: dict[str, list[str]] = {}
    for trial in session.trials:
        for side, (rows, known) in strides_in(trial, source).items():
            strides.setdefault(side, []).append(rows)
            sound.setdefault(side, []).append(known)
            trials.setdefault(side, []).extend([trial.name] * len(rows))
    return ReportCurve(
        name=source.name, title=source.title, unit=source.unit, up=source.up, down=source.down,
        strides={side: np.concatenate(rows) for side, rows in strides.items()},
        sound={side: np.concatenate(rows) for side, rows in sound.items()},
        trials={side: tuple(names) for side, names in trials.items()},
    )  # fmt: skip


def strides_in(trial: ReportTrial, source: CurveSource) -> dict[str, tuple[FloatArray, NDArray[np.bool_]]]:
    """Return by side the values of a quantity over the strides of a trial, (n_stride, 101), and whether they
    are reliable, as no adjacent frame is flagged; {} if the trial does not have the quantity."""
    found = {}
    spec = next((spec for spec in trial.results.session.fields if spec.name == source.field), None)
    instants = trial.results.times if spec is None else instants_of(trial.results, spec)
    for side, (row, unsound) in rows_in(trial, source).items():
        cycles = [cycle for cycle in trial.cycles if cycle.side == side]
        if cycles:
            found[side] = strides_of(instants, row, unsound, cycles)
    return found


def rows_in(trial: ReportTrial, source: CurveSource) -> dict[str, tuple[FloatArray, NDArray[np.bool_]]]:
    """Return for each side the values of a quantity over the frames of a trial, (n,), and whether they are
    flagged as unreliable, (n,); {} if the trial does not have the quantity.

    A quantity without a side, such as a pelvis angle, belongs to both sides, or to the solved leg if only one
    was solved.
    """
    results, scale = trial.results, source.scale(trial)
    spec = next((spec for spec in results.session.fields if spec.name == source.field), None)
    if spec is None or not scale:
        return {}
    labels = [label or spec.name for label in labels_of(spec)]
    told = str(results.session.meta.get("side") or "")
    lone = told if told in SIDES else ""
    group = next((g for g in groups_of(labels, lone) if g.name == source.label), None)
    if group is None:
        return {}
    values = results.fields[spec.name]
    unsound = Sound(results).unsound(spec)
    found = {}
    for own, label in group.of.items():
        column = labels.index(label)
        row = values[:, column] if source.part is None else values[:, column, source.part]
        for side in (own or lone,) if own or lone else SIDES:
            sign = -1.0 if source.turned and side == "left" else 1.0
            found[side] = sign * scale * row, unsound[:, column]
    return found


def in_degrees(trial: ReportTrial) -> float:
    """Return the factor from radians to degrees."""
    return DEGREES


def per_mass(trial: ReportTrial) -> float:
    """Return the factor that divides by the person's mass [1/kg]; 0 where the mass is not known."""
    return 1.0 / trial.mass if trial.mass else 0.0


def per_weight(trial: ReportTrial) -> float:
    """Return the factor that divides by the person's weight [1/N]; 0 where the mass is not known."""
    return 1.0 / (trial.mass * GRAVITY) if trial.mass else 0.0


def kinematic_sources(convention: str) -> list[CurveSource]:
    """Return where the nine angles of the gait report are found in results, and how they are printed;
    convention : name of the angle convention, such as cgm.
    """
    return [
        CurveSource(
            name=v.name, title=v.title, unit="deg", up=v.up, down=v.down, field=v.fields[convention][0],
            label=v.fields[convention][1], scale=in_degrees, turned=v.turned == convention,
        )
        for v in VARIABLES
    ]  # fmt: skip


def _moment(name: str, title: str, up: str, down: str) -> CurveSource:
    return CurveSource(
        name=f"{name}_moment", title=f"{title} moment", unit="N m/kg", up=up, down=down,
        field="joint_moments", label=name, scale=per_mass,
    )  # fmt: skip


def _power(joint: str) -> CurveSource:
    return CurveSource(
        name=f"{joint}_power", title=f"{joint.capitalize()} power", unit="W/kg", up="generation",
        down="absorption", field="joint_powers", label=joint, scale=per_mass, part=0,
    )  # fmt: skip


KINETIC_SOURCES = (
    _moment("hip_flexion", "Hip flexion", "flexor", "extensor"),
    _moment("hip_adduction", "Hip adduction", "adductor", "abductor"),
    _power("hip"),
    _moment("knee_flexion", "Knee flexion", "flexor", "extensor"),
    _moment("knee_adduction", "Knee adduction", "adductor", "abductor"),
    _power("knee"),
    _moment("ankle_dorsiflexion", "Ankle dorsiflexion", "dorsiflexor", "plantarflexor"),
    CurveSource(
        name="vertical_force", title="Vertical GRF", unit="body weight", up="up", down="",
        field="foot_loads", label="", scale=per_weight,
    ),
    _power("ankle"),
)  # fmt: skip
"""Internal moments along the axes of the ISB joint coordinate systems, powers of the net moments, vertical
ground reaction force."""


def convention_of(trials: Sequence[ReportTrial], asked: str = "") -> str:
    """Return the convention of the angles on page one: the requested one, else cgm (conventional gait model)
    if all trials have its angles completely.

    ConfigError if a trial lacks the requested one.
    """
    lacking = {
        convention: next(
            (
                (trial.name, v.title)
                for trial in trials
                for v in VARIABLES
                if v.fields[convention][0] not in trial.results.fields
            ),
            None,
        )
        for convention in (CGM, ISB)
    }
    if not asked:
        return ISB if lacking[CGM] else CGM
    if lacking[asked] is not None and (asked == CGM or "joint_angles" not in trials[0].results.fields):
        trial, title = lacking[asked]  # type: ignore[misc]
        raise ConfigError(
            f"{trial} has no {title.lower()} of the convention {asked!r}", where="--angles",
            remedy="docs/conventional_gait_model.md lists the markers and measures that `cgm` needs; "
                "`--angles isb` reports the angles of rtsim's own model",
        )  # fmt: skip
    return asked


def has_field(trials: Sequence[ReportTrial], field: str) -> bool:
    """Return whether any trial has a field."""
    return any(field in trial.results.fields for trial in trials)


def spec_of(results: Results, name: str) -> FieldSpec | None:
    """Return a field's description, None where the field is missing."""
    return next((spec for spec in results.session.fields if spec.name == name), None)
