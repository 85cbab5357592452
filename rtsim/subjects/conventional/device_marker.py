"""The marker on the lateral epicondyle that a knee alignment device replaces in a static trial."""

from __future__ import annotations

import numpy as np

from rtsim.config.runs.lab_schema import LabSide
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.conventional.alignment import device_origin
from rtsim.subjects.markers.marker_names import find_markers

DEVICE = ("knee_device_axis", "knee_device_1", "knee_device_2")
"""Roles of a knee alignment device: KAX, KD1, KD2."""


def with_epicondyle(trial: MarkerTrial, table: LabSide, side: str) -> MarkerTrial:
    """Add a marker on the lateral epicondyle to a trial, at the place that the knee alignment device of the
    side gives.

    So the epicondyle marker, which only the walking trial has, gets a position on the thigh. A trial with
    that marker, or without a device, is unchanged.

    table : the leg's table in the marker map; side : side of the body
    """
    roles = [table.named.get(role, "") for role in (*DEVICE, "epicondyle_lateral")]
    found = find_markers([name for name in roles if name], trial.names)
    if roles[3] in found or not all(name in found for name in roles[:3]):
        return trial
    kax, kd1, kd2 = (trial.positions[:, found[name]] for name in roles[:3])
    origin = device_origin(kax, kd1, kd2, side)
    positions = np.ascontiguousarray(np.concatenate([trial.positions, origin[:, None]], axis=1))
    return trial._replace(names=(*trial.names, roles[3]), positions=positions)
