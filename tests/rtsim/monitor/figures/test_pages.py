"""Pages of figures: their size, what stands on which, no text cut or on another, gaps that are no dashes."""

from __future__ import annotations

import struct
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyqtgraph")

from rtsim.errors import ConfigError
from rtsim.files.recording import Results
from rtsim.files.tables.panels import FigurePanel, panels_of_results
from rtsim.monitor.figures.chart import has_gaps
from rtsim.monitor.figures.key import GAP_ENDS
from rtsim.monitor.figures.pages import pages_of, size_of_pages
from rtsim.monitor.figures.paper import PAGE, Paper, paper_of, ready_to_draw
from rtsim.monitor.figures.stack import paint_page, save_panels
from streams.messages import Curves, FieldSpec, Session
from tests.rtsim.monitor.figures.text_boxes import boxes_of, faults_of

JOINTS = ("hip_flexion", "hip_adduction", "hip_internal_rotation", "knee_flexion", "knee_adduction",
          "knee_internal_rotation", "ankle_dorsiflexion", "ankle_inversion",
          "ankle_internal_rotation")  # fmt: skip
LEGS = tuple(f"{name}_{side}" for side in "rl" for name in JOINTS)
MUSCLES = tuple(f"gluteus_maximus_superior_{k}_{side}" for side in "rl" for k in range(30))
SIZES = ("", "160x110", "210x297", "297x210", "420x594")


def walk(*, scale: float = 1.0, n_strike: int = 5) -> Results:
    """Made-up results of both legs: angles, moments with gaps, muscles, events, flagged frames."""
    times = np.arange(0.0, 3.0, 0.01)
    specs = (
        FieldSpec("joint_angles", (18,), "rad", LEGS, curves=Curves("", "angle", 0, 0.2)),
        FieldSpec("joint_angles_deviation", (18,), "rad", LEGS, of="joint_angles", role="deviation"),
        FieldSpec("joint_moments", (18,), "N m", LEGS, curves=Curves("", "moment", 2, 10.0)),
        FieldSpec("muscle_activations", (60,), "1", MUSCLES,
                  curves=Curves("Muscle activations", "activation", 2, 0.1, True)),
        FieldSpec("joint_powers", (6, 2), "W", ("hip_r", "knee_r", "ankle_r", "hip_l", "knee_l", "ankle_l"),
                  ("moment", "force")),
        FieldSpec("marker_rms", (1,), "m", curves=Curves("Marker residual", "RMS", 1, 0.005, True)),
    )  # fmt: skip
    phases = 2.0 * np.pi * times[:, None] + np.arange(60) / 3.0
    waves = scale * np.sin(phases) * (1.0 + np.arange(60))
    moments = 10.0 * waves[:, :18]
    moments[100:160] = np.nan
    fields = {
        "joint_angles": 0.02 * waves[:, :18],
        "joint_angles_deviation": np.full((len(times), 18), 0.02),
        "joint_moments": moments,
        "muscle_activations": 0.01 * np.abs(waves),
        "joint_powers": waves[:, :12].reshape(-1, 6, 2),
        "marker_rms": np.full((len(times), 1), 0.004),
    }
    at = np.linspace(0.4, 2.4, n_strike).tolist()
    rows = [[t, ("right", "left")[k % 2], "foot strike", "plates"] for k, t in enumerate(at)]
    meta = {"side": "both", "method": "minimised", "gait_events": rows}
    session = Session(session="s", stream="result", t_start=0, rate=100.0, fields=specs, meta=meta)
    status = np.zeros(len(times), np.int64)
    status[40:60] = 8
    return Results(session, fields, times, status)


def paper(size: str = "") -> Paper:
    """Paper of a size [mm], or of the usual one; nothing is written."""
    ready_to_draw()
    return paper_of(Path("a.svg"), size or None, None)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("chosen", ["", "all", "knee_flexion"])
def test_no_text_is_cut_or_on_another(size: str, chosen: str) -> None:
    """Protects who reads a figure: every title, name, number and note stands whole and by itself."""
    drawn = panels_of_results(walk(), chosen)
    on = paper(size)
    wide, high = size_of_pages(on)
    pages = pages_of(on, drawn.panels, drawn.left_out)
    assert pages
    for k, page in enumerate(pages):
        title = f"walk.c3d: minimised, both legs (page {k + 1} of {len(pages)})"
        boxes = boxes_of(partial(paint_page, page=page, title=title, size=(wide, high)), wide, high)
        assert not faults_of(boxes, wide, high)


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e3, 1e7])
def test_numbers_of_axes_have_room(scale: float) -> None:
    """Protects axes of what rests and of what is huge: numbers stand beside the axis, none is cut."""
    drawn = panels_of_results(walk(scale=scale))
    pages = pages_of(paper(), drawn.panels)
    for page in pages:
        boxes = boxes_of(partial(paint_page, page=page, title="a", size=PAGE), *PAGE)
        assert not faults_of(boxes, *PAGE)
        assert not any(box.text.startswith("x") for box in boxes)


