"""Force plates and inverse dynamics in the loop, over the synthetic walker and its made-up plate."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.compiler.jit import allow_compilation
from kernels.rates.manifold import plain
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import PlateUse, RunConfig
from rtsim.files.forces.force_trial import ForceTrial, RawForces, force_trial
from rtsim.files.markers.trial import MarkerTrial
from rtsim.live.inputs.recorded import KeptResults, RecordingInput
from rtsim.live.loop import Loop
from rtsim.methods.inverse_dynamics import inverse_dynamics_of
from rtsim.methods.kinematics.rates import track
from rtsim.methods.plates.force_feed import SLACK_S, ForceFeed
from rtsim.methods.plates.plate_loads import plate_loads
from rtsim.models.load import load_model
from rtsim.models.named_feet import feet_of
from rtsim.stages.building.find import make_stages
from rtsim.stages.inverse_dynamics import MIRROR
from rtsim.subjects.both_sides import symmetric
from rtsim.subjects.calibration.masses import load_inertia_table, person_of
from rtsim.subjects.feet.foot_lines import foot_lines
from rtsim.subjects.feet.foot_markers import FootMarkers
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.made_up.walker_forces import MASS_KG, walker_forces
from rtsim.subjects.markers.labs import load_lab
from rtsim.subjects.subject import Subject, load_subject
from streams.messages import Session, Status

Array = NDArray[np.float64]
RUN = RunConfig(
    name="test", method="minimised", methods=("minimised",), mass_kg=MASS_KG,
    stages=("kinematics", "rates", "plates", "inverse_dynamics"), plates=PlateUse(bear_all=True),
)  # fmt: skip


class Analysed(NamedTuple):
    """What came of a recording."""

    fields: dict[str, Array]
    status: NDArray[np.int64]
    session: Session
    counters: dict[str, int]
    sentences: list[str]


@pytest.fixture(scope="module")
def spec() -> ModelSpec:
    return load_model("lower_limb")


@pytest.fixture(scope="module")
def subject() -> Subject:
    return load_subject(find_config("walker", "subjects"))


@pytest.fixture(scope="module")
def trial(spec: ModelSpec, subject: Subject) -> MarkerTrial:
    return walk(spec, subject, 1.2)


@pytest.fixture(scope="module")
def forces(trial: MarkerTrial) -> ForceTrial:
    return walker_forces(trial)


@pytest.fixture(autouse=True)
def _permitted() -> None:
    allow_compilation()


def analysed(
    spec: ModelSpec, subject: Subject, trial: MarkerTrial, forces: ForceTrial | None, run: RunConfig = RUN
) -> Analysed:
    """The stages of a run over a recording."""
    feed, kept = ForceFeed(), KeptResults()
    stages = make_stages(run, spec, subject, feed, run.mass_kg)
    Loop(RecordingInput(trial, forces=forces, feed=feed), stages, kept).run()
    results = kept.results()
    assert results is not None
    assert kept.telemetry is not None
    return Analysed(results.fields, results.status, results.session, kept.telemetry.counters, kept.sentences)


@pytest.fixture(scope="module")
def whole(spec: ModelSpec, subject: Subject, trial: MarkerTrial, forces: ForceTrial) -> Analysed:
    allow_compilation()
    return analysed(spec, subject, trial, forces)


@pytest.mark.parametrize("frames", [slice(60, 61), slice(60, 65)], ids=["one", "five"])
def test_a_pose_that_is_no_solution_does_not_stay_in_the_filter(whole, spec, subject, trial, forces, frames):
    """Protects frames under status ok: speeds and moments after damaged frames are not made of them."""
    positions = trial.positions.copy()
    positions[frames] += 1e8
    seen = analysed(spec, subject, trial._replace(positions=positions), forces)
    assert (seen.status[frames] & int(Status.NOT_CONVERGED)).all()
    fine = seen.status == 0
    assert fine.sum() == len(fine) - (frames.stop - frames.start)
    for name in ("joint_moments", "coordinate_accelerations"):
        mine, usual = np.abs(seen.fields[name][fine]), np.abs(whole.fields[name])
        assert np.isfinite(mine[-1]).any(), name
        assert np.nanmax(mine) < 1.5 * np.nanmax(usual), name


def test_the_stages_are_the_methods_one_after_the_other(whole, spec, subject, trial, forces):
    """Protects the chain: filtered motion, plates, feet and moments are what the methods give by hand."""
    f = whole.fields
    bare = analysed(spec, subject, trial, None, msgspec.structs.replace(RUN, stages=("kinematics", "rates")))
    for name in ("coordinates", "coordinate_speeds", "coordinate_accelerations"):
        np.testing.assert_array_equal(f[name], bare.fields[name])
    loads = plate_loads(forces, trial.times - SLACK_S, foot_lines(trial, load_lab("walker")))
    loads_first = plate_loads(forces, trial.times[:1], foot_lines(trial, load_lab("walker"))[:1])
    np.testing.assert_allclose(f["foot_forces"][1:, 0], loads.foot_force[1:, 0], atol=1e-9)
    np.testing.assert_allclose(f["foot_forces"][:1, 0], loads_first.foot_force[:, 0], atol=1e-9)
    wrench = np.hstack([f["foot_moments"][:, 0], f["foot_forces"][:, 0]])
    smooth = track(RUN.rates, plain(6), trial.rate, trial.times, wrench)
    body = inverse_dynamics_of(spec, subject, person_of(subject, load_inertia_table(), MASS_KG), "minimised")
    told = np.isfinite(f["joint_moments"]).all(axis=1)
    np.testing.assert_array_equal(told, smooth.settled)
    assert 0.7 * len(told) < told.sum() < len(told)
    for k in np.flatnonzero(told):
        body.clear()
        body.external[3] = smooth.q[k]
        body.compute(f["coordinates"][k], f["coordinate_speeds"][k], f["coordinate_accelerations"][k])
        np.testing.assert_array_equal(f["joint_moments"][k], body.moment().reshape(-1))
        np.testing.assert_array_equal(f["joint_powers"][k], body.power)
        np.testing.assert_array_equal(f["residual_force"][k], body.residual_share[1])


def test_delay_and_noise_gain_stand_in_the_descriptor(whole):
    """Protects whoever compares with other signals: results say by how much they are late."""
    rates = whole.session.meta["rates"]
    assert rates["kind"] == "butterworth"
    np.testing.assert_allclose(rates["delay_s"], 0.0371, atol=1e-4)
    assert len(rates["noise_gain"]) == 3
    assert whole.session.meta["mass_kg"] == MASS_KG


def test_a_left_leg_has_the_moments_of_its_mirror(whole, spec, subject, trial, forces):
    """Protects left legs: markers and forces are mirrored alike, and the residual is turned back."""
    z = np.array([1.0, 1.0, -1.0])
    raw = RawForces(
        forces.names, forces.times, forces.rate, forces.corners, forces.plates.centre[:, 1],
        forces.force * z, -forces.moment * z, "mirrored", (),
    )  # fmt: skip
    left = msgspec.structs.replace(subject, side="left")
    seen = analysed(spec, left, trial._replace(positions=trial.positions * z), force_trial(raw))
    for name in ("joint_moments", "joint_powers", "joint_forces"):
        np.testing.assert_allclose(seen.fields[name], whole.fields[name], atol=1e-6)
    for name, sign in (("residual_moment", MIRROR[:3]), ("residual_force", MIRROR[3:])):
        np.testing.assert_allclose(seen.fields[name], sign * whole.fields[name], atol=1e-9)


def exchanged(name: str) -> str:
    """A label of the walker's legs, of the other side."""
    return {"R": "L", "L": "R"}.get(name[0], name[0]) + name[1:]


