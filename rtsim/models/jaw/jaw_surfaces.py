"""Condyles and fossae of the shipped mandible as triangle surfaces computed by formulas, as fine as a scan.

A condyle is an ellipsoid with the centre of the ellipsoid in the shipped contact, 1 mm smaller to leave space
for the soft tissue that the contact adds. A fossa curves down the articular eminence, 30 degrees steep where
the teeth are together, and is hollow across. In this position condyle and fossa just touch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from rtsim.config.models.contact_schema import Contact
from rtsim.config.models.model_schema import ModelSpec
from rtsim.files.surfaces.surfaces import TriangleSurface, obj_text
from rtsim.models.load import load_model
from rtsim.models.shapes import ball, sheet

Array = NDArray[np.float64]

N_LAT, N_LON = 54, 49
"""Lines of latitude and longitude of a condyle: 5194 triangles."""
N_SQUARE = 102
"""Squares along either side of a fossa: 20 808 triangles."""
RADII = (0.005, 0.007, 0.008)
"""Radii of a condyle: forwards, upwards, sideways [m]."""
CENTRE = (0.0, -0.008, 0.050)
"""Centre of the right condyle in the mandible [m]."""
TURNED = (0.3, 0.2, 0.1)
"""Rotation of the ball that a condyle is made of [rad]: no vertex lies opposite an edge by symmetry."""
OFFSET = 0.001
MODULUS = 1e10
"""Pressure by depth [N/m^3]: Andersen et al. 2017."""
SIZE = ((-0.010, 0.022), (-0.014, 0.014))
"""Extent of a fossa, about the condyle: forwards, sideways [m]."""
SLOPE, BEND, HOLLOW = np.tan(np.pi / 6.0), 10.0, 33.0
"""Slope at the condyle; how much steeper it is forwards [1/m]; half the curvature across [1/m]."""


def pressing(spec: ModelSpec, surfaces: dict[str, tuple[Path, Path]], grown_mm: float) -> ModelSpec:
    """Return the mandible with one contact of triangle surfaces on each side, condyle against fossa, read
    from files in metres.

    The pressure acts at the vertices of the fossa, along the fossa's own normals. The direction away from the
    closest point of the condyle is not used, as it jumps from one closest triangle to the next, which changes
    forces on rough surfaces by newtons.

    surfaces : for each side the files of condyle and fossa
    grown_mm : distance by which the condyles are enlarged, for the soft tissue that they lack
    """
    one, other = load_model("mesh_ball").contacts[0].keys  # of any two surfaces of triangles
    rows: list[dict[str, Any]] = [
        {
            "name": side,
            one: {
                "segment": "mandible",
                "file": str(below),
                "unit": "m",
                "grown_mm": grown_mm,
                "by_vertices": False,
            },
            other: {"segment": "skull", "file": str(above), "unit": "m", "own_normals": True},
            "law": "volumetric",
            "stiffness": MODULUS,
        }
        for side, (below, above) in surfaces.items()
    ]
    return msgspec.structs.replace(spec, contacts=tuple(msgspec.convert(rows, list[Contact])))


def of_formulas(spec: ModelSpec, folder: Path) -> ModelSpec:
    """Return the mandible with the condyles and fossae that `condyle` and `fossa` compute; their surfaces are
    written as files into a folder.
    """
    surfaces = {}
    for side in ("right", "left"):
        surfaces[side] = folder / f"{side}_condyle.obj", folder / f"{side}_fossa.obj"
        for path, surface in zip(surfaces[side], (condyle(side), fossa(side)), strict=True):
            path.write_text(obj_text(surface), encoding="ascii")
    return pressing(spec, surfaces, 1e3 * OFFSET)


def condyle(side: str) -> TriangleSurface:
    """Compute the condyle of the side "right" or "left", in the axes of the mandible."""
    x, triangles = ball(1.0, N_LAT, N_LON)
    x = x @ Rotation.from_rotvec(TURNED).as_matrix()
    return TriangleSurface(x * RADII + np.array(CENTRE) * sign(side), triangles)


def fossa(side: str) -> TriangleSurface:
    """Compute the fossa of the side "right" or "left", in the axes of the skull; its outer side faces
    down."""
    middle = (np.array(CENTRE) * sign(side))[2]
    height = resting_height()

    def place(x: Array, z: Array) -> Array:
        return np.column_stack((x, height + depth(x, z), middle + z))

    return sheet(place, *(np.linspace(low, high, N_SQUARE + 1) for low, high in SIZE))


def depth(x: Array, z: Array) -> Array:
    """Compute the height of a fossa's surface at positions x forwards and z sideways from the condyle's
    centre [m], minus its height straight above that centre; negative where the surface is lower.
    """
    return -SLOPE * x - BEND * x * np.abs(x) - HOLLOW * z**2


def resting_height() -> float:
    """Compute at which height in the skull [m] a fossa's surface must lie straight above the condyle's centre
    such that the condyle, enlarged by OFFSET for its soft tissue, just touches the fossa.
    """
    polar, around = np.meshgrid(np.linspace(0.0, 0.5 * np.pi, 721), np.linspace(0.0, 2.0 * np.pi, 721))
    unit = np.stack([np.sin(polar) * np.cos(around), np.cos(polar), np.sin(polar) * np.sin(around)], axis=-1)
    normal = unit / RADII
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    grown = unit * RADII + OFFSET * normal
    return float(CENTRE[1] + (grown[..., 1] - depth(grown[..., 0], grown[..., 2])).max())


def sign(side: str) -> Array:
    """Return the signs (3,) of the coordinates of a point on this side of the body: z points to the right."""
    return np.array([1.0, 1.0, 1.0 if side == "right" else -1.0])
