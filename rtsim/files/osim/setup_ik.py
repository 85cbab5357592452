"""Setup files of OpenSim's inverse kinematics tool."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from rtsim.files.osim.document import read_part
from rtsim.files.osim.tasks import IkTasks, file_of, read_tasks, time_range

TOOL = "InverseKinematicsTool"


class IkSetup(NamedTuple):
    """The tasks of the fit and the range of times. Files are relative to the setup's folder; None = not
    stated.
    """

    tasks: IkTasks
    times: tuple[float, float]  # [s], infinite where none is given
    model_file: Path | None
    marker_file: Path | None
    coordinate_file: Path | None
    notes: tuple[str, ...]


def read_ik_setup(path: str | Path) -> IkSetup:
    """Read the setup in an .xml file; ConfigError with file, element and remedy for what cannot be read."""
    tool = read_part(Path(path), TOOL, "give the setup file of an inverse kinematics tool (.xml)")
    tasks = read_tasks(tool)
    coordinate_file = file_of(tool, "coordinate_file")
    wanting = [task.name for task in tasks.coordinates if task.value_kind == "from_file"]
    if wanting and coordinate_file is None:
        tool.fail(
            f"the value of {', '.join(wanting)} comes from a coordinate_file, but no coordinate_file "
            "is named",
            remedy="name a coordinate_file, or change value_type",
        )
    weight = tool.numbers("constraint_weight", finite=False)
    if weight and weight[0] < 1e300:
        tool.document.note(
            f"constraint_weight {weight[0]:g}: in rtsim constraints always hold exactly, as with an "
            "infinite weight"
        )
    return IkSetup(
        tasks=tasks,
        times=time_range(tool),
        model_file=file_of(tool, "model_file"),
        marker_file=file_of(tool, "marker_file"),
        coordinate_file=coordinate_file,
        notes=tuple(tool.document.notes),
    )