def test_the_legs_of_both_have_the_moments_of_each(spec, subject, forces):
    """Protects both legs over plates: each foot bears its own, and a leg's moments are those of the leg
    alone; labels that are exchanged change nothing, neither of moments nor of which foot bears what."""
    person, run = symmetric(subject), msgspec.structs.replace(RUN, side="both")
    two = walk(load_model("both_legs"), person, 1.2)
    alone = two.positions.copy()
    alone[:, [k for k, name in enumerate(two.names) if name not in subject.marker_names]] = np.nan
    one = analysed(spec, subject, two, forces).fields["joint_moments"]
    n = one.shape[1]
    right = analysed(load_model("both_legs"), person, two._replace(positions=alone), forces, run)
    np.testing.assert_allclose(right.fields["joint_moments"][:, :n], one, atol=1e-3)
    seen = analysed(load_model("both_legs"), person, two, forces, run)
    assert np.nanmax(np.abs(seen.fields["joint_moments"][:, n:])) > 5.0  # the other leg swings at least
    labels_of = {field.name: field.labels for field in seen.session.fields}
    assert labels_of["joint_powers"] == ("hip_r", "knee_r", "ankle_r", "hip_l", "knee_l", "ankle_l")
    legs = [name for segment, s in person.segments.items() if segment != "pelvis" for name in s.markers_mm]
    labels = tuple(exchanged(name) if name in legs else name for name in two.names)
    segments = {
        name: msgspec.structs.replace(
            s, markers_mm={exchanged(m) if m in legs else m: x for m, x in s.markers_mm.items()}
        )
        for name, s in person.segments.items()
    }
    odd = analysed(
        load_model("both_legs"), msgspec.structs.replace(person, segments=segments),
        two._replace(names=labels), forces, run,
    )  # fmt: skip
    np.testing.assert_array_equal(odd.fields["joint_moments"], seen.fields["joint_moments"])
    np.testing.assert_array_equal(odd.fields["foot_loads"], seen.fields["foot_loads"])
    assert seen.fields["foot_loads"][50, 0] > 100.0


