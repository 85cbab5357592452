"""Fits of torque generators to motions: who is found, what is told, and that faults stay with a muscle."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.torque_generator.torque import N_TORQUE, torque
from rtsim.errors import ConfigError
from rtsim.methods.generators.emg import around, borne_against, torque_of
from rtsim.methods.generators.joint_motion import JointMotion, left_at_root, read_joint_motion
from rtsim.methods.generators.strength_bounds import strength_bounds, with_strength
from rtsim.methods.generators.torque_generator_fit import INTERRUPTED, FitSettings, fit_all
from rtsim.models.generator_sets import generators_of, load_set
from rtsim.models.packing.torque_generators import PlacedGenerator, pack_generators

KNEE = "knee_flexion_r"
HIP = "hip_flexion_r"
N = 60
TRUTH = 1.3


def pair(coordinate: str) -> list[PlacedGenerator]:
    """Extensor and flexor of a joint of the planar body."""
    return [one for one in generators_of("planar") if one.joint.coordinate == coordinate]


def made_up(coordinate: str = KNEE, activation: float = 1.0, against: float = 0.0) -> JointMotion:
    """A knee that swings slowly about its extensor's best angle, by one whose extensor is TRUTH times as
    strong and at most so active, while the flexor pulls with a constant torque.
    """
    extensor, _ = pair(coordinate)
    packed = pack_generators([extensor])
    packed.fit[0, 4] = TRUTH
    t = np.linspace(0.0, 1.0, N)
    q = packed.parameter[0, 2] + 0.2 * np.cos(2.0 * np.pi * t)
    qd, a = np.zeros(N), activation * np.exp(-(((t - 0.25) / 0.15) ** 2))
    tau, out = np.zeros(N), np.zeros(N_TORQUE)
    for k in range(N):
        torque(packed, 0, np.array([q[k], qd[k], a[k]]), out)
        tau[k] = out[0] - extensor.torque_sign * against
    columns = [values[:, None] for values in (q, qd, tau)]
    return JointMotion((coordinate,), t, *columns)


def strengths(motion: JointMotion, settings: FitSettings) -> dict[str, float]:
    """s_tau of extensor and flexor."""
    return {
        fit.placed.name.rpartition("_")[2]: float(fit.x[4]) for fit in fit_all(pair(KNEE), motion, settings)
    }


def test_strength_is_found():
    """Protects the purpose: a person 1.3 times as strong as the default, seen at full activation."""
    assert strengths(made_up(), FitSettings())["extensor"] == pytest.approx(TRUTH, rel=2e-3)


def test_activation_from_emg_is_used():
    """Protects a_max: with EMG's peak of 0.6 the strength is found, without it hardly any is seen."""
    motion = made_up(activation=0.6)
    emg = {f"{KNEE}_extensor": 0.6}
    assert strengths(motion, FitSettings(caps=emg))["extensor"] == pytest.approx(TRUTH, rel=2e-3)
    assert strengths(motion, FitSettings())["extensor"] == pytest.approx(1.0, abs=1e-6)


def test_emg_may_say_it_of_every_frame():
    """Protects EMG over time: where it is silent the generator may not help."""
    motion = made_up()
    cap = np.clip(np.exp(-(((motion.times - 0.25) / 0.15) ** 2)), 1e-3, 1.0)
    found = strengths(motion, FitSettings(caps={f"{KNEE}_extensor": cap}))
    assert found["extensor"] == pytest.approx(TRUTH, rel=0.02)


def test_co_contraction_is_used():
    """Protects eq. 7 with known co-contraction: the torque against the extensor is added to what it bears."""
    motion = made_up(against=60.0)
    settings = FitSettings(co_contraction={KNEE: np.full(N, 60.0)})
    known, unknown = strengths(motion, settings), strengths(motion, FitSettings())
    assert known["extensor"] == pytest.approx(TRUTH, rel=2e-3)
    assert unknown["extensor"] < TRUTH - 0.1


