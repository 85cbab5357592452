"""The output file of a figure: PNG, SVG or PDF, with a size in millimetres."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rtsim.errors import ConfigError
from rtsim.files.output import check_folder, write_bytes
from rtsim.monitor.qt_library import choose_platform, require_qt

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    Draw = Callable[[QPainter], None]

SUFFIXES = (".png", ".svg", ".pdf")
PX_PER_MM = 96.0 / 25.4  # figures are laid out at 96 px per inch, whatever they are drawn on
SIZES_MM = (40.0, 2000.0)
DPI, DPIS = 150, (30, 1200)
PAGE = (1024.0, 704.0)
"""Width and height of a page where none are asked for, as laid out [px]: 271 x 186 mm, which fits on a
landscape A4 sheet, and 1600 x 1100 pixels of a PNG at the usual resolution.
"""
PDF_DPI = 1200  # only how finely a PDF rounds
PIXELS_MOST = 200_000_000


class Paper(NamedTuple):
    """Destination of a figure: file, width and height [mm] (None = as needed), pixels per inch of a PNG.

    option : command-line option that names the file, for errors
    """

    path: Path
    width_mm: float | None = None
    height_mm: float | None = None
    dpi: int = DPI
    option: str = "--plot"

    @property
    def size(self) -> tuple[float | None, float | None]:
        """Width and height of the figure as laid out [px]; None = as needed."""
        width, height = (None if mm is None else mm * PX_PER_MM for mm in (self.width_mm, self.height_mm))
        return width, height


def paper_of(path: Path, size: str | None, dpi: int | None, option: str = "--plot") -> Paper:
    """Return the output file of a figure, with size and resolution, from options of the command line.

    path : file to write
    size : "WIDTHxHEIGHT" in millimetres, or None
    dpi : pixels per inch, for PNG only
    option : option that names the file
    ConfigError : a file that cannot be written there, an impossible size or resolution, or no Qt
    """
    check_path(path, option)
    if dpi is not None and path.suffix.lower() != ".png":
        raise ConfigError(
            f"a {path.suffix[1:].upper()} file has no pixels", where="--plot-dpi", remedy="leave it out"
        )
    if dpi is not None and not DPIS[0] <= dpi <= DPIS[1]:
        raise ConfigError(f"{dpi} pixels per inch", where="--plot-dpi", allowed=f"{DPIS[0]} to {DPIS[1]}")
    width, height = (None, None) if size is None else size_of(size)
    paper = Paper(path, width, height, dpi or DPI, option)
    if width and height and width * height * (paper.dpi / 25.4) ** 2 > PIXELS_MOST:
        raise ConfigError(
            f"{size} mm at {paper.dpi} pixels per inch are more than {PIXELS_MOST // 10**6} million pixels",
            where="--plot-size, --plot-dpi",
            remedy="choose fewer pixels per inch, or write an SVG or PDF file",
        )
    require_qt()
    return paper


def size_of(text: str) -> tuple[float, float]:
    """Parse width and height [mm] from "WIDTHxHEIGHT"."""
    try:
        width, height = (float(part) for part in text.lower().split("x"))
    except ValueError:
        width = height = math.nan
    if not all(SIZES_MM[0] <= mm <= SIZES_MM[1] for mm in (width, height)):
        raise ConfigError(
            f"{text!r}",
            where="--plot-size",
            allowed=f"WIDTHxHEIGHT in mm, as 160x100, each from {SIZES_MM[0]:g} to {SIZES_MM[1]:g}",
        )
    return width, height


def check_path(path: Path, option: str) -> None:
    """Raise ConfigError if a figure cannot be saved at a path; called before a run, not only at its end.

    option : command-line option that names the path, for the message
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(
            f"a figure cannot be saved as {str(path)!r}, because of the ending of this name",
            where=option,
            allowed=f"a name ending in {', '.join(SUFFIXES)}",
        )
    check_folder(path, option)
    if path.is_dir():
        raise ConfigError(f"{str(path)!r} cannot be written", where=option, remedy="choose another name")


