"""Figures of `simulate` and `moment-arms`: every kind of file, any size, and mistakes told at the start."""

import re
import struct
from xml.etree import ElementTree

import numpy as np
import pytest

ARMS = ("moment-arms", "finger", "--angle", "mcp_flexion", "--sweep")
KNEE = ("simulate", "knee", "--duration", "0.02")


def image_of(path):
    """(height, width, 3) - pixels of a PNG file."""
    gui = pytest.importorskip("PySide6.QtGui")
    image = gui.QImage(str(path)).convertToFormat(gui.QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), dtype=np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3)


@pytest.mark.parametrize("command", [ARMS, KNEE])
def test_a_figure_has_the_size_that_was_asked_for(here, tmp_path, command):
    """Protects print: millimetres in SVG and PDF, pixels per inch in PNG, and names as text in SVG."""
    pytest.importorskip("pyqtgraph")
    for name, dpi in (("a.png", ("--plot-dpi", "200")), ("a.svg", ()), ("a.PDF", ())):
        done = here(*command, "--plot", name, "--plot-size", "180x150", *dpi)
        assert done.code == 0, done.err
        assert f"wrote {name}" in done.err
    width, height = struct.unpack(">II", (tmp_path / "a.png").read_bytes()[16:24])
    assert (width, height) == (round(180 * 200 / 25.4), round(150 * 200 / 25.4))
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    assert float(root.get("width").removesuffix("mm")) == pytest.approx(180.0, abs=0.3)
    texts = " ".join("".join(element.itertext()) for element in root.iter() if element.tag.endswith("text"))
    assert "extensor" in texts if command is ARMS else "PCL anterior" in texts
    pdf = (tmp_path / "a.PDF").read_bytes()
    assert pdf.startswith(b"%PDF")
    box = [float(number) for number in re.search(rb"/MediaBox \[([^\]]*)\]", pdf).group(1).split()]
    assert box[2:] == pytest.approx([180 * 72 / 25.4, 150 * 72 / 25.4], abs=1.0)


def test_curves_are_antialiased(here, tmp_path):
    """Protects the looks: between the colour of a curve and that of the paper there are shades."""
    from rtsim.monitor.theme import LIGHT

    pytest.importorskip("pyqtgraph")
    assert here(*ARMS, "--plot", "a.png").code == 0
    pixels = image_of(tmp_path / "a.png").reshape(-1, 3).astype(float)
    paper, curve = (
        np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)], dtype=float)
        for colour in (LIGHT.panel, LIGHT.curve(0))
    )
    share = (pixels - paper) @ (curve - paper) / ((curve - paper) @ (curve - paper))
    on_the_line = np.abs(pixels - paper - share[:, None] * (curve - paper)).max(axis=1) < 6.0
    shades = np.unique(np.round(share[on_the_line & (share > 0.15) & (share < 0.85)], 1))
    assert len(shades) >= 5


def test_many_curves_are_named_at_their_ends(here, tmp_path):
    """Protects figures with more curves than colours: each name stands beside its curve, none on another."""
    pytest.importorskip("pyqtgraph")
    assert here("simulate", "knee", "--duration", "0.05", "--plot", "a.svg").code == 0
    texts = {
        "".join(element.itertext()).strip(): element
        for element in ElementTree.parse(tmp_path / "a.svg").getroot().iter()
        if element.tag.endswith("text")
    }
    heights = sorted(
        float(element.get("y")) for text, element in texts.items() if text.startswith(("ACL", "PCL", "MCL"))
    )
    assert len(heights) >= 6
    assert min(np.diff(heights)) > 5.0


