"""The stage of force-dependent kinematics with force plates: a person's knee through the loop."""

from __future__ import annotations

import csv
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from kernels.compiler.jit import allow_compilation
from kernels.fdk.problem import NOT_BALANCED
from rtsim.cli.main import cli
from rtsim.config.paths import find_config
from rtsim.config.runs.choices import load_run
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.live.inputs.recorded import KeptResults, RecordingInput
from rtsim.live.loop import Loop
from rtsim.methods.fdk.fdk import ForceDependentKinematics
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.models.load import load_model
from rtsim.stages.building.find import make_stages
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.made_up.walker_forces import MASS_KG, walker_forces
from rtsim.subjects.subject import load_subject
from streams.messages import Status

pytestmark = pytest.mark.own_kernels

RUN = load_run(find_config("knee_fdk", "runs"))
SPEC, SUBJECT = load_model("knee_fdk"), load_subject(find_config("walker", "subjects"))
SETTLED_S = 0.25
"""Time after which the filter has settled."""
DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "gait_lenhart"


@pytest.fixture(autouse=True)
def _permitted() -> None:
    allow_compilation()


def analysed(trial: MarkerTrial, forces, run: RunConfig = RUN):
    """Results of the walker's knee, and sentences that were told."""
    feed, kept = ForceFeed(), KeptResults()
    stages = make_stages(run, SPEC, SUBJECT, feed, MASS_KG)
    Loop(RecordingInput(trial, lambda n: None, forces, feed), stages, kept, {}).run()
    found = kept.results()
    assert found is not None
    return found, kept.sentences


def test_the_walkers_knee_is_pressed_as_it_stands() -> None:
    """Protects the chain from markers and plates to the knee: balanced in nearly all frames, pressed by more
    than the plate's force in stance and by less in swing, residuals within the tolerance.
    """
    trial = walk(load_model("lower_limb"), SUBJECT, 2.2)
    forces = walker_forces(trial)
    found, _ = analysed(trial, forces)
    known = np.isfinite(found.fields["fdk_residuals"]).all(axis=1)
    assert known[found.times >= SETTLED_S].mean() >= 0.99
    assert np.abs(found.fields["fdk_residuals"][known]).max() <= RUN.fdk.tolerance_N
    pressed = np.linalg.norm(found.fields["joint_point_forces"], axis=2).sum(axis=1)
    plate = found.fields["foot_loads"][:, 0]
    weight = 9.81 * MASS_KG
    assert pressed[known & (plate > 0.9 * weight)].min() > weight
    assert np.median(pressed[known & (plate < 1.0)]) < weight
    assert (found.fields["ligament_forces"][known] >= 0.0).all()
    assert (np.isfinite(found.fields["muscle_activations"]).all(axis=1) == known).all()


def test_titles_of_curves_name_the_joint() -> None:
    """Protects readers of the window and of figures: displacements of which joint."""
    stages = make_stages(RUN, SPEC, SUBJECT, ForceFeed(), MASS_KG)
    titles = {q.name: q.curves.panel for q in stages[-1].quantities() if q.curves is not None}
    assert titles["fdk_displacements"] == "Shank on thigh displacement"


def test_forces_turn_the_tibia() -> None:
    """Protects angles through the whole chain: adduction and the turn about the long axis by forces, in rad
    and N m, with contact forces beside those of the run that holds the turn.
    """
    trial = walk(load_model("lower_limb"), SUBJECT, 2.2)
    forces = walker_forces(trial)
    run = load_run(find_config("knee_fdk", "runs"), ["knee=turning"])
    (held, _), (found, _) = (analysed(trial, forces, one) for one in (RUN, run))
    fields = {spec.name: spec for spec in found.session.fields}
    assert (fields["fdk_rotations"].unit, fields["fdk_residual_moments"].unit) == ("rad", "N m")
    assert tuple(fields["fdk_rotations"].labels) == ("knee_adduction", "knee_internal_rotation")
    assert tuple(fields["fdk_displacements"].labels) == ("proximal", "anterior")
    known = np.isfinite(found.fields["fdk_rotations"]).all(axis=1)
    assert known[found.times >= SETTLED_S].mean() >= 0.97
    most = 1e-3 * run.fdk.lever_mm * run.fdk.tolerance_N
    assert np.abs(found.fields["fdk_residual_moments"][known]).max() <= most
    assert 0.05 < np.abs(found.fields["fdk_rotations"][known]).max() < 0.4
    plate = found.fields["foot_loads"][:, 0]
    stance = known & (plate > 0.5 * 9.81 * MASS_KG)
    pressed, usual = (
        np.linalg.norm(one.fields["joint_point_forces"], axis=2).sum(axis=1)[stance] for one in (found, held)
    )
    assert np.abs(pressed / usual - 1.0).max() < 0.2
    assert np.median(np.abs(pressed / usual - 1.0)) < 0.05


