"""`rtsim replay`: plays a recording as live streams, or with --exact recomputes a recorded run."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
import numpy as np
from click.core import ParameterSource

from rtsim.cli.terminal.format_names import naming_formats
from rtsim.cli.terminal.lines import tell, told_unusable
from rtsim.cli.terminal.marker_options import PERSON_OPTION, RATE_OPTION, SPEED_OPTION
from rtsim.cli.terminal.options import REQUEST_OPTION, TARE_OPTION, check_of_use, file_options, run_of_options
from rtsim.cli.terminal.ports import check_ports, offset_option, placed
from rtsim.cli.terminal.security import bind_options, bind_security
from rtsim.cli.terminal.states import request_of_parent, say
from rtsim.cli.terminal.types import Address, MarkerSource, NumberWithin
from rtsim.config.runs.run_schema import LONGEST_S, PlateUse, Ports
from rtsim.errors import ConfigError
from rtsim.live.forces import check_forces, load_forces, part_of, tared
from rtsim.live.inputs.sources import MADE_UP, check_playing, load_trial, side_of_walker
from rtsim.live.processes.requests import PlayerRequest, player_request
from streams.sockets import MARKERS_ADDRESS

if TYPE_CHECKING:
    from rtsim.files.markers.trial import MarkerTrial
    from streams.access.security import Security

MADE_UP_MODULE, FILES_MODULE = "rtsim.subjects.made_up.walker", "rtsim.files.markers.markers"
"""Modules that a player loads while its parent checks the run: for a synthetic source, and for a file."""


@click.command("replay")
@naming_formats
@click.argument("source", type=MarkerSource())
@click.option(
    "--address",
    type=Address(binding=True),
    show_default=MARKERS_ADDRESS,
    help="Address at which the streams are published; port 0 takes any free port.",
)
@offset_option()
@SPEED_OPTION
@RATE_OPTION
@click.option("--loop", is_flag=True, help="Play the file repeatedly until interrupted.")
@click.option(
    "--start", "start_s", type=float, default=0.0, help="Time in the file at which playing begins [s]."
)
@click.option("--end", "end_s", type=float, help="Time in the file at which playing ends [s].")
@click.option(
    "--duration", "duration_s", type=float, default=0.0, help="Length of the synthetic walker or jaw [s]."
)
@click.option(
    "--wait",
    "wait_s",
    type=float,
    default=60.0,
    show_default=True,
    help="Time to wait for a subscriber before the first frame [s].",
)
@click.option(
    "--forces",
    type=MarkerSource(),
    help="Force plates to play together with the markers: a file, or walker for those of the built-in "
    "simulated gait (default: the force plates of a C3D file).",
)
@TARE_OPTION
@click.option("--states", is_flag=True, help="Print states as JSON lines (for programs).")
@click.option(
    "--side", type=click.Choice(["right", "both"]), help="Legs of the synthetic walker that carry markers."
)
@PERSON_OPTION
@click.option("--unnamed", is_flag=True, help="Also play those trajectories of a C3D file that have no name.")
@click.option(
    "--exact",
    is_flag=True,
    help="Instead of playing, compute the recorded run SOURCE again, and compare the results byte by byte.",
)
@click.option(
    "--tolerance",
    type=NumberWithin(0.0, 1.0),
    help="With --exact: allowed difference as a fraction of each quantity's peak (default: 1e-9, applied "
    "only between different builds).",
)
@click.option("--json", "as_json", is_flag=True, help="With --exact: print the outcome as JSON.")
@REQUEST_OPTION
@file_options
@bind_options
def command(
    source: str, address: str | None, port_offset: int | str, speed: float, rate: float | None, loop: bool,
    start_s: float, end_s: float | None, duration_s: float, wait_s: float, forces: str | None,
    tare: tuple[float, float] | None, states: bool, request: bool,
    key: str | None, clients: str | None, units: str | None, up: str | None,
    side: Literal["right", "both"] | None, person: str | None, unnamed: bool, exact: bool,
    tolerance: float | None, as_json: bool,
) -> None:  # fmt: skip
    """Play SOURCE (walker, jaw:TASK, MARKER_FILES) as a live stream at its rate, with force plates.

    With --exact, SOURCE is a recording of `rtsim live --record`: its run is recomputed from its recorded
    inputs. Exit code 0: equal; 1: different; 2: undecided.
    """
    check_of_use(
        "--tolerance",
        exact or tolerance is None,
        "an exact replay, which computes the run again",
        "add --exact",
    )
    check_of_use(
        "--json",
        exact or not as_json,
        "an exact replay, which computes the run again",
        "add --exact",
    )
    if exact:
        raise SystemExit(exactly(source, tolerance, as_json))
    security = bind_security(key, clients)
    if request:
        importlib.import_module(MADE_UP_MODULE if source in MADE_UP else FILES_MODULE)  # meanwhile
        play_request(player_request(request_of_parent()), security, states)
        return
    check_forces(run_of_options(name="replay", source=source, forces=forces or ""), streamed=False)
    check_playing(source, speed, rate, duration_s, start_s, end_s)
    if not 0.0 <= wait_s <= LONGEST_S:
        raise ConfigError(
            f"{wait_s}", where="--wait", allowed=f"a wait of 0 (start at once) to {LONGEST_S:g} s"
        )
    where = placed({"--address": address}, {"--address": MARKERS_ADDRESS}, port_offset)["--address"]
    run = run_of_options(
        name="replay", source=source, forces=forces or "", side=side or "", person=person or "",
        units=units or "", up=up or "", label_unnamed=unnamed, plates=PlateUse(tare=tare),
        ports=Ports(markers=where),
    )  # fmt: skip
    played = PlayerRequest(
        run=run, speed=speed, rate=rate, loop=loop, start_s=start_s, end_s=end_s, duration_s=duration_s,
        wait_s=wait_s,
    )  # fmt: skip
    play_request(played, security, states)


EXACT = ("source", "exact", "tolerance", "as_json")
"""Parameters that an exact replay takes."""


def exactly(source: str, tolerance: float | None, as_json: bool) -> int:
    """Replay a recorded run exactly and compare the results; return the exit code, which is 2 also for an
    option that an exact replay does not take.
    """
    from rtsim.cli.runs.exact_replay import replay_exactly

    def checked_replay() -> int:
        context = click.get_current_context()
        for parameter in context.command.params:
            given = context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
            fits = not given or parameter.name in EXACT
            check_of_use(
                parameter.opts[0],
                fits,
                "playing, not to an exact replay, which uses what was recorded",
            )
        return replay_exactly(Path(source), tolerance, as_json)

    return told_unusable(checked_replay)


def trial_of(request: PlayerRequest) -> MarkerTrial:
    """Return the part of a marker recording that is played as a stream; ConfigError if it contains no
    frame.
    """
    run, units, up = request.run, request.run.units or None, request.run.up or None
    trial = load_trial(
        run.source, request.duration_s, request.rate, units=units, up=up, side=side_of_walker(run),
        person=run.person, unnamed=run.label_unnamed,
    )  # fmt: skip
    since = trial.times - trial.times[0]
    inside = (since >= request.start_s) & (since <= (np.inf if request.end_s is None else request.end_s))
    if not inside.any():
        raise ConfigError(
            "no frames between --start and --end",
            where=run.source,
            allowed=f"times of 0 to {since[-1]:.2f} s",
        )
    return trial._replace(times=trial.times[inside], positions=np.ascontiguousarray(trial.positions[inside]))


def play_request(request: PlayerRequest, security: Security | None, states: bool) -> None:
    """Play a recording of markers, with forces if it has any, as live streams.

    states : whether the state of the player (ready, over) is printed as JSON lines for the parent process,
        instead of messages for the user
    """
    from rtsim.files.forces.force_stream import force_channel
    from rtsim.files.markers.trial import subject_meta
    from streams.account import bounded
    from streams.clock import now_ns
    from streams.messages import marker_session, new_session_id
    from streams.publisher import Publisher
    from streams.recording.player import play

    run, source, speed = request.run, request.run.source, request.speed
    check_ports({"--address": run.ports.markers}, security)
    trial = trial_of(request)
    plates = tared(load_forces(source, run.forces, trial, run.units or None, run.up or None), run.plates.tare)
    beside, base = [], {}
    if plates is not None:
        base = {"time_base": new_session_id()}
        plates = part_of(plates, float(trial.times[0]), float(trial.times[-1]))
        beside.append(
            force_channel(plates, trial.rate, t_start=now_ns(), speed=speed, source=str(source), **base)
        )
    of_plates = plates.notes if plates is not None else ()
    notes = [f"{source}: {note}" for note in (*trial.notes, *of_plates)]
    if not states:
        for note in notes:
            tell(note)
    with Publisher(run.ports.markers, security) as publisher:
        if states:
            say(
                {
                    "state": "ready",
                    "markers": publisher.address,
                    "n_frame": len(trial.times),
                    "rate": trial.rate,
                }
            )
        else:
            click.echo(
                f"playing {source}: {len(trial.times)} frames at {trial.rate:g} Hz on {publisher.address}",
                err=True,
            )
        session = marker_session(
            trial.names,
            rate=trial.rate * speed,
            t_start=now_ns(),
            meta={
                "source": str(source),
                "speed": speed,
                "notes": bounded(notes),
                **subject_meta(trial),
                **base,
            },
        )
        n_sent = play(
            publisher, session, trial, speed, request.loop, beside=beside, wait_s=request.wait_s,
            say=None if states else tell,
        )  # fmt: skip
        if states:
            say({"state": "over", "n_sent": n_sent})
        else:
            click.echo(f"{n_sent} frames sent", err=True)