def test_emg_of_both_finds_strength_and_co_contraction():
    """Protects EMG over time of antagonists: with a flexor that pulls against it as its EMG says, the
    extensor's strength is found, and what both bear is what was made up; without EMG it is not."""
    motion, emg, against = contracted()
    placed = pair(KNEE)
    both = borne_against(placed, motion, emg)[KNEE]
    np.testing.assert_allclose(both, against, rtol=1e-9)
    floors, caps = around(emg, 0.02)
    settings = FitSettings(caps=caps, floors=floors, co_contraction={KNEE: both})
    extensor, flexor = fit_all(placed, motion, settings)
    assert extensor.x[4] == pytest.approx(TRUTH, rel=0.03)
    assert extensor.after is not None
    assert extensor.after.words == "feasible"
    assert not flexor.changed
    assert strengths(motion, FitSettings())["extensor"] < TRUTH - 0.1


def test_what_is_stronger_than_its_emg_is_told():
    """Protects the lower bound: generators too strong for their EMG, at which no strengthening helps, are
    named, and not called feasible."""
    motion, emg, _ = contracted()
    stronger = [with_strength(one, 2.0 * one.spec.strength_Nm) for one in pair(KNEE)]
    both = borne_against(pair(KNEE), motion, emg)
    floors, caps = around(emg, 0.02)
    fit = fit_all(stronger, motion, FitSettings(caps=caps, floors=floors, co_contraction=both))[0]
    assert fit.before is not None
    assert fit.before.words == "torque too large (generator too stiff or too strong)"
    assert "no parameters within the bounds allow the torque of this motion" in fit.fault


def contracted() -> tuple[JointMotion, dict[str, np.ndarray], np.ndarray]:
    """The knee of `made_up` while its flexor is half as active as it, with both activations and what the
    flexor makes of it."""
    motion = made_up()
    q, qd, tau = motion.of(KNEE)
    extensor, flexor = pair(KNEE)
    activation = np.exp(-(((motion.times - 0.25) / 0.15) ** 2))
    against = torque_of(flexor, q, qd, 0.5 * activation)
    emg = {extensor.name: activation, flexor.name: 0.5 * activation}
    net = motion._replace(moment=(tau + against)[:, None])
    return net, emg, flexor.torque_sign * against


def test_an_interruption_keeps_what_was_fitted():
    """Protects long fits: what was done stays, the one at work has the starts it had, the rest say why."""
    motion = made_up()
    calls = []

    def stopped() -> bool:
        calls.append(1)
        return len(calls) > 3

    extensor, flexor = fit_all(pair(KNEE), motion, FitSettings(), stopped=stopped)
    assert extensor.x[4] == pytest.approx(TRUTH, rel=2e-3)
    assert extensor.cut_short
    assert sum(basin.n_start for basin in extensor.basins) <= 2
    assert flexor.fault == INTERRUPTED


def test_what_is_wrong_with_one_spoils_no_other():
    """Protects long measurements: unknown samples, a joint at rest, bounds; each named, others fitted."""
    good = made_up()
    q, qd, tau = (np.column_stack([values] * 3) for values in (good.angle, good.speed, good.moment))
    tau[7, 1], q[:, 2] = np.nan, 0.3
    names = (KNEE, "knee_flexion_l", HIP)
    motion = JointMotion(names, good.times, q, qd, tau)
    placed = [*pair(KNEE), *pair("knee_flexion_l"), *pair(HIP)]
    fits = {fit.placed.name: fit for fit in fit_all(placed, motion, FitSettings())}
    assert not fits[f"{KNEE}_extensor"].fault
    assert fits[f"{KNEE}_extensor"].x[4] == pytest.approx(TRUTH, rel=2e-3)
    words = "the moment of knee_flexion_l is not known in 1 of 60 frames"
    assert fits["knee_flexion_l_extensor"].fault == words
    assert fits[f"{HIP}_flexor"].fault == f"{HIP} never moves"


