"""The forces stream of a recording that rtsim made (.mcap), as a force trial."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kernels.plates.plate_intake import take_in_samples
from rtsim.errors import ConfigError
from rtsim.files.forces.force_stream import describe
from rtsim.files.forces.force_trial import ForceTrial, RawForces, force_trial
from rtsim.files.markers.trial import count_of
from rtsim.files.recording import read_force_messages


def read_recorded_forces(path: str | Path, *, up: str | None = None, units: str | None = None) -> ForceTrial:
    """Read the force plates of a recording as forces in ground, at the trial times of their samples.

    ConfigError if the recording has none, and for `up` and `units`, which the protocol fixes.
    """
    for option, value in (("--up", up), ("--units", units)):
        if value is not None:
            raise ConfigError(
                f"{value!r} cannot be applied to a recording, because its forces are in N, its moments in "
                "N m, and the stream descriptor states its up axis",
                where=option,
                remedy="leave it out",
            )
    recorded = read_force_messages(path)
    said = describe(recorded.session)
    if not said.names:
        raise ConfigError(" ".join(said.faults), where=str(path))
    n_plate, width = len(said.names), 6 * len(said.names)
    fields = recorded.fields
    n_message = fields["sample_times"].shape[0]
    times, values = np.empty((n_message, said.n_sample)), np.empty((n_message, said.n_sample, width))
    used = np.zeros((n_message, said.n_sample), np.bool_)
    for k in range(n_message):
        n_used, _ = take_in_samples(
            fields["sample_times"][k],
            fields["force"][k],
            fields["moment"][k],
            said.z_up,
            0.0,
            times[k],
            values[k],
        )
        used[k, :n_used] = True
    flat, rows = times[used], values[used].reshape(-1, n_plate, 6)
    newest = np.maximum.accumulate(flat) if flat.size else flat
    later = np.concatenate([[True], flat[1:] > newest[:-1]]) if flat.size else np.zeros(0, np.bool_)
    notes = [*recorded.notes, *said.faults]
    if not later.all():
        n_out = int((~later).sum())
        notes.append(f"{count_of(n_out, 'force sample')} left out, because their times do not increase")
    flat, rows = flat[later], rows[later]
    rate = said.rate if said.rate > 0.0 or len(flat) < 2 else 1.0 / float(np.median(np.diff(flat)))
    return force_trial(
        RawForces(
            names=said.names,
            times=flat,
            rate=rate,
            corners=said.corners,
            level=said.level,
            force=rows[..., :3].copy(),
            moment=rows[..., 3:].copy(),
            source=recorded.source,
            notes=tuple(notes),
            zero=said.zero,
        )
    )
