"""`rtsim replay`: the stand-alone player."""

from __future__ import annotations

import threading

import click
import numpy as np

from rtsim.cli.lines import tell
from rtsim.cli.options import file_options
from rtsim.cli.security import bind_options, bind_security
from rtsim.cli.states import say
from rtsim.errors import ConfigError
from rtsim.live.sources import load_trial

FASTEST = 10_000.0
"""Highest rate of the synthetic walker [Hz]."""
RATE = 100.0
MOST_FRAMES = 1_000_000
"""Frames of the walker that fit into memory with ease; for longer runs there is --loop."""


@click.command("replay")
@click.argument("source")
@click.option(
    "--address", default="tcp://127.0.0.1:5560", show_default=True, help="Where to publish; port 0 takes any."
)
@click.option("--speed", type=float, default=1.0, show_default=True, help="Times the recorded rate.")
@click.option("--rate", type=float, help="Sampling rate of the synthetic walker [Hz].")
@click.option("--loop", is_flag=True, help="Start over at the end until interrupted.")
@click.option("--start", "start_s", type=float, default=0.0, help="First second to play.")
@click.option("--end", "end_s", type=float, help="Last second to play.")
@click.option("--duration", "duration_s", type=float, default=0.0, help="Length of the synthetic walker [s].")
@click.option(
    "--wait", "wait_s", type=float, default=60.0, show_default=True, help="Wait for a subscriber [s]."
)
@click.option("--states", is_flag=True, help="Say states as JSON lines (for programs).")
@file_options
@bind_options
def command(
    source: str, address: str, speed: float, rate: float | None, loop: bool, start_s: float,
    end_s: float | None, duration_s: float, wait_s: float, states: bool, key: str | None, clients: str | None,
    units: str | None, up: str | None,
) -> None:  # fmt: skip
    """Play SOURCE (walker, .trc, .c3d, .mcap) as a live marker stream at its recorded rate."""
    from streams.clock import now_ns
    from streams.messages import marker_session
    from streams.player import play
    from streams.publisher import Publisher

    if not 0.0 < speed < np.inf:
        raise ConfigError(f"{speed}", where="--speed", allowed="more than 0; 1 is the recorded rate")
    if rate is not None and not 0.0 < rate <= FASTEST:
        raise ConfigError(f"{rate}", where="--rate", allowed=f"more than 0, at most {FASTEST:g} Hz")
    if not 0.0 <= duration_s * (rate or RATE) <= MOST_FRAMES:
        longest = MOST_FRAMES / (rate or RATE)
        raise ConfigError(f"{duration_s}", where="--duration", allowed=f"0 (ten seconds) to {longest:g} s")
    trial = load_trial(source, duration_s, rate, units=units, up=up)
    since = trial.times - trial.times[0]
    inside = (since >= start_s) & (since <= (np.inf if end_s is None else end_s))
    if not inside.any():
        raise ConfigError(
            "no frames between --start and --end", where=source, allowed=f"0 to {since[-1]:.2f} s"
        )
    trial = trial._replace(times=trial.times[inside], positions=np.ascontiguousarray(trial.positions[inside]))
    if not states:
        for note in trial.notes:
            tell(f"{source}: {note}")
    stop = threading.Event()
    with Publisher(address, bind_security(key, clients)) as publisher:
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
            meta={"source": str(source), "speed": speed},
        )
        try:
            n_sent = play(publisher, session, trial, speed, loop, stop, wait_s=wait_s)
        except KeyboardInterrupt:
            raise click.Abort from None
        if states:
            say({"state": "over", "n_sent": n_sent})
        else:
            click.echo(f"{n_sent} frames sent", err=True)
