"""`rtsim recover`: makes a complete recording from one that was truncated or damaged."""

from __future__ import annotations

from pathlib import Path

import click

from rtsim.cli.terminal.lines import tell
from rtsim.cli.terminal.options import check_recording
from rtsim.files.markers.trial import count_of


@click.command("recover")
@click.argument("recording", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path), required=False)
def command(recording: Path, out: Path | None) -> None:
    """Recover RECORDING, which was truncated or damaged, into a complete recording OUT with an index.

    Without OUT it is named RECORDING.recovered.mcap. Kept and lost messages are reported; RECORDING is not
    changed, and no file is overwritten.
    """
    from rtsim.files.recovery import recover

    out = out or recording.with_name(f"{recording.stem}.recovered.mcap")
    check_recording(out, "OUT")
    done = recover(recording, out)
    what = f"{count_of(done.n_message, 'message')} of {done.seconds:.2f} s"
    if not done.note:
        tell(f"{recording} is complete: {what}, and all checksums are correct; there was nothing to recover")
        return
    tell(done.note)
    lost = f", {count_of(done.n_lost, 'message')} known to be lost" if done.n_lost else ""
    tell(f"{out}: {what} kept{lost}")
