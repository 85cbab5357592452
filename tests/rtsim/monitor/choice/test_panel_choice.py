"""Which panels are shown: by task, by hand, in columns of about equal length."""

from collections import Counter

from rtsim.monitor.choice.panel_choice import PanelChoice, dealt_out
from rtsim.monitor.choice.tasks import GROUPS, TASKS, group_of
from rtsim.monitor.panels import PlotPanel


def panel(field: str, unit: str, title: str = "", column: int = 0) -> PlotPanel:
    return PlotPanel(
        title=title,
        quantity=field,
        unit=unit,
        names=("one", "two"),
        first=0,
        column=column,
        extent_least=1.0,
        from_zero=False,
        field=field,
        key=f"{field}/{title}",
    )


def test_groups_of_what_is_published() -> None:
    """Protects the tasks: fields stand where a clinician or an engineer looks for them."""
    rows = {
        ("joint_angles", "°"): "Joint angles",
        ("cgm_angles", "°"): "Joint angles",
        ("foot_progression", "°"): "Joint angles",
        ("joint_moments", "N m"): "Moments and powers",
        ("foot_loads", "N"): "Feet",
        ("foot_contact_loads", "N"): "Feet",
        ("contact_normal_forces", "N"): "Forces",
        ("knee_displacements", "mm"): "Joint displacements",
        ("ligament_forces", "N"): "Ligaments",
        ("muscle_activations", "%"): "Muscles",
        ("device_torques", "N m"): "Device",
        ("energies", "J"): "Energy",
        ("marker_rms", "mm"): "Quality",
        ("somebodys_own", "furlong"): "Others",
    }
    assert {row: group_of(*row) for row in rows} == rows
    assert all(set(groups) <= set(GROUPS) for groups in TASKS.values())


def test_a_task_shows_its_groups_and_a_hand_changes_them() -> None:
    """Protects the order of precedence: a hand before the task, a new task before what a hand chose."""
    angles, moments, muscles = (
        panel("joint_angles", "°"), panel("joint_moments", "N m"), panel("muscle_forces", "N"),
    )  # fmt: skip
    panels = (angles, moments, muscles)
    choice = PanelChoice()
    assert choice.chosen(panels) == list(panels)
    choice.take_task("clinic")
    assert [p.field for p in choice.chosen(panels)] == ["joint_angles", "joint_moments"]
    choice.set_panel(muscles, True)
    choice.set_panel(angles, False)
    choice.set_curve(muscles, 1, False)
    assert [p.field for p in choice.chosen(panels)] == ["joint_moments", "muscle_forces"]
    assert [choice.shows_curve(muscles, k) for k in range(2)] == [True, False]
    choice.take_task("all")
    assert choice.chosen(panels) == list(panels)
    assert choice.shows_curve(muscles, 1)


def test_the_phase_of_the_gait_is_no_curve_unless_asked_for() -> None:
    """Protects the room for curves: a saw-tooth says nothing and takes a column."""
    phase = panel("gait_phase", "%")
    choice = PanelChoice()
    assert not choice.shows(phase)
    choice.set_panel(phase, True)
    assert choice.shows(phase)


def test_columns_are_dealt_out_anew_where_one_is_much_longer() -> None:
    """Protects a readable size: nobody looks at one plot beside nine small ones."""
    panels = [panel("a", "°", str(i), 0) for i in range(9)] + [panel("b", "N", "last", 2)]
    dealt = dealt_out(panels)
    assert [p.title for p in dealt] == [p.title for p in panels]
    assert Counter(p.column for p in dealt) == {0: 5, 1: 5}
    assert dealt_out([]) == []
    assert [p.column for p in dealt_out([panel("b", "N", "", 2)])] == [0]
