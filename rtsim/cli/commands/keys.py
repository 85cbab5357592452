"""`rtsim keys`: creates CURVE keys for streams that leave the machine."""

from __future__ import annotations

import click

from rtsim.cli.terminal.lines import tell


@click.command("keys")
@click.argument("folder")
@click.argument("name")
def command(folder: str, name: str) -> None:
    """Write FOLDER/NAME.key (public, to be copied to the other machine) and FOLDER/NAME.key_secret (to stay
    on this machine).
    """
    from streams.access.key_files import create_keys

    public, secret = create_keys(folder, name)
    tell(f"public: {public}", err=False)
    tell(f"secret: {secret}", err=False)
