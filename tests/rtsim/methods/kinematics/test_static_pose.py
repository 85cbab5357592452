"""The pose nearest to markers, and the markers put where they were measured."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rtsim.config.models.joint_schema import Coordinate
from rtsim.config.models.marker_schema import Marker
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.files.osim.model import read_osim
from rtsim.methods.kinematics.static_pose import Wanted, fit_pose, mean_places, place_markers
from rtsim.methods.muscles.moment_arms import MomentArms, arms_of
from rtsim.models.measuring import frames_between
from tests.rtsim.files.osim_texts import CHAIN, Model

COUPLER = (
    "<CoordinateCouplerConstraint name='k'><coupled_coordinates_function><LinearFunction><coefficients>"
    "0.5 0.1</coefficients></LinearFunction></coupled_coordinates_function><independent_coordinate_names>pin"
    "</independent_coordinate_names><dependent_coordinate_name>bend</dependent_coordinate_name>"
    "</CoordinateCouplerConstraint>"
)


@pytest.fixture
def chain(tmp_path) -> ModelSpec:
    """A chain of every joint, one coordinate following another, three markers on every body."""
    path = tmp_path / "chain.osim"
    path.write_text(Model(CHAIN, constraints=COUPLER).text(40600))
    spec = read_osim(path)[0]
    rng = np.random.default_rng(3)
    markers = tuple(
        Marker(name=f"{body.name}{k}", segment=body.name, offset_mm=tuple(rng.uniform(-150, 150, 3).tolist()))
        for body in spec.bodies
        for k in range(3)
    )
    return msgspec.structs.replace(spec, markers=markers)


def measured(spec: ModelSpec, arms: MomentArms, q: np.ndarray) -> dict[str, np.ndarray]:
    places = arms.body_places(q)
    found = {}
    for marker in spec.markers:
        R, p = places[marker.segment]
        found[marker.name] = p + R @ (1e-3 * np.array(marker.offset_mm))
    return found


def random_pose(arms: MomentArms, seed: int) -> np.ndarray:
    q = arms.model.q_neutral + np.random.default_rng(seed).uniform(-0.15, 0.15, len(arms.model.q_neutral))
    return arms.assembled(q)


@pytest.mark.parametrize("seed", range(4))
def test_a_pose_is_found_again(chain, seed):
    """Protects the fit: markers made from a pose that holds the constraints give that pose."""
    arms = arms_of(chain)
    q = random_pose(arms, seed)
    seen = measured(chain, arms, q)
    found = fit_pose(chain, Wanted(seen, dict.fromkeys(seen, 1.0), {}))
    np.testing.assert_allclose(found.q, q, atol=1e-8)
    assert max(found.errors.values()) < 1e-8


def test_it_is_a_minimum_under_constraints(chain):
    """Protects the optimum: with noise and weights no step that the constraints allow lowers the cost."""
    arms = arms_of(chain)
    rng = np.random.default_rng(8)
    q = random_pose(arms, 8)
    seen = {name: x + rng.normal(0.0, 0.01, 3) for name, x in measured(chain, arms, q).items()}
    weights = {name: float(rng.uniform(0.1, 10.0)) for name in seen}
    goals = {"slide": (0.1, 0.5)}
    found = fit_pose(chain, Wanted(seen, weights, goals))
    names, total = arms.model.coordinates.names, sum(weights.values())

    def cost(q: np.ndarray) -> float:
        there = measured(chain, arms, q)
        far = sum(weights[n] * np.sum((there[n] - seen[n]) ** 2) for n in seen) / total
        return far + sum(w * (q[names.index(n)] - x) ** 2 for n, (x, w) in goals.items())

    least = cost(found.q)
    assert abs(found.q[names.index("bend")] - (0.5 * found.q[names.index("pin")] + 0.1)) < 1e-12
    for _ in range(30):
        near = arms.assembled(found.q + rng.normal(0.0, 1e-4, len(found.q)))
        assert cost(near) >= least


def test_clamped_coordinates_stay_in_range(chain):
    """Protects ranges: markers beyond the range give its end, and the others still find their best."""
    limit = 0.2
    bodies = tuple(
        msgspec.structs.replace(
            body,
            coordinates=(
                Coordinate("pin", neutral_deg=0.0, range_deg=(-90.0, float(np.degrees(limit))), clamped=True),
            ),
        )
        if body.name == "a"
        else body
        for body in chain.bodies
    )
    clamped = msgspec.structs.replace(chain, bodies=bodies)
    arms = arms_of(clamped)
    q = arms.model.q_neutral.copy()
    q[0] = 0.5
    q = arms.assembled(q)
    found = fit_pose(clamped, Wanted(measured(clamped, arms, q), {m.name: 1.0 for m in clamped.markers}, {}))
    assert found.q[0] == pytest.approx(limit, abs=1e-12)


def test_markers_are_put_where_they_were(chain):
    """Protects placement: moved markers lie on the measured ones, fixed and unseen ones stay, others go."""
    arms = arms_of(chain)
    q = random_pose(arms, 1)
    seen = measured(chain, arms, q)
    seen["g0"] = np.full(3, np.nan)
    del seen["g1"]
    seen["c0"] = seen["c0"] + [0.01, 0.0, 0.0]
    seen["c1"] = seen["c1"] + [0.01, 0.0, 0.0]
    fixed = tuple(msgspec.structs.replace(m, fixed=m.name == "c1") for m in chain.markers)
    spec = msgspec.structs.replace(chain, markers=fixed)
    notes: list[str] = []
    placed = {m.name: m for m in place_markers(spec, arms.body_places(q), seen, notes.append).markers}
    before = {m.name: m for m in spec.markers}
    assert "g1" not in placed
    assert any("g1" in note for note in notes)
    assert any("g0 is not visible" in note for note in notes)
    for name in ("g0", "c1"):
        assert placed[name].offset_mm == before[name].offset_mm
    R, p = arms.body_places(q)["c"]
    np.testing.assert_allclose(p + R @ (1e-3 * np.array(placed["c0"].offset_mm)), seen["c0"], atol=1e-12)


def test_names_that_do_not_meet(chain):
    """Protects from a pose of nothing: no common marker, and an unknown coordinate, are told."""
    with pytest.raises(ConfigError, match="the static trial shows no marker of the model"):
        fit_pose(chain, Wanted({"x": np.zeros(3)}, {"x": 1.0}, {}))
    with pytest.raises(ConfigError, match="unknown coordinate 'knee'"):
        fit_pose(chain, Wanted({"a0": np.zeros(3)}, {"a0": 1.0}, {"knee": (0.0, 1.0)}))


def test_means_and_frames():
    """Protects static trials with gaps: the mean is of what is seen, frames are those around the times."""
    x = np.arange(12.0).reshape(4, 1, 3)
    x[1] = np.nan
    places, moved = mean_places(["m"], x)
    np.testing.assert_allclose(places["m"], x[[0, 2, 3], 0].mean(axis=0))
    assert moved["m"] == 9.0
    times = np.arange(10) / 60.0
    assert frames_between(times, 0.05, 0.051) == slice(3, 5)
    assert frames_between(times, 0.033, 0.1) == slice(2, 7)  # 0.0333 s, written with three digits
    assert frames_between(times, -np.inf, np.inf) == slice(0, 10)
