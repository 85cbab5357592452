"""What comes after the fit of a foot: requests to end while other steps are held against it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rtsim.cli.fitting.foot_results import check_figures, held_steps
from rtsim.errors import ConfigError
from rtsim.methods.foot import foot_fit
from rtsim.methods.foot.foot_misfit import Errors, Simulated, Weights
from rtsim.methods.foot.foot_pressure import StepPressure
from rtsim.methods.foot.foot_trial import FootTrial
from rtsim.monitor.figures.paper import Paper
from rtsim.report.foot_fit import as_lines, as_table, friction_curve, panels, steps_of


def trial(name: str, **fields: Any) -> FootTrial:
    """Return a step of two frames by its name."""
    rest: dict[str, Any] = dict.fromkeys((*FootTrial._fields[2:11], "frame", "ground"), np.zeros((2, 3)))
    rest |= {"times": np.array([0.0, 0.1]), "centre": np.zeros((2, 2)), "free_moment": np.zeros(2)}
    return FootTrial(**{**rest, "name": f"there/{name}", "side": "right", "weight": 700.0, **fields})


def fit_of(complete: bool = True, shear: float = 0.0) -> Any:
    """Return what stands in for the outcome of one step's search."""
    force = np.array([[shear, 0.0, 500.0], [shear, 0.0, 700.0]])
    return SimpleNamespace(
        complete=complete,
        errors=(Errors(*[0.01] * 7, 0),),
        simulated=(Simulated(force, np.zeros((2, 2)), np.zeros(2), None),),
        knots=(np.zeros((7, 10)),),
        heights=(0.0,),
    )


def held(monkeypatch: pytest.MonkeyPatch, *outcomes: Any) -> tuple[list[Any], list[str]]:
    """Return steps and names left out after these outcomes of validations."""
    given = iter(outcomes)

    def validate(*_: Any) -> Any:
        found = next(given)
        if isinstance(found, BaseException):
            raise found
        return found

    monkeypatch.setattr(foot_fit, "validate_foot", validate)
    first = steps_of([trial("a.trc, plate_1")], fit_of(), True)
    others = [(trial(f"a.trc, plate_{k}"), False) for k in (2, 3, 4)]
    return held_steps(first, others, Weights(), np.zeros(30))


def test_a_request_to_end_stops_the_validation(monkeypatch):
    """Protects Ctrl-C: the step at hand is told as interrupted, the next are not come to, and all say so."""
    steps, left = held(monkeypatch, fit_of(), fit_of(complete=False))
    assert [step.complete for step in steps] == [True, True, False]
    assert left == ["a.trc, plate_4"]
    table = as_table(None, steps, left)
    assert table["complete"] is False
    assert [step["complete"] for step in table["steps"]] == [True, True, False]
    assert table["left_out"] == left
    text = as_lines(None, steps, left)
    assert "a.trc, plate_3 (only motion fitted, interrupted) " in text
    assert "left out, because the fit was interrupted: a.trc, plate_4" in text


def test_a_request_before_the_first_result_leaves_its_step_out(monkeypatch):
    """Protects a fit that is done from a request at the very beginning of the next search."""
    steps, left = held(monkeypatch, KeyboardInterrupt())
    assert len(steps) == 1
    assert left == ["a.trc, plate_2", "a.trc, plate_3", "a.trc, plate_4"]
    whole, none = held(monkeypatch, fit_of(), fit_of(), fit_of())
    assert as_table(None, whole, none)["complete"] is True


def test_names_of_steps_are_told_whole():
    """Protects rows of the table from being cut: names of long files keep their plates and feet."""
    name = "a_rather_long_name_of_a_walk_over_plates.trc, plate_6, right foot"
    text = as_lines(None, steps_of([trial(name)], fit_of(), True))
    assert f"{name} (fitted)  1.0 %" in text


def test_friction_is_drawn_with_what_is_possible():
    """Protects figures 5.10 and 5.11: mu_d F_n beside friction, and its curve, where there is any."""
    (step,) = steps_of([trial("a.trc, plate_1")], fit_of(shear=30.0), True)
    *over_time, curve = panels(step, 0.14)
    rubbing = next(panel for panel in over_time if panel.title.startswith("Friction"))
    np.testing.assert_allclose(rubbing.curves["greatest possible friction, mu_d F_n"], [70.0, 98.0])
    assert curve.x_title == "sliding velocity [mm/s]"
    np.testing.assert_allclose(friction_curve(0.14).curves["mu_d = 0.14"][[0, 200, 400]], [-0.14, 0.0, 0.14])
    (plain,) = steps_of([trial("a.trc, plate_1")], fit_of(), True)
    assert all("possible" not in name for panel in panels(plain, 0.14) for name in panel.curves)
    assert panels(plain, 0.14)[-1].x_title == "time [s]"


def test_a_figure_of_a_further_step_replaces_nothing(tmp_path):
    """Protects files that happen to have the name of another step's figure: told before the fit."""
    paper = Paper(tmp_path / "step.png")
    check_figures(paper, 3, False)
    (tmp_path / "step-2.png").touch()
    with pytest.raises(ConfigError, match=r"step-2\.png: the file exists already; .* or give --force"):
        check_figures(paper, 3, False)
    check_figures(paper, 3, True)
    check_figures(paper, 1, False)
    check_figures(None, 3, False)


def test_notes_of_pressure_are_told_once():
    """Protects from sentences that were told before the fit and again after it; programs find them all."""
    none = np.zeros((1, 1))
    felt = StepPressure(**{**dict.fromkeys(StepPressure._fields, none), "notes": ("scaled",)})
    steps = steps_of([trial("a.trc, plate_1", pressure=felt, notes=("mirrored",))], fit_of(), True)
    text = as_lines(None, steps)
    assert "note: a.trc, plate_1: mirrored" in text
    assert "scaled" not in text
    assert as_table(None, steps)["steps"][0]["notes"] == ["mirrored", "scaled"]
