"""A model described in words: its size, how it moves, and what its elements can be used for."""

from __future__ import annotations

from rtsim.config.joint_kinds import KINDS
from rtsim.config.models.function_schema import MOTION, TIME
from rtsim.config.models.joint_schema import coordinates_of
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import count_of, name_some
from rtsim.models.feet import find_feet, in_words
from rtsim.models.following import passed_names
from rtsim.models.model import build


def understood(spec: ModelSpec) -> list[str]:
    """Return sentences on a model for a user: which coordinates are locked, prescribed, coupled or clamped,
    which bodies carry no mass, and which muscles produce no force.
    """
    coordinates = [c for body in spec.bodies for c in coordinates_of(body)]
    follows = [f"{c.coordinate} (by {c.of})" for c in spec.couplers if c.driver != c.coordinate]
    held = [c.coordinate for c in spec.couplers if not c.of]
    moved = [c.coordinate for c in spec.couplers if c.of == TIME]
    told_to = [c.coordinate for c in spec.couplers if c.of == MOTION]
    passed = passed_names(spec)
    clamped = [c.name for c in coordinates if c.clamped and c.name not in passed]
    unnamed = [body.name for body in spec.bodies if KINDS[body.joint].rotation]
    idle = massless(spec)
    unforced = [muscle.name for muscle in spec.muscles if muscle.hill is None]
    told = (
        (f"{count_of(len(coordinates), 'coordinate')}: ", [c.name for c in coordinates]),
        ("coordinates locked at a constant value: ", held),
        ("coordinates prescribed over time: ", moved),
        ("coordinates moved by a motion file or stream (--motion): ", told_to),
        ("coordinates determined by another coordinate: ", follows),
        ("coordinates clamped to their range when markers are fitted: ", clamped),
        (
            "coordinates clamped in the file, but not limited in rtsim, because they determine the position "
            "of a body in space: ",
            list(passed),
        ),
        ("bodies that rotate without named coordinates: ", unnamed),
        (
            "bodies that do not move any mass, so they have no inverse dynamics and cannot be simulated: ",
            idle,
        ),
        ("muscles with length and moment arms but without force: ", unforced),
        (
            "the model has no markers of its own, so poses are computed from the markers of a subject",
            [] if spec.markers else [""],
        ),
    )
    return [words + name_some(names) for words, names in told if names]


def feet_told(spec: ModelSpec) -> list[str]:
    """Return a list with a sentence on the feet to which force plates would be assigned; [] for a model
    without markers of its own.
    """
    if spec.of_subject or not spec.markers:
        return []
    model = build(spec)
    try:
        return [in_words(model, find_feet(model))]
    except ConfigError as fault:
        return [f"force plates cannot be assigned to feet: {fault.what}"]


def massless(spec: ModelSpec) -> list[str]:
    """Return the bodies that a joint moves although neither they nor the bodies that they carry have a
    mass.
    """
    carried = {body.name: body.mass_kg for body in spec.bodies}
    for body in reversed(spec.bodies):  # parents come first
        if body.parent:
            carried[body.parent] += carried[body.name]
    return [body.name for body in spec.bodies if body.joint != "weld" and not carried[body.name]]


def size_of(spec: ModelSpec) -> str:
    """Return a sentence with the number of bodies, and of every other kind of element in the model."""
    parts = {
        "element": spec.elements,
        "roll": spec.rolls,
        "coupler": spec.couplers,
        "surface": spec.surfaces,
        "muscle": spec.muscles,
        "marker": spec.markers,
        "angle": spec.angles,
        "ligament": spec.ligaments,
        "spring": spec.springs,
        "contact": spec.contacts,
        "friction": spec.frictions,
        "load": spec.loads,
    }
    bodies = "1 body" if len(spec.bodies) == 1 else f"{len(spec.bodies)} bodies"
    return ", ".join([bodies, *(count_of(len(part), name) for name, part in parts.items() if part)])
