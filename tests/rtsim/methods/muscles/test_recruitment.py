"""Recruitment of a model's muscles: the load that they make together is the load that was asked for."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from kernels.recruitment.problem import NOT_CONVERGED, OPTIMAL, VIOLATED
from rtsim.bench.mechanics.muscled_skeleton import muscled_skeleton
from rtsim.config.load import check_record
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.errors import ConfigError
from rtsim.methods.muscles.moment_arms import MomentArms
from rtsim.methods.muscles.recruitment import MuscleRecruitment
from rtsim.models.load import load_model
from rtsim.models.model import Model, build
from rtsim.models.roles import roles_of


def finger(**options) -> tuple[MuscleRecruitment, MomentArms]:
    """The shipped finger, recruited and measured by two of a kind."""
    spec = load_model("finger")
    arms = MomentArms(build(spec), roles_of(spec))
    return MuscleRecruitment(build(spec), roles_of(spec), RecruitmentSpec(**options)), arms


def load_of(sharing: MuscleRecruitment, arms: MomentArms, q: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """(n_v,) - generalized forces of the muscles' forces at a pose, by the slopes of their lengths."""
    at = arms.at(q)
    names = arms.model.names
    tau = np.zeros(arms.model.n_v)
    for row in sharing.rows:
        a = names.angles.index(row)
        tau[arms.model.coordinates.dof[a]] = sum(
            forces[k] * at[names.muscles.index(muscle), a] for k, muscle in enumerate(sharing.muscles)
        )
    return tau


@pytest.mark.parametrize("strength", ["hill", "isometric"])
def test_forces_of_the_answer_make_the_load(strength: str) -> None:
    """Protects the equilibrium: arms times forces, passive ones included, are the load asked for."""
    sharing, arms = finger(strength=strength)
    q = arms.model.q_neutral.copy()
    v = np.zeros(arms.model.n_v)
    assert sharing.share(q, v, np.zeros(arms.model.n_v)) in (OPTIMAL, VIOLATED)
    some = load_of(sharing, arms, q, sharing.forces + 0.2 * sharing.strengths)
    assert sharing.share(q, v, some) == OPTIMAL
    np.testing.assert_allclose(load_of(sharing, arms, q, sharing.forces), some, atol=1e-9)
    assert np.abs(sharing.violation).max() < 1e-9
    assert sharing.activations.min() >= 0.0
    assert sharing.activations.max() <= 1.0


def test_a_reserve_bears_what_muscles_cannot() -> None:
    """Protects overload: told row by row without a reserve, borne by it where there is one."""
    alone, arms = finger()
    q, v = arms.model.q_neutral.copy(), np.zeros(arms.model.n_v)
    huge = np.full(arms.model.n_v, 1e4)
    assert alone.share(q, v, huge) == VIOLATED
    assert np.abs(alone.violation).max() > 1e3
    helped, _ = finger(reserves=dict.fromkeys(alone.rows, 1.0))
    assert helped.share(q, v, huge) == OPTIMAL
    np.testing.assert_allclose(
        load_of(helped, arms, q, helped.forces)[arms.model.coordinates.dof[: len(helped.rows)]]
        + helped.reserves,
        1e4, rtol=1e-9,
    )  # fmt: skip


def test_unknown_loads_give_no_activations_and_are_survived() -> None:
    """Protects live runs: NaN in, NaN out with a status, and the next frame as ever."""
    sharing, arms = finger()
    q, v = arms.model.q_neutral.copy(), np.zeros(arms.model.n_v)
    assert sharing.share(q, v, np.full(arms.model.n_v, np.nan)) == NOT_CONVERGED
    for array in (sharing.activations, sharing.forces, sharing.violation, sharing.gap):
        assert np.isnan(array).all()
    sharing.share(q, v, np.zeros(arms.model.n_v))
    assert np.isfinite(sharing.activations).all()


def test_rows_are_the_coordinates_that_muscles_cross() -> None:
    """Protects the root: its six coordinates are no rows, those of joints with muscles are."""
    spec = muscled_skeleton()
    model: Model = build(spec)
    sharing = MuscleRecruitment(model, roles_of(spec), RecruitmentSpec())
    arms = MomentArms(model, roles_of(spec)).at(model.q_neutral.copy())
    crossed = np.abs(np.nan_to_num(arms)).max(axis=0) > 1e-6
    names = [name for name, found in zip(model.names.angles, crossed, strict=True) if found]
    assert set(names) <= set(sharing.rows)
    root = [c for c, dof in zip(model.coordinates.names, model.coordinates.dof, strict=True) if dof < 6]
    assert not set(root) & set(sharing.rows)


