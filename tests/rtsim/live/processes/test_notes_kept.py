"""Notes in the descriptor of a run."""

from __future__ import annotations

from rtsim.config.runs.run_schema import RunConfig
from rtsim.live.processes.serve import meta_of
from streams.account import LONGEST


def test_a_note_loses_its_folder_rather_than_its_end() -> None:
    """Protects the remedy at the end of a sentence from the length of the path before it."""
    sentence = "no right leg length is known; measure it from the ASIS to the malleolus: --leg-length"
    folder = "/" + "/".join(["a_folder_of_the_laboratory"] * 12)
    short = f"/lab/walk.c3d: {sentence}"
    kept = meta_of(RunConfig(name="mine", source="walk.c3d"), [f"{folder}/walk.c3d: {sentence}", short])
    assert len(folder) > LONGEST
    assert kept["notes"] == [f"walk.c3d: {sentence}", short]
