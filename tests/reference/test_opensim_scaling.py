"""gait2354 scaled to subject01 by the published setup and static trial, beside OpenSim's scale tool.

The scaled model that is published with the setup came from an early OpenSim, whose static pose was another;
sizes, masses and fibre lengths are those of today. OpenSim 4.6 itself places markers in a pose that its
optimiser leaves before the optimum, as the accuracy of the tool is 1e-5 and the trunk's markers weigh a
thousandth of others. So places are compared with its solver at an accuracy of 1e-9, and the cost of the pose
with that of the tool.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.files.osim.model import read_osim
from rtsim.files.osim.setup_scale import read_scale_setup
from rtsim.methods.moment_arms import arms_of
from rtsim.methods.scaling import Scaled, coordinate_goals, read_static, scale
from rtsim.methods.static_pose import mean_places
from rtsim.models.measuring import frames_between
from tests.reference.opensim_peer import quiet

FOLDER = "data/gait_opensim/gait2354"


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue("shared") / FOLDER


@pytest.fixture(scope="module")
def ours(folder: Path) -> Scaled:
    setup = read_scale_setup(folder / "subject01_Setup_Scale.xml")
    return scale(read_osim(folder / "gait2354_simbody.osim")[0], setup, None, lambda note: None)


def test_sizes_and_masses_are_the_published_ones(folder: Path, ours: Scaled) -> None:
    """Protects the whole of scaling on a real person: the file that everybody has, to eight digits."""
    published = read_osim(folder / "subject01_simbody.osim")[0]
    assert [body.name for body in published.bodies] == [body.name for body in ours.spec.bodies]
    for a, b in zip(published.bodies, ours.spec.bodies, strict=True):
        assert b.mass_kg == pytest.approx(a.mass_kg, rel=1e-6)
        np.testing.assert_allclose(b.in_parent.offset_mm, a.in_parent.offset_mm, atol=1e-3)
        np.testing.assert_allclose(b.mass_centre_mm, a.mass_centre_mm, atol=1e-3)
    for a, b in zip(published.muscles, ours.spec.muscles, strict=True):
        assert b.hill.optimal_fibre_length_mm == pytest.approx(a.hill.optimal_fibre_length_mm, rel=1e-6)
        assert b.hill.tendon_slack_length_mm == pytest.approx(a.hill.tendon_slack_length_mm, rel=1e-6)
    assert sum(body.mass_kg for body in ours.spec.bodies) == pytest.approx(72.6, rel=1e-12)


def test_factors(ours: Scaled) -> None:
    """Protects the measurements: the factors of a run of OpenSim 4.6; what is given by hand goes before."""
    factors = {m.name: m.factor for m in ours.measured}
    for name, factor in {
        "torso": 1.0797198918295747, "pelvis": 1.0245770378331935, "thigh": 1.0706327339014885,
        "shank": 1.1139780740531091, "foot": 1.027084768282156,
    }.items():  # fmt: skip
        assert factors[name] == pytest.approx(factor, rel=1e-6)
    assert ours.factors["femur_r"].tolist() == [1.14724] * 3
    assert ours.factors["talus_l"][0] == pytest.approx(1.1139780740531091, rel=1e-6)


def test_markers_are_where_opensim_puts_them(folder: Path, ours: Scaled, tmp_path: Path) -> None:
    """Protects placement: the places of OpenSim's own optimum, and a pose no worse than that of its tool."""
    opensim = quiet(pytest.importorskip("opensim"))
    setup = read_scale_setup(folder / "subject01_Setup_Scale.xml")
    trial = read_static(setup.placer.marker_file, lambda note: None)
    seen, _ = mean_places(trial.names, trial.positions[frames_between(trial.times, *setup.placer.times)])
    only_scaled = setup._replace(placer=None)
    unplaced = scale(read_osim(folder / "gait2354_simbody.osim")[0], only_scaled, None, lambda note: None)
    theirs, pose = tool_run(opensim, folder, tmp_path)
    state = optimum(opensim, theirs, seen, setup, unplaced)
    for marker in ours.spec.markers:
        body = theirs.getBodySet().get(marker.segment)
        x = opensim.Vec3(*seen[marker.name].tolist())
        place = theirs.getGround().findStationLocationInAnotherFrame(state, x, body)
        np.testing.assert_allclose(
            marker.offset_mm, [1e3 * place.get(k) for k in range(3)], atol=0.5, err_msg=marker.name
        )
    arms = arms_of(unplaced.spec)
    q = arms.model.q_neutral.copy()
    for name, value in pose.items():
        q[arms.model.coordinates.q[arms.model.coordinates.names.index(name)]] = value
    errors = {}
    for marker in unplaced.spec.markers:
        if marker.name in ours.errors:
            R, p = arms.body_places(q)[marker.segment]
            x = p + R @ (1e-3 * np.array(marker.offset_mm))
            errors[marker.name] = float(np.linalg.norm(x - seen[marker.name]))
    assert cost(ours.errors, setup) <= cost(errors, setup)


def cost(errors, setup) -> float:
    weights = setup.placer.tasks.markers
    return sum(weights[name] * error**2 for name, error in errors.items()) / sum(weights.values())


def tool_run(opensim, folder: Path, tmp_path: Path):
    """OpenSim's scale tool as it is: the scaled model, and its static pose."""
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    tool = opensim.ScaleTool(str(tmp_path / "subject01_Setup_Scale.xml"))
    assert tool.run()
    model = opensim.Model(str(tmp_path / "subject01_scaledOnly.osim"))
    lines = (tmp_path / "subject01_static_output.mot").read_text().split("endheader")[1].strip().splitlines()
    columns = zip(lines[0].split("\t"), map(float, lines[1].split()), strict=True)
    return model, {name.split("/")[-2]: x for name, x in columns if name.endswith("/value")}


def optimum(opensim, model, seen, setup, unplaced: Scaled):
    """OpenSim's state at its own optimum."""
    state = model.initSystem()
    names = [marker.name for marker in unplaced.spec.markers if marker.name in seen]
    table = opensim.TimeSeriesTableVec3()
    table.setColumnLabels(names)
    table.appendRow(0.0, opensim.RowVectorVec3([opensim.Vec3(*seen[name].tolist()) for name in names]))
    weights = opensim.SetMarkerWeights()
    for name in names:
        weights.cloneAndAppend(opensim.MarkerWeight(name, setup.placer.tasks.markers[name]))
    goals = opensim.SimTKArrayCoordinateReference()
    arms = arms_of(unplaced.spec)
    for name, (value, weight) in coordinate_goals(setup.placer, arms, None).items():
        goal = opensim.CoordinateReference(name, opensim.Constant(value))
        goal.setWeight(weight)
        goals.push_back(goal)
    reference = opensim.MarkersReference(table, weights)
    solver = opensim.InverseKinematicsSolver(model, reference, goals, float("inf"))
    solver.setAccuracy(1e-9)
    state.setTime(0.0)
    solver.assemble(state)
    model.realizePosition(state)
    return state
