"""The mass of the tracked person or model: as given, as stored with the recordings, or weighed on the force
plates of the static trial.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.live.inputs.sources import is_c3d
from streams.addresses import is_stream

if TYPE_CHECKING:
    from rtsim.config.models.model_schema import ModelSpec
    from rtsim.files.forces.force_trial import ForceTrial
    from rtsim.files.markers.trial import MarkerTrial
    from rtsim.subjects.subject import Subject

BODY_MASS = "Bodymass"
"""Name of the person's mass [kg] in the subject parameters of a C3D file."""
SWAYS = 0.05
"""Largest standard deviation of the weight on the plates, relative to its mean, while a person stands
still."""
STANDS = 0.9
"""Least fraction of the frames of a static trial in which both feet are on loaded plates; in the others the
centre of pressure may be wrong."""
MASSES_KG = (2.0, 400.0)
"""Range in which a stored or weighed mass of a person is plausible."""
MOST_APART = 0.05
"""Difference between weighed and stored mass, relative to the stored one, above which a note is given: that
of the check of the plates."""
STORED_MASS = (
    "The mass of the person is {:.1f} kg, as stored with the trial; it was not measured (--mass gives "
    "another)."
)
NO_MASS = (
    "The mass of the person is not known: joint moments are left out. Give --mass, mass_kg in the subject's "
    "file, or a static trial with plates."
)
WEIGHTLESS = "The model has no mass: forces in its joints are left out. Give its bodies mass_kg."
NOT_WEIGHED = "The person was not weighed on the plates of the static trial: {}."
HALF_CHECKED = (
    "The mass of the person is {:.1f} kg, weighed on the plates of the static trial; as the feet are not "
    "both visible, it was not checked whether both were on them (--mass gives another)."
)
CONTRADICTED = (
    "The mass of the person is {:.1f} kg, weighed on the plates of the static trial, although {:.1f} kg are "
    "stored: check the zero of the plates and the stored mass (--mass gives another)."
)


ELSEWHERE = (
    "The mass of the person is {:.1f} kg, weighed on the plates of the static trial under the feet; {:.0f} N "
    "on plates without a foot are left out (--mass gives another)."
)


class Weighing(NamedTuple):
    """The weighing of a person in a static trial on force plates.

    mass_kg : mass [kg]; 0 = the person was not weighed
    sure : whether both feet were seen on loaded plates
    why_not : the reason why the person was not weighed; "" = weighed, or there are no plates
    elsewhere_n : load of plates without a foot, which is left out [N]
    """

    mass_kg: float = 0.0
    sure: bool = False
    why_not: str = ""
    elsewhere_n: float = 0.0


class KnownMass(NamedTuple):
    """The mass of the tracked person or model [kg], 0 = not known, and a note on it, "" = none."""

    mass_kg: float = 0.0
    told: str = ""


def weighs(run: RunConfig) -> bool:
    """Return whether one of the stages that a run requests needs the mass of the person."""
    from rtsim.stages.building.find import find_stages

    return any(stage.weighs for stage in find_stages(run.stages).values())


def is_plausible(mass_kg: float) -> bool:
    """Return whether a person can have this mass [kg]."""
    return MASSES_KG[0] <= mass_kg <= MASSES_KG[1]


def weigh(forces: ForceTrial, times: NDArray[np.float64], feet: NDArray[np.float64]) -> Weighing:
    """Weigh a person who stands still on force plates.

    Only plates count that bear more than an empty plate may show and, where both feet are visible, on which
    a foot stands: a steady force may be the offset of a plate that was not tared, or somebody else's. The
    load must be steady, the mass that of a person, and both feet must be on these plates.

    times : (n,) times of the frames of the static trial [s]
    feet : (n, 2, 2, 3) heel and tip of the toes of the right and the left foot [m]; NaN = not visible
    """
    from kernels.plates.plate_assignment import FAR, NONE
    from rtsim.files.forces.force_trial import MOST_DRIFT
    from rtsim.methods.plates.plate_check import GRAVITY
    from rtsim.methods.plates.plate_loads import plate_loads

    loads = plate_loads(forces, times, feet)
    measured = np.isfinite(loads.force[..., 1]).all(axis=1)
    if not measured.any():
        return Weighing(why_not="no frame has the forces of all plates")
    load = loads.force[measured, :, 1]
    bearing = np.median(load, axis=0) > MOST_DRIFT
    if not bearing.any():
        return Weighing(why_not=f"no plate bears more than {MOST_DRIFT:.0f} N")
    seen = np.isfinite(feet).all(axis=(1, 2, 3)) & measured
    near = (loads.share != NONE) & (loads.status & FAR == 0)[..., None]
    under = bearing & (near[seen].any(axis=2).mean(axis=0) >= STANDS) if seen.any() else bearing
    if seen.any() and (near[seen][:, under].any(axis=1).all(axis=1)).mean() < STANDS:
        return Weighing(why_not="not both feet are on plates that bear a load")
    weight = load[:, under].sum(axis=1)
    if weight.std() > SWAYS * weight.mean():
        return Weighing(why_not=f"the load on them varies by more than {100.0 * SWAYS:.0f} %")
    mass = float(np.median(weight) / GRAVITY)
    if not is_plausible(mass):
        return Weighing(why_not=f"{mass:.4g} kg is not the mass of a person")
    elsewhere = float(np.median(load[:, bearing & ~under].sum(axis=1)))
    return Weighing(mass, sure=bool(seen.any()), elsewhere_n=elsewhere)


