"""A field as heat images, such as the pressure under both feet: dark where there is no pressure, hidden if
unknown.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QRectF

from rtsim.monitor.layout import ImageField, WindowLayout
from rtsim.monitor.plots.plots import SMALL_PIXELS, PlotCard
from rtsim.monitor.theme import Theme

COLOURS = "inferno"
N_COLOUR = 256
APART = 0.25
"""Distance between two images, in widths of one."""
BAR_WIDTH, BAR_TEXT = 0.12, 0.75
"""Widths of the colour bar and of its numbers, in widths of one image."""
ABOVE, MOST_ABOVE = 0.15, 1.0
"""Least and largest room for the letter above an image, of its height."""
LEAST_LARGEST = 1e-3
"""Smallest upper end of the colour scale [display unit]."""
TOUCHED = 0.01
"""Fraction of the largest value so far above which a cell counts as touched by the sole."""
LETTERS = {"right": "R", "left": "L"}


class HeatImage(PlotCard):
    """The images of one field side by side, on one colour scale up to the largest value so far; hidden
    without data.

    Only images with known values are shown, each with R or L for its side and the outline of all cells that
    have had pressure so far, and beside them a colour bar.
    """

    def __init__(self) -> None:
        super().__init__("", "")
        self.item.setAspectLocked(True)
        self._picture: ImageField | None = None
        self.images: list[pg.ImageItem] = []
        self.outlines: list[pg.IsocurveItem] = []
        self.letters: list[pg.TextItem] = []
        self.known: list[bool] = []
        self._touched: list[NDArray[np.bool_]] = []
        self._size = (1.0, 1.0)  # of the images with their bar, and of one [cm]
        lookup = pg.colormap.get(COLOURS).getLookupTable(nPts=N_COLOUR)
        self.colour_bar = pg.ImageItem(np.arange(float(N_COLOUR))[None], levels=(0.0, N_COLOUR), lut=lookup)
        self.limits = [pg.TextItem("", anchor=(0.0, 1.0)), pg.TextItem("", anchor=(0.0, 0.0))]
        for part in (self.colour_bar, *self.limits):
            self.item.addItem(part, ignoreBounds=True)
        self.largest = 0.0
        self.item.vb.sigResized.connect(self._make_room)
        self.hide()

    def set_layout(self, layout: WindowLayout) -> None:
        """Prepare the images for the field that a layout states; the plot is hidden if it states none."""
        for old in (*self.images, *self.outlines, *self.letters):
            self.item.removeItem(old)
        self._picture, self.largest = layout.picture, 0.0
        self.images, self.outlines, self.letters, self.known, self._touched = [], [], [], [], []
        self.setVisible(layout.picture is not None)
        picture = layout.picture
        if picture is None:
            return
        lookup = pg.colormap.get(COLOURS).getLookupTable(nPts=N_COLOUR)
        n_row, n_column = picture.shape
        for k in picture.order:
            image = pg.ImageItem(np.zeros((n_column, n_row)), levels=(0.0, 1.0), lut=lookup)
            outline = pg.IsocurveItem(np.zeros((n_column, n_row)), level=0.5)
            outline.setParentItem(image)
            name = picture.labels[k]
            letter = pg.TextItem(LETTERS.get(name, name), anchor=(0.5, 1.0))
            for part in (image, letter):
                self.item.addItem(part, ignoreBounds=True)
            self.images.append(image)
            self.outlines.append(outline)
            self.letters.append(letter)
            self._touched.append(np.zeros((n_column, n_row), bool))
        self.known = [True] * len(self.images)
        self._place()
        self.title_axes("along (cm)", "across (cm)")
        self.set_theme(self.theme)

    def _place(self) -> None:
        """Arrange the visible images side by side, and the colour bar beside them."""
        picture = self._picture
        assert picture is not None
        n_row, n_column = picture.shape
        width, height = 1e-1 * picture.across * n_column, 1e-1 * picture.along * n_row  # cm
        x = 0.0
        for image, letter, known in zip(self.images, self.letters, self.known, strict=True):
            image.setVisible(known)
            letter.setVisible(known)
            if known:
                image.setRect(QRectF(x, 0.0, width, height))
                letter.setPos(x + 0.5 * width, height)
                x += (1.0 + APART) * width
        self.colour_bar.setRect(QRectF(x, 0.0, BAR_WIDTH * width, height))
        for limit, y in zip(self.limits, (0.0, height), strict=True):
            limit.setPos(x + BAR_WIDTH * width, y)
        self._size = x + (BAR_WIDTH + BAR_TEXT) * width, height
        self._make_room()

    def _make_room(self) -> None:
        """Fit the view to the images, with room above them for a letter, whose size in pixels does not
        depend on the window.
        """
        across, height = self._size
        if not self.letters:
            return
        letter = max(text.boundingRect().height() for text in self.letters)
        pixels = float(self.item.vb.height())
        above = letter / (pixels - letter) if pixels > 2.0 * letter else MOST_ABOVE
        up = (1.0 + max(ABOVE, above)) * height
        self.item.setRange(xRange=(0.0, across), yRange=(0.0, up), padding=0.02)

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self.paint_axes(theme)
        for text in (*self.letters, *self.limits):
            text.setColor(theme.text)
            text.setFont(self._font(SMALL_PIXELS))
        for outline in self.outlines:
            outline.setPen(pg.mkPen("#9aa3ae", width=1))  # seen on the dark of the images in both themes
        self._write()
        self._make_room()  # of another font, perhaps

    def set_frame(self, data: Mapping[str, NDArray[np.float64]]) -> None:
        """Show the newest values; unknown values are left out, and an entirely unknown image is hidden. The
        header says so where no image is known."""
        picture = self._picture
        if picture is None or picture.field not in data:
            return
        told = picture.scale * data[picture.field].reshape(len(picture.labels), *picture.shape)
        values = np.nan_to_num(told, nan=0.0, posinf=0.0, neginf=0.0)
        largest = max(self.largest, float(values.max(initial=0.0)))
        known = [bool(np.isfinite(told[k]).any()) for k in picture.order]
        for i, k in enumerate(picture.order):
            self.images[i].setImage(values[k].T, autoLevels=False, levels=(0.0, max(largest, LEAST_LARGEST)))
            self._extend_outline(i, TOUCHED * max(largest, LEAST_LARGEST) < values[k].T)
        if known != self.known:
            self.known = known
            self._place()
            self._write()
        if largest != self.largest:
            self.largest = largest
            self._write()

    def _extend_outline(self, i: int, pressed: NDArray[np.bool_]) -> None:
        if (pressed & ~self._touched[i]).any():
            self._touched[i] |= pressed
            self.outlines[i].setData(np.pad(self._touched[i], 0).astype(float))

    def _write(self) -> None:
        picture = self._picture
        if picture is not None:
            shown = [picture.labels[k] for k, known in zip(picture.order, self.known, strict=True) if known]
            title = f"{picture.title}: {', '.join(shown)}" if any(shown) else picture.title
            scale = f"up to {self.largest:.3g} {picture.unit}" if self.largest else "nothing yet"
            scale = scale if any(self.known) else "not known"
            self.write_header(f"{title}; {scale}", ())
            self.limits[0].setText("0")
            self.limits[1].setText(f"{self.largest:.3g} {picture.unit}" if self.largest else "")
