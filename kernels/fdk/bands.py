"""Ligaments along paths, through points and over surfaces, as part of the equilibrium of a joint.

A ligament of the length L, g = dL/dq, has the generalized force -F(L, g . v) g (kernels/forces/ligament).
This force is a smooth function of the pose, so that the derivatives of the residual of force-dependent
kinematics (FDK) include it by finite differences (kernels/fdk/slopes).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels.algebra.linear import inner_product
from kernels.compiler.jit import njit
from kernels.forces.ligament import TOE_LINEAR, line_force
from kernels.path.muscle_path import (
    OK,
    PathWork,
    follow_paths,
    gradients,
    new_path_work,
)
from kernels.path.stations import Stations
from kernels.path.surfaces import Surfaces


class Bands(NamedTuple):
    """Ligaments along paths, with their force laws."""

    stations: Stations
    surfaces: Surfaces
    parameter: np.ndarray  # (n_band, N_LIGAMENT) - of kernels/forces/ligament


def n_band_of(bands: Bands | None) -> int:
    """Return the number of ligaments along paths; 0 for bands = None."""
    return 0 if bands is None else len(bands.parameter)


def new_band_work(bands: Bands | None, n_v: int) -> PathWork | None:
    """Allocate the working space of the ligaments' paths; None where there are none."""
    if bands is None:
        return None
    return new_path_work(bands.stations, bands.surfaces, n_v)


@njit
def bands_at(bands, tree, pose, q, borne, work, out):
    """Compute the tensions of all ligaments along paths, and subtract their generalized forces from
    out.demand, the load that muscles and reactions have to balance.

    Return False if the path of a ligament is not found.

    bands : Bands - None: there are none
    tree : Tree - joint tree of the bodies
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    q : (n_q,) - coordinates [rad, m]
    borne : (n_borne,) int64 - dofs whose load muscles and reactions balance
    work : PathWork - pieces, lengths and gradients of the ligaments' paths, written
    out : Smooth - its speeds v are read, tension and demand are written
    """
    if bands is None:
        return True
    follow_paths(tree, bands.stations, bands.surfaces, pose, q, work)
    gradients(tree, bands.stations, pose, 1, work)
    sound = True
    for m in range(bands.parameter.shape[0]):
        g = work.gradient[m]
        force, _, _ = line_force(TOE_LINEAR, bands.parameter[m], work.length[m], inner_product(g, out.v))
        out.tension[m] = force
        sound = sound and work.status[m] == OK
        for k in range(borne.shape[0]):
            out.demand[k] += force * g[borne[k]]
    return sound
