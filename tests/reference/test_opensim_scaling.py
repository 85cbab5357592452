"""gait2354 scaled to subject01 by the published setup and static trial, beside OpenSim's scale tool.

The scaled model that is published with the setup came from an early OpenSim, whose static pose was another;
sizes, masses and fibre lengths are those of today. OpenSim 4.6 itself places markers in a pose that its
optimiser leaves before the optimum, where the trunk's markers weigh a thousandth of others. So places are
compared with its solver at an accuracy of 1e-9, and with its tool where lengths are in millimetres, in which
it goes on to the optimum.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.opensim_peer.opensim_scaling import (
    SCALED,
    SETUP,
    STATIC,
    OwnScaling,
    by_tool,
    enlarged_trial,
    scaling_figures,
)
from rtsim.files.markers.markers import read_markers
from rtsim.files.osim.model import read_osim
from rtsim.files.osim.setup_scale import read_scale_setup
from rtsim.methods.kinematics.scaling import Scaled, coordinate_goals, scale
from rtsim.methods.kinematics.static_pose import mean_places
from rtsim.methods.muscles.moment_arms import arms_of
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
    """Protects placement: the places of OpenSim's solver at its optimum."""
    opensim = quiet(pytest.importorskip("opensim"))
    setup = read_scale_setup(folder / SETUP)
    trial = read_markers(setup.placer.marker_file)
    seen, _ = mean_places(trial.names, trial.positions[frames_between(trial.times, *setup.placer.times)])
    unplaced = OwnScaling(folder).scaled
    by_tool(opensim, folder, tmp_path)
    theirs = opensim.Model(str(tmp_path / SCALED))
    state = optimum(opensim, theirs, seen, setup, unplaced)
    for marker in ours.spec.markers:
        body = theirs.getBodySet().get(marker.segment)
        x = opensim.Vec3(*seen[marker.name].tolist())
        place = theirs.getGround().findStationLocationInAnotherFrame(state, x, body)
        np.testing.assert_allclose(
            marker.offset_mm, [1e3 * place.get(k) for k in range(3)], atol=1e-3, err_msg=marker.name
        )


def test_the_scale_tool_agrees_where_it_comes_to_its_optimum(folder: Path) -> None:
    """Protects scaling as a whole beside OpenSim's tool, and why a plain run of it ends elsewhere."""
    opensim = quiet(pytest.importorskip("opensim"))
    figures = {figure.name: figure for figure in scaling_figures(opensim, folder)}
    assert all(figure.holds is not False for figure in figures.values())
    assert figures["scale.marker_mm"].value < 0.05
    assert figures["opensim_scale.still_moves_mm"].value < 0.001
    ours, converged, single = (
        figures[name].value
        for name in ("scale.objective", "opensim_scale.objective", "opensim_scale.objective.single_run")
    )
    assert ours <= converged < single
    assert converged - ours < 0.01 * (single - ours)


def test_a_larger_trial(folder: Path) -> None:
    """Protects the run in other units: all coordinates grow, times, frames and the head stay."""
    text = (folder / STATIC).read_text()
    old, new = text.splitlines(), enlarged_trial(text, 10.0).splitlines()
    assert new[:5] == old[:5]
    assert len(new) == len(old)
    before, after = old[-1].split("\t"), new[-1].split("\t")
    assert after[:2] == before[:2]
    assert [float(x) for x in after[2:] if x] == pytest.approx([10.0 * float(x) for x in before[2:] if x])


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
    wanted = coordinate_goals(setup.placer, unplaced.spec, arms, None, lambda note: None)
    for name, (value, weight) in wanted.items():
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
