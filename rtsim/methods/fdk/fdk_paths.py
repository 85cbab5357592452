"""Lengths of muscles, ligaments and springs as degrees of freedom of force-dependent kinematics (FDK): each
becomes one more element, which is a constraint.

For a straight path the element is the distance of its two ends. For a path with more points, wrapping
surfaces or moving points it is the path length (kernels/path/lengths). The value is the difference from the
length in the neutral pose.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kernels.path.lengths import new_length_work, path_lengths
from kernels.path.stations import POINT
from kernels.solver.constraints import DISTANCE, PATH_LENGTH, Roles
from rtsim.errors import ConfigError
from rtsim.methods.fdk.fdk_elements import NOTHING, ElementRow
from rtsim.models.model import Model
from rtsim.models.packing.path_forces import paths_of


def names_of_paths(model: Model) -> tuple[str, ...]:
    """Return the names of muscles, ligaments along paths, straight ligaments and springs between points."""
    names = model.names
    return tuple(dict.fromkeys((*names.muscles, *names.wrapping, *names.lines)))


def row_of_path(model: Model, name: str) -> ElementRow:
    """Build the element that constrains the length of a muscle, ligament or spring."""
    names = model.names
    if name in names.muscles:
        stations = paths_of(model.stations, np.array([names.muscles.index(name)]))
    elif name in names.wrapping:
        assert model.pulls is not None
        behind = len(names.pulling) + names.wrapping.index(name)
        stations = paths_of(model.pulls.stations, np.array([behind]))
    else:
        return row_of_line(model, name)
    first, last = int(stations.body[0]), int(stations.body[-1])
    if stations.kind.tolist() == [POINT, POINT]:
        return ElementRow(
            kind=DISTANCE,
            body_a=first,
            body_b=last,
            point_a=stations.point[0],
            point_b=stations.point[1],
            normal_b=NOTHING,
        )
    return ElementRow(
        kind=PATH_LENGTH,
        body_a=first,
        body_b=last,
        point_a=NOTHING,
        point_b=NOTHING,
        normal_b=NOTHING,
        stations=stations,
    )


def row_of_line(model: Model, name: str) -> ElementRow:
    """Build the element that constrains the distance between the ends of a straight ligament or spring."""
    lines, pairs, e = model.forces.lines, model.forces.pairs, model.names.lines.index(name)
    a, b = (int(bodies[lines.pair[e]]) for bodies in (pairs.body_a, pairs.body_b))
    return ElementRow(
        kind=DISTANCE,
        body_a=a,
        body_b=b,
        point_a=lines.point_a[e],
        point_b=lines.point_b[e],
        normal_b=NOTHING,
    )


def from_neutral(model: Model, roles: Roles) -> Roles:
    """Set the target of every constraint on a path length to the path's length in the neutral pose; return
    the changed roles (which constraints a method uses, with their targets). ConfigError if a path cannot be
    computed there."""
    lengths = model.elements.lengths
    if lengths is None:
        return roles
    value, work = np.zeros(len(roles.mode)), new_length_work(lengths, model.tree)
    path_lengths(model.tree, lengths, model.q_neutral, np.zeros(len(value)), work, value)
    for name, length in zip(model.names.elements, value, strict=True):
        if not np.isfinite(length):
            raise ConfigError(
                f"the path of {name} cannot be computed in the neutral pose", where="fdk.dofs",
                remedy="move the path points out of the wrapping surfaces of this path",
            )  # fmt: skip
    return roles._replace(target=np.where(lengths.path >= 0, value, roles.target))


def check_starts(model: Model, roles: Roles, start_mm: Mapping[str, float]) -> None:
    """Raise ConfigError if the first guess of an FDK degree of freedom that is a length or a distance would
    make it zero or negative.

    start_mm : element -> first guess of its change from the target length [mm]
    """
    for name, start in start_mm.items():
        e = model.names.elements.index(name)
        length = 1e3 * float(roles.target[e])
        if model.elements.kind[e] in (DISTANCE, PATH_LENGTH) and not start > -length:
            raise ConfigError(
                f"{name} cannot start {-start:g} mm shorter: its length is only {length:.4g} mm",
                where="fdk.start_mm", allowed=f"a start value above {-length:.4g} mm",
            )  # fmt: skip
