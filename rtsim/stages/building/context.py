"""The context in which a stage is built: the run, its model, the tracked subject, and the stages
before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.reading import is_file
from rtsim.config.runs.run_schema import RunConfig
from rtsim.files.formats import MARKERS, has_format
from rtsim.files.markers.markers import read_markers
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.methods.walking_axis import oblique_way
from rtsim.stages.building.declaration import Facts, facts_of
from rtsim.stages.stage import Stage
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.subject import Subject, segments_of

PELVIS = "pelvis"
SHOWN = 0.5
"""Fraction of the frames in which a marker must be visible so that it is used to find the pelvis's path."""
OneStage = TypeVar("OneStage", bound=Stage)


@dataclass
class StageContext:
    """The context in which a stage is built: run, model, person, forces, mass and the stages before it.

    subject : None if the model brings its own markers
    before : the stages before it, by name
    forces : force plate data, if the run has some
    mass_kg : mass of the person or the model [kg], 0 = not known
    options : options from the stage's own table [options.NAME]; None if it has none
    """

    run: RunConfig
    spec: ModelSpec
    subject: Subject | None
    before: dict[str, Stage] = field(default_factory=dict)
    forces: ForceFeed | None = None
    mass_kg: float = 0.0
    options: Any = None

    @property
    def facts(self) -> Facts:
        """Properties of the run (facts), such as having force plates, on which the declarations of stages
        depend.
        """
        return facts_of(
            self.run, self.spec, own_markers=self.subject is None, forces=self.forces is not None,
            mass=bool(self.mass_kg),
        )  # fmt: skip

    def find(self, kind: type[OneStage]) -> OneStage | None:
        """Return the stage of class `kind` among the stages before this one; None if there is none."""
        return next((stage for stage in self.before.values() if isinstance(stage, kind)), None)

    def stage(self, kind: type[OneStage]) -> OneStage:
        """Return the stage of class `kind` before this one. Raises LookupError if there is none, as a stage
        must declare which stages it needs.
        """
        found = self.find(kind)
        if found is None:
            raise LookupError(
                f"no stage before this one is of the class {kind.__name__}: add its stage to `needs`"
            )
        return found

    @cached_property
    def oblique_walk(self) -> NDArray[np.float64] | None:
        """(3,) direction of walking in a recording in which it is oblique to all axes of the laboratory;
        None otherwise, and for streams.
        """
        run, source = self.run, Path(self.run.source)
        pelvis = segments_of(self.subject).get(PELVIS)
        if pelvis is None or not has_format(source, MARKERS) or not is_file(source):
            return None
        trial = read_markers(source, up=run.up or None, units=run.units or None, person=run.person)
        tracks = trial.positions[:, list(find_markers(pelvis.markers_mm, trial.names).values())]
        shown = np.isfinite(tracks).all(axis=2).mean(axis=0) >= SHOWN
        return oblique_way(tracks[:, shown].mean(axis=1)) if shown.any() else None