def test_wrong_reserves_and_models_without_forces_are_told() -> None:
    """Protects configs: one sentence each."""
    with pytest.raises(ConfigError, match="unknown coordinate 'elbow'"):
        finger(reserves={"elbow": 1.0})
    with pytest.raises(ConfigError, match="the activations of reserves have no upper bound"):
        check_record(
            {"criterion": "min_max", "reserves": {"mcp_flexion": 1.0}}, RecruitmentSpec, "recruitment"
        )
    spec = load_model("finger")
    idle = tuple(msgspec.structs.replace(muscle, hill=None) for muscle in spec.muscles)
    spec = msgspec.structs.replace(spec, muscles=idle)
    with pytest.raises(ConfigError, match="no muscle"):
        MuscleRecruitment(build(spec), roles_of(spec), RecruitmentSpec())


def block(acts: str = "pushes") -> ModelSpec:
    """A block that slides upwards, with a muscle that lifts it and the ground under or above it."""
    return check_record(
        {
            "name": "block",
            "source": "",
            "bodies": [{"name": "block", "joint": "slider", "axis": [0, 1, 0], "mass_kg": 1.0}],
            "elements": [
                {"name": "floor", "kind": "plane", "a": {"segment": "block"}, "b": {"segment": "ground"},
                 "normal": [0.0, 2.0, 0.0]}
            ],
            "reactions": [{"name": "sole", "element": "floor", "strength_N": 2e4, "acts": acts}],
            "muscles": [
                {
                    "name": "lifter",
                    "path": [
                        {"segment": "ground", "offset_mm": [0.0, 300.0, 0.0]},
                        {"segment": "block", "offset_mm": [0.0, 0.0, 0.0]},
                    ],
                    "hill": {
                        "max_isometric_force_N": 100.0,
                        "optimal_fibre_length_mm": 150.0,
                        "tendon_slack_length_mm": 150.0,
                    },
                }
            ],
        },
        ModelSpec,
        "block",
    )  # fmt: skip


@pytest.mark.parametrize(("power", "load"), [(2, 40.0), (3, 40.0), (5, 900.0)])
def test_a_strong_reaction_takes_its_part_by_the_criterion(power: int, load: float) -> None:
    """Protects eqs 11-14: of two elements on one row x is as the strength to the power 1/(p - 1)."""
    spec = block()
    model = build(spec)
    sharing = MuscleRecruitment(model, roles_of(spec), RecruitmentSpec(power=power, strength="isometric"))
    assert sharing.share(model.q_neutral, np.zeros(1), np.array([load])) == OPTIMAL
    strength = np.array([100.0, 2e4])
    x = strength ** (1.0 / (power - 1))
    x *= load / (x @ strength)
    np.testing.assert_allclose(sharing.activations, x[:1], rtol=1e-4)
    np.testing.assert_allclose(sharing.reactions, x[1:] * strength[1], rtol=1e-6)
    assert sharing.reaction_names == ("sole",)
    assert x[1] < 0.05


def test_a_reaction_acts_one_way() -> None:
    """Protects unilateral joints: a floor does not hold down, a ceiling's rope does not push."""
    for acts, load, status in (("pushes", -40.0, VIOLATED), ("pulls", -40.0, OPTIMAL)):
        spec = block(acts)
        model = build(spec)
        sharing = MuscleRecruitment(model, roles_of(spec), RecruitmentSpec(strength="isometric"))
        assert sharing.share(model.q_neutral, np.zeros(1), np.array([load])) == status
        np.testing.assert_allclose(sharing.reactions, [40.0 if acts == "pulls" else 0.0], atol=1e-3)


def test_a_reaction_is_of_one_scalar_element() -> None:
    """Protects configs: reactions of what is not there, of three constraints at once, or twice."""
    record = msgspec.to_builtins(block())
    for key, words in ({"element": "wall"}, "unknown 'wall'"), ({"name": "sole"}, "more than once"):
        other = {**record["reactions"][0], **key}
        reactions = [other] if "element" in key else [other, other]
        with pytest.raises(ConfigError, match=words):
            check_record({**record, "reactions": reactions}, ModelSpec, "block")