MISTAKES = {
    "suffix": (("--plot", "a.jpg"), ("--plot", "'a.jpg'", ".png, .svg, .pdf")),
    "no suffix": (("--plot", "a"), ("--plot", "'a'", ".png, .svg, .pdf")),
    "folder": (("--plot", "nowhere/a.svg"), ("--plot", "there is no folder nowhere", "make it first")),
    "a folder itself": (("--plot", "taken.png"), ("--plot", "'taken.png' cannot be written")),
    "size": (("--plot", "a.png", "--plot-size", "160"), ("--plot-size", "'160'", "WIDTHxHEIGHT in mm")),
    "no number": (("--plot", "a.png", "--plot-size", "axb"), ("--plot-size", "'axb'")),
    "not finite": (("--plot", "a.png", "--plot-size", "nanxinf"), ("--plot-size", "'nanxinf'")),
    "huge": (("--plot", "a.pdf", "--plot-size", "1e9x100"), ("--plot-size", "40 to 2000")),
    "dpi": (("--plot", "a.png", "--plot-dpi", "100000"), ("--plot-dpi", "30 to 1200")),
    "dpi of a vector": (("--plot", "a.svg", "--plot-dpi", "300"), ("--plot-dpi", "has no pixels")),
    "too many pixels": (
        ("--plot", "a.png", "--plot-size", "2000x2000", "--plot-dpi", "1200"),
        ("--plot-size, --plot-dpi", "million pixels"),
    ),
    "size without a figure": (("--plot-size", "160x100"), ("--plot-size", "add --plot")),
}


@pytest.mark.parametrize("command", ["simulate", "moment-arms"])
@pytest.mark.parametrize("name", MISTAKES)
def test_a_figure_that_cannot_be_is_told_before_anything_is_read(here, tmp_path, command, name):
    """Protects long runs: the mistake is told before the model, which does not exist, is looked for."""
    (tmp_path / "taken.png").mkdir()
    arguments, words = MISTAKES[name]
    sweep = ("--sweep",) if command == "moment-arms" else ()
    done = here(command, "no_such_model", *sweep, *arguments)
    assert done.code == 1
    for word in words:
        assert word in done.sentence
    assert "no_such_model" not in done.sentence


def test_a_paper_too_small_for_the_names_is_refused(here):
    """Protects from names that run over each other or over the edge: how much room they need is told."""
    pytest.importorskip("pyqtgraph")
    done = here(*KNEE, "--plot", "a.png", "--plot-size", "60x50")
    assert done.code == 1
    assert "--plot-size" in done.sentence
    assert "need" in done.sentence


def painted(tmp_path, panel):
    """(height, width, 3) - pixels of a panel."""
    pytest.importorskip("pyqtgraph")
    from PySide6.QtCore import QRectF

    from rtsim.monitor.figures.chart import Chart, names_width
    from rtsim.monitor.figures.paper import Paper, draw_on, ready_to_draw

    ready_to_draw()
    chart = Chart(panel, QRectF(0.0, 0.0, 450.0, 250.0), names_width(panel), True)
    draw_on(Paper(tmp_path / "a.png", dpi=96), 450.0, 250.0, "", chart.paint)
    return image_of(tmp_path / "a.png").astype(int)


def extent_of(pixels, colour):
    """First and last row, first and last column of a colour, and how many pixels there are."""
    hit = np.abs(pixels - colour).max(axis=2) < 4
    rows, columns = np.nonzero(hit)
    return rows.min(), rows.max(), columns.min(), columns.max(), len(rows)


def on_paper(colour, alpha=255):
    """Red, green and blue of a colour of the theme on the paper of figures."""
    from rtsim.monitor.theme import LIGHT

    digits = colour[-6:]
    drawn, paper = (np.array([int(c[k : k + 2], 16) for k in (0, 2, 4)]) for c in (digits, LIGHT.panel[-6:]))
    return np.round(paper + alpha / 255 * (drawn - paper)).astype(int)


