"""Runs over recordings as cases: the numbers of `rtsim analyse`, whichever way they are solved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.config.load import check_record, parse_toml
from rtsim.config.runs.study_schema import StudySpec
from rtsim.errors import ConfigError
from rtsim.live.inputs import sources
from rtsim.live.recorded_run import trial_of
from rtsim.studies import analysis_task
from rtsim.studies.analysis_task import base_run
from rtsim.studies.plan import StudyPlan, plan_of
from rtsim.studies.solving import OK, REFUSED, solve_case

STUDY = """
name = "weights"
[analyse.run]
source = "walker"
side = "right"
method = "minimised"
[input]
end_s = 0.3
[design]
kind = "list"
[[results]]
name = "adduction"
column = "joint_angles.knee_adduction"
take = "range"
[[results]]
name = "skin"
column = "marker_rms"
take = "mean"
[curves]
columns = ["joint_angles.knee_flexion"]
points = 30
"""


def weights(*values: float, method: str = "minimised") -> str:
    """A parameter: the weight of a ligament."""
    return f"""
[[parameters]]
name = "ACL"
key = "model.methods.{method}.soft.ACL"
values = {list(values)}
"""


def planned(text: str, folder: Path) -> StudyPlan:
    """The plan of these parameters."""
    return plan_of(STUDY + text, str(folder), "study")


def test_weights_in_place_are_those_of_a_model_that_is_built(tmp_path: Path) -> None:
    """Protects the quick path: the same numbers, bit for bit, as a model of its own, in any order."""
    plan = planned(weights(1.0, 1e4, 1e3, 1.0), tmp_path)
    quick = [solve_case(plan, k) for k in (1, 0, 3, 2)]
    assert plan.task._reweighed
    plan.task._reweighed = False
    for row in quick:
        slow = solve_case(plan, row.number)
        assert row.numbers == slow.numbers
        np.testing.assert_array_equal(row.curves, slow.curves)
    assert quick[0].numbers != quick[1].numbers == quick[2].numbers


def test_the_model_as_it_is_gives_the_numbers_of_analyse(tmp_path: Path, here_run) -> None:
    """Protects the meaning of a case: a weight that the model has is the run of the command."""
    plan = planned(weights(1e3), tmp_path)
    results = here_run("walker", "--side", "right", "--method", "minimised")
    values = results["joint_angles.knee_flexion [deg]"][:30]
    # the table has twelve digits
    np.testing.assert_allclose(solve_case(plan, 0).curves[0], values, rtol=1e-11)


def test_other_keys_of_run_subject_and_input_change_the_numbers(tmp_path: Path) -> None:
    """Protects every root of keys: each makes other numbers, and the base is what it was."""
    text = """