def draw_on(paper: Paper, width: float, height: float, title: str, draw: Draw) -> None:
    """Draw a figure of one page of a size [px at 96 per inch] into its file; ConfigError if it cannot be
    written.
    """
    draw_pages(paper, width, height, title, [draw])


def page_path(path: Path, k: int) -> Path:
    """Return the file name of page k, from 0: the requested name, with -2, -3 ... appended for further
    pages.
    """
    return path.with_stem(f"{path.stem}-{k + 1}") if k else path


def draw_pages(paper: Paper, width: float, height: float, title: str, pages: Sequence[Draw]) -> list[Path]:
    """Draw pages of a size [px at 96 per inch] into one PDF file, or into one PNG or SVG file each; return
    the files.

    Pages are drawn in memory first, as Qt does not report a full disk for vector files. ConfigError if one
    cannot be written; a previous file is then kept.
    """
    one_file = paper.path.suffix.lower() == ".pdf"
    written = []
    for k, draws in enumerate([pages] if one_file else [[draw] for draw in pages]):
        path = page_path(paper.path, k)
        write_bytes(path, drawn_file(paper, width, height, title, draws))
        written.append(path)
    return written


def drawn_file(paper: Paper, width: float, height: float, title: str, draws: Sequence[Draw]) -> bytes:
    """Return the bytes of a file with these pages; a PNG or SVG file has one page."""
    from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QRectF, QSize, QSizeF
    from PySide6.QtGui import QColor, QImage, QPageSize, QPainter, QPdfWriter
    from PySide6.QtSvg import QSvgGenerator

    kind, scale = paper.path.suffix.lower(), 1.0
    drawn = QBuffer()
    drawn.open(QIODevice.OpenModeFlag.WriteOnly)
    image: QImage | None = None
    pdf: QPdfWriter | None = None
    if kind == ".svg":
        svg = QSvgGenerator()
        svg.setOutputDevice(drawn)
        svg.setResolution(96)
        svg.setSize(QSize(round(width), round(height)))
        svg.setViewBox(QRectF(0.0, 0.0, width, height))
        svg.setTitle(title)
        device: QSvgGenerator | QPdfWriter | QImage = svg
    elif kind == ".pdf":
        pdf = QPdfWriter(drawn)
        pdf.setResolution(PDF_DPI)
        pdf.setPageSize(QPageSize(QSizeF(width, height) / PX_PER_MM, QPageSize.Unit.Millimeter, "figure"))
        pdf.setPageMargins(QMarginsF(0.0, 0.0, 0.0, 0.0))
        pdf.setTitle(title)
        device, scale = pdf, PDF_DPI / 96.0
    else:
        scale = paper.dpi / 96.0
        image = QImage(round(scale * width), round(scale * height), QImage.Format.Format_RGB32)
        image.fill(QColor("white"))
        image.setDotsPerMeterX(round(1000.0 * paper.dpi / 25.4))
        image.setDotsPerMeterY(round(1000.0 * paper.dpi / 25.4))
        device = image
    painter = QPainter()
    finished = painter.begin(device)
    if finished:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.scale(scale, scale)
        for k, draw in enumerate(draws):
            if k and pdf is not None:
                pdf.newPage()
            draw(painter)
        finished = painter.end()
    if image is not None and finished:
        finished = image.save(drawn, "PNG")  # type: ignore[call-overload]  # its stub wants bytes
    if not finished:
        raise ConfigError(f"{str(paper.path)!r} could not be drawn", where=paper.option)
    return bytes(drawn.data().data())


def ready_to_draw() -> None:
    """Start a Qt application, which fonts need, even without a display."""
    choose_platform(off_screen_will_do=True)
    from PySide6.QtGui import QGuiApplication
    from PySide6.QtWidgets import QApplication

    if QGuiApplication.instance() is None:
        _kept.append(QApplication(["rtsim"]))


_kept: list[object] = []
"""The application must live as long as the process."""