def weighing_of(run: RunConfig) -> Weighing:
    """Weigh the person on the plates of the static trial of a run, if it is a C3D file with plates."""
    from rtsim.files.forces.c3d_plates import NoPlatesError
    from rtsim.files.forces.forces import read_forces
    from rtsim.subjects.feet.foot_lines import foot_lines
    from rtsim.subjects.markers.labs import lab_of

    if not is_c3d(run.static):
        return Weighing()
    try:
        plates = read_forces(run.static, up=run.up or None, units=run.units or None)
    except NoPlatesError:
        return Weighing()
    trial = _trial(run, run.static)
    try:
        feet = foot_lines(trial, lab_of(run.lab, trial.names))
    except ConfigError:  # told where the marker map is needed
        feet = np.full((len(trial.times), 2, 2, 3), np.nan)
    return weigh(plates, trial.times, feet)


def _trial(run: RunConfig, path: str) -> MarkerTrial:
    """Return the markers of one of the files of a run."""
    from rtsim.live.inputs.sources import load_trial

    return load_trial(
        path, units=run.units or None, up=run.up or None, person=run.person, unnamed=run.label_unnamed
    )


def mass_of_model(spec: ModelSpec) -> float:
    """Return mass [kg] of all bodies of a model that brings its own markers; 0 = unknown."""
    return sum(body.mass_kg for body in spec.bodies)


def known_mass(run: RunConfig, spec: ModelSpec, subject: Subject | None, *, plates: bool) -> KnownMass:
    """Return the mass of the tracked model or person [kg], with a note for the user.

    The mass of a model is that of its bodies. That of a person is the one that is given, that of the subject,
    or that weighed in the static trial with both feet on plates; if there is none, the one that is stored in
    the files of measures, static trial or recording; if there is none either, that weighed in a static trial
    that does not show both feet.

    plates : whether there are force plates; a missing mass is then reported
    """
    if subject is None:
        mass = mass_of_model(spec)
        return KnownMass(mass, WEIGHTLESS if plates and not mass else "")
    if given := run.mass_kg or subject.mass_kg or 0.0:
        return KnownMass(given)
    weighing, stored = weighing_of(run), stored_mass(run)
    if weighing.sure:
        apart = stored and abs(weighing.mass_kg / stored - 1.0) > MOST_APART
        if apart:
            return KnownMass(weighing.mass_kg, CONTRADICTED.format(weighing.mass_kg, stored))
        left_out = weighing.elsewhere_n
        return KnownMass(weighing.mass_kg, ELSEWHERE.format(weighing.mass_kg, left_out) if left_out else "")
    because = [NOT_WEIGHED.format(weighing.why_not)] if weighing.why_not else []
    if stored:
        return KnownMass(stored, " ".join([STORED_MASS.format(stored), *because]))
    if weighing.mass_kg:
        return KnownMass(weighing.mass_kg, HALF_CHECKED.format(weighing.mass_kg))
    return KnownMass(0.0, " ".join([NO_MASS, *because]) if plates else "")


def stored_mass(run: RunConfig) -> float:
    """Return the mass that the person's file of measures, the static trial or the recording stores [kg]; 0 =
    none.
    """
    from rtsim.subjects.calibration.person_measures import load_measures

    stored = [load_measures(run.measures)[1]] if run.measures else []
    files = [path for path in (run.static, run.source) if is_c3d(path) and not is_stream(path)]
    stored += [dict(_trial(run, path).subject) for path in files]
    masses = (measures.get(BODY_MASS, 0.0) for measures in stored)
    return next((mass for mass in masses if is_plausible(mass)), 0.0)


def mass_before(run: RunConfig, trial: MarkerTrial) -> float:
    """Return the mass that is known before the run [kg]: as given, from the subject's file, weighed in the
    static trial with both feet on plates, or stored in the recording; 0 = none. It is used to check whether
    the person stands on the plates.
    """
    from rtsim.config.paths import find_config
    from rtsim.subjects.subject import load_subject

    own = load_subject(find_config(run.subject, "subjects")).mass_kg if run.subject else None
    if given := run.mass_kg or own or 0.0:
        return given
    weighing, stored = weighing_of(run), trial.subject.get(BODY_MASS, 0.0)
    if weighing.sure:
        return weighing.mass_kg
    return stored if is_plausible(stored) else 0.0