def test_bands_and_flagged_frames_are_drawn(tmp_path):
    """Protects who reads a figure: how sure a curve is, and which frames were called not ok."""
    from rtsim.files.tables.panels import FigurePanel
    from rtsim.monitor.figures.outline import ALPHA
    from rtsim.monitor.theme import LIGHT

    x = np.linspace(0.0, 10.0, 101)
    curves = {"a": np.where(x < 5.0, 0.0, 10.0)}
    off = {"a": np.where((x > 6.0) & (x < 8.0), 2.0, np.nan)}
    flagged = (x > 1.95) & (x < 3.05)
    plain = painted(tmp_path, FigurePanel("p", "deg", "time [s]", x, curves))
    both = painted(tmp_path, FigurePanel("p", "deg", "time [s]", x, curves, False, off, flagged))
    _, lowest, left, _, _ = extent_of(plain, on_paper(LIGHT.curve(0)))
    *_, middle, _ = extent_of(plain[lowest : lowest + 1], on_paper(LIGHT.curve(0)))
    wide = (middle - left) / 0.49  # the lower half of the step
    _, _, begin, end, n_shaded = extent_of(
        both, on_paper(LIGHT.degraded_fill, int(LIGHT.degraded_fill[1:3], 16))
    )
    assert n_shaded > 50
    assert (begin - left) / wide == pytest.approx(0.195, abs=0.02)
    assert (end - left) / wide == pytest.approx(0.305, abs=0.02)
    behind = middle + 5  # the step itself has shades of its colour
    _, _, begin, end, n_band = extent_of(
        both[:, behind : round(left + wide)], on_paper(LIGHT.curve(0), ALPHA)
    )
    assert n_band > 50
    assert (begin + behind - left) / wide == pytest.approx(0.61, abs=0.02)
    assert (end + behind - left) / wide == pytest.approx(0.79, abs=0.02)
    assert (np.abs(plain - both).max(axis=2) > 4).sum() < 1.6 * (n_shaded + n_band)  # nothing else changes


def test_a_lone_value_is_a_dot(tmp_path):
    """Protects recordings of one frame, and values with gaps around them: a line of one point is none."""
    from rtsim.files.tables.panels import FigurePanel
    from rtsim.monitor.theme import LIGHT

    x, y = np.arange(5.0), np.array([np.nan, 2.0, np.nan, 3.0, 3.0])
    pixels = painted(tmp_path, FigurePanel("p", "", "x", x, {"": y}))
    plot = pixels[:, : int(0.6 * pixels.shape[1])]
    assert extent_of(plot, on_paper(LIGHT.curve(0)))[4] >= 4


def test_round_off_is_no_curve(tmp_path):
    """Protects from an axis that enlarges round-off, whose numbers have no room beside it."""
    from rtsim.files.tables.panels import FigurePanel
    from rtsim.monitor.figures.chart import Chart

    pytest.importorskip("PySide6.QtCore")
    from PySide6.QtCore import QRectF

    x = np.arange(50.0)
    y = 5.0 + 1e-12 * np.sin(x)
    chart = Chart(FigurePanel("p", "", "x", x, {"a": y}), QRectF(0.0, 0.0, 400.0, 200.0), 50.0, True)
    low, high = chart.y_range
    assert low < 5.0 < high
    assert high - low >= 4e-5


def test_a_long_title_is_smaller_not_cut(tmp_path):
    """Protects narrow figures: what bands and shades mean stands at the end of the title."""
    from rtsim.files.tables.panels import FigurePanel

    pytest.importorskip("pyqtgraph")
    from rtsim.monitor.figures.paper import paper_of
    from rtsim.monitor.figures.stack import save_panels

    short, long = "walk.c3d: zero", "walk.c3d: zero; bands: one standard deviation; shaded: flagged frames"
    edges, heights = [], []
    for title in (short, long):
        paper = paper_of(tmp_path / "a.png", "120x80", 96)
        save_panels(paper, title, [FigurePanel("", "", "x", np.arange(5.0), {"": np.zeros(5)})])
        rows, columns = np.nonzero(image_of(tmp_path / "a.png")[:30].max(axis=2) < 100)
        edges.append(columns.max() / (120 / 25.4 * 96))
        heights.append(np.ptp(rows))
    assert edges[0] < 0.5
    assert 0.85 < edges[1] < 0.99
    assert heights[1] < heights[0]