def test_letters_of_many_steps_stand_apart() -> None:
    """Protects long walks: near strikes of both feet share a text, more have none, none overlap."""
    pages = pages_of(paper(), panels_of_results(walk(n_strike=120), "angles").panels)
    boxes = boxes_of(partial(paint_page, page=pages[0], title="a", size=PAGE), *PAGE)
    assert not faults_of(boxes, *PAGE)
    pages = pages_of(paper(), panels_of_results(walk(n_strike=16), "angles").panels)
    boxes = boxes_of(partial(paint_page, page=pages[0], title="a", size=PAGE), *PAGE)
    assert not faults_of(boxes, *PAGE)
    assert {"RL", "LR"} & {box.text for box in boxes}


def test_nothing_is_left_out_unsaid() -> None:
    """Protects readers: each cell is on one page and once; what is on none is named with the option."""
    drawn = panels_of_results(walk())
    pages = pages_of(paper(), drawn.panels, drawn.left_out)
    shown = [panel.title for page in pages for row in page.rows for panel in row.panels]
    assert shown == [panel.title for panel in drawn.panels]
    assert len(set(shown)) == len(shown)
    assert {"Hip adduction", "Ankle dorsiflexion", "Hip adduction moment"} <= set(shown)
    said = " ".join(line for page in pages for line in page.notes)
    assert (
        "draw all with --curves muscle_activations; not drawn: Gluteus maximus superior 0 activation" in said
    )
    assert said.endswith("not drawn, because --curves does not name them: joint_powers")


def test_pages_have_the_stated_size_and_numbers(tmp_path: Path) -> None:
    """Protects print: 1600 x 1100 pixels each, files one beside the other, and one PDF with all of them."""
    drawn = panels_of_results(walk(), "angles,moments")
    ready_to_draw()
    written = save_panels(paper_of(tmp_path / "a.png", None, None), "walk", drawn.panels)
    assert [path.name for path in written] == ["a.png", "a-2.png"]
    for path in written:
        assert struct.unpack(">II", path.read_bytes()[16:24]) == (1600, 1100)
    vector = save_panels(paper_of(tmp_path / "a.svg", None, None), "walk", drawn.panels)
    for k, path in enumerate(vector):
        assert f"walk (page {k + 1} of 2)" in path.read_text()
    (pdf,) = save_panels(paper_of(tmp_path / "a.pdf", None, None), "walk", drawn.panels)
    assert pdf.read_bytes().count(b"/Type /Page\n") == 2


def test_groups_stay_together() -> None:
    """Protects comparison: the rows of a field stand on one page where it holds them."""
    drawn = panels_of_results(walk(), "angles,moments,joint_powers")
    pages = pages_of(paper(), drawn.panels)
    groups = [{panel.group for row in page.rows for panel in row.panels} for page in pages]
    assert groups == [{"joint_angles"}, {"joint_moments"}, {"joint_powers"}]


def test_notes_that_do_not_fit_go_on(tmp_path: Path) -> None:
    """Protects long lists: lines of notes that have no room below the panels stand on pages of their own."""
    notes = [" ".join(f"muscle_{k}" for k in range(1200)), "x" * 900]
    pages = pages_of(paper(), panels_of_results(walk(), "angles").panels, notes)
    assert len(pages) > 1
    assert sum(len(page.notes) for page in pages) >= 10
    for page in pages:
        boxes = boxes_of(partial(paint_page, page=page, title="a", size=PAGE), *PAGE)
        assert not faults_of(boxes, *PAGE)


def test_a_page_too_small_for_a_row_is_refused() -> None:
    """Protects from panels without room: how much a row needs is told."""
    with pytest.raises(
        ConfigError, match=r"--plot-size: a row of panels with their names needs \d+ x \d+ mm"
    ):
        pages_of(paper("100x60"), panels_of_results(walk(), "angles").panels)


def test_a_gap_is_no_dash() -> None:
    """Protects dashed curves: where values end before a gap there are rings, which the key explains."""
    x = np.arange(20.0)
    whole, broken = np.ones(20), np.where((x > 5) & (x < 12), np.nan, 1.0)
    assert not has_gaps(FigurePanel("p", "", "x", x, {"left": whole}))
    assert not has_gaps(FigurePanel("p", "", "x", x, {"left": np.full(20, np.nan)}))
    assert has_gaps(FigurePanel("p", "", "x", x, {"right": whole, "left": broken}))
    keys = [
        pages_of(paper(), [FigurePanel("p", "", "x", x, {"left": y}, sides={"left": "left"})])[0].key
        for y in (whole, broken)
    ]
    assert [GAP_ENDS in words for (words,) in keys] == [False, True]


def test_legs_differ_without_colour() -> None:
    """Protects grey prints: the left leg is dashed, the right one is not, and each strike has a letter."""
    from PySide6.QtCore import Qt

    from rtsim.monitor.figures.chart import side_pen

    assert side_pen("right").style() == Qt.PenStyle.SolidLine
    assert side_pen("left").style() == Qt.PenStyle.CustomDashLine
    page = pages_of(paper(), panels_of_results(walk(), "angles").panels)[0]
    boxes = boxes_of(partial(paint_page, page=page, title="a", size=PAGE), *PAGE)
    letters = [box.text for box in boxes if box.text in ("R", "L")]
    assert letters.count("R") == 9
    assert letters.count("L") == 6