def test_frames_in_which_the_plate_is_not_known_are_without_balance() -> None:
    """Protects from a knee under a foot that bears nobody knows what: counted, and the run goes on."""
    trial = walk(load_model("lower_limb"), SUBJECT, 1.6)
    forces = walker_forces(trial)
    gap = slice(400, 500)  # in stance
    forces.force[gap], forces.moment[gap] = np.nan, np.nan
    found, sentences = analysed(trial, forces)
    known = np.isfinite(found.fields["fdk_residuals"]).all(axis=1)
    assert not known[42:50].any()
    assert known[-20:].all()
    assert any("The force on a foot is not known" in sentence for sentence in sentences)


def test_a_lost_search_begins_anew_in_every_second_frame(monkeypatch) -> None:
    """Protects from a branch of equilibria that has ended: where the run says where to begin, the search does
    so again and again; where it does not, it goes on from where it was.
    """
    trial = walk(load_model("lower_limb"), SUBJECT, 0.6)
    begun: list[int] = []
    calls: list[int] = []

    def lost(own: ForceDependentKinematics, *markers: np.ndarray) -> int:
        calls.append(0)
        return NOT_BALANCED

    monkeypatch.setattr(ForceDependentKinematics, "balance", lost)
    monkeypatch.setattr(ForceDependentKinematics, "start", lambda own, q: begun.append(len(calls)))
    plain = msgspec.structs.replace(RUN, fdk=msgspec.structs.replace(RUN.fdk, start_mm={}))
    for run, expected in ((RUN, [0, 2, 4, 6, 8]), (plain, [0])):
        feed, kept = ForceFeed(), KeptResults()
        stages = make_stages(run, SPEC, SUBJECT, feed, MASS_KG)
        forces = walker_forces(trial)
        loop = Loop(RecordingInput(trial, lambda n: None, forces, feed), stages, kept, {})
        begun.clear()
        calls.clear()
        loop.run()
        after = [n for n in begun if n <= 8]
        assert after[-len(expected) :] == expected
        assert len(calls) > 30


def test_a_person_needs_the_load_before(tmp_path: Path) -> None:
    """Protects runs without plates: one sentence says what is missing."""
    run = msgspec.structs.replace(RUN, stages=("kinematics", "fdk"))
    with pytest.raises(ConfigError, match="needs inverse dynamics before it"):
        make_stages(run, SPEC, SUBJECT)


def test_stages_of_plates_say_what_they_lack() -> None:
    """Protects who forgot --forces or --mass from being told to leave a stage out."""
    with pytest.raises(ConfigError, match=r"need force plates.*give --forces"):
        make_stages(RUN, SPEC, SUBJECT)
    with pytest.raises(ConfigError, match=r"need the mass of the person.*give --mass"):
        make_stages(RUN, SPEC, SUBJECT, ForceFeed())


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared recordings are not there")
def test_a_recorded_walk_balances(tmp_path: Path) -> None:
    """Protects real data: a walk over plates by one command. Nearly every frame whose load is known balances,
    and where the plate bears the foot the condyles bear about that at least, never more than 8 weights.
    """
    out = tmp_path / "knee.csv"
    told = CliRunner().invoke(
        cli,
        ["analyse", str(DATA / "overground_17.trc"), "--config", "knee_fdk", "--static",
         str(DATA / "static1.trc"), "--forces", str(DATA / "overground_17_grf.mot"), "--mass", "65",
         "--out", str(out)],
    )  # fmt: skip
    assert told.exit_code == 0, told.output
    head, *rows = csv.reader(out.read_text().splitlines())
    cells = np.array([[cell or "nan" for cell in row] for row in rows], float)
    table = dict(zip(head, cells.T, strict=True))
    status = table["status [bits]"].astype(int)
    lost = (status & Status.NOT_CONVERGED) > 0
    forces = [[table[f"joint_point_forces.{side}.{axis} [N]"] for axis in "xyz"] for side in RUN.fdk.joints]
    pressed = np.linalg.norm(forces, axis=1).sum(axis=0)
    assert np.isfinite(pressed).sum() > 250
    assert lost.sum() <= 0.05 * np.isfinite(pressed).sum()
    later = np.nan_to_num(table["foot_loads.right [N]"])
    stands = np.isfinite(pressed) & (later > 0.5 * 9.81 * 65.0)
    assert stands.sum() > 80
    assert (pressed[stands] > 0.8 * later[stands]).all()
    assert pressed[stands].max() < 8.0 * 9.81 * 65.0
