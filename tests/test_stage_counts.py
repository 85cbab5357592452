"""What only a stage and only the tracked model should know stands there alone: counts that can only fall."""

from __future__ import annotations

from tests.stage_counts import branches, stage_mentions, stage_modules

MOST_BRANCHES = 40
"""What was left when they were last counted: lower it where there are fewer."""
HOMONYMS = {
    ("rtsim/models/addition.py", "'torque_generators'"),
    ("rtsim/models/planar_body.py", "'torque_generators'"),
    ("rtsim/monitor/choice/tasks.py", "'gait_phase'"),
    ("rtsim/report/clinical/curve_pages.py", "'gait_phase'"),
    ("rtsim/simulation/quantities.py", "'muscle_speeds'"),
}
"""A key of a model's file, and quantities that are called as the stage that publishes them."""


def test_a_stage_is_named_by_itself_and_by_stages_that_need_it() -> None:
    """Protects growth: builder, checks and compiler read declarations, and know no name of a stage."""
    assert {"kinematics", "fdk", "centre_of_mass"} <= stage_modules().keys()
    found = [x for x in stage_mentions() if (x.file, x.what) not in HOMONYMS]
    assert not found


def test_few_ask_whether_a_person_or_a_model_is_followed() -> None:
    """Protects one tracked model: code that branches on what is followed does not grow."""
    found = branches()
    assert len(found) <= MOST_BRANCHES, found
