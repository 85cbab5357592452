"""Panels of results: which curves they have, what is told of others, and bands that would hide them."""

from __future__ import annotations

import numpy as np

from rtsim.files.recording import Results
from rtsim.files.tables.panels import (
    MANY_CELLS,
    MOST_CELLS,
    FigureContent,
    gait_marks,
    panels_of_results,
    with_bands,
)
from streams.messages import Curves, FieldSpec, Session

ANGLES = tuple(
    f"{joint}_{turn}" for joint in ("hip", "knee", "ankle") for turn in ("flexion", "turn", "tilt")
)


def drawn(
    labels: tuple[str, ...], values: np.ndarray, curves: Curves, *, curves_chosen: str = "", **meta: str
) -> FigureContent:
    """A figure of one field over ten frames; values : (n,) - of each label, as far as it is one."""
    specs = (
        FieldSpec("told", (len(labels),), "rad", labels, curves=curves),
        FieldSpec("marker_rms", (1,), "m", curves=Curves("Marker residual", "RMS")),
    )
    session = Session(session="s", stream="result", t_start=0, rate=100.0, fields=specs, meta=dict(meta))
    fields = {"told": np.tile(values, (10, 1)), "marker_rms": np.zeros((10, 1))}
    results = Results(session, fields, np.arange(10) / 100.0, np.zeros(10, np.int64))
    return panels_of_results(results, curves_chosen)


def test_both_legs_have_the_same_curves() -> None:
    """Protects the comparison of legs: each angle of one is drawn beside that of the other, however small."""
    labels = tuple(f"{name}_{side}" for side in "rl" for name in ANGLES)
    found = drawn(labels, np.geomspace(1e-4, 1.0, len(labels)), Curves("", "angle"), side="both")
    assert not found.left_out
    titles = [panel.title for panel in found.panels]
    assert titles == [*(name.capitalize().replace("_", " ") for name in ANGLES), "Marker residual: RMS"]
    for panel in found.panels[:-1]:
        assert panel.sides == {"right": "right", "left": "left"}
    assert found.panels[-1].sides == {}
    rows = [panel.row for panel in found.panels]
    assert [rows.count(row) for row in dict.fromkeys(rows)] == [3, 3, 3, 1]


def test_a_figure_of_one_leg_says_which() -> None:
    """Protects reports: curves of a leg that was solved alone are of its side, those of the trunk of none."""
    found = drawn((*ANGLES, "trunk_flexion"), np.ones(10), Curves("", "angle"), side="left")
    sides = {panel.title: panel.sides for panel in found.panels}
    assert sides["Knee flexion"] == {"left": "left"}
    assert sides["Trunk flexion"] == {}


def test_what_is_left_out_is_named_with_the_reason() -> None:
    """Protects readers from taking what is not there for nothing: of both legs the same is left out,
    those whose values stay smaller, and those without a value."""
    names = [f"muscle_{k:02d}" for k in range(MANY_CELLS + 2)]
    labels = tuple(f"{name}_{side}" for name in names for side in "rl")
    sizes = np.array([1.0 + k + 0.5 * side for k in range(len(names)) for side in (0, 1)])
    sizes[:2] = np.nan
    found = drawn(labels, sizes, Curves("Muscle activations", "activation"))
    unknown, smaller = found.left_out
    assert unknown == "Muscle activations: no value is known for Muscle 00 activation"
    assert smaller.startswith(
        f"Muscle activations: the {MOST_CELLS} with the largest values are drawn, draw all with "
        "--curves told; not drawn: Muscle 01"
    )
    told = {panel.title for panel in found.panels} | {f"Muscle {k:02d} activation" for k in (0,)}
    for k in range(1, len(names)):
        title = f"Muscle {k:02d} activation"
        assert (title in told) != (title in smaller)
    assert not drawn(
        labels, sizes, Curves("Muscle activations", "activation"), curves_chosen="told"
    ).left_out[1:]


def test_a_band_wider_than_the_panel_is_a_word() -> None:
    """Protects curves from the band of what nothing determines; others keep theirs."""
    curves = {"protrusion": np.array([0.0, 3.0, 6.0]), "disc": np.zeros(3), "still": np.full(3, np.nan)}
    bands = {"protrusion": np.full(3, 0.5), "disc": np.full(3, 1000.0), "still": np.full(3, np.nan)}
    told, drawn = with_bands(curves, bands)
    assert list(told) == ["protrusion", "disc (not determined)", "still"]
    assert drawn is not None
    assert list(drawn) == ["protrusion", "still"]
    assert with_bands(curves, {}) == (curves, None)


def test_a_side_without_values_is_told_and_has_no_key() -> None:
    """Protects figures of one leg: a curve of the other one that has no value is no entry of the key."""
    found = drawn(("right", "left"), np.array([1.0, np.nan]), Curves("Feet", "vertical force"), side="right")
    assert found.panels[0].sides == {"right": "right"}
    assert found.left_out == ["Feet: no value is known for Feet: vertical force left"]


def test_gait_events_are_marked() -> None:
    """Protects the lines at strikes and offs: those of the file, else those found; odd rows are none."""
    found = [
        [1.0, "left", "foot strike", "markers"],
        [1.6, "left", "foot off", "plates"],
        [2.0, "", "Jump", "file"],
    ]
    assert gait_marks(found) == ((1.0, "left", True), (1.6, "left", False))
    assert gait_marks([*found, [1.1, "left", "foot strike", "file"]]) == ((1.1, "left", True),)
    assert gait_marks([["x", "left", "foot strike", "file"], [1.0], "abcd", None]) == ()
    assert gait_marks(None) == gait_marks("file") == ()
