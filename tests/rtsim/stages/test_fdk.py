"""The stage of force-dependent kinematics: the synthetic jaw through the loop, held and decided by forces."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rtsim.config.paths import find_config
from rtsim.config.runs.choices import load_run
from rtsim.config.runs.fdk_schema import FdkSpec, JointForceSpec
from rtsim.config.runs.rate_schema import SavitzkyGolaySpec
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.tables.panels import panels_of_results
from rtsim.live.inputs.recorded import KeptResults, RecordingInput
from rtsim.live.loop import Loop
from rtsim.models.jaw.jaw_surfaces import of_formulas
from rtsim.models.load import load_model
from rtsim.stages.building.find import make_stages
from rtsim.stages.fdk import BalancedJoint
from rtsim.subjects.made_up.jaw import jaw_in_skull, move_jaw
from streams.messages import Status, marker_session

SPEC = load_model("mandible")
JUMPS = 5
"""Column of a marker on the jaw."""


def results(joint: str, hidden: slice = slice(0)):
    """Half a second of chewing at 100 Hz, after half a second in which the filter settles."""
    run = load_run(find_config("mandible", "runs"), [f"joint={joint}"])
    trial = move_jaw(SPEC, "chewing", 1.0, seed=3)
    trial.positions[hidden, 4:] = np.nan
    kept = KeptResults()
    Loop(RecordingInput(trial), make_stages(run, SPEC, None), kept, {}).run()
    found = kept.results()
    assert found is not None
    return found


@pytest.mark.own_kernels
def test_points_on_planes_and_forces_both_follow_the_jaw() -> None:
    """Protects the chain: condyles within 2 mm of where they were made to be, pressed from above, as told."""
    for joint in ("pop", "fdk"):
        found = results(joint)
        known = np.isfinite(found.fields["muscle_forces"]).all(axis=1)
        assert known[-30:].all()
        delay = found.times[-1] - 0.06  # of the filter, about
        R, x = jaw_in_skull("chewing", np.array([delay]))
        for k, z in enumerate((-0.05, 0.05)):
            truth = R[0] @ [0.0, 0.0, z] + x[0] - [0.0, 0.0, z]
            assert np.abs(found.fields["joint_point_displacements"][-1, k] - truth).max() < 2e-3
        force = found.fields["joint_point_forces"][known]
        assert (force[..., 1] < 0.0).all()
        assert (found.fields["muscle_activations"][known] >= 0.0).all()
        if joint == "fdk":
            assert np.abs(found.fields["fdk_residuals"][known]).max() <= 0.1
            assert (found.fields["fdk_stiffness"][known] > 0.0).all()
        else:
            assert (found.fields["unilateral_reactions"][known] > 0.0).all()
            # the reaction across goes to one of both joints
            across = force[..., 2] - found.fields["unilateral_reactions"][known][:, ::-1] * [0.0872, -0.0872]
            assert (np.abs(across).min(axis=1) < 0.02).all()


@pytest.mark.own_kernels
def test_coordinates_of_the_jaw_are_decided_by_forces() -> None:
    """Protects rotations of a joint in a run: the jaw's height, its way across, its cant, by name."""
    run = load_run(find_config("mandible", "runs"), ["joint=fdk"])
    fdk = msgspec.structs.replace(run.fdk, dofs=("elevation", "shift", "cant"), start_deg={"cant": 0.1})
    run = msgspec.structs.replace(run, method="free", fdk=fdk)
    kept = KeptResults()
    loop = Loop(
        RecordingInput(move_jaw(SPEC, "chewing", 1.0, seed=3)), make_stages(run, SPEC, None), kept, {}
    )
    loop.run()
    found = kept.results()
    assert found is not None
    fields = found.fields
    known = np.isfinite(fields["fdk_rotations"]).all(axis=1)
    assert known[-30:].all()
    assert fields["fdk_rotations"].shape[1:] == fields["fdk_residual_moments"].shape[1:] == (1,)
    assert np.abs(fields["fdk_rotations"][known]).max() < 0.05
    names = next(spec for spec in found.session.fields if spec.name == "joint_angles").labels
    cant = fields["joint_angles"][known][:, list(names).index("cant")]
    # of the markers, late by less than the balance, which is filtered
    assert np.abs(fields["fdk_rotations"][known][:, 0] - cant).max() < 0.02
    assert (fields["joint_point_forces"][known][..., 1] < 0.0).all()


@pytest.mark.own_kernels
def test_discs_of_the_jaw_are_balanced_with_it() -> None:
    """Protects the shipped run of discs: balanced in every frame, condyles pressed and within half a
    millimetre of those of the jaw without discs, discs tilted to and fro as the jaw opens and closes.
    """
    found = []
    for name in ("mandible", "mandible_disc"):
        run = load_run(find_config(name, "runs"), ["joint=fdk"] if name == "mandible" else [])
        spec, kept = load_model(name), KeptResults()
        trial = move_jaw(spec, "opening", 2.2, seed=3)
        Loop(RecordingInput(trial), make_stages(run, spec, None), kept, {}).run()
        results_of = kept.results()
        assert results_of is not None
        found.append(results_of)
    (plain, discs) = (one.fields for one in found)
    known = np.isfinite(discs["fdk_rotations"]).all(axis=1)
    assert known[found[1].times > 0.25].all()
    assert (found[1].status[found[1].times > 0.25] == 0).all()
    assert (discs["fdk_stiffness"][known] > 0.0).all()
    away = discs["joint_point_displacements"] - plain["joint_point_displacements"]
    assert np.abs(away[known]).max() < 5e-4
    assert (discs["joint_point_forces"][known][..., 1] < 0.0).all()
    assert (np.ptp(discs["fdk_rotations"][known], axis=0) > 0.15).all()


