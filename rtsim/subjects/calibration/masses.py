"""Masses, mass centres and inertias of a person's segments, from mass, stature and sex.

A table (configs/inertia) states the mass of each segment relative to body mass, and its mass centre and radii
of gyration relative to its length. Thigh and shank have the lengths of the subject. The lengths of pelvis and
foot in the table end at points without markers, so they are those of the mean person scaled to the subject's
stature. The segments have the frames of rtsim/subjects/calibration/natural:
  pelvis : the lower trunk of the table, from the navel to the middle of the hips, with the buttocks and
      without the thighs; its long axis is Y of the pelvis, upwards from the middle of the hips
  thigh, shank : between the joint centres; the long axis points from the distal to the proximal one, the
      transverse axis is the mediolateral direction of the segment, made perpendicular to the long axis
  trunk : the rest of the trunk with head and arms (rtsim/subjects/calibration/upper_body)
  foot : its long axis is X, from the heel to the metatarsals. The mass centre of the table lies between heel
      and tip of the toes, which have no markers; instead it is taken half way from the ankle centre to the
      metatarsal heads (Winter 2009, Biomechanics and Motor Control, table 4.1)
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.config.load import load_toml
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.config.runs.inertia_schema import InertiaTable, Population, SegmentShare
from rtsim.errors import ConfigError
from rtsim.subjects.anatomy import for_person
from rtsim.subjects.calibration.natural import Segment
from rtsim.subjects.calibration.trunk import TRUNK
from rtsim.subjects.calibration.upper_body import upper_body
from rtsim.subjects.subject import Subject, kind_of_segment

Array = NDArray[np.float64]

TABLE = "de_leva"
SHARES = {"pelvis": "lower_trunk", "thigh": "thigh", "shank": "shank", "foot": "foot"}
"""Segment of a subject -> segment of the inertia table."""
LEAST_ADULT_KG, LEAST_ADULT_M = 40.0, 1.45
"""Mass [kg] and stature [m] below which a note says that the mass fractions of the segments are those of
adults. A choice."""
MIRROR = np.diag([1.0, 1.0, -1.0])


class SegmentMass(NamedTuple):
    """Mass [kg], mass centre (3,) [m] and inertia about it (3, 3) [kg m^2] of one segment, in the segment's
    frame.
    """

    mass: float  # [kg]
    centre: Array  # (3,) [m]
    inertia: Array  # (3, 3) - about the mass centre [kg m^2]

    def mirrored(self) -> SegmentMass:
        """Return the mass properties of the segment on the other side, mirrored in a plane normal to Z."""
        return SegmentMass(self.mass, MIRROR @ self.centre, MIRROR @ self.inertia @ MIRROR)


class BodyMeasures(NamedTuple):
    """Mass [kg] and stature [m] of a person, the population in an inertia table whose proportions the person
    is assumed to have, and notes on assumptions.
    """

    mass: float  # [kg]
    stature: float  # [m]
    population: Population
    notes: tuple[str, ...]


def load_inertia_table(name: str = TABLE) -> InertiaTable:
    """Load the inertia table of a shipped name, or of a .toml file."""
    return load_toml(find_config(name, "inertia"), InertiaTable)


def person_of(subject: Subject, table: InertiaTable, mass_kg: float | None = None) -> BodyMeasures:
    """Return mass, stature and population of a subject; ConfigError without a mass.

    Without a sex, the mean of both populations is used; without a stature, the one that matches the length
    of the leg. The notes report this.

    mass_kg : mass that replaces the subject's, for example as measured on force plates
    """
    mass = mass_kg or subject.mass_kg
    if not mass:
        raise ConfigError(
            "the body mass is not known",
            where=f"subject {subject.name}: mass_kg",
            remedy="give mass_kg, or a trial in which the person stands on force plates",
        )
    notes = []
    if subject.sex:
        population: Population = getattr(table, subject.sex)
    else:
        population = mean_population(table.female, table.male)
        notes.append("sex is not given: segment masses are the mean of those for women and men")
    stature = 1e-3 * (subject.stature_mm or 0.0)
    if not stature:
        stature = stature_of_leg(subject, population)
        notes.append(
            f"stature_mm is not given: {1e3 * stature:.0f} mm was estimated from the length of the leg"
        )
    return BodyMeasures(float(mass), stature, population, (*notes, *notes_on_size(mass, stature)))


def notes_on_size(mass: float, stature: float = LEAST_ADULT_M) -> list[str]:
    """Return a note if mass [kg] or stature [m] are those of a child, as all persons get the mass fractions
    of adults.

    From 4 to 15 years thigh, shank, foot and upper arm become a larger part of the body, the head a smaller
    one (Jensen 1986, J Biomech 19, 359-368).
    """
    if mass >= LEAST_ADULT_KG and stature >= LEAST_ADULT_M:
        return []
    return [
        "segment masses are those of adults, but the person has the size of a child; the legs of "
        "children are lighter"
    ]


def mean_population(a: Population, b: Population) -> Population:
    """Return a population whose numbers (mass fractions, lengths, ...) are the means of those of a and b."""

    def mean(x: float, y: float) -> float:
        return 0.5 * (x + y)

    def share(x: SegmentShare, y: SegmentShare) -> SegmentShare:
        radii = tuple(map(mean, x.radii_percent, y.radii_percent))
        return SegmentShare(
            mean(x.mass_percent, y.mass_percent),
            mean(x.length_mm, y.length_mm),
            mean(x.centre_percent, y.centre_percent),
            radii,
            x.pair,
        )

    segments = {name: share(row, b.segments[name]) for name, row in a.segments.items()}
    return Population(mean(a.mass_kg, b.mass_kg), mean(a.stature_mm, b.stature_mm), segments)


def stature_of_leg(subject: Subject, population: Population) -> float:
    """Return the stature of the mean person whose thigh and shank together are as long as the subject's,
    averaged over both legs [m].
    """
    n_leg = 2 if subject.side == "both" else 1
    legs = [s.length_mm for n, s in subject.segments.items() if kind_of_segment(n) in ("thigh", "shank")]
    own = sum(legs) / n_leg
    mean = sum(population.segments[name].length_mm for name in ("thigh", "shank"))
    return 1e-3 * population.stature_mm * own / mean


def segment_mass(kind: str, segment: Segment, person: BodyMeasures) -> SegmentMass:
    """Return the mass properties of a segment; kind : pelvis, thigh, shank, foot or trunk."""
    if kind == TRUNK:
        return SegmentMass(*upper_body(segment, person.mass, person.stature, person.population))
    share = person.population.segments[SHARES[kind]]
    length = segment.length
    if kind in ("pelvis", "foot"):
        length = share.length_mm * person.stature / person.population.stature_mm
    sagittal, transverse, longitudinal = 1e-2 * length * np.array(share.radii_percent)
    v = segment.basis()[:, 1]
    along = 1e-2 * share.centre_percent
    if kind == "pelvis":
        centre, axes = -v + (1.0 - along) * length * np.array([0.0, 1.0, 0.0]), np.eye(3)
        radii = np.array([sagittal, longitudinal, transverse])
    elif kind == "foot":
        centre, axes = -0.5 * v, np.eye(3)
        radii = np.array([longitudinal, sagittal, transverse])
    else:
        centre, axes = -along * v, segment.axes("v", "w")
        radii = np.array([sagittal, longitudinal, transverse])
    mass = 1e-2 * share.mass_percent * person.mass
    return SegmentMass(mass, centre, mass * (axes * radii**2) @ axes.T)


def with_masses(spec: ModelSpec, subject: Subject, person: BodyMeasures) -> ModelSpec:
    """Add masses and inertias to the bodies of a subject's model; bodies that already have a mass are
    unchanged.
    """
    spec, bodies = for_person(spec, subject), []
    for body in spec.bodies:
        kind = kind_of_segment(body.name)
        if body.mass_kg or kind not in (*SHARES, TRUNK):
            bodies.append(body)
            continue
        found = segment_mass(kind, subject.segments[body.name].segment(), person)
        J = found.inertia
        bodies.append(
            msgspec.structs.replace(
                body,
                mass_kg=found.mass,
                mass_centre_mm=tuple(float(1e3 * x) for x in found.centre),
                inertia_kg_m2=tuple(
                    float(J[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
                ),
            )
        )
    return msgspec.structs.replace(spec, bodies=tuple(bodies))
