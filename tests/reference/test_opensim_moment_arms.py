"""Models read from .osim files against OpenSim itself: poses, muscle lengths, moment arms, dynamics.

Figures in this file are results of OpenSim 4.6 (opensim 4.6 of 2026-06-22), computed from the same files by
Coordinate.setValue, Body.getPositionInGround, Muscle.getLength, Muscle.computeMomentArm,
SimbodyMatterSubsystem.calcM and InverseDynamicsSolver.solve. Where opensim is installed, it is asked again,
in many more poses. Moment arms of OpenSim 4.6 hold the work of moving path points (MovingPathPoint).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.reference.opensim_peer import Differences, Read, compare
from tests.rtsim.files.osim_texts import CHAIN, CHAIN_MUSCLES, Model

Array = NDArray[np.float64]
GAIT = Path("data/gait_opensim/gait2354/subject01_simbody.osim")
N_POSE = 20


class Figures(NamedTuple):
    """What OpenSim 4.6 says of a model in one pose."""

    pose: dict[str, float]  # of coordinates; the others keep their default [rad, m]
    lengths: dict[str, float]  # of muscles [m]
    arms: dict[tuple[str, str], float]  # of muscles about coordinates [m]
    body: str
    position: tuple[float, ...]  # of that body in ground [m]
    rotation: tuple[tuple[float, ...], ...]
    mass: dict[tuple[str, str], float]  # entries of the mass matrix
    tau: dict[str, float]  # at all speeds 0.5 and all accelerations 1, gravity alone


CHAIN_FIGURES = Figures(
    pose={
        "pin": 0.3, "slide": 0.1, "first": -0.4, "second": 0.5, "turn": 0.2, "x": 0.1, "y": -0.1, "g1": 0.3,
        "g2": -0.2, "g3": 0.6, "bend": 0.5, "glide": 0.05,
    },
    lengths={"long": 0.40697146064696926, "switched": 0.44621218120162875, "moved": 0.5874035338554648},
    arms={
        ("long", "pin"): -0.06738890786020378,
        ("long", "second"): 0.05432450885390004,
        ("long", "turn"): 0.058847113100375575,
        ("long", "g2"): -0.1030136664245305,
        ("long", "bend"): -0.15542970409427878,
        ("long", "glide"): -0.40769802825893225,
        ("switched", "bend"): -0.0037146692483544866,
        ("switched", "g3"): -0.0783844874414611,
        ("moved", "bend"): -0.8809006961410099,
        ("moved", "glide"): -0.9835392781474817,
    },
    body="g",
    position=(-0.2307657926060092, 0.47485032868831434, 0.3237516348751728),
    rotation=(
        (-0.49105814667922554, -0.18009670447314718, 0.8523069128065766),
        (-0.550623423408418, -0.6939908225253184, -0.4638863910965994),
        (0.6750375857490896, -0.6970953416058273, 0.24162438316009535),
    ),
    mass={
        ("pin", "pin"): 1.7303277823256367,
        ("pin", "slide"): -1.9612121583728106,
        ("bend", "bend"): 0.2746557015617196,
        ("y", "g1"): -0.48820066544134055,
    },
    tau={
        "pin": 9.337546650617206, "slide": 67.04235743388965, "turn": -1.4535546146794491,
        "g2": 2.1480272608940334, "bend": 0.17586799404387288,
    },
)  # fmt: skip
GAIT_FIGURES = Figures(
    pose={
        "pelvis_tilt": 0.1, "pelvis_list": -0.05, "hip_flexion_r": 0.6, "hip_adduction_r": -0.1,
        "hip_rotation_r": 0.15, "knee_angle_r": -0.9, "ankle_angle_r": 0.2, "subtalar_angle_r": 0.1,
        "knee_angle_l": -1.6, "lumbar_extension": -0.2,
    },
    lengths={
        "rect_fem_r": 0.4826306528745509, "vas_int_r": 0.25307537427377735, "grac_r": 0.4868373166976879,
        "iliacus_r": 0.19396996301972041, "med_gas_r": 0.43896526845968875, "ercspn_r": 0.16785892090640783,
        "rect_fem_l": 0.5402872963832275,
    },
    arms={
        ("rect_fem_r", "hip_flexion_r"): 0.054882412075031604,
        ("rect_fem_r", "knee_angle_r"): 0.045276008374022896,
        ("vas_int_r", "knee_angle_r"): 0.04186428029222203,
        ("rect_fem_l", "knee_angle_l"): 0.03245587001045845,
        ("grac_r", "knee_angle_r"): -0.03542507504189498,
        ("grac_r", "hip_adduction_r"): 0.06339110597700283,
        ("glut_med1_r", "hip_rotation_r"): 0.04940268781157861,
        ("iliacus_r", "hip_flexion_r"): 0.041433001359533234,
        ("med_gas_r", "ankle_angle_r"): -0.04699978500861486,
        ("med_gas_r", "knee_angle_r"): -0.020768371431812562,
        ("tib_post_r", "subtalar_angle_r"): 0.01672585104203258,
        ("ercspn_r", "lumbar_extension"): 0.038694449733948394,
    },
    body="toes_r",
    position=(0.2761574720572617, 0.14181853451819532, 0.2585734459637346),
    rotation=(
        (0.9970869033862778, 0.023008006900370255, 0.07272096474908268),
        (-0.03485938758100942, 0.9854811462184331, 0.1661677873279941),
        (-0.06784195009757452, -0.16821873280487226, 0.9834123894585031),
    ),
    mass={
        ("pelvis_tilt", "pelvis_tilt"): 13.978015253162635,
        ("knee_angle_r", "knee_angle_r"): 0.4277951305586491,
        ("pelvis_ty", "knee_angle_r"): -0.14035498842968377,
        ("lumbar_extension", "hip_flexion_r"): 0.0,
    },
    tau={
        "pelvis_ty": 770.0349204448851, "hip_flexion_r": 39.48115328736194,
        "knee_angle_r": 1.617108384510726, "lumbar_bending": 31.967755941521876,
    },
)  # fmt: skip


@pytest.fixture(scope="module", params=["chain 3", "chain 4", "gait2354"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Figures]:
    """File and figures; the published model where it is there."""
    if request.param == "gait2354":
        return request.getfixturevalue("shared") / GAIT, GAIT_FIGURES
    path = tmp_path_factory.mktemp("osim") / "chain.osim"
    path.write_text(Model(CHAIN, CHAIN_MUSCLES).text(30000 if request.param == "chain 3" else 40600))
    return path, CHAIN_FIGURES


def test_stored_figures(model: tuple[Path, Figures]) -> None:
    """Protects the whole way from file to results: OpenSim 4.6 says the same, to its last digits."""
    path, figures = model
    read = Read(path)
    read.move(figures.pose)
    M = read.mass_matrix()
    position, rotation = read.body(figures.body)
    np.testing.assert_allclose(position, figures.position, atol=1e-13)
    np.testing.assert_allclose(rotation, figures.rotation, atol=1e-13)
    lengths, arms = read.arms.lengths(read.q), read.arms.at(read.q)
    for muscle, length in figures.lengths.items():
        assert lengths[read.muscle(muscle)] == pytest.approx(length, abs=1e-13), muscle
    for (muscle, coordinate), arm in figures.arms.items():
        found = arms[read.muscle(muscle), read.angle(coordinate)]
        assert found == pytest.approx(arm, abs=1e-12), (muscle, coordinate)
    for (row, column), entry in figures.mass.items():
        assert M[read.dof(row), read.dof(column)] == pytest.approx(entry, rel=1e-12, abs=1e-12), (row, column)
    v = np.full(read.model.n_v, 0.5)
    tau = read.inverse_dynamics(v, np.ones_like(v))
    for name, value in figures.tau.items():
        assert tau[read.dof(name)] == pytest.approx(value, rel=1e-12, abs=1e-12), name


def test_arms_with_moving_points_are_those_of_the_length(model: tuple[Path, Figures]) -> None:
    """Protects the sense of these figures: about single coordinates, -dl/dq, also through moving points."""
    path, figures = model
    read = Read(path)
    read.move(figures.pose)
    arms, step = read.arms.at(read.q), 1e-6
    for muscle, coordinate in figures.arms:
        m, k = read.muscle(muscle), read.model.coordinates.names.index(coordinate)
        lengths = []
        for sign in (1.0, -1.0):
            q = read.q.copy()
            q[read.model.coordinates.q[k]] += sign * step
            lengths.append(read.arms.lengths(q)[m])
        slope = (lengths[0] - lengths[1]) / (2.0 * step)
        assert arms[m, read.angle(coordinate)] == pytest.approx(-slope, abs=1e-9)


def test_gait2354_has_158_arms(shared: Path) -> None:
    """Protects the comparison of the bench: the pairs of muscle and coordinate that are not always zero."""
    read = Read(shared / GAIT)
    rng = np.random.default_rng(5)
    largest = np.zeros((54, 23))
    for _ in range(N_POSE):
        read.move(dict(zip(read.model.coordinates.names, rng.uniform(-0.8, 0.15, 23), strict=True)))
        largest = np.maximum(largest, abs(read.arms.at(read.q)))
    assert (largest > 1e-10).sum() == 158


def test_opensim_itself(model: tuple[Path, Figures]) -> None:
    """Protects all pairs in many poses: places, lengths, arms, mass matrix, inverse and forward dynamics."""
    pytest.importorskip("opensim")
    path, _ = model
    read = Read(path)
    n_moving = (abs(read.arms.at(read.q) - read.arms_without_moving.at(read.q)) > 1e-6).sum()
    assert n_moving > 0  # the models have moving points, and their work makes a difference
    check(compare(path, N_POSE))


@pytest.mark.parametrize(
    "name", ["leg6dof9musc", "bouncing_block", "gait10dof18musc_subject01", "gait2392_millard2012muscle"]
)
def test_published_models(shared: Path, name: str) -> None:
    """Protects couplers, lines that points stay on, free joints, markers and feet with odd inertias."""
    pytest.importorskip("opensim")
    check(compare(shared / f"data/osim_models/{name}.osim", 5))


def test_point_on_line_in_turned_frames(tmp_path: Path) -> None:
    """Protects the two planes of a line: with frames in any direction the model falls as OpenSim's does."""
    pytest.importorskip("opensim")
    line = (
        "<PointOnLineConstraint name='rail'><isEnforced>true</isEnforced>"
        "<socket_line_body>/bodyset/a</socket_line_body>"
        "<socket_follower_body>/bodyset/f</socket_follower_body>"
        "<line_direction_vec>1 2 -0.5</line_direction_vec><point_on_line>0.1 0.2 -0.1</point_on_line>"
        "<point_on_follower>0.05 0 0.02</point_on_follower></PointOnLineConstraint>"
    )
    path = tmp_path / "rail.osim"
    path.write_text(Model(CHAIN, constraints=line).text(40600))
    check(compare(path, 5))


def check(found: Differences) -> None:
    """To the last digits, the accumulation over a chain of bodies included."""
    limits = Differences(1e-12, 1e-12, 1e-12, 1e-12, 1e-11, 1e-12, 1e-12, 1e-9)
    for name, value, limit in zip(Differences._fields[:-1], found[:-1], limits[:-1], strict=True):
        assert not value > limit, f"{name}: {value:g}"  # NaN: nothing to compare
    assert found.position == found.position
