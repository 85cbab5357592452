"""Compile the muscles' kernels in a process beside this one, which meanwhile compiles the solver's.

Both are written to the cache on disk. On two cores this saves a third of the very first start.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from kernels._jit import cache_folder
from kernels.tree import new_pose
from rtsim.config.paths import find_config
from rtsim.live.children import APART
from rtsim.methods.muscle_arms import MuscleArms
from rtsim.models.load import load_model
from rtsim.models.packing.model import pack
from rtsim.models.subject import load_subject

KERNEL = "joint_moment_arms"


@contextmanager
def compiling_muscles(model: str) -> Iterator[None]:
    """Within, the kernels of a model's muscles are compiled beside, if the cache lacks them; leaving waits.

    Whatever goes wrong there is left to this process, which compiles what it does not find.
    """
    if not load_model(model).muscles or any(cache_folder().rglob(f"*{KERNEL}*.nbi")):
        yield
        return
    silent = subprocess.DEVNULL
    beside = subprocess.Popen(
        [sys.executable, "-m", "rtsim.live.beside", model],
        stdin=silent,
        stdout=silent,
        stderr=silent,
        **APART,
    )
    try:
        yield
        beside.wait()
    finally:
        beside.kill()
        beside.wait()


def compile_muscles(model: str) -> None:
    """Compile into the cache, for a model and the shipped subject; types are those of any subject."""
    spec, subject = load_model(model), load_subject(find_config("walker", "subjects"))
    method = next(iter(spec.methods))
    packed = pack(spec, subject, method)
    pose = new_pose(len(packed.body_names), packed.n_v, len(packed.tree.chains.dof))
    MuscleArms(spec, subject, method, packed, pose, packed.q_neutral.copy()).measure()


if __name__ == "__main__":
    compile_muscles(sys.argv[1])
