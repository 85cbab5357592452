"""Shared parts of cases: running models, streams, devices; each is created when the first case needs it."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from zlib import crc32

from benchmarks.hil_hostile.configs import run_config, written
from benchmarks.hil_hostile.rig import Rig
from benchmarks.hil_hostile.stream import FalseStream
from benchmarks.hil_hostile.victims import Victims

WORN = ("worn", "spline")
"""Runs in which a person wears the device."""


class RunningModels:
    """Models by the name of their run, restarted if they have ended."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="rtsim_hostile_")
        self.folder = Path(self._folder.name)
        self._rigs: dict[str, Rig] = {}
        self._victims: Victims | None = None
        self.rng = random.Random(0)

    def __enter__(self) -> RunningModels:
        return self

    def __exit__(self, *error: object) -> None:
        for name in list(self._rigs):
            self.end(name)
        if self._victims is not None:
            self._victims.close()
        self._folder.cleanup()

    def begin(self, case: str) -> None:
        """Begin another case; its random numbers depend on its name alone."""
        self.rng = random.Random(crc32(case.encode()))

    def rig(self, name: str) -> Rig:
        """Return a disarmed model of a run with an honest stream."""
        rig = self._rigs.get(name)
        if rig is not None and not rig.alive:
            self.end(name)
            rig = None
        if rig is None:
            for other in set(WORN) - {name} if name in WORN else ():
                self.end(other)  # two streams at once cost more than they have to
            rig = self._rigs[name] = self.fresh(name)
        elif rig.listener.on:
            rig.disarm()
        if rig.stream is not None:
            rig.stream.honest()
        return rig

    def fresh(self, name: str, *options: str, **changed: object) -> Rig:
        """Return a model for a single case, which closes it."""
        if name not in WORN:
            return Rig(run_config(self.folder, name, **changed), None, *options)
        stream = FalseStream()
        tables = {"source": stream.address, "subject": "walker", "method": "zero", "methods": ["zero"]}
        walk = written(self.folder, "runs", "gait", {**tables, "choices": {}}, f"walk_{name}")
        config = run_config(self.folder, name, markers={"run": str(walk)}, **changed)
        return Rig(config, stream, *options)

    def end(self, name: str) -> None:
        """End a model that all cases of its run share."""
        rig = self._rigs.pop(name, None)
        if rig is not None:
            rig.close()
            if rig.stream is not None:
                rig.stream.close()

    @property
    def victims(self) -> Victims:
        """Return the devices that a hostile model addresses."""
        if self._victims is None:
            self._victims = Victims(self.folder, random.Random(7))
        return self._victims
