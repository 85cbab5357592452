"""Geometries of contacts. Each module in this folder is one; its name is that of the geometry in
kernels/contact/geometries.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from rtsim.config.contact_geometry import Geometry

GEOMETRIES: dict[str, Geometry] = {
    module.name: import_module(f"{__name__}.{module.name}").GEOMETRY
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name)
}