def test_in_a_mirror_the_legs_change_places(spec, subject, trial, forces):
    """Protects what reads alike on both sides: the results of a leg are those of the other one in a mirror,
    forces outwards among them."""
    person, run, both = symmetric(subject), msgspec.structs.replace(RUN, side="both"), load_model("both_legs")
    two = walk(both, person, 1.2)
    seen = analysed(both, person, two, forces, run)
    z = np.array([1.0, 1.0, -1.0])
    mirrored = two._replace(positions=two.positions * z, names=tuple(map(exchanged, two.names)))
    raw = RawForces(
        forces.names, forces.times, forces.rate, forces.corners, forces.plates.centre[:, 1],
        forces.force * z, -forces.moment * z, "mirrored", (),
    )  # fmt: skip
    other = analysed(both, person, mirrored, force_trial(raw), run).fields
    for name in ("joint_angles", "joint_moments", "joint_forces", "joint_powers", "joint_angle_speeds"):
        n = seen.fields[name].shape[1] // 2
        assert np.nanmax(np.abs(seen.fields[name][:, :n])) > 0.1
        np.testing.assert_allclose(
            np.roll(other[name], n, axis=1), seen.fields[name], atol=1e-6, err_msg=name
        )
    for name, sign in (("residual_moment", MIRROR[:3]), ("residual_force", MIRROR[3:])):
        np.testing.assert_allclose(other[name], sign * seen.fields[name], atol=1e-9)


def test_a_leg_without_a_pelvis_goes_on(whole, spec, subject, trial, forces):
    """Protects a leg that is marked alone: what hangs on the pelvis is NaN and said, knee and ankle stay."""
    pelvis = subject.segments["pelvis"].markers_mm
    legs = [k for k, name in enumerate(trial.names) if name not in pelvis]
    bare = trial._replace(names=tuple(trial.names[k] for k in legs), positions=trial.positions[:, legs])
    seen = analysed(spec, subject, bare, forces)
    assert any("No marker of the pelvis" in said for said in seen.sentences)
    assert ((seen.status & Status.DEGRADED) != 0).all()
    for name, of_hip in (("joint_angles", 3), ("joint_moments", 3), ("joint_forces", 1), ("joint_powers", 1)):
        found, known = seen.fields[name], whole.fields[name]
        assert np.isnan(found[:, :of_hip]).all()
        np.testing.assert_array_equal(np.isfinite(found[:, of_hip:]), np.isfinite(known[:, of_hip:]))
    assert np.isnan(seen.fields["residual_force"]).all()
    knee, ankle = ((np.s_[:, k], whole.fields["joint_moments"][:, k]) for k in (3, 6))
    for entry, known in (knee, ankle):
        apart = np.nanmax(np.abs(seen.fields["joint_moments"][entry] - known))
        assert apart < 0.05 * np.nanmax(np.abs(known))


