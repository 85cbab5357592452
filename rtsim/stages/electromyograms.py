"""Envelopes of electromyograms from the analog channels of the recording, for comparison with its muscles.

Each envelope is that of the newest sample up to the frame, by causal filters as for a live stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.reading import is_file
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.c3d_emg import C3dEmg, read_c3d_emg
from rtsim.methods.muscles.emg_envelope import EmgEnvelope
from rtsim.quantity import Quantity
from rtsim.stages.building.context import StageContext
from rtsim.stages.building.declaration import EMG, Facts, StageDeclaration
from rtsim.stages.stage import FINE, Stage, StageOutcome
from streams.messages import Curves
from streams.receiving.ring import ReceivedFrame

CURVES = Curves("EMG", "envelope", 2, 0.0, True)
SETTLING = "EMG envelopes are NaN in the first {:.0f} ms, until their filters have settled."
HALF_STEP_S = 1e-6
"""Tolerance with which a frame and a sample have the same time, in spite of rounding [s]."""


class Electromyograms(Stage):
    """The envelopes of electromyograms at the time of a frame; NaN where the recording has no samples.

    recorded : the raw analog channels
    """

    def __init__(self, recorded: C3dEmg) -> None:
        super().__init__()
        self._recorded = recorded
        self._envelopes, of_filters = envelopes_of(recorded)
        self.delay_s, self.settle_s = of_filters.delay_s, of_filters.settle_s
        self._shown = np.full(len(recorded.names), np.nan)
        self._told = False

    def reset(self) -> None:
        """Set the published envelopes to NaN, as before the first frame."""
        super().reset()
        self._shown[:] = np.nan
        self._told = False

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Look up the envelopes at the newest sample before the frame."""
        self.n_frame += 1
        if not self._told:
            self._told = True
            self.sentences += [*self._recorded.notes, SETTLING.format(1e3 * self.settle_s)]
        row = np.floor((frame.time - self._recorded.start + HALF_STEP_S) * self._recorded.rate)
        if 0.0 <= row < len(self._envelopes):
            self._shown[:] = self._envelopes[int(row)]
        else:
            self._shown[:] = np.nan
            self.counters["frames_without_emg"] += 1
        return FINE

    def quantities(self) -> list[Quantity]:
        """Return one envelope for each channel, as a quantity."""
        return [
            Quantity(
                name="emg_envelope", array=self._shown, unit=self._recorded.unit,
                labels=self._recorded.names, curves=CURVES,
                meaning="electromyogram, high-pass filtered, rectified and low-pass filtered, "
                f"{1e3 * self.delay_s:.0f} ms late; NaN = no sample, or the filters have not settled yet",
            )
        ]  # fmt: skip


def envelopes_of(recorded: C3dEmg) -> tuple[np.ndarray, EmgEnvelope]:
    """Return the envelopes (n_sample, n_channel) of recorded channels, and the filter that made them;
    ConfigError for a sampling rate that is too low.

    The first sample of a channel is subtracted, which avoids the transient of the high-pass filter at the
    start of a constant signal.
    """
    envelope = EmgEnvelope(recorded.rate, len(recorded.names))
    there = np.isfinite(recorded.samples)
    rows = there.argmax(axis=0)
    first = recorded.samples[rows, np.arange(len(rows))]
    return envelope(recorded.samples - np.where(there.any(axis=0), first, 0.0)), envelope


def check_emg(run: RunConfig, spec: ModelSpec, facts: Facts, before: Sequence[str]) -> None:
    """Raise ConfigError for channels of electromyograms that cannot be published."""
    source = Path(run.source)
    if not run.emg or (source.suffix.lower() == ".c3d" and not is_file(source)):
        return  # of a recording that may come, as `rtsim check` allows
    recorded = read_c3d_emg(run.source, run.emg)
    try:
        envelopes_of(recorded)
    except ConfigError as fault:
        raise ConfigError(f"{', '.join(recorded.names)} of {run.source}: {fault}", where="--emg") from None


def make(setting: StageContext) -> Electromyograms:
    """Return the stage for the channels that the run names."""
    run = setting.run
    return Electromyograms(read_c3d_emg(run.source, run.emg))


STAGE = StageDeclaration(make=make, inputs=(EMG,), usual=(EMG,), order=100, joins=True, check=check_emg)
