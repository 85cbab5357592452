"""Figures of a person: both legs, which is which, and planes that are theirs and not the room's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from rtsim.files.markers.trc import write_trc
from rtsim.files.markers.trial import MarkerTrial

pytest.importorskip("pyqtgraph")

MARKS = {"one standard deviation", "foot strike", "foot off"}


def image_of(path: Path) -> np.ndarray:
    """(height, width, 3) - pixels of a PNG file."""
    from PySide6.QtGui import QImage

    image = QImage(str(path)).convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), dtype=np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).astype(int)


def texts_of(path: Path) -> list[str]:
    """All texts of an SVG file."""
    root = ElementTree.parse(path).getroot()
    return ["".join(element.itertext()).strip() for element in root.iter() if element.tag.endswith("text")]


def has(pixels: np.ndarray, colour: str) -> bool:
    """Whether a colour of the theme is somewhere in a picture."""
    wanted = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    return bool((np.abs(pixels - wanted).max(axis=2) < 4).sum() > 20)


def test_a_figure_has_both_legs_in_two_colours_and_all_angles(here: Callable, tmp_path: Path) -> None:
    """Protects clinical figures: each angle once, both legs in its cell, told apart without colour, too."""
    from rtsim.monitor.theme import LIGHT

    done = here("analyse", "walker", "--side", "both", "--plot", "a.svg")
    assert done.code == 0, done.err
    texts = texts_of(tmp_path / "a.svg")
    assert "walker: minimised, both legs (page 1 of 2)" in texts
    assert set(texts) >= MARKS
    for joint, turns in {
        "Hip": ("flexion", "adduction", "internal rotation"),
        "Knee": ("flexion", "adduction", "internal rotation"),
        "Ankle": ("dorsiflexion", "inversion", "internal rotation"),
    }.items():
        for turn in turns:
            assert texts.count(f"{joint} {turn} [deg]") == 1
    assert {"right", "left"} <= set(texts)
    assert "stroke-dasharray" in (tmp_path / "a.svg").read_text()
    assert here("analyse", "walker", "--side", "both", "--plot", "a.png").code == 0
    pixels = image_of(tmp_path / "a.png")
    assert has(pixels, LIGHT.right)
    assert has(pixels, LIGHT.left)


def test_a_figure_of_one_leg_names_it(here: Callable, tmp_path: Path) -> None:
    """Protects reports of a leg: title and key say which one, and no colour is that of the other."""
    from rtsim.monitor.theme import LIGHT

    for suffix in ("svg", "png"):
        assert here("analyse", "walker", "--plot", f"a.{suffix}").code == 0
    texts = texts_of(tmp_path / "a.svg")
    assert "walker: minimised, right leg (page 1 of 2)" in texts
    assert set(texts) >= MARKS
    assert "right" in texts
    assert "left" not in texts
    assert not has(image_of(tmp_path / "a.png"), LIGHT.left)


@pytest.fixture
def walked(here: Callable, trial: MarkerTrial, tmp_path: Path) -> Callable[[float], str]:
    """A recording of the walker who walks along a direction of the room [deg]."""

    def along(degrees: float) -> str:
        angle, name = np.radians(degrees), f"along_{degrees:g}"
        turn = np.array(
            [[np.cos(angle), 0.0, np.sin(angle)], [0.0, 1.0, 0.0], [-np.sin(angle), 0.0, np.cos(angle)]]
        )
        write_trc(tmp_path / f"{name}.trc", trial._replace(positions=trial.positions @ turn.T))
        done = here(
            "analyse",
            f"{name}.trc",
            "--subject",
            "walker",
            "--units",
            "mm",
            "--up",
            "Y",
            "--out",
            f"{name}.mcap",
        )
        assert done.code == 0, done.err
        return f"{name}.mcap"

    return along


@pytest.mark.parametrize("view", ["sagittal", "frontal"])
def test_planes_are_those_of_the_person(here: Callable, tmp_path: Path, walked, view: str) -> None:
    """Protects stick figures of whoever does not walk along the room's X axis: the picture is the same."""
    first, other = walked(0.0), walked(117.0)
    for name in (first, other):
        assert here("export", name, f"{name}.png", "--view", view, "--at", "0.2").code == 0
    one, two = (image_of(tmp_path / f"{name}.png")[80:-80] for name in (first, other))
    columns = min(one.shape[1], two.shape[1])
    apart = np.abs(one[:, :columns] - two[:, :columns]).max(axis=2) > 60
    assert apart.mean() < 0.005
    assert abs(one.shape[1] - two.shape[1]) <= 4
    title = texts_of_export(here, first, tmp_path, view)
    assert title == f"{first}: lower_limb, right leg, {view}"