[[parameters]]
name = "ACL"
key = "model.ligaments.ACL.length.mean_mm"
values = [40.62, 41.62, 40.62, 40.62, 40.62, 40.62]
[[parameters]]
name = "method"
key = "run.method"
values = ["minimised", "minimised", "zero", "minimised", "minimised", "minimised"]
[[parameters]]
name = "shank"
key = "subject.segments.shank.length_mm"
change = "multiply"
values = [1.0, 1.0, 1.0, 1.02, 1.0, 1.0]
[[parameters]]
name = "noise"
key = "input.noise_mm"
values = [0.0, 0.0, 0.0, 0.0, 2.0, 2.0]
"""
    plan = planned(text, tmp_path)
    rows = [solve_case(plan, k) for k in range(6)]
    assert [row.status for row in rows] == [OK] * 6, [row.reason for row in rows]
    assert len({row.numbers for row in rows}) == 6
    assert rows[5].numbers == solve_case(plan, 5).numbers
    assert rows[5].numbers[1] > 1.2 * rows[0].numbers[1]


def test_a_weight_that_the_schema_refuses_is_a_row(tmp_path: Path) -> None:
    """Protects the quick path, too, from weights that cannot be meant."""
    plan = planned(weights(-1.0, 1e30, 1.0), tmp_path)
    rows = [solve_case(plan, k) for k in range(3)]
    assert [row.status for row in rows] == [REFUSED, REFUSED, OK], [row.reason for row in rows]
    assert "soft.ACL" in rows[0].reason
    assert "soft.ACL" in rows[1].reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (weights(1.0, method="minimized"), "no 'minimized' below methods; allowed: minimised"),
        ('[[parameters]]\nname = "x"\nkey = "run.solver.tolerence"\nvalues = [1e-9]', "tolerance"),
        (
            '[[parameters]]\nname = "x"\nkey = "muscle.x"\nvalues = [1e-9]',
            "model.KEY, subject.KEY, input.KEY",
        ),
        ('[[parameters]]\nname = "x"\nkey = "run.solver"\nvalues = [1e-9]', "several values"),
        (
            '[[parameters]]\nname = "x"\nkey = "run.method"\nchange = "add"\nvalues = [1]',
            "nothing can be added",
        ),
    ],
)
def test_a_key_that_cannot_be_set_is_told(tmp_path: Path, text: str, words: str) -> None:
    """Protects whoever names keys: before anything is solved, with what comes near."""
    with pytest.raises(ConfigError, match=words):
        planned(text, tmp_path)


def test_times_of_results_and_input_count_from_the_first_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects spans of trials that were cut out of longer ones, whose files do not begin at 0 s."""
    asked = "".join(
        f'[[results]]\nname = "{name}"\ncolumn = "joint_angles.knee_flexion"\n{how}\n'
        for name, how in (
            ("late", 'take = "first"\nstart_s = 0.15'),
            ("early", 'take = "last"\nend_s = 0.15'),
            ("at", 'take = "at"\nat_s = 0.2'),
            ("when", 'take = "time_of_peak"'),
        )
    )
    text = weights(1e3, 1e4) + asked
    study = STUDY.replace("end_s = 0.3", "start_s = 0.1\nend_s = 0.3")

    def numbers(began: float) -> list[tuple[float, ...]]:
        monkeypatch.setattr(
            analysis_task,
            "trial_of",
            lambda run: (trial := trial_of(run))._replace(times=trial.times + began),
        )
        plan = plan_of(study + text, str(tmp_path), "study")
        assert plan.task._reweighed
        rows = [solve_case(plan, k) for k in range(2)]
        assert [row.status for row in rows] == [OK] * 2, [row.reason for row in rows]
        return [row.numbers[2:] for row in rows]

    usual = numbers(0.0)
    assert 0.1 <= usual[0][-1] <= 0.3
    np.testing.assert_allclose(numbers(12.0), usual, rtol=1e-9)


@pytest.mark.parametrize(
    "noise",
    ["[input]\nnoise_mm = 2.0\n", '[[parameters]]\nname = "noise"\nkey = "input.noise_mm"\nvalues = [0.0]\n'],
)
def test_noise_on_a_motion_without_markers_is_refused(tmp_path: Path, noise: str) -> None:
    """Protects from a study that shows no influence of a noise that was never added."""
    rows = "".join(f"{0.01 * k:.2f}\t0\t0\t0\n" for k in range(20))
    head = "m\ninDegrees=yes\nendheader\ntime\topening\tprotrusion\tdeviation\n"
    (tmp_path / "jaw.mot").write_text(head + rows, encoding="utf-8")
    text = """
name = "jaw"
[analyse]
config = "mandible"
choices = ["joint=fdk"]
run = { source = "jaw.mot" }
[[parameters]]
name = "iterations"
key = "run.fdk.max_iterations"
values = [10]
[[results]]
name = "x"
column = "coordinates.opening"
"""
    plan_of(text, str(tmp_path), "study")
    with pytest.raises(ConfigError, match="the source is a motion without markers"):
        plan_of(text + noise, str(tmp_path), "study")


def test_the_feet_of_external_loads_are_those_of_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects a study from other moments than those of `rtsim analyse`: loads say which body is pressed."""
    force = '<ExternalForce name="r"><applied_to_body>calcn_r</applied_to_body></ExternalForce>'
    loads = f'<ExternalLoads name="x"><objects>{force}</objects><datafile>grf.mot</datafile></ExternalLoads>'
    (tmp_path / "loads.xml").write_text(f'<OpenSimDocument Version="40000">{loads}</OpenSimDocument>')
    (tmp_path / "grf.mot").touch()
    monkeypatch.setattr(sources, "brings_markers", lambda *_: True)
    text = STUDY.replace('method = "minimised"', 'forces = "loads.xml"') + weights(1.0)
    spec = check_record(parse_toml(text, "study"), StudySpec, "study")
    assert base_run(spec, str(tmp_path)).plates.feet == ("calcn_r",)
