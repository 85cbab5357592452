"""Muscles of a model: points of their paths (stations), wrapping surfaces, Hill parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernels.algebra.functions import IDENTITY
from kernels.muscle.hill import Muscles
from kernels.path.stations import CONDITIONAL, MOVING, PASSING, POINT, WRAP, YIELDS, Stations
from kernels.path.surfaces import CYLINDER, ELLIPSOID, SPHERE, Surfaces
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.muscle_schema import Hill, Muscle, Station
from rtsim.models.packing.functions import FunctionTable
from rtsim.models.packing.joints import Coordinates, turned
from rtsim.subjects.anatomy import Anatomy
from rtsim.subjects.calibration.natural import unit

Array = NDArray[np.float64]
SURFACE_KINDS = {"sphere": SPHERE, "cylinder": CYLINDER, "ellipsoid": ELLIPSOID}
NO_FORCE = Hill(1.0, 100.0, 100.0)
"""Stands in where a muscle has no Hill parameters; its maximum isometric force is taken as zero."""


def pack_surfaces(spec: ModelSpec, anatomy: Anatomy, index: dict[str, int]) -> Surfaces:
    """Pack the wrapping surfaces in the frames of their bodies."""
    surfaces = spec.surfaces
    sizes = [(*surface.sizes_mm, 0.0, 0.0)[:3] for surface in surfaces]
    return Surfaces(
        np.array([SURFACE_KINDS[surface.kind] for surface in surfaces], np.int64),
        np.array([index[surface.segment] for surface in surfaces], np.int64),
        rows([anatomy.place(s, s.segment, f"surfaces.{s.name}") for s in surfaces], 3),
        np.array([turned(surface) for surface in surfaces], float).reshape(-1, 3, 3),
        1e-3 * rows(sizes, 3),
    )


def pack_stations(
    spec: ModelSpec,
    anatomy: Anatomy,
    index: dict[str, int],
    coordinates: Coordinates,
    functions: FunctionTable,
    paths: tuple[Muscle, ...],
) -> Stations:
    """Pack the stations of muscle paths: fixed and moving path points, and passages over wrapping surfaces,
    in the order from origin to insertion, path after path.
    """
    stations = [(muscle, station) for muscle in paths for station in muscle.path]
    surfaces = {surface.name: k for k, surface in enumerate(spec.surfaces)}
    segments = {surface.name: surface.segment for surface in spec.surfaces}
    follows = [coordinate_of(muscle, station, coordinates) for muscle, station in stations]
    return Stations(
        start=np.cumsum([0, *(len(muscle.path) for muscle in paths)]).astype(np.int64),
        kind=np.array([kind_of(station) for _, station in stations], np.int64),
        body=np.array([index[segments.get(s.over, s.segment)] for _, s in stations], np.int64),
        point=rows([point_of(muscle, station, anatomy) for muscle, station in stations], 3),
        coordinate=np.array([-1 if k is None else coordinates.q[k] for k in follows], np.int64),
        dof=np.array([-1 if k is None else coordinates.dof[k] for k in follows], np.int64),
        range=rows([s.within.range if s.within else (0.0, 0.0) for _, s in stations], 2),
        function=np.array([functions_of(station, functions) for _, station in stations], np.int64).reshape(
            -1, 3
        ),
        surface=np.array([surfaces.get(station.over, -1) for _, station in stations], np.int64),
        side=rows([unit(np.array(s.side)) if s.side else np.zeros(3) for _, s in stations], 3),
        manner=np.array([YIELDS * s.yields + PASSING * s.passing for _, s in stations], np.int64),
    )


def kind_of(station: Station) -> int:
    if station.over:
        return WRAP
    return CONDITIONAL if station.within else MOVING if station.moving else POINT


def point_of(muscle: Muscle, station: Station, anatomy: Anatomy) -> Array:
    """Return the position of a path point on its segment, (3,) [m]; zeros for a moving point, and for a
    passage over a wrapping surface.
    """
    if station.over or station.moving:
        return np.zeros(3)
    return anatomy.place(station, station.segment, f"muscles.{muscle.name}")


def coordinate_of(muscle: Muscle, station: Station, coordinates: Coordinates) -> int | None:
    """Return the index of the coordinate that switches a conditional path point on and off, or moves a moving
    one; None for other stations of a muscle path.
    """
    if not (station.within or station.moving):
        return None
    name = station.within.coordinate if station.within else station.moving.of if station.moving else ""
    return coordinates.find(name, f"muscles.{muscle.name}")


def functions_of(station: Station, functions: FunctionTable) -> tuple[int, int, int]:
    moving = station.moving
    if moving is None:
        return IDENTITY, IDENTITY, IDENTITY
    return functions.add(moving.x), functions.add(moving.y), functions.add(moving.z)


def pack_hill(hills: Sequence[Hill | None]) -> Muscles:
    """Pack the Hill parameters of muscles; a muscle without any has no force."""
    table = [hill or NO_FORCE for hill in hills]
    force = [hill.max_isometric_force_N if hill else 0.0 for hill in hills]
    return Muscles(
        max_isometric_force=np.array(force, float),
        optimal_fibre_length=np.array([1e-3 * hill.optimal_fibre_length_mm for hill in table]),
        tendon_slack_length=np.array([1e-3 * hill.tendon_slack_length_mm for hill in table]),
        pennation_at_optimal=np.radians([hill.pennation_deg for hill in table]),
        max_contraction_speed=np.array([hill.max_contraction_speed for hill in table]),
        tendon_strain_at_max_force=np.array([hill.tendon_strain for hill in table]),
        fibre_damping=np.array([hill.fibre_damping for hill in table]),
        activation_time=np.array([1e-3 * hill.activation_ms for hill in table]),
        deactivation_time=np.array([1e-3 * hill.deactivation_ms for hill in table]),
        min_activation=np.array([hill.min_activation for hill in table]),
        elastic=np.array([hill.tendon == "elastic" for hill in table], np.int64),
    )


def rows(numbers: list, width: int) -> Array:
    """Return a list of rows as an array (n, width), which has this width also if the list is empty."""
    return np.array(numbers, float).reshape(-1, width)