@pytest.mark.own_kernels
def test_hidden_markers_flag_frames_and_the_run_goes_on() -> None:
    """Protects live runs: without the jaw's markers frames are not in order, with them again they are."""
    found = results("fdk", slice(60, 70))
    assert np.isfinite(found.fields["fdk_residuals"][-5:]).all()
    assert (found.status[62:70] != 0).all()


@pytest.mark.own_kernels
def test_a_marker_that_is_left_out_changes_no_balance() -> None:
    """Protects forces at the joint from a marker that jumps: the kinematics leaves it out, and so does what
    is balanced at its markers."""
    found = []
    for off_m in (0.0, 0.1):
        run = load_run(find_config("mandible", "runs"), ["joint=fdk"])
        trial = move_jaw(SPEC, "chewing", 1.0, seed=3)
        trial.positions[60:75, JUMPS, 1] += off_m
        kept = KeptResults()
        Loop(RecordingInput(trial), make_stages(run, SPEC, None), kept, {}).run()
        found.append(kept.results())
    clean, seen = (one.fields for one in found)
    assert (seen["marker_weights"][60:75, JUMPS] == 0.0).all()
    force = clean["joint_point_forces"]
    assert np.isfinite(force[55:]).all()
    off = np.abs(seen["joint_point_forces"] - force)[55:]
    assert np.nanmax(off) < 0.03 * np.abs(force[55:]).max()


@pytest.mark.own_kernels
@pytest.mark.parametrize("rate", [0.0, 1e9, 1e300])
def test_a_rate_that_no_filter_can_have_is_told(rate: float) -> None:
    """Protects the estimator from the rates of strangers: no room is made for them, and the run goes on."""
    run = RunConfig(name="jaw", model="mandible", method="pop", stages=("kinematics", "fdk"),
              rates=SavitzkyGolaySpec(window_s=0.2))  # fmt: skip
    stage = make_stages(run, SPEC, None)[1]
    stage.begin(marker_session(("nose",), rate=rate, t_start=0), anew=True)
    assert "the balance of forces at the joint are not computed: the session's rate: " in stage.sentences[-1]


@pytest.mark.own_kernels
def test_runs_that_cannot_be_are_told() -> None:
    """Protects configs: unknown elements, contacts and criteria, each in one sentence."""
    for fdk, recruitment, words in (
        (FdkSpec(dofs=("hinge",)), None, "'hinge' names no constraint of the method"),
        (FdkSpec(joints={"left": JointForceSpec("nowhere")}), None, "unknown 'nowhere'"),
        (FdkSpec(), RecruitmentSpec(criterion="min_max"), "by the sum of a power"),
    ):
        run = RunConfig(
            name="jaw", model="mandible", method="pop", stages=("kinematics", "fdk"), fdk=fdk,
            recruitment=recruitment,
        )  # fmt: skip
        with pytest.raises(ConfigError, match=words):
            make_stages(run, SPEC, None)


@pytest.mark.own_kernels
def test_a_figure_shows_where_the_joint_lies_and_what_presses() -> None:
    """Protects who asks for a figure of a balanced joint: its displacements, or its reactions, are curves."""
    for joint, title, unit in (
        ("pop", "Normal force", "N"),
        ("fdk", "Mandible on skull displacement: normal", "mm"),
    ):
        drawn = {panel.title: panel for panel in panels_of_results(results(joint)).panels}
        assert drawn[title].unit == unit
        assert list(drawn[title].curves) == ["right", "left"]


@pytest.mark.own_kernels
def test_displacements_are_known_where_the_balance_is() -> None:
    """Protects from zeros that look measured: before the filter has settled nothing is known of the joint."""
    fields = results("fdk").fields
    known = np.isfinite(fields["fdk_residuals"]).all(axis=1)
    assert not known.all()
    assert (np.isfinite(fields["fdk_displacements"]).all(axis=1) == known).all()


@pytest.mark.own_kernels
def test_surfaces_that_are_pulled_apart_flag_frames_and_the_run_goes_on(tmp_path, monkeypatch) -> None:
    """Protects runs on a scan's surfaces: a torn joint is told of, then it balances."""
    spec = of_formulas(SPEC, tmp_path)
    run = load_run(find_config("mandible", "runs"), ["joint=fdk"])
    joints = {side: JointForceSpec(f"{side}_normal", (side,)) for side in ("left", "right")}
    fdk = msgspec.structs.replace(run.fdk, joints=joints, tolerance_N=1.0)
    trial = move_jaw(SPEC, "chewing", 2.0, seed=3)
    pull = np.exp(-(((trial.times - 1.2) / 0.15) ** 2))
    trial.positions[:, 4:, 0] += 0.05 * pull[:, None]
    told: list[str] = []
    monkeypatch.setattr(BalancedJoint, "count", lambda _, kind, sentence: told.append(sentence))
    kept = KeptResults()
    Loop(
        RecordingInput(trial), make_stages(msgspec.structs.replace(run, fdk=fdk), spec, None), kept, {}
    ).run()
    found = kept.results()
    assert found is not None
    status = np.array(found.status)
    flagged = (status & (Status.NOT_CONVERGED | Status.DEGRADED)) > 0
    assert flagged.any()
    assert np.isfinite(found.fields["joint_point_forces"][-10:]).all()
    assert not flagged[-10:].any()
    assert any("There is no contact in right, left." in sentence for sentence in told)
