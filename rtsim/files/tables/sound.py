"""Detection of values in flagged frames that are as reliable as those of frames without a flag.

The field `status` flags whole frames. The field `joint_status` states which joints are affected, and each
field states on which joints it depends.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.files.recording import Results
from streams.messages import FieldSpec, Status

Flags = NDArray[np.bool_]

BY_JOINT = "joint_status"
TELL = (
    BY_JOINT, "segment_status", "marker_weights", "marker_gap_age", "marker_swap_with", "marker_fault",
    "marker_residuals", "marker_rms", "marker_rms_weighted",
)  # fmt: skip
"""Fields that describe what is wrong with a frame; their values are never removed."""
MOTION = ("joint_angles", "joint_displacements")
HARMLESS = int(Status.LATE)
"""Status bit of frames that are late; their values are as reliable as others."""
ELSEWHERE = HARMLESS | int(Status.DEGRADED)
"""Status bits of a frame that do not affect joints which lack them, such as DEGRADED without forces."""


class Sound:
    """Determines which values of a run are reliable: by the status of the joints on which a value depends if
    the results have such a status, else by the status of the whole frame.

    by_joint : whether the results have a status of joints
    flagged : (n_frame,) - whether the status of a frame has a flag other than `late`, which only says that
        the result was delayed
    """

    def __init__(self, results: Results) -> None:
        self._results = results
        spec = next((spec for spec in results.session.fields if spec.name == BY_JOINT), None)
        self.by_joint = spec is not None
        self.flagged: Flags = (results.status & ~HARMLESS) != 0
        self._joints: dict[str, NDArray[np.int64]] = {}
        self._all = self.flagged
        if spec is not None:
            bits = results.fields[BY_JOINT].astype(np.int64)
            self._joints = dict(zip(spec.labels, bits.T, strict=True))
            told = np.bitwise_or.reduce(bits, axis=1, initial=ELSEWHERE)
            self._all = (results.status & ~told) != 0

    def unsound(self, spec: FieldSpec) -> Flags:
        """Return for each frame and each entry along the first axis of a field whether its value is
        unreliable, (n_frame, n).
        """
        n, width = len(self._results.times), spec.shape[0] if spec.shape else 1
        if not self.by_joint or not spec.joints:
            return np.repeat(self.flagged[:, None], width, axis=1)
        out = np.repeat(self._all[:, None], width, axis=1)
        for k, joints in enumerate(spec.joints):
            for joint in joints:
                out[:, k] |= (self._joints.get(joint, np.zeros(n, np.int64)) & ~HARMLESS) != 0
        return out

    def blanked(self) -> tuple[Results, Flags]:
        """Return the results with NaN in place of unreliable values and of their standard deviations, and a
        mask (n_frame,) of the frames in which at least a part of the motion is reliable.
        """
        results, fields, some = self._results, dict(self._results.fields), ~self.flagged
        own = {spec.name: spec for spec in results.session.fields}
        for spec in results.session.fields:
            if spec.role == "mask" or spec.name in TELL:
                continue
            of = own.get(spec.of, spec) if spec.role == "deviation" else spec
            out = self.unsound(of)
            if spec.name in MOTION:
                some = some | ~out.all(axis=1)
            values = fields[spec.name].copy()
            values[out if spec.shape else out[:, 0]] = np.nan
            fields[spec.name] = values
        return results._replace(fields=fields), some


def flags_by_joint(results: Results) -> dict[str, int]:
    """Return joint -> number of frames in which its own status marks it as unreliable, for joints with such
    frames.
    """
    spec = next((spec for spec in results.session.fields if spec.name == BY_JOINT), None)
    if spec is None:
        return {}
    bits = results.fields[BY_JOINT].astype(np.int64) & ~HARMLESS
    counted = zip(spec.labels, (bits != 0).sum(axis=0).tolist(), strict=True)
    return {name: n for name, n in counted if n}
