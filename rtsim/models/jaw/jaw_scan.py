"""A person's mandible from a scan and a reference trial: its anatomical frame, and the markers and surfaces
in this frame.

The method is that of Andersen et al. (2017). The frame is aligned with the Frankfurt plane. The markers are
located by least squares in a trial with the teeth together, a pose in which the frames of skull and mandible
coincide.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from rtsim.config.models.contact_schema import Contact
from rtsim.config.models.jaw_scan_schema import JawScan
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.files.markers.landmarks import thin
from rtsim.files.markers.trial import MarkerTrial
from rtsim.files.surfaces.surfaces import METRES, TriangleSurface, read_surface
from rtsim.models.jaw.jaw_scan_checks import (
    check_condyles,
    check_residuals,
    check_sides,
    check_spread,
    check_surfaces,
)
from rtsim.models.shapes import mirrored

Array = NDArray[np.float64]

SIDES = ("right", "left")
LANDMARKS = ("right_condyle", "left_condyle", "right_porion", "left_porion", "left_orbitale")
N_ROUND = 50


class RigidMotion(NamedTuple):
    """A rigid motion that maps a point x to R x + shift, with R (3, 3) and shift (3,) [m]."""

    R: Array  # (3, 3)
    shift: Array  # (3,) [m]

    def of(self, x: Array) -> Array:
        """Transform points x : (..., 3) by the rigid motion."""
        return x @ self.R.T + self.shift


class JawRegistration(NamedTuple):
    """Markers of a model in the frame of skull and mandible.

    places : marker -> (3,) position [m]
    residual_mm : marker of the scan -> RMS distance from its measured position in the reference trial
    n_frame : number of frames used
    """

    places: dict[str, Array]  # (3,) [m]
    residual_mm: dict[str, float]  # of the scan's markers, root mean square over the frames
    n_frame: int


def frame_of(scan: JawScan, where: str) -> RigidMotion:
    """Determine the rigid motion from the scan in metres to the anatomical frame of the mandible.

    The frame has X forwards, Y up, Z to the right, and its origin midway between the condyles.

    Raises ConfigError if landmarks are missing or unknown, do not define a plane, or have coinciding
    condyles or exchanged sides.
    """
    unknown = [name for name in scan.landmarks if name not in LANDMARKS]
    missing = [name for name in LANDMARKS if name not in scan.landmarks]
    if unknown or missing:
        raise ConfigError(
            f"unknown landmark {unknown[0]}" if unknown else f"no {', '.join(missing)}",
            where=f"{where}: landmarks", allowed=", ".join(LANDMARKS),
        )  # fmt: skip
    at = {name: METRES[scan.unit] * np.array(scan.landmarks[name]) for name in LANDMARKS}
    plane = np.array([at[name] for name in LANDMARKS[2:]])
    check_spread(plane, f"{where}: landmarks", "porions and orbitale")
    middle = 0.5 * (at["right_porion"] + at["left_porion"])
    up = np.cross(at["right_porion"] - at["left_porion"], at["left_orbitale"] - middle)
    up /= np.linalg.norm(up)
    right = at["right_condyle"] - at["left_condyle"]
    right -= up * (up @ right)
    check_condyles(float(np.linalg.norm(right)), f"{where}: landmarks")
    right /= np.linalg.norm(right)
    R = np.stack((np.cross(up, right), up, right))
    check_sides(R @ (at["left_orbitale"] - middle), f"{where}: landmarks")
    return RigidMotion(R, -R @ (0.5 * (at["right_condyle"] + at["left_condyle"])))


def tops_of(scan: JawScan, frame: RigidMotion) -> dict[str, Array]:
    """Return the top of each condyle, a landmark of the scan, moved by `frame`: side -> position (3,) [m]."""
    return {side: frame.of(METRES[scan.unit] * np.array(scan.landmarks[f"{side}_condyle"])) for side in SIDES}


def registered(
    scan: JawScan, frame: RigidMotion, trial: MarkerTrial, names: tuple[str, ...], where: str
) -> JawRegistration:
    """Locate the model's markers `names` in the frame of skull and mandible: in each frame of a reference
    trial the measured markers of the scan are fitted to those in the scan, and the positions found for the
    model's markers are averaged over the frames.

    Raises ConfigError if markers are missing, or if those of the scan are nearly on a line or far from those
    of the trial.
    """
    missing = [name for name in (*scan.markers, *names) if name not in trial.names]
    if missing:
        raise ConfigError(
            f"the marker {', '.join(dict.fromkeys(missing))} is missing", where=trial.source,
            remedy="record the reference trial with the markers of the scan and of the model",
        )  # fmt: skip
    known = frame.of(METRES[scan.unit] * np.array(list(scan.markers.values())).reshape(-1, 3))
    check_spread(known, f"{where}: markers", "the markers of the scan")
    columns = [[trial.names.index(name) for name in group] for group in (scan.markers, names)]
    seen = np.isfinite(trial.positions[:, columns[0] + columns[1]]).all(axis=(1, 2))
    if not seen.any():
        raise ConfigError(
            "no frame shows all markers of the scan and the model", where=trial.source,
            remedy="give a reference trial in which these markers are visible together",
        )  # fmt: skip
    found, off = [], []
    for x in thin(trial.positions[seen]):
        back = laid(x[columns[0]], known)
        found.append(back.of(x[columns[1]]))
        off.append(((back.of(x[columns[0]]) - known) ** 2).sum(axis=1))
    residual = 1e3 * np.sqrt(np.mean(off, axis=0))
    residual_mm = dict(zip(scan.markers, residual.tolist(), strict=True))
    check_residuals(residual_mm, f"{where}: markers")
    return JawRegistration(dict(zip(names, np.mean(found, axis=0), strict=True)), residual_mm, len(found))


def laid(x: Array, y: Array) -> RigidMotion:
    """Find the rigid motion that fits points x to points y, both (n, 3), by least squares (Kabsch 1976)."""
    here, there = x.mean(axis=0), y.mean(axis=0)
    R = Rotation.align_vectors(y - there, x - here)[0].as_matrix()
    return RigidMotion(R, there - R @ here)


def surfaces_of(
    scan: JawScan, frame: RigidMotion, path: Path
) -> tuple[dict[str, TriangleSurface], list[str]]:
    """Read the surfaces of condyles and fossae. Return them by name in the anatomical frame, with notes for
    the user; both are empty if the scan has no surfaces.

    If the fossa of one side is missing, it is replaced by the mirror image of the other one, moved by the
    rigid motion that fits the mirror image of the other side's condyle to the condyle of this side.

    frame : rigid motion from the scan in metres to the anatomical frame
    path : path of the scan, to which the files are relative
    Raises ConfigError for files that are missing or cannot be surfaces of this head.
    """
    if not scan.surfaces:
        return {}, []
    allowed = [f"{side}_{part}" for part in ("condyle", "fossa") for side in SIDES]
    unknown = [name for name in scan.surfaces if name not in allowed]
    missing = [name for name in allowed if name not in scan.surfaces]
    if unknown or [name for name in missing if "fossa" not in name] or len(missing) > 1:
        raise ConfigError(
            f"unknown surface {unknown[0]}" if unknown else f"no {', '.join(missing)}",
            where=f"{path}: surfaces", allowed=f"{', '.join(allowed)}; one fossa may be missing",
        )  # fmt: skip
    found = {}
    for name, file in scan.surfaces.items():
        surface = read_surface(path.parent / file, scan.unit)
        found[name] = surface._replace(vertices=frame.of(surface.vertices))
    check_surfaces(found, tops_of(scan, frame), f"{path}: surfaces")
    if not missing:
        return found, []
    side = missing[0].split("_")[0]
    other = SIDES[1 - SIDES.index(side)]
    condyle, fossa = (mirrored(found[f"{other}_{part}"]) for part in ("condyle", "fossa"))
    onto, rms_mm = closest(condyle.vertices, found[f"{side}_condyle"].vertices)
    found[missing[0]] = fossa._replace(vertices=onto.of(fossa.vertices))
    return found, [
        f"{missing[0]}: the mirror image of that of the other side was used, moved so that the mirrored "
        f"condyle fits the {side} one (distance {rms_mm:.2f} mm RMS)"
    ]


def closest(x: Array, y: Array) -> tuple[RigidMotion, float]:
    """Fit points x to the closest points of y by a rigid motion, iteratively (Besl & McKay 1992); return the
    motion and the RMS distance [mm]. x, y : (n, 3) and (m, 3) [m]
    """
    tree = cKDTree(y)
    motion = RigidMotion(np.eye(3), y.mean(axis=0) - x.mean(axis=0))
    for _ in range(N_ROUND):
        motion = laid(x, y[tree.query(motion.of(x))[1]])
    apart = tree.query(motion.of(x))[0]
    return motion, float(1e3 * np.sqrt(np.mean(apart**2)))


def model_of(spec: ModelSpec, scan: JawScan, frame: RigidMotion, places: dict[str, Array]) -> ModelSpec:
    """Build the model of the mandible of a scanned person from the shipped one: its markers are placed at the
    given positions, and its constraint planes and smooth contacts are moved to the condyles of the scan.

    frame : motion from the scan to the anatomical frame; places : marker -> (3,) position in this frame [m]
    """
    at = tops_of(scan, frame)
    shipped = {
        side: next(np.array(e.a.offset_mm) for e in spec.elements if e.name == f"{side}_normal")
        for side in SIDES
    }
    shifts = {side: 1e3 * at[side] - shipped[side] for side in SIDES}
    elements = tuple(
        replaced(e, shifts[e.name.split("_")[0]]) if e.name.split("_")[0] in SIDES else e
        for e in spec.elements
    )
    contacts = tuple(replaced(c, shifts[c.name.split("_")[0]]) for c in spec.contacts)
    markers = tuple(msgspec.structs.replace(m, offset_mm=rounded(1e3 * places[m.name])) for m in spec.markers)
    return msgspec.structs.replace(spec, elements=elements, contacts=contacts, markers=markers)


def replaced(record: Any, shift_mm: Array) -> Any:
    """Return an element or a contact of the model with all its points shifted [mm]."""
    row = msgspec.to_builtins(record)
    for part in row.values():
        if isinstance(part, dict) and "offset_mm" in part:
            part["offset_mm"] = rounded(np.array(part["offset_mm"]) + shift_mm)
    kind = Contact if isinstance(record, Contact) else type(record)
    return msgspec.convert(row, kind)


def rounded(x: Array) -> tuple[float, ...]:
    """Round lengths in millimetres to a micrometre."""
    return tuple(np.round(x, 3).tolist())
