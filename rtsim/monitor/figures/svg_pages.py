"""Conversion of SVG pages to a PDF or to pictures by Qt, which the extra `monitor` installs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rtsim.errors import ConfigError
from rtsim.files.output import write_bytes
from rtsim.monitor.figures.paper import PDF_DPI, ready_to_draw

if TYPE_CHECKING:
    from PySide6.QtSvg import QSvgRenderer

A4_MM = (210.0, 297.0)


def save_pdf(path: Path, pages: Sequence[str], title: str) -> None:
    """Write pages (SVG documents of A4) as a PDF.

    ConfigError if Qt is missing or the file cannot be written; a previous file is then kept.
    """
    ready_to_draw()
    from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QRectF, QSizeF
    from PySide6.QtGui import QPageSize, QPainter, QPdfWriter

    drawn = QBuffer()
    drawn.open(QIODevice.OpenModeFlag.WriteOnly)
    pdf = QPdfWriter(drawn)
    pdf.setResolution(PDF_DPI)
    pdf.setPageSize(QPageSize(QSizeF(*A4_MM), QPageSize.Unit.Millimeter, "A4"))
    pdf.setPageMargins(QMarginsF(0.0, 0.0, 0.0, 0.0))
    pdf.setTitle(title)
    pdf.setCreator("rtsim")
    painter = QPainter(pdf)
    whole = QRectF(0.0, 0.0, *(mm / 25.4 * PDF_DPI for mm in A4_MM))
    for k, page in enumerate(pages):
        if k:
            pdf.newPage()
        _renderer(page, k + 1).render(painter, whole)
    painter.end()
    drawn.close()
    write_bytes(path, bytes(drawn.data().data()))


def picture_of(page: str, dpi: float) -> bytes:
    """Return a page, an SVG document of A4, as the bytes of a PNG picture; dpi : pixels per inch."""
    ready_to_draw()
    from PySide6.QtCore import QBuffer, QIODevice, QRectF
    from PySide6.QtGui import QColor, QImage, QPainter

    width, height = (round(mm / 25.4 * dpi) for mm in A4_MM)
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(QColor("white"))
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    _renderer(page, 1).render(painter, QRectF(0.0, 0.0, width, height))
    painter.end()
    data = QBuffer()
    data.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(data, "PNG")  # type: ignore[call-overload]  # its stub wants bytes
    return bytes(data.data().data())


def _renderer(page: str, number: int) -> QSvgRenderer:
    from PySide6.QtCore import QByteArray
    from PySide6.QtSvg import QSvgRenderer

    renderer = QSvgRenderer(QByteArray(page.encode("utf-8")))
    if not renderer.isValid():
        raise ConfigError("this page cannot be drawn", where=f"page {number}")
    return renderer