def test_frames_that_are_not_known_may_be_left_out():
    """Protects walks over plates: what is known is fitted, and frames keep their numbers."""
    good = made_up()
    tau = good.moment.copy()
    tau[:5] = np.nan
    motion = good._replace(moment=tau)
    known = fit_all(pair(KNEE), motion, FitSettings(skip_unknown=True))[0]
    whole = fit_all(pair(KNEE), good, FitSettings())[0]
    assert known.x == pytest.approx(whole.x, abs=1e-7)
    assert known.holding == whole.holding
    assert "is not known in 5 of 60 frames" in fit_all(pair(KNEE), motion, FitSettings())[0].fault


def test_angles_in_degrees_are_told():
    """Protects from a slip of units, which would only look like a very supple person."""
    motion = made_up()._replace(angle=np.degrees(made_up().angle))
    assert "have to be in radians" in fit_all(pair(KNEE), motion, FitSettings())[0].fault


def test_activations_of_another_motion_are_told():
    """Protects EMG over time: as many values as frames."""
    settings = FitSettings(caps={f"{KNEE}_extensor": np.ones(7)})
    assert (
        fit_all(pair(KNEE), made_up(), settings)[0].fault
        == "the number of activations, 7, differs from the number of frames, 60"
    )


def test_bounds_that_contradict_each_other_are_told():
    """Protects from a fit to nothing: bounds the wrong way round, and bounds that leave no answer."""
    motion = made_up()
    wrong = FitSettings(low=(1.5, 1.0, -1.0, 0.0, 1.0), high=(1.2, 2.0, 1.0, 1.0, 2.0))
    assert "bounds of angle_scale contradict" in fit_all(pair(KNEE), motion, wrong)[0].fault
    weak = FitSettings(high=(1.0, 1.0, 0.0, 0.0, 1.05))
    found = fit_all(pair(KNEE), motion, weak)[0]
    assert "no parameters within the bounds allow the torque of this motion" in found.fault
    assert found.before is not None
    assert found.before.words == "too weak"


def test_an_activation_above_one_is_refused():
    """Protects a_max from percentages."""
    fits = fit_all(pair(KNEE), made_up(), FitSettings(cap=60.0))
    assert all("must be above 0 and at most 1" in fit.fault for fit in fits)


def test_the_published_trial(shared):
    """Protects the paper's fits as a user sees them: hips fitted, both basins told, others as they are."""
    folder = shared / "data" / "stoop_lift"
    if not folder.is_dir():
        pytest.skip("the stoop lift is not here")
    body = load_set("stoop_lift")
    names = [joint.coordinate for joint in body.joints]
    motion = read_joint_motion(folder / "ID_2D" / "q_stoop2.csv", names, body.columns)
    fits = {fit.placed.name: fit for fit in fit_all(generators_of("stoop_lift"), motion, FitSettings())}
    assert len(fits) == 30
    assert not any(fit.fault for fit in fits.values())
    assert all(fit.after is not None and fit.after.words == "feasible" for fit in fits.values())
    for name, best, published in (("Hip_R", 0.7324, 0.8832), ("Hip_L", 0.6958, 0.8759)):
        hip = fits[f"{name}_extensor"]
        assert hip.before is not None
        assert hip.before.words == "too stiff"
        assert [round(basin.objective, 4) for basin in hip.basins[:2]] == [best, published]
        assert {words for _, words in hip.holding} == {"too weak", "too stiff"}
    changed = {name for name, fit in fits.items() if fit.changed}
    flexors = {"MiddleTrunk_flexor", "UpperTrunk_flexor", "Head_flexor", "Wrist_L_flexor"}
    assert changed == {"Hip_R_extensor", "Hip_L_extensor", *flexors}


