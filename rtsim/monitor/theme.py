"""Colours of the monitor window: a light theme that prints well, and a dark one for dark laboratories."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Theme:
    """Colours by purpose, as #rrggbb or #aarrggbb, and the scale of text and lines."""

    name: str
    window: str
    panel: str
    border: str
    text: str
    text_dim: str
    grid: str
    accent: str
    stick: str
    shadow: str
    measured: str
    model: str
    residual: str
    occluded: str
    axis_x: str
    axis_y: str
    axis_z: str
    good: str
    warning: str
    bad: str
    degraded_fill: str
    missing_fill: str
    curves: tuple[str, ...]
    right: str
    left: str
    scale: float = 1.0

    def px(self, size: float) -> int:
        """Return a size at scale 1 as whole pixels on the screen."""
        return max(1, round(self.scale * size))

    def curve(self, index: int) -> str:
        """Return the colour of the curve with this index; colours repeat if there are many curves."""
        return self.curves[index % len(self.curves)]


# The right leg is blue and the left one red, as gait reports have them.
# Curve colours after Okabe and Ito (2008), told apart with every kind of colour vision.
LIGHT = Theme(
    name="light",
    window="#f4f5f7",
    panel="#ffffff",
    border="#d5dae1",
    text="#1d2733",
    text_dim="#66717f",
    grid="#d9dee5",
    accent="#1f5fa8",
    stick="#3d4a5c",
    shadow="#e3e7ec",
    measured="#7d8896",
    model="#0072b2",
    residual="#d55e00",
    occluded="#9aa3ae",
    axis_x="#c4392f",
    axis_y="#2f8a3c",
    axis_z="#2a5fc0",
    good="#1e7b3a",
    warning="#9a6200",
    bad="#b3261e",
    degraded_fill="#38e69f00",
    missing_fill="#30808a96",
    curves=("#0072b2", "#d55e00", "#009e73", "#aa4499", "#8a6d00", "#332288"),
    right="#0072b2",
    left="#c1272d",
)
DARK = Theme(
    name="dark",
    window="#14181d",
    panel="#1b2128",
    border="#323b46",
    text="#e3e8ee",
    text_dim="#94a0ae",
    grid="#333d48",
    accent="#5ea3e6",
    stick="#c3ccd8",
    shadow="#2a323c",
    measured="#8f9bab",
    model="#56b4e9",
    residual="#ff8a3c",
    occluded="#75808d",
    axis_x="#ef6b62",
    axis_y="#62c370",
    axis_z="#6f9df2",
    good="#63c47c",
    warning="#e0a93e",
    bad="#f2736b",
    degraded_fill="#30e69f00",
    missing_fill="#38a0abb8",
    curves=("#56b4e9", "#ff8a3c", "#2fc79a", "#e08fd0", "#e6d255", "#a79bf0"),
    right="#56b4e9",
    left="#ff6b6b",
)


COLOURS = {
    "ligament": "model", "spring": "model", "contact": "residual", "muscle": "warning", "device": "accent",
    "plate force (arrow of 1 m: 1 kN)": "good", "foot contact force (arrow of 1 m: 1 kN)": "residual",
}  # fmt: skip
"""Symbol of the stick figure -> name of its colour in a theme, where the two names differ."""
DASHES = {"left": (1.6, 0.7)}
"""Line and gap, of the width of a leg's line: legs are told apart without colour, too."""


def style_sheet(theme: Theme) -> str:
    """Return the Qt style sheet of the monitor window; plots and stick figure take their colours directly
    from the theme.
    """
    return f"""
    QMainWindow, QWidget#page, QSplitter {{ background: {theme.window}; }}
    QWidget {{ color: {theme.text}; font-size: {theme.px(12)}px; }}
    QFrame#card {{ background: {theme.panel}; border: 1px solid {theme.border};
        border-radius: {theme.px(6)}px; }}
    QFrame#rule {{ background: {theme.border}; border: none; }}
    QLabel {{ background: transparent; }}
    QLabel#caption {{ color: {theme.text_dim}; font-size: {theme.px(10)}px; }}
    QLabel#placeholder {{ color: {theme.text_dim}; font-size: {theme.px(14)}px; }}
    QLabel#value {{ font-size: {theme.px(13)}px; font-weight: 600; }}
    QLabel#name {{ font-size: {theme.px(14)}px; font-weight: 600; }}
    QLabel#message {{ color: {theme.text_dim}; }}
    QLabel#note {{ color: {theme.warning}; }}
    QPushButton {{ background: {theme.panel}; border: 1px solid {theme.border};
        border-radius: {theme.px(4)}px; padding: {theme.px(4)}px {theme.px(9)}px; }}
    QPushButton:hover {{ border-color: {theme.accent}; }}
    QPushButton:checked {{ background: {theme.accent}; border-color: {theme.accent}; color: {theme.panel}; }}
    QPushButton:disabled {{ color: {theme.text_dim}; }}
    QPushButton#emergency {{ background: {theme.bad}; border-color: {theme.bad}; color: {theme.panel};
        font-size: {theme.px(14)}px; font-weight: 700; padding: {theme.px(7)}px; }}
    QToolTip {{ background: {theme.panel}; color: {theme.text}; border: 1px solid {theme.border}; }}
    QSplitter::handle {{ background: transparent; }}
    QScrollArea {{ background: transparent; border: none; }}
    QWidget#curves {{ background: transparent; }}
    QSlider:horizontal {{ min-height: {theme.px(16)}px; }}
    QSlider::groove:horizontal {{ height: {theme.px(4)}px; background: {theme.border};
        border-radius: {theme.px(2)}px; }}
    QSlider::sub-page:horizontal {{ background: {theme.accent}; border-radius: {theme.px(2)}px; }}
    QSlider::sub-page:horizontal:disabled {{ background: {theme.border}; }}
    QSlider::handle:horizontal {{ width: {theme.px(12)}px; margin: -{theme.px(5)}px 0;
        background: {theme.panel}; border: 1px solid {theme.text_dim}; border-radius: {theme.px(3)}px; }}
    QSlider::handle:horizontal:hover {{ border-color: {theme.accent}; }}
    QScrollBar:vertical {{ width: {theme.px(14)}px; }}
    QScrollBar:horizontal {{ height: {theme.px(14)}px; }}
    QCheckBox::indicator {{ width: {theme.px(13)}px; height: {theme.px(13)}px; }}
    """


SCALE_SIZE = (1600, 900)  # px; larger windows have larger text, as they are looked at from farther away
SCALE_STEP, SCALE_MOST = 0.125, 4.0


def scale_of(width: int, height: int) -> float:
    """Return the scale of text and lines in a monitor window of this size [px]."""
    fits = min(width / SCALE_SIZE[0], height / SCALE_SIZE[1])
    return min(SCALE_MOST, max(1.0, SCALE_STEP * int(fits / SCALE_STEP)))
