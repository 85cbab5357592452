"""A field as a heat image, as the pressure under both feet: dark where nothing presses, gone if unknown."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QRectF

from rtsim.monitor.layout import ImageField, WindowLayout
from rtsim.monitor.plots.plots import PlotCard
from rtsim.monitor.theme import Theme

COLOURS = "inferno"
APART = 0.25
"""Between two images, of the width of one."""
LEAST_SHARE = 1e-3
"""Of the largest value so far, below which the scale does not go."""


class HeatImage(PlotCard):
    """The images of one field beside each other, on one scale that keeps its largest value; else hidden."""

    def __init__(self) -> None:
        super().__init__("", "")
        self.item.setAspectLocked(True)
        self._picture: ImageField | None = None
        self.images: list[pg.ImageItem] = []
        self.largest = 0.0
        self.hide()

    def set_layout(self, layout: WindowLayout) -> None:
        """Take the image of a layout; without any the plot hides."""
        for old in self.images:
            self.item.removeItem(old)
        self._picture, self.images, self.largest = layout.picture, [], 0.0
        self.setVisible(layout.picture is not None)
        picture = layout.picture
        if picture is None:
            return
        lookup = pg.colormap.get(COLOURS).getLookupTable(nPts=256)
        n_row, n_column = picture.shape
        width, height = 1e-1 * picture.across * n_column, 1e-1 * picture.along * n_row  # cm
        for k in range(len(picture.labels)):
            image = pg.ImageItem(np.zeros((n_column, n_row)), levels=(0.0, 1.0), lut=lookup)
            image.setRect(QRectF(k * (1.0 + APART) * width, 0.0, width, height))
            self.item.addItem(image, ignoreBounds=True)
            self.images.append(image)
        n = len(self.images)
        across = (n + (n - 1) * APART) * width
        self.item.setRange(xRange=(0.0, across), yRange=(0.0, height), padding=0.02)
        self.title_axes("along (cm)", "across (cm)")
        self.set_theme(self.theme)

    def set_theme(self, theme: Theme) -> None:
        """Recolour."""
        self.paint_axes(theme)
        self._write()

    def set_frame(self, data: Mapping[str, NDArray[np.float64]]) -> None:
        """Show the newest values: unknown ones as none, and no image of which nothing is known."""
        picture = self._picture
        if picture is None or picture.field not in data:
            return
        told = picture.scale * data[picture.field].reshape(len(picture.labels), *picture.shape)
        values = np.nan_to_num(told, nan=0.0, posinf=0.0, neginf=0.0)
        largest = max(self.largest, float(values.max(initial=0.0)))
        for image, k in zip(self.images, picture.order, strict=True):
            image.setVisible(bool(np.isfinite(told[k]).any()))
            image.setImage(values[k].T, autoLevels=False, levels=(0.0, max(largest, LEAST_SHARE)))
        if largest != self.largest:
            self.largest = largest
            self._write()

    def _write(self) -> None:
        picture = self._picture
        if picture is not None:
            labels = ", ".join(picture.labels[k] for k in picture.order)
            scale = f"up to {self.largest:.3g} {picture.unit}" if self.largest else "nothing yet"
            self.write_header(f"{picture.title}: {labels}; {scale}", ())