def test_a_file_of_other_joints_is_refused(tmp_path):
    """Protects from silence: none of the joints, an unknown suffix, a table without names."""
    path = tmp_path / "moments.sto"
    path.write_text("m\nversion=1\nnRows=3\nnColumns=2\ninDegrees=no\nendheader\ntime\tx\n0\t1\n1\t1\n2\t1\n")
    with pytest.raises(ConfigError, match="no joint of the model"):
        read_joint_motion(path, [KNEE])
    with pytest.raises(ConfigError, match="cannot be read as joint moments"):
        read_joint_motion(tmp_path / "moments.xlsx", [KNEE])
    (tmp_path / "q_a.csv").write_text("1,2\n3,4\n")
    with pytest.raises(ConfigError, match="the table has no header"):
        read_joint_motion(tmp_path / "q_a.csv", [KNEE])


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {KNEE: 57.3, f"{KNEE}_moment": 1.0},
            "reaches 57.3 rad; allowed: up to 6.28 rad; if the angles are in degrees, state inDegrees=yes",
        ),
        ({KNEE: 1.0, f"{KNEE}_moment": 40000.0}, "reaches 4e\\+04 N m; allowed: up to 2000 N m"),
        (
            {KNEE: 1.0, f"{KNEE}_moment": 1.0, f"coordinate_speeds.{KNEE}": 57.3},
            "times the rate of change of the angles",
        ),
        ({KNEE: 1.0}, f"no moment of {KNEE}"),
        ({f"{KNEE}_moment": 1.0}, f"no angle of {KNEE}"),
    ],
)
def test_units_that_no_joint_can_have_are_refused(tmp_path, columns, words):
    """Protects from slips of units, which would only look like a strong or supple person: the whole file."""
    with pytest.raises(ConfigError, match=words):
        read_joint_motion(in_table(tmp_path, columns), [KNEE, HIP])


def test_speeds_beside_angles_of_isolated_frames_are_not_judged(tmp_path):
    """Protects files with gaps: an angle known in every second frame only has no changes to compare with."""
    t = np.linspace(0.0, 1.0, 21)
    angle = np.where(np.arange(21) % 2 == 0, t, np.nan)
    path = tmp_path / "gaps.csv"
    rows = "\n".join(
        ",".join(f"{x:.6f}" for x in row) for row in np.column_stack([t, angle, 1.0 + 0.0 * t, t])
    )
    names = f"time,coordinates.{KNEE},coordinate_speeds.{KNEE},coordinate_moments.{KNEE}"
    path.write_text(f"{names}\n{rows}\n")
    motion = read_joint_motion(path, [KNEE])
    assert len(motion.times) == 11
    assert motion.of(KNEE)[0] == pytest.approx(t[::2], abs=1e-6)


def test_what_is_taken_for_granted_is_told(tmp_path):
    """Protects readers of a fit: moments that may be per kilogram, a first column without a name."""
    notes = read_joint_motion(in_table(tmp_path, {KNEE: 1.0, f"{KNEE}_moment": 1.5}, "t"), [KNEE]).notes
    assert any("moments must be in N m, not N m per kg" in note for note in notes)
    assert any("the column t was read as time [s]" in note for note in notes)


def test_forces_of_something_else_are_told():
    """Protects from kilonewtons and lost plates: a motion whose weight nobody bears."""
    fine, lost = np.zeros((9, 3)), np.tile([0.0, 1.0, 0.0], (9, 1))
    fine[2], lost[3] = np.nan, np.nan
    assert not left_at_root(fine)
    assert not left_at_root(fine * np.nan)
    assert left_at_root(lost).startswith("1 of the body weight remains as a residual at the root")


