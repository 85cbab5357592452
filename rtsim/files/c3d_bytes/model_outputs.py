"""Results as points of a C3D file, each with its label, its unit, and the parameter of the group POINT, such
as ANGLES, that lists its label.

Angles and moments are those of the ISB's joint coordinate systems, not those of Plug-in Gait, so their labels
end in ISB. Only angles and joint centres by the definitions of the conventional gait model have the plain
names of Plug-in Gait.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.files.c3d_bytes.append import NewPoint
from rtsim.files.c3d_bytes.source import C3dSource
from rtsim.files.markers.trial import name_some
from rtsim.files.recording import Results
from rtsim.files.tables.legs import SIDES, groups_of, sides_of
from streams.messages import UNUSABLE, FieldSpec

FloatArray = NDArray[np.float64]
OURS = "rtsim"
SIDE_LETTERS = {"right": "R", "left": "L", "": ""}
JOINTS = ("hip", "knee", "ankle", "pelvis", "foot_progression", "trunk")
PLUG_IN = {
    "hip": "Hip", "knee": "Knee", "ankle": "Ankle", "pelvis": "Pelvis", "foot_progression": "FootProgress",
    "trunk": "Trunk", "foot": "FootProgress",
}  # fmt: skip
"""Names of joints in labels of Plug-in Gait, after the letter of the side."""
AXES = (
    ("flexion", "dorsiflexion", "tilt"),
    ("adduction", "inversion", "obliquity", "bending", "abduction"),
    ("internal_rotation", "rotation", "progression"),
)
"""Words for the movements that the first, second and third coordinate of an angle or moment stand for."""
CENTRES = {"hip": "HJC", "knee": "KJC", "ankle": "AJC"}
CONVENTIONAL_ANGLES = re.compile(r"cgm_(\w+)_angles")
CONVENTIONAL_CENTRES = "cgm_joint_centres"
GROUND_FORCE = "GroundReactionForce"
STATUS_LABEL = f"FrameStatus_{OURS}"
MOMENT_FACTORS = {"nmm": 1e3, "nm": 1.0}
PER_KG = "/kg"
FORCE_FACTORS = {"n": 1.0, "kn": 1e-3}
POWER_FACTORS = {"w": 1.0, "kw": 1e-3}
ANGLE_FACTORS = {"deg": math.degrees(1.0), "degrees": math.degrees(1.0), "rad": 1.0}
UNITS = {
    "ANGLE_UNITS": ("deg", ANGLE_FACTORS), "MOMENT_UNITS": ("Nmm", MOMENT_FACTORS),
    "FORCE_UNITS": ("N", FORCE_FACTORS), "POWER_UNITS": ("W", POWER_FACTORS),
}  # fmt: skip
"""Parameter of POINT -> its unit where the file has none, and units in which results can be written."""


class ModelOutputs(NamedTuple):
    """Results as points to add to a C3D file: the points, their units by the names of parameters in the group
    POINT (such as ANGLE_UNITS), and notes for the user.
    """

    points: tuple[NewPoint, ...]
    units: dict[str, str]
    notes: tuple[str, ...]


class _NamedOutput(NamedTuple):
    """A point whose final label is not yet determined. bare : label without ending; ending : appended if the
    bare label is taken.
    """

    bare: str
    ending: str
    always: bool
    description: str
    kind: str
    values: FloatArray


def outputs_of(results: Results, source: C3dSource) -> ModelOutputs:
    """Convert the results of a run to points of the C3D file it read, one row for each frame of the file.

    Points are NaN in frames without a usable result (stale, not converged, invalid input) and in frames for
    which the run computed none.
    """
    specs = {spec.name: spec for spec in results.session.fields}
    mass = results.session.meta.get("mass_kg")
    units, notes = _units(source, float(mass) if isinstance(mass, (int, float)) and mass > 0 else math.nan)
    own = str(results.session.meta.get("side") or "")
    found = [
        *(_of_angles(results, specs, own, units) if "ANGLE_UNITS" in units else ()),
        *(_of_moments(results, specs, own, units) if "MOMENT_UNITS" in units else ()),
        *_of_joint_vectors(results, specs, own, units),
        *_of_places(results, specs, own, source),
        *(_of_feet(results, specs, source, units) if "FORCE_UNITS" in units else ()),
    ]
    if (results.status != 0).any() or found:
        bits = np.zeros((len(results.times), 3))
        bits[:, 0] = results.status
        found.append(
            _NamedOutput(
                bare=STATUS_LABEL,
                ending=OURS,
                always=False,
                description="status bits of the frame, 0 = ok",
                kind="SCALARS",
                values=bits,
            )
        )
    rows = source.frames_of(results.times)
    usable = (results.status & int(UNUSABLE)) == 0
    before = source.prefix_of(str(results.session.meta.get("person") or ""))
    taken = {label.casefold() for label in source.labels}
    points, renamed = [], []
    for one in found:
        label = _free_label(one, before, taken)
        if not one.always and label != f"{before}{one.bare}":
            renamed.append(f"{before}{one.bare} as {label}")
        values = np.full((source.n_frame, 3), np.nan)
        keep = (rows >= 0) & (usable if one.bare != STATUS_LABEL else True)
        values[rows[keep]] = one.values[keep]
        points.append(NewPoint(label, one.description, one.kind, values))
    if renamed:
        notes.append(
            f"these labels existed in the file already, so the results were renamed: {name_some(renamed)}"
        )
    n_lost = int((rows < 0).sum())
    if n_lost:
        notes.append(f"results at {n_lost} times were left out, because the file has no frame at these times")
    return ModelOutputs(tuple(points), {name: unit for name, (unit, _) in units.items()}, tuple(notes))


def _free_label(one: _NamedOutput, before: str, taken: set[str]) -> str:
    """Return a label that no point of the file has, and add it to `taken`; before : prefix of the person's
    labels.
    """
    bare = f"{before}{one.bare}"
    label = f"{bare}_{one.ending}" if one.always or bare.casefold() in taken else bare
    copy = 2
    while label.casefold() in taken:
        label, copy = f"{bare}_{one.ending}{copy}", copy + 1
    taken.add(label.casefold())
    return label


def _units(source: C3dSource, mass: float) -> tuple[dict[str, tuple[str, float]], list[str]]:
    """Return unit and factor from SI for each kind of result that can be written, from the file or as is
    usual, and notes for the user.

    mass : mass of the person [kg], NaN = not known
    """
    found, notes = {}, []
    for name, (usual, factors) in UNITS.items():
        unit = next(iter(source.section.texts("POINT", name)), "").strip() or usual
        bare = unit.lower().replace(" ", "").replace(".", "").replace("*", "")
        per_kg = bare.endswith(PER_KG)
        factor = factors.get(bare.removesuffix(PER_KG), math.nan) / (mass if per_kg else 1.0)
        if math.isfinite(factor):
            found[name] = (unit, factor)
        else:
            why = "the body mass of the person" if per_kg else "this unit"
            notes.append(
                f"no {name.partition('_')[0].lower()}s were written in {unit!r}, the unit that POINT:{name} "
                f"states, because {why} is not known"
            )
    return found, notes


def _columns(labels: Sequence[str], own: str) -> Iterator[tuple[str, str, list[int]]]:
    """Find the components of each joint among labels of angles such as `knee_flexion_r`. Yield joint, side
    and the column indices of flexion, adduction and rotation (-1 = there is no such component).

    own : side of labels that state none, right or left; other texts = no side
    """
    rows: dict[tuple[str, str], list[int]] = {}
    place = {label: k for k, label in enumerate(labels)}
    for group in groups_of(labels, own if own in SIDES else ""):
        for side, label in group.of.items():
            joint = next((name for name in JOINTS if group.name.startswith(name)), "")
            about = group.name[len(joint) :].strip("_") if joint != "foot_progression" else "progression"
            axis = next((k for k, words in enumerate(AXES) if about in words), -1)
            if joint and axis >= 0:
                rows.setdefault((joint, side), [-1, -1, -1])[axis] = place[label]
    for (joint, side), columns in rows.items():
        yield joint, side, columns


def _component(values: FloatArray, columns: Sequence[int]) -> FloatArray:
    """Return the columns with the given indices of values (n, m), three of them (n, 3); index -1 = a
    column of zeros.
    """
    return np.stack([values[:, k] if k >= 0 else np.zeros(len(values)) for k in columns], axis=1)


def _named(joint: str, side: str, what: str) -> str:
    return f"{SIDE_LETTERS[side]}{PLUG_IN[joint]}{what}"


def _of_angles(
    results: Results, specs: dict[str, FieldSpec], own: str, units: dict[str, tuple[str, float]]
) -> Iterator[_NamedOutput]:
    """Yield the joint angles by the ISB definitions, and those by the conventional gait model if the run has
    them.

    specs : descriptions of the fields of the results, by name
    own : side of labels that state none
    units : for each kind of result unit and factor from SI
    """
    factor = units["ANGLE_UNITS"][1]
    if (spec := specs.get("joint_angles")) is not None and spec.unit == "rad":
        said = "ISB, not Plug-in Gait: flexion, adduction, int. rotation"
        for joint, side, columns in _columns(spec.labels, own):
            values = factor * _component(results.fields["joint_angles"], columns)
            yield _NamedOutput(
                bare=_named(joint, side, "Angles"),
                ending="ISB",
                always=True,
                description=said,
                kind="ANGLES",
                values=values,
            )
    for name, spec in specs.items():
        match = CONVENTIONAL_ANGLES.fullmatch(name)
        if match is None or match[1] not in PLUG_IN or spec.unit != "rad":
            continue
        sides = sides_of(spec.labels, own if own in SIDES else "")
        for side in dict.fromkeys(sides):
            columns = [k for k, one in enumerate(sides) if one == side]
            if side and len(columns) == 3:  # in the order of Plug-in Gait
                values = factor * results.fields[name][:, columns]
                said = "conventional gait model, as Plug-in Gait"
                yield _NamedOutput(
                    bare=_named(match[1], side, "Angles"),
                    ending="cgm",
                    always=False,
                    description=said,
                    kind="ANGLES",
                    values=values,
                )


def _of_moments(
    results: Results, specs: dict[str, FieldSpec], own: str, units: dict[str, tuple[str, float]]
) -> Iterator[_NamedOutput]:
    """Yield the joint moments, in the order flexion, adduction, rotation, about the axes of the ISB angles.

    specs : descriptions of the fields of the results, by name
    own : side of labels that state none
    units : for each kind of result unit and factor from SI
    """
    spec = specs.get("joint_moments")
    if spec is None:
        return
    said = "about ISB axes, in the order flexion, adduction, rotation"
    for joint, side, columns in _columns(spec.labels, own):
        values = units["MOMENT_UNITS"][1] * _component(results.fields["joint_moments"], columns)
        yield _NamedOutput(
            bare=_named(joint, side, "Moment"),
            ending="ISB",
            always=True,
            description=said,
            kind="MOMENTS",
            values=values,
        )


def _of_joint_vectors(
    results: Results, specs: dict[str, FieldSpec], own: str, units: dict[str, tuple[str, float]]
) -> Iterator[_NamedOutput]:
    """Yield joint forces, and joint powers, which are stored as the third of three numbers as Plug-in Gait
    does.

    specs : descriptions of the fields of the results, by name
    own : side of labels that state none
    units : for each kind of result unit and factor from SI
    """
    side_of = own if own in SIDES else ""
    for name, what, kind in (("joint_powers", "Power", "POWERS"), ("joint_forces", "Force", "FORCES")):
        spec = specs.get(name)
        if spec is None or f"{what.upper()}_UNITS" not in units:
            continue
        values = results.fields[name].reshape(len(results.times), len(spec.labels), -1)
        for group in groups_of(spec.labels, side_of):
            for side, label in group.of.items():
                if group.name not in PLUG_IN:
                    continue
                one = values[:, spec.labels.index(label)]
                if kind == "POWERS":
                    put = np.zeros((len(one), 3))
                    put[:, 2] = units["POWER_UNITS"][1] * one.sum(axis=1)
                    said = "total power of the joint, in the third component"
                else:
                    put = units["FORCE_UNITS"][1] * one
                    said = f"joint force in {spec.frame or 'segment'} axes"
                yield _NamedOutput(
                    bare=_named(group.name, side, what),
                    ending=OURS,
                    always=True,
                    description=said,
                    kind=kind,
                    values=put,
                )


def _of_places(
    results: Results, specs: dict[str, FieldSpec], own: str, source: C3dSource
) -> Iterator[_NamedOutput]:
    """Yield joint centres and markers of the fitted model, in the file's unit of length.

    specs : descriptions of the fields of the results, by name
    own : side of labels that state none
    """
    per_metre, side_of = 1.0 / source.scale, own if own in SIDES else ""
    both = CONVENTIONAL_CENTRES in specs
    for name, ending in (("joint_centres", OURS), (CONVENTIONAL_CENTRES, "cgm")):
        if (spec := specs.get(name)) is None:
            continue
        values = per_metre * source.from_ground(results.fields[name])
        for group in groups_of(spec.labels, side_of):
            for side, label in group.of.items():
                if group.name in CENTRES:
                    bare = f"{SIDE_LETTERS[side]}{CENTRES[group.name]}"
                    said = (
                        f"{group.name} joint centre, {'fitted model' if ending == OURS else 'conventional'}"
                    )
                    always = both and ending == OURS
                    column = values[:, spec.labels.index(label)]
                    yield _NamedOutput(
                        bare=bare,
                        ending=ending,
                        always=always,
                        description=said,
                        kind="MODELED_MARKERS",
                        values=column,
                    )
    model = specs.get("markers_model")
    if model is not None:
        values = per_metre * source.from_ground(results.fields["markers_model"])
        for k, label in enumerate(model.labels):
            said = "marker of the fitted model"
            yield _NamedOutput(
                bare=label,
                ending=OURS,
                always=True,
                description=said,
                kind="MODELED_MARKERS",
                values=values[:, k],
            )


def _of_feet(
    results: Results, specs: dict[str, FieldSpec], source: C3dSource, units: dict[str, tuple[str, float]]
) -> Iterator[_NamedOutput]:
    """Yield the ground reaction forces on each foot."""
    feet = specs.get("foot_forces")
    if feet is None:
        return
    values = units["FORCE_UNITS"][1] * source.from_ground(results.fields["foot_forces"])
    for k, side in enumerate(feet.labels):
        if side in SIDE_LETTERS:
            said = "force of the ground on the foot, in laboratory axes"
            bare = f"{SIDE_LETTERS[side]}{GROUND_FORCE}"
            yield _NamedOutput(
                bare=bare, ending=OURS, always=True, description=said, kind="FORCES", values=values[:, k]
            )
