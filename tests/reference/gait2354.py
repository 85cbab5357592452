"""An OpenSim model, its inverse kinematics set-up and a recording as arguments of kernels/track.follow."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from kernels.constraints import Roles
from kernels.coordinates import Limits, Tasks
from kernels.initial_pose import new_fit_work
from kernels.kkt import Options
from kernels.markers import Markers
from kernels.optimality import new_work
from kernels.track import Track, TrackOptions, TrackWork, follow, new_track
from kernels.tree import Tree
from rtsim.files.osim.model import read_osim
from rtsim.files.trc import read_trc
from rtsim.models.model import Model, build
from rtsim.models.packing.couplers import with_couplers
from rtsim.models.roles import roles_of

Array = NDArray[np.float64]


class Geometry(NamedTuple):
    """What kernels/track reads of kernels/frame.Model."""

    tree: Tree
    markers: Markers
    elements: object
    q_neutral: Array


class Fit(NamedTuple):
    """A model, what is asked of it, and everything that one run writes to."""

    model: Model
    geometry: Geometry
    roles: Roles
    marker_names: tuple[str, ...]
    track: Track
    work: TrackWork


class Frame(NamedTuple):
    """What a frame said, and where it ended."""

    status: int
    iterations: int
    residual: float
    cost: float
    q: Array  # (n_q,)
    gaps: Array  # (n_marker, 3) m - model - measured


def marker_places(osim: Path) -> dict[str, tuple[str, list[float]]]:
    """Body and place [m] of every marker of an .osim file."""
    places = {}
    for marker in ElementTree.parse(osim).getroot().iter("Marker"):
        frame = marker.findtext("socket_parent_frame") or marker.findtext("body") or ""
        location = marker.findtext("location") or ""
        places[marker.get("name", "")] = frame.split("/")[-1], [float(x) for x in location.split()]
    return places


def weights_of(setup: Path) -> dict[str, float]:
    """Weight of every marker of a set-up of inverse kinematics that takes part."""
    return {
        task.get("name", ""): float(task.findtext("weight") or "nan")
        for task in ElementTree.parse(setup).getroot().iter("IKMarkerTask")
        if (task.findtext("apply") or "").strip() == "true"
    }


def coordinate_weights(setup: Path) -> dict[str, float]:
    """Weight of every coordinate task that takes part (all of this set-up draw to the default value)."""
    return {
        task.get("name", ""): float(task.findtext("weight") or "nan")
        for task in ElementTree.parse(setup).getroot().iter("IKCoordinateTask")
        if (task.findtext("apply") or "").strip() == "true"
    }


def make_fit(
    osim: Path, weights: dict[str, float], tasks: dict[str, float], limits: dict[str, tuple[float, float]]
) -> Fit:
    """Return a fit of a model to markers with these weights, coordinate tasks and ranges [rad, m]."""
    spec = read_osim(osim)[0]
    model = build(spec)
    places = marker_places(osim)
    names = tuple(name for name in weights if name in places)
    body = [model.names.bodies.index(places[name][0]) for name in names]
    markers = Markers(
        np.array(body, np.int64),
        np.array([places[n][1] for n in names]),
        np.array([weights[n] for n in names]),
    )
    tree = with_couplers(model.tree, model.couplers)
    drawn = np.array([model.coordinates.names.index(name) for name in tasks], np.int64)
    kept = np.array([model.coordinates.names.index(name) for name in limits], np.int64)
    q, dof = model.coordinates.q, model.coordinates.dof
    low, high = np.array([*limits.values()], float).reshape(-1, 2).T.copy()
    roles = roles_of(spec)._replace(
        tasks=Tasks(q[drawn], dof[drawn], np.array([*tasks.values()]), model.q_neutral[q[drawn]]),
        limits=Limits(q[kept], dof[kept], low, high),
    )
    n_element, n_path = model.elements.path.shape
    n_q, n_v = len(model.q_neutral), model.n_v
    return Fit(
        model,
        Geometry(tree, markers, model.elements, model.q_neutral),
        roles,
        names,
        new_track(n_q, n_v, n_element),
        TrackWork(
            new_work(len(tree.parent), n_q, n_v, len(names), n_element, n_path, len(tree.chains.dof)),
            new_fit_work(),
            np.zeros(n_v, np.int64),
        ),
    )


def run(fit: Fit, measured: Array, dt: float) -> list[Frame]:
    """Follow frames (n_frame, n_marker, 3) m."""
    options = TrackOptions(Options(1e-11, 100, 0.5), 0.1, 0.05, 1000)
    frames, weight = [], np.ones(len(fit.marker_names))
    for k, frame in enumerate(measured):
        status, iterations, residual, cost, _ = follow(
            fit.geometry, fit.roles, np.ascontiguousarray(frame), weight, dt if k else 0.0, options,
            fit.track, fit.work,
        )  # fmt: skip
        gaps = fit.work.solver.marker.model - frame
        frames.append(Frame(status, iterations, residual, cost, fit.track.q.copy(), gaps))
    return frames


def measured_markers(trc: Path, names: tuple[str, ...], start: float, stop: float) -> tuple[Array, float]:
    """Frames (n_frame, n_marker, 3) m of a recording between two times [s], and the time between them."""
    trial = read_trc(trc)
    columns = [trial.names.index(name) for name in names]
    chosen = (trial.times > start - 1e-3) & (trial.times < stop + 1e-3)
    return trial.positions[chosen][:, columns], 1.0 / trial.rate


def weighted_rms(fit: Fit, frame: Frame) -> float:
    """Return sqrt(sum w |gap|^2 / sum w) [m]."""
    weight = fit.geometry.markers.weight
    assert weight is not None
    return float(np.sqrt(weight @ np.sum(frame.gaps**2, axis=1) / weight.sum()))
