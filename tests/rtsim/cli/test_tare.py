"""`--tare` and `rtsim command tare` as a user has them: files, processes, real sockets."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

from rtsim.files.markers.markers import write_trc
from rtsim.files.recording import read_results
from rtsim.live.inputs.sources import load_trial
from rtsim.subjects.made_up.walker_forces import walker_forces
from streams.control.commands import request

GUARD_S = 120.0
DRIFT = np.array([3.0, 12.0, -2.0, 1.0, 0.5, -6.0])
SWING = "--tare=0.7:1.08"
pytestmark = pytest.mark.process


def write_forces(path, forces, drift) -> None:
    """The wrench of the walker's plate about the origin, and a drift, as a .mot file."""
    names = [f"ground_force_1_{k}{x}" for k in "vp" for x in "xyz"] + [f"ground_torque_1_{x}" for x in "xyz"]
    n = len(forces.times)
    force, moment = forces.force[:, 0] + drift[:3], forces.moment[:, 0] + drift[3:]
    rows = np.column_stack([forces.times, force, np.zeros((n, 3)), moment])
    head = f"forces\nversion=1\nnRows={n}\nnColumns=10\ninDegrees=yes\nendheader\n"
    lines = ["\t".join(["time", *names]), *("\t".join(map(repr, row)) for row in rows.tolist())]
    path.write_text(head + "\n".join(lines) + "\n")


def test_live_and_analyse_take_the_same_zero_off(rtsim, here, any_ports, tmp_path):
    """Protects the option: a drift is gone from results, and live they are the same bit for bit."""
    trial = load_trial("walker", 1.3)
    write_trc(tmp_path / "walk.trc", trial)
    write_forces(tmp_path / "clean.mot", walker_forces(trial), 0.0 * DRIFT)
    write_forces(tmp_path / "drifted.mot", walker_forces(trial), DRIFT)
    person = ("--subject", "walker")
    clean = here("analyse", "walk.trc", *person, "--forces", "clean.mot", "--out", "clean.mcap")
    assert clean.code == 0, clean.err
    done = here("analyse", "walk.trc", *person, "--forces", "drifted.mot", SWING, "--out", "tared.mcap")
    assert done.code == 0, done.err
    assert "the zero measured from 0.7 to 1.08 s was subtracted from:" in done.err
    beside = ("--forces", "drifted.mot", SWING, "--wait-ms", "1000")
    done = rtsim("live", "--source", "walk.trc", *person, *beside, "--record", "live.mcap", *any_ports)
    assert done.code == 0, done.err
    known, seen, live = (read_results(tmp_path / f"{name}.mcap") for name in ("clean", "tared", "live"))
    for name in ("plate_forces", "plate_moments", "foot_forces", "foot_moments"):
        np.testing.assert_allclose(seen.fields[name], known.fields[name], rtol=0, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(seen.fields["plate_zeros"], 12.0, atol=1e-9)
    rows = np.isin(seen.times, live.times)
    for name, values in seen.fields.items():
        np.testing.assert_array_equal(live.fields[name], values[rows], err_msg=name)


def test_the_plates_of_a_running_estimator_are_tared_from_another_terminal(start, rtsim, any_ports):
    """Protects `rtsim command tare`: the answer says what is done, `status` what came of it."""
    live = start("live", "--loop", "--forces", "walker", "--json", *any_ports)
    control = re.search(r"commands at (\S+)", live.said("commands at "))[1]
    due = time.monotonic() + GUARD_S
    while " 0 frames" in (said := request(control, "status", timeout_s=1.0)[1]) or "published" not in said:
        assert time.monotonic() < due, said
        time.sleep(0.05)
    done = rtsim("command", "tare", "seconds=1.2", "--control", control)
    assert done.code == 0, done.err
    assert done.out.startswith("The zero of right is measured during the next 1.2 s")
    while "no plate was empty" not in (said := request(control, "status", timeout_s=1.0)[1]):
        assert time.monotonic() < due, said
        time.sleep(0.05)
    assert "loaded or not measured: right" in said
    wrong = rtsim("command", "tare", "seconds=x", "--control", control)
    assert wrong.code != 0
    assert "seconds = 0.1 to 60" in wrong.sentence
