"""Command-line options on the markers and channels of a source, and on its playback speed."""

from __future__ import annotations

import click

from rtsim.errors import ConfigError

PERSON_OPTION = click.option(
    "--person",
    metavar="NAME",
    help="Person whose markers are used, where labels of several persons are NAME:MARKER.",
)
UNNAMED_OPTION = click.option(
    "--label-unnamed",
    is_flag=True,
    default=None,
    help="Find the names of unnamed markers from the subject or the model; frames are flagged until the "
    "names are certain.",
)

SPEED_OPTION = click.option(
    "--speed",
    type=float,
    default=1.0,
    show_default=True,
    help="Playing speed as a multiple of the recorded rate.",
)
RATE_OPTION = click.option("--rate", type=float, help="Sampling rate of the synthetic walker or jaw [Hz].")


def named_channels(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Return the value of an option that names channels of a recording; ConfigError if it is empty."""
    if value is not None and not value.strip():
        raise ConfigError("no channel is named", where="--emg", remedy="name a channel, or leave --emg out")
    return value


EMG_OPTION = click.option(
    "--emg",
    metavar="CHANNELS",
    callback=named_channels,
    help="Electromyograms among the analog channels of a C3D source: names with commas between, or 'EMG*'.",
)
