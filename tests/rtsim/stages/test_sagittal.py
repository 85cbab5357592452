"""The sagittal motion of a person: its rates, its geometry, and whom it moves."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from scipy.spatial.transform import Rotation

from kernels.compiler.jit import allow_compilation
from rtsim.cli.main import cli
from rtsim.files.recording import read_results
from rtsim.methods.sagittal import UP, ForwardDistance, faced, inclined, moved
from rtsim.simulation.motion_feed import slot_of
from tests.rtsim.live.test_with_forces import RUN, analysed

H = 1e-4


def turned(t: float, angles: np.ndarray) -> np.ndarray:
    """(3, 3) - a body that turns about all its axes, each at an own pace."""
    return Rotation.from_euler("zyx", angles @ [1.0, np.sin(t), np.cos(1.7 * t)]).as_matrix()


def rates(t: float, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angular velocity and acceleration in ground, by differences."""

    def velocity(t: float) -> np.ndarray:
        step = turned(t + H, angles) @ turned(t - H, angles).T
        return Rotation.from_matrix(step).as_rotvec() / (2.0 * H)

    return velocity(t), (velocity(t + H) - velocity(t - H)) / (2.0 * H)


@pytest.mark.parametrize("seed", range(4))
def test_rates_are_those_of_the_values(seed: int) -> None:
    """Protects speeds and accelerations of what moves a limb, against differences of its values."""
    rng = np.random.default_rng(seed)
    angles, point, forwards = rng.uniform(-0.4, 0.4, (3, 3)), rng.normal(size=3), faced(np.eye(3))
    axis, still = np.array([0.0, 1.0, 0.0]), np.zeros(3)
    t = rng.uniform(0.0, 3.0)
    turn, spin = rates(t, angles)
    leaning = inclined(turned(t, angles) @ axis, turn, spin, forwards)
    place = moved(still, still, still, turned(t, angles) @ point, turn, spin)
    found = np.array([
        [inclined(turned(t + k * H, angles) @ axis, still, still, forwards)[0] for k in (-1, 0, 1)],
        *np.array([turned(t + k * H, angles) @ point for k in (-1, 0, 1)]).T,
    ])  # fmt: skip
    first, second = (found[:, 2] - found[:, 0]) / (2.0 * H), (found @ [1.0, -2.0, 1.0]) / H**2
    np.testing.assert_allclose([leaning[1], *place[1]], first, atol=1e-6)
    np.testing.assert_allclose([leaning[2], *place[2]], second, atol=1e-5)


def test_flexion_is_seen_from_the_side_whichever_way_one_faces() -> None:
    """Protects the geometry: a thigh that swings forwards is flexed, north or south; a body upright is 0."""
    for heading in (0.0, 1.0, np.pi, -2.0):
        facing = Rotation.from_euler("y", heading)
        thigh = facing * Rotation.from_euler("z", 0.5)  # its lower end forwards
        forwards = faced(facing.as_matrix())
        np.testing.assert_allclose(forwards, facing.apply([1.0, 0.0, 0.0]), atol=1e-12)
        assert inclined(thigh.apply(UP), np.zeros(3), np.zeros(3), forwards)[0] == pytest.approx(0.5)
        assert inclined(UP, np.zeros(3), np.zeros(3), forwards)[0] == 0.0


def test_the_way_goes_on_after_a_gap_where_it_was() -> None:
    """Protects a limb from a leap: what was not seen was not walked."""
    way = ForwardDistance()
    far = [way.add(t, 1.0) for t in (0.0, 0.1, 0.2, 5.0, 5.1, 5.05)]
    np.testing.assert_allclose(far, [0.0, 0.1, 0.2, 0.2, 0.3, 0.3])


@pytest.mark.parametrize(("side", "hips"), [("both", ("_r", "_l")), ("right", ("",))])
def test_the_walker_as_a_planar_person(tmp_path: Path, side: str, hips: tuple[str, ...]) -> None:
    """Protects the way from markers: flexion near that of the joint, rates those of the values, no leap."""
    allow_compilation()
    out = tmp_path / "walk.mcap"
    done = CliRunner().invoke(
        cli, ["analyse", "walker", "--run", "sagittal", "--side", side, "--out", str(out)]
    )
    allow_compilation()
    assert done.exit_code == 0, done.output
    results = read_results(out)
    labels = {spec.name: spec.labels for spec in results.session.fields}
    names = ("pelvis_x", "pelvis_y", "pelvis_tilt", *(f"hip_flexion{side}" for side in hips))
    assert labels["sagittal_coordinates"] == names
    values = results.fields["sagittal_coordinates"]
    known = np.isfinite(values).all(axis=1)
    assert known[30:].all()
    delay = results.session.meta["rates"]["delay_s"][0]
    for k, name in enumerate(names[3:], 3):
        angle = results.fields["joint_angles"][:, labels["joint_angles"].index(name)]
        late = np.interp(results.times - delay, results.times, angle)
        assert np.abs(values[:, k] - late)[known][20:].max() < np.radians(2.5)
    for value, rate in (("coordinates", "speeds"), ("speeds", "accelerations")):
        x, dx = (results.fields[f"sagittal_{name}"][known][20:] for name in (value, rate))
        change = (x[2:] - x[:-2]) / 0.02
        assert np.corrcoef(change[:, 3], dx[1:-1, 3])[0, 1] > 0.97
    assert np.abs(np.diff(values[known][:, :2], axis=0)).max() < 0.02


@pytest.mark.parametrize(("name", "value"), [("hip_flexion_r", 3), ("pelvis_x", 0), ("hip_flexion_l", 3)])
def test_a_limb_of_a_side_follows_a_person_of_whom_one_leg_is_known(name: str, value: int) -> None:
    """Protects the names: one leg drives either side, the plane comes before the laboratory."""
    plane = ("pelvis_x", "pelvis_y", "pelvis_tilt", "hip_flexion")
    laboratory = ("pelvis_x", "pelvis_y", "pelvis_z")
    fields = {"coordinates": laboratory, "coordinate_speeds": laboratory}
    fields |= dict.fromkeys(("sagittal_coordinates", "sagittal_speeds", "sagittal_accelerations"), plane)
    slot = slot_of(name, fields)
    assert slot is not None
    assert slot.value == ("sagittal_coordinates", value)
    assert slot.acceleration == ("sagittal_accelerations", value)


def test_without_markers_of_the_pelvis_nothing_is_told(spec, subject, trial) -> None:
    """Protects a limb that follows a person from the angles of a pelvis that no marker shows."""
    run = msgspec.structs.replace(RUN, stages=("kinematics", "rates", "sagittal"))
    pelvis = subject.segments["pelvis"].markers_mm
    kept = [k for k, name in enumerate(trial.names) if name not in pelvis]
    bare = trial._replace(names=tuple(trial.names[k] for k in kept), positions=trial.positions[:, kept])
    whole, seen = (analysed(spec, subject, one, None, run).fields for one in (trial, bare))
    for name in ("sagittal_coordinates", "sagittal_speeds", "sagittal_accelerations"):
        assert np.isfinite(whole[name][30:]).all()
        assert np.isnan(seen[name]).all()
