"""Envelopes of electromyograms in the analog channels of the recording that is solved, beside its muscles.

Each envelope is that of the newest sample up to the frame: causal filters, as of a live stream.
"""

from __future__ import annotations

import numpy as np

from rtsim.errors import ConfigError
from rtsim.files.c3d_emg import C3dEmg, read_c3d_emg
from rtsim.methods.muscles.emg_envelope import EmgEnvelope
from rtsim.quantity import Quantity
from rtsim.stages.find import StageContext
from rtsim.stages.stage import FINE, Stage, StageOutcome
from streams.messages import Curves
from streams.receiving.ring import ReceivedFrame

EMG = Curves("EMG", "envelope", 2, 0.0, True)
HALF_STEP_S = 1e-6
"""A frame at the time of a sample has it, whatever rounding says [s]."""


class Electromyograms(Stage):
    """The envelopes at the time of a frame; NaN where the recording has no samples.

    recorded : the raw channels
    """

    def __init__(self, recorded: C3dEmg) -> None:
        super().__init__()
        self._recorded = recorded
        self._envelopes, self.delay_s = envelopes_of(recorded)
        self._shown = np.full(len(recorded.names), np.nan)
        self._told = False

    def reset(self) -> None:
        """Nothing is shown yet."""
        super().reset()
        self._shown[:] = np.nan
        self._told = False

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Look up the newest sample."""
        self.n_frame += 1
        if not self._told:
            self._told = True
            self.sentences += list(self._recorded.notes)
        row = np.floor((frame.time - self._recorded.start + HALF_STEP_S) * self._recorded.rate)
        if 0.0 <= row < len(self._envelopes):
            self._shown[:] = self._envelopes[int(row)]
        else:
            self._shown[:] = np.nan
            self.counters["frames_without_emg"] += 1
        return FINE

    def quantities(self) -> list[Quantity]:
        """One value for each channel."""
        return [
            Quantity(
                name="emg_envelope", array=self._shown, unit=self._recorded.unit,
                labels=self._recorded.names, curves=EMG,
                meaning="electromyogram: high-passed, rectified, low-passed, "
                f"{1e3 * self.delay_s:.0f} ms late; NaN = no sample",
            )
        ]  # fmt: skip


def envelopes_of(recorded: C3dEmg) -> tuple[np.ndarray, float]:
    """(n_sample, n_channel) envelopes, and how late they are [s]; ConfigError for a rate that is too low.

    A channel's first sample is taken off, which leaves out what a high-pass filter makes of a constant
    that begins.
    """
    envelope = EmgEnvelope(recorded.rate, len(recorded.names))
    there = np.isfinite(recorded.samples)
    rows = there.argmax(axis=0)
    first = recorded.samples[rows, np.arange(len(rows))]
    return envelope(recorded.samples - np.where(there.any(axis=0), first, 0.0)), envelope.delay_s


def check_emg(source: str, wanted: str) -> None:
    """ConfigError for channels that cannot be shown."""
    if not wanted:
        return
    recorded = read_c3d_emg(source, wanted)
    try:
        envelopes_of(recorded)
    except ConfigError as fault:
        raise ConfigError(f"{', '.join(recorded.names)} of {source}: {fault}", where="--emg") from None


def make(setting: StageContext) -> Electromyograms | None:
    """Where the run names channels."""
    run = setting.run
    return Electromyograms(read_c3d_emg(run.source, run.emg)) if run.emg else None