def texts_of_export(here: Callable, name: str, folder: Path, view: str) -> str:
    """The title of a stick figure."""
    assert here("export", name, "a.svg", "--view", view, "--force").code == 0
    return texts_of(folder / "a.svg")[0]


def test_of_whom_nothing_tells_how_they_face_the_room_is_told(here: Callable, tmp_path: Path) -> None:
    """Protects from a plane of the room that is called the person's."""
    done = here("simulate", "chain", "--duration", "0.01", "--out", "c.mcap")
    assert done.code == 0, done.err
    assert (
        "relative to the laboratory, because no segment shows which way the person faces"
        in texts_of_export(here, "c.mcap", tmp_path, "sagittal")
    )


def test_a_view_of_the_window_turns_with_the_person() -> None:
    """Protects the window: after a turn the sagittal view is still from the right; steps do not shake it."""
    from rtsim.monitor.figures.paper import ready_to_draw
    from rtsim.monitor.pose.projection import VIEWS, Camera, across

    ready_to_draw()
    labels = ("pelvis", "thigh_r", "thigh_l")
    for degrees in (0.0, 40.0, -130.0, 180.0):
        angle = np.radians(degrees)
        body = np.array(
            [[np.cos(angle), 0.0, np.sin(angle)], [0.0, 1.0, 0.0], [-np.sin(angle), 0.0, np.cos(angle)]]
        )
        found = across(labels, np.stack([body] * 3))
        camera = Camera()
        camera.look(VIEWS["Sagittal"], found)
        np.testing.assert_allclose(camera.basis() @ body, np.eye(3), atol=1e-12)
    lying = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    assert np.isnan(across(labels, np.stack([lying] * 3)))
    assert np.isnan(across(("block",), np.eye(3)[None]))


def test_the_window_follows_who_turns_but_no_step() -> None:
    """Protects the view of a live run: it turns with the person, and not with the pelvis in each step."""
    from rtsim.monitor.figures.paper import ready_to_draw
    from rtsim.monitor.layout import layout_of
    from rtsim.monitor.pose.figure import TURNED_LEAST, StickFigureView
    from streams.messages import FieldSpec, Session

    ready_to_draw()
    fields = (
        FieldSpec("joint_centres", (1, 3), "m", ("hip_r",)),
        FieldSpec("segment_rotations", (1, 3, 3), "1", ("pelvis",)),
    )
    figure = StickFigureView()
    figure.set_layout(layout_of(Session(session="s", stream="result", t_start=0, rate=100.0, fields=fields)))

    def face(degrees: float) -> None:
        c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        rotation = np.array([[[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]])
        figure.set_frame({"joint_centres": np.array([[0.1, 1.0, 0.0]]), "segment_rotations": rotation})

    face(30.0)
    first = figure.camera.azimuth
    face(150.0)
    assert figure.camera.azimuth == first  # the view at the begin is of the room
    figure.look("Sagittal")
    assert figure.camera.azimuth == pytest.approx(150.0)
    face(150.0 + 0.9 * TURNED_LEAST)
    assert figure.camera.azimuth == pytest.approx(150.0)
    face(-90.0)
    assert figure.camera.azimuth == pytest.approx(-90.0)
    figure.look("Frontal")
    assert figure.camera.azimuth == pytest.approx(0.0)
