"""The bench of torque generators: its made-up lift is one that asks something of everybody."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.bench.contacts.stoop_lift import hip_extensor
from rtsim.bench.mechanics.torque_generators import (
    EASY,
    HARD,
    HIP,
    MADE_UP,
    N_SAMPLE,
    NEAR,
    RECORDED,
    TABLE_1,
    TRIAL,
    cases,
    cases_beside,
    fit_case,
    made_up,
    off,
)  # fmt: skip
from rtsim.methods.generators.joint_motion import read_joint_motion
from rtsim.methods.generators.torque_generator_fit import FitSettings, fit_all
from rtsim.models.generator_sets import generators_of, load_set


def test_the_made_up_lift_asks_for_fits():
    """Protects the bench's figures where no recording is: all are fitted, and some have to change."""
    placed = generators_of(MADE_UP)
    motion = made_up(placed)
    assert len(motion.times) == N_SAMPLE
    fits = fit_all(placed, motion, FitSettings(several=False))
    assert not any(fit.fault for fit in fits)
    assert sum(fit.changed for fit in fits) >= 6


@pytest.mark.parametrize("case", [HARD, EASY], ids=["hard", "easy"])
def test_cases_of_the_authors_are_solved(shared, case):
    """Protects the bench's figures: the best minimum that is known of each case of the authors is found, and
    from their start the one that their program finds."""
    if not (shared / "reference" / case.file).is_file():
        pytest.skip("the cases are not here")
    assert fit_case(shared / "reference", case).objective <= case.objective + 1e-5
    assert off(fit_case(shared / "reference", case, several=False), case.x) < NEAR


def test_the_point_of_table_1_is_found(shared):
    """Protects the bench's figure: the authors' start leads to the hip of table 1."""
    folder = shared / "data" / "stoop_lift"
    if not folder.is_dir():
        pytest.skip("the stoop lift is not here")
    body = load_set(RECORDED)
    joints = [joint.coordinate for joint in body.joints]
    motion = read_joint_motion(folder / TRIAL, joints, body.columns)
    hip = [one for one in generators_of(RECORDED) if one.name == HIP]
    (fit,) = fit_all(hip, motion, FitSettings(several=False, most_passive=1.0))
    assert off(fit, TABLE_1) < NEAR


def test_cases_that_are_not_there_are_told(tmp_path, capsys):
    """Protects users of the bench in another folder: what is left out, and where it was looked for."""
    assert cases(tmp_path) == []
    said = capsys.readouterr()
    assert "the hard example is left out" in said.out + said.err
    assert str(tmp_path / EASY.file) in said.out + said.err


def test_a_folder_may_lie_anywhere():
    """Protects users whose lift is in a folder of the root: the authors' cases are looked for there."""
    assert cases_beside(Path("/lift")) == Path("/reference")
    assert cases_beside(Path("/here/data/lift")) == Path("/here/reference")


def test_a_hip_that_is_never_too_stiff_has_figures():
    """Protects both benches of the lift: without an activation below 0 there is no such angle."""
    flexion = np.radians([0.0, 45.0, 90.0])
    stiff, supple = (
        {figure.name: figure.value for figure in hip_extensor(np.array(activation), flexion)}
        for activation in ([0.5, -0.1, -0.2], [0.5, 0.1, np.nan])
    )
    assert stiff["hip_extensor.below_zero_from"] == pytest.approx(45.0)
    assert "hip_extensor.below_zero_from" not in supple
    assert supple["hip_extensor.largest_activation"] == 0.5
    assert supple["hip_flexion.largest"] == pytest.approx(90.0)
