"""The mandible with published cartilage surfaces: condyles of both sides, the left fossa, and muscles placed
by landmarks.

The scan has no landmarks for the Frankfurt plane (porion, orbitale), so the scan's own axes are used instead:
X to the left, Y backwards, Z up. The highest points of the condyles are their highest vertices. The contact
springs are at the vertices of the fossae and press against the normals of the fossae. Springs at the vertices
of the condyles would search the closest triangles of a hollow and rough surface, and their forces jump by
newtons from one triangle to the next.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rtsim.bench.figures import say
from rtsim.config.models.jaw_scan_schema import Ends, JawScan
from rtsim.config.models.model_schema import ModelSpec
from rtsim.files.surfaces.landmark_sets import SUFFIX
from rtsim.files.surfaces.surfaces import METRES, obj_text, read_surface
from rtsim.models.jaw.jaw_scan import SIDES, frame_of, model_of, surfaces_of
from rtsim.models.jaw.jaw_scan_muscles import with_muscles
from rtsim.models.jaw.jaw_surfaces import pressing

FOLDER = Path("../shared/data/tmj_meshes/tmj_mit")
FILES = {
    "left_condyle": "cartilage_mandible_left2.obj",
    "right_condyle": "cartilage_mandible_right2.obj",
    "left_fossa": "cartilage_skull_left.obj",
}
MUSCLES = {
    "superficial_masseter": "sm",
    "deep_anterior_masseter": "dm",
    "deep_posterior_masseter": "dm",
    "anterior_temporalis": "at",
    "posterior_temporalis": "pt",
    "medial_pterygoid": "mp",
    "superior_lateral_pterygoid": "sp",
    "inferior_lateral_pterygoid": "ip",
    "anterior_digastric": "ad",
    "geniohyoid": "gh",
    "anterior_mylohyoid": "am",
    "posterior_mylohyoid": "pm",
}
"""Muscle of the model -> its name in the files of landmarks, after l or r. The files have one deep masseter;
their middle temporalis is not used."""
GROWN_MM = 1.0
"""Thickness added to the condyles [mm], chosen here to close their gaps of 1.0 and 1.2 mm to the fossae."""
ABOUT = {
    "right_porion": ("right_condyle", (-8.0, 10.0)),
    "left_porion": ("left_condyle", (8.0, 10.0)),
    "left_orbitale": ("left_condyle", (-15.0, -75.0)),
}
"""Substitutes for missing landmarks, at the height of the left condyle: the condyle from which they are
measured, and their distances to the left and backwards from it [mm]."""


def there(folder: Path) -> bool:
    """Return whether the folder contains the surface files of condyles and fossa."""
    return all((folder / name).is_file() for name in FILES.values())


def of_cartilage(spec: ModelSpec, folder: Path, into: Path) -> ModelSpec:
    """Return the mandible with the cartilage surfaces of `folder`. The surfaces are written to the folder
    `into` in the mandible's frame.
    """
    top = {}
    for side in SIDES:
        x = read_surface(folder / FILES[f"{side}_condyle"], "mm").vertices / METRES["mm"]
        top[f"{side}_condyle"] = x[x[:, 2].argmax()]
    level = top["left_condyle"][2]
    places = {name: np.array([*(top[of][:2] + way), level]) for name, (of, way) in ABOUT.items()}
    landmarks = {name: tuple(x.tolist()) for name, x in {**top, **places}.items()}
    files = {(side, name): f"{side[0]}{at}{SUFFIX}" for side in SIDES for name, at in MUSCLES.items()}
    muscles: dict[str, str | Ends] = {
        f"{side}_{name}": file for (side, name), file in files.items() if (folder / file).is_file()
    }
    scan = JawScan(landmarks=landmarks, markers={}, surfaces=FILES, muscles=muscles, grown_mm=GROWN_MM)
    frame = frame_of(scan, "cartilage")
    surfaces, notes = surfaces_of(scan, frame, folder / "cartilage")
    spec, own = with_muscles(spec, scan, frame, folder / "cartilage")
    for note in (*notes, f"{len(own)} muscles are attached at landmarks of the scan"):
        say(f"fdk: {note}")
    for name, surface in surfaces.items():
        (into / f"{name}.obj").write_text(obj_text(surface), encoding="ascii")
    markers = {marker.name: 1e-3 * np.array(marker.offset_mm) for marker in spec.markers}
    sides = {side: (into / f"{side}_condyle.obj", into / f"{side}_fossa.obj") for side in SIDES}
    return pressing(model_of(spec, scan, frame, markers), sides, GROWN_MM)
