"""Made-up people in the markers of Plug-in Gait whose joints and rotation offsets are known exactly."""

from __future__ import annotations

import numpy as np

from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.conventional.alignment import DEVICE_SPACING
from rtsim.subjects.conventional.measures import stored_measures
from rtsim.subjects.hip_centre import hip_centres

MEASURES = {
    "RLegLength": 0.88, "LLegLength": 0.87, "RKneeWidth": 0.1, "LKneeWidth": 0.1, "RAnkleWidth": 0.07,
    "LAnkleWidth": 0.07, "MarkerDiameter": 0.014, "InterAsisDistance": 0.24,
}  # fmt: skip
PELVIS = {"RASI": (0.1, 1.0, 0.12), "LASI": (0.1, 1.0, -0.12), "RPSI": (-0.06, 1.02, 0.05),
          "LPSI": (-0.06, 1.02, -0.05)}  # fmt: skip
KNEE_RADIUS, ANKLE_RADIUS = 0.057, 0.042
SIDES = {"R": ("right", 1.0), "L": ("left", -1.0)}


def turned(vector: np.ndarray, axis: np.ndarray, angle: float) -> np.ndarray:
    """A vector about a unit axis square to it."""
    return np.cos(angle) * vector + np.sin(angle) * np.cross(axis, vector)


def square(vector: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """A vector of length one, square to a unit axis."""
    flat = vector - (vector @ axis) * axis
    return flat / np.linalg.norm(flat)


def leg(letter: str, thigh: float, shank: float, torsion: float, *, device: bool, medial: bool) -> dict:
    """Markers of a leg that stands, X forwards, Y up, Z to the right [m]; rotations as in files [rad]."""
    side, out = SIDES[letter]
    points = {name: np.array([x]) for name, x in PELVIS.items()}
    back = 0.5 * (points["RPSI"] + points["LPSI"])
    hips = hip_centres(points["RASI"], points["LASI"], back, "davis1991", stored_measures(MEASURES))
    hip = (hips[0] if side == "right" else hips[1])[0]
    knee, ankle = np.array([0.04, 0.5, out * 0.09]), np.array([0.0, 0.09, out * 0.08])
    up = (hip - knee) / np.linalg.norm(hip - knee)
    outer = square(np.array([0.05, 0.0, out]), up)
    lateral = knee + KNEE_RADIUS * outer
    above = (knee - ankle) / np.linalg.norm(knee - ankle)
    beside = turned(square(outer, above), above, out * torsion)
    malleolus = ankle + ANKLE_RADIUS * beside
    found = {
        "THI": knee + 0.2 * up + 0.09 * turned(outer, up, -out * thigh),
        "KNE": lateral,
        "TIB": ankle + 0.2 * above + 0.08 * turned(beside, above, -out * shank),
        "ANK": malleolus,
        "TOE": np.array([0.13, 0.05, out * 0.1]),
        "HEE": np.array([-0.06, 0.03, out * 0.08]),
    }
    if device:
        del found["KNE"]
        ahead, arm = np.cross(up, outer), DEVICE_SPACING / np.sqrt(2.0)
        found |= {
            "KAX": lateral + arm * outer,
            "KD1": lateral + arm * out * -ahead,
            "KD2": lateral + arm * up,
        }
    if medial:
        found |= {"KNM": 2.0 * knee - lateral, "MED": 2.0 * ankle - malleolus}
    return {f"{letter}{name}": x for name, x in found.items()}


def person(
    thigh: float = 0.0, shank: float = 0.0, torsion: float = 0.0, *,
    device: bool = False, medial: bool = False,
    measures: dict[str, float] = MEASURES, source: str = "static.c3d", n: int = 5, speed: float = 0.0,
) -> MarkerTrial:  # fmt: skip
    """Both legs for some frames, standing, or carried forwards [m/frame]."""
    points = {name: np.array(x) for name, x in PELVIS.items()}
    for letter in SIDES:
        points |= leg(letter, thigh, shank, torsion, device=device, medial=medial)
    positions = np.repeat(np.array([list(points.values())]), n, axis=0)
    positions[:, :, 0] += speed * np.arange(n)[:, None]
    return MarkerTrial(tuple(points), np.arange(n) / 100.0, positions, 100.0, source, subject=measures)