def cut(forces: ForceTrial, keep: NDArray[np.bool_]) -> ForceTrial:
    """A part of the samples."""
    rows = {name: getattr(forces, name)[keep] for name in ("times", "force", "moment", "centre")}
    return forces._replace(**rows, free_moment=forces.free_moment[keep], loaded=forces.loaded[keep])


@pytest.mark.parametrize(("first", "last", "name"), [(0.4, 9.0, "forces_early"), (0.0, 0.6, "forces_late")])
def test_forces_that_start_late_or_stop_are_named(spec, subject, trial, forces, first, last, name, whole):
    """Protects from moments without forces: such frames are flagged, counted and NaN, the rest is as ever."""
    there = (forces.times >= first - 1e-9) & (forces.times <= last)
    seen = analysed(spec, subject, trial, cut(forces, there))
    lacking = (trial.times < first - 1e-6) | (trial.times > last + 1e-6)
    np.testing.assert_array_equal((seen.status & Status.DEGRADED) != 0, lacking)
    assert seen.counters[name] == lacking.sum()
    assert np.isnan(seen.fields["joint_moments"][lacking]).all()
    both = np.isfinite(seen.fields["joint_moments"]).all(axis=1)
    assert both.any()
    np.testing.assert_allclose(seen.fields["joint_angles"], whole.fields["joint_angles"], atol=1e-12)
    if name == "forces_late":
        np.testing.assert_allclose(seen.fields["joint_moments"][both], whole.fields["joint_moments"][both])


def test_a_run_whose_forces_never_come_goes_on(spec, subject, trial):
    """Protects a laboratory whose plates are off: joint angles as ever, every frame flagged, one sentence."""
    seen = analysed(spec, subject, trial, None)
    assert np.isfinite(seen.fields["joint_angles"]).all()
    assert seen.counters["forces_missing"] == len(trial.times)
    assert (seen.status == Status.DEGRADED).all()
    assert any("No stream of forces" in said for said in seen.sentences)
    assert np.isnan(seen.fields["joint_moments"]).all()


def test_a_foot_beside_the_plates_is_not_known(spec, subject, trial, forces):
    """Protects from a foot on the floor that seems to bear nothing: NaN, unless plates bear all."""
    still = trial._replace(positions=np.repeat(trial.positions[:1], len(trial.times), axis=0))
    empty = forces._replace(force=0.0 * forces.force, moment=0.0 * forces.moment)
    doubtful = msgspec.structs.replace(RUN, plates=PlateUse())
    seen = analysed(spec, subject, still, empty, doubtful)
    assert np.isnan(seen.fields["foot_forces"][5:, 0]).all()
    assert np.isnan(seen.fields["joint_moments"][5:]).all()
    assert seen.counters["foot_elsewhere"] > 100
    assert any("right foot may stand beside the plates" in said for said in seen.sentences)
    sure = analysed(spec, subject, still, empty)
    assert (sure.fields["foot_forces"][:, 0] == 0.0).all()
    assert np.isfinite(sure.fields["joint_moments"][40:]).all()


def test_feet_are_those_of_a_whole_trial(trial):
    """Protects the assignment: heel and toes frame by frame are those that a trial gives as a whole."""
    feet = FootMarkers(trial.names, load_lab("walker"), 1.0, False)
    assert feet.known == (True, False)
    lines = np.stack([feet.take(positions).copy() for positions in trial.positions])
    np.testing.assert_allclose(lines, foot_lines(trial, load_lab("walker")), atol=1e-12)
    assert feet.bearing(("RHEE", "RMT1"), 1) == 0
    assert feet.bearing(("nothing",), 1) == 1


def test_feet_of_a_model_by_their_names():
    """Protects models of both legs and of other programs: each foot gets its own plate."""
    assert feet_of(("pelvis", "foot"), "left") == [(1, "left")]
    sided = [(0, "right"), (1, "left"), (2, "left")]
    assert feet_of(("foot_r", "calcn_l", "left_foot", "toes_r"), "both") == sided