def in_table(folder, columns, time="time"):
    """A storage file of columns that rise to these numbers within 1 s, speeds all the time."""
    t = np.linspace(0.0, 1.0, 21)
    made = {name: most * (t if "speeds" not in name else 1.0 + 0.0 * t) for name, most in columns.items()}
    rows = "\n".join("\t".join(f"{x:.6f}" for x in row) for row in np.column_stack([t, *made.values()]))
    head = f"m\nversion=1\nnRows=21\nnColumns={1 + len(made)}\ninDegrees=no\nendheader\n"
    path = folder / "knee.mot"
    path.write_text(head + "\t".join([time, *made]) + "\n" + rows + "\n")
    return path


def test_tables_of_other_programs_are_read(tmp_path):
    """Protects OpenSim's users: angles in degrees, NAME_moment, speeds from differences, told."""
    t = np.linspace(0.0, 1.0, 21)
    rows = "\n".join(f"{x:.6f}\t{90 * x:.6f}\t{10 * x:.6f}" for x in t)
    path = tmp_path / "knee.mot"
    head = f"m\nversion=1\nnRows=21\nnColumns=3\ninDegrees=yes\nendheader\ntime\t{KNEE}\t{KNEE}_moment\n"
    path.write_text(head + rows + "\n")
    motion = read_joint_motion(path, [KNEE, HIP])
    angle, speed, moment = motion.of(KNEE)
    assert angle[-1] == pytest.approx(np.pi / 2)
    assert speed == pytest.approx(np.full(21, np.pi / 2), rel=1e-4)
    assert moment[-1] == pytest.approx(10.0)
    assert any("differences" in note for note in motion.notes)
    assert any(f"no angle of {HIP}" in note for note in motion.notes)


def test_what_is_not_finite_is_not_known():
    """Protects from infinite strengths: infinite moments are left out or named as unknown ones are, without a
    warning, with co-contraction or without it."""
    good = made_up()
    tau = good.moment.copy()
    tau[3], tau[4] = np.inf, -np.inf
    motion, leave_out = good._replace(moment=tau), FitSettings(skip_unknown=True)
    with np.errstate(all="raise"):
        assert "is not known in 2 of 60 frames" in fit_all(pair(KNEE), motion, FitSettings())[0].fault
        against = FitSettings(skip_unknown=True, co_contraction={KNEE: 0.0})
        assert fit_all(pair(KNEE), motion, against)[0].x == pytest.approx(
            fit_all(pair(KNEE), motion, leave_out)[0].x
        )
        found = strength_bounds(pair(KNEE), motion, leave_out, {})
    peak = np.abs(good.moment[5:]).max()
    assert found[0].fit.placed.spec.strength_Nm == pytest.approx(0.8 * peak)
    assert np.isfinite([one.least for one in found]).all()


def test_a_joint_that_rests_keeps_no_file_from_being_read(tmp_path):
    """Protects long files: speeds of rounding of a joint that never moves are no slip of units; it is named,
    and the others are fitted."""
    t = np.linspace(0.0, 1.0, 21)
    moving, resting = np.sin(t), 0.3 + 1e-16 * np.arange(21)
    columns = {
        "time": t, f"coordinates.{KNEE}": moving, f"coordinates.{HIP}": resting,
        f"coordinate_speeds.{KNEE}": np.cos(t), f"coordinate_speeds.{HIP}": np.full(21, 1e-9),
        f"coordinate_moments.{KNEE}": 10.0 * t, f"coordinate_moments.{HIP}": 10.0 * t,
    }  # fmt: skip
    path = tmp_path / "rest.csv"
    rows = "\n".join(",".join(f"{x:.17g}" for x in row) for row in np.column_stack([*columns.values()]))
    path.write_text(",".join(columns) + "\n" + rows + "\n")
    motion = read_joint_motion(path, [KNEE, HIP])
    fits = {fit.placed.name: fit for fit in fit_all([*pair(KNEE), *pair(HIP)], motion, FitSettings())}
    assert not fits[f"{KNEE}_extensor"].fault
    assert fits[f"{HIP}_extensor"].fault == f"{HIP} never moves"
