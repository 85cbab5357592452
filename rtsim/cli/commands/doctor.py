"""`rtsim doctor`: finds faults of this installation, or of a stream, and explains them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rtsim.cli.terminal.lines import line
from rtsim.cli.terminal.security import connect_options, connect_security
from rtsim.cli.terminal.types import Address, Config
from rtsim.errors import ConfigError

if TYPE_CHECKING:
    from rtsim.report.doctor import DoctorFinding


@click.command("doctor")
@click.argument("address", type=Address(), required=False)
@click.option(
    "--subject", type=Config("subjects"), help="Subject model with which a marker stream is compared."
)
@click.option(
    "--seconds", type=float, default=3.0, show_default=True, help="Duration for which ADDRESS is listened to."
)
@connect_options
def command(
    address: str | None, subject: str | None, seconds: float, client_key: str | None, server_key: str | None
) -> None:
    """Check the installation; with ADDRESS (tcp://HOST:PORT), listen to that stream and check it."""
    if not 0.0 < seconds < float("inf"):
        raise ConfigError(f"{seconds}", where="--seconds", allowed="more than 0")

    from rtsim.config.paths import find_config
    from rtsim.report.doctor import examine_installation, examine_stream
    from rtsim.subjects.subject import load_subject

    if subject and not address:
        raise ConfigError(
            "a subject can only be compared with a marker stream, and no stream is given",
            where="--subject",
            remedy="give the ADDRESS of the stream",
        )
    if subject:
        load_subject(find_config(subject, "subjects"))  # a wrong one is told before listening
    if address:
        findings = examine_stream(address, subject, seconds, connect_security(client_key, server_key))
    else:
        findings = examine_installation()
    for finding in findings:
        click.echo(f"{mark_of(finding)} {line(finding.text)}")
    n_bad = sum(not finding.good for finding in findings)
    if n_bad:
        raise ConfigError(
            f"{n_bad} of {len(findings)} checks failed",
            where="doctor",
            remedy="read the lines above, which say what failed",
        )


def mark_of(finding: DoctorFinding) -> str:
    """Return the mark of a finding: ok, BAD, or "none" for an optional package that is not installed."""
    if finding.lacks:
        return click.style("none", fg="yellow")
    return click.style("ok  ", fg="green") if finding.good else click.style("BAD ", fg="red")
