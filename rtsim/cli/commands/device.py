"""`rtsim device`: simulates an orthosis in a process of its own, which exchanges messages with `rtsim
hil`.
"""

from __future__ import annotations

from pathlib import Path

import click

from rtsim.cli.terminal.lines import tell
from rtsim.cli.terminal.options import PRIORITY_OPTION, check_of_use
from rtsim.cli.terminal.security import connect_options, connect_security
from rtsim.cli.terminal.types import Address, Config
from rtsim.config.paths import find_config
from rtsim.live.processes.signals import exit_code, noting_requests
from streams.sockets import DEVICE_ADDRESS


@click.command("device")
@click.argument("spec", type=Config("devices"))
@click.option(
    "--model", "address", type=Address(), default=DEVICE_ADDRESS, show_default=True,
    help="Address at which the model waits for a device.",
)  # fmt: skip
@click.option(
    "--log", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.csv",
    help="Write one row for each time step of the device into this file.",
)  # fmt: skip
@click.option(
    "--urgent",
    "urgently",
    is_flag=True,
    help="Run before other programs as with --priority first, but without limit on processor time.",
)
@PRIORITY_OPTION
@click.option(
    "--tunnel", is_flag=True,
    help="Use this if the address leads through a tunnel to a model on another machine, whose clock differs.",
)  # fmt: skip
@connect_options
def command(
    spec: str,
    address: str,
    log: Path | None,
    urgently: bool,
    priority: str | None,
    tunnel: bool,
    client_key: str | None,
    server_key: str | None,
) -> None:
    """Simulate the orthosis of SPEC (a .toml file, or the name of one that comes with rtsim) until Ctrl-C.

    It connects to the model of `rtsim hil`, and reconnects by itself. The signal SIGUSR1 presses its
    emergency stop.
    """  # fmt: skip
    from rtsim.cli.terminal.states import say
    from rtsim.config.load import load_toml
    from rtsim.config.runs.device_schema import DeviceSpec
    from rtsim.files.output import check_folder
    from rtsim.live.hardware.device_process import SimulatedDevice, listen_for_emergency
    from rtsim.live.processes.gc_control import gc_paused
    from rtsim.live.processes.thread_priority import may_have_priority, with_priority

    if log is not None:
        check_folder(log, "--log", in_place=True)
    check_of_use("--priority", not (priority and urgently), "runs without --urgent")
    device_spec = load_toml(find_config(spec, "devices"), DeviceSpec)
    security = connect_security(client_key, server_key)
    first = priority != "ordinary" and not urgently
    urgent_too = may_have_priority(urgently or first)
    with SimulatedDevice(
        spec=device_spec, address=address, log=log, security=security, urgent=urgent_too, tunnel=tunnel
    ) as device:
        listen_for_emergency(device)
        say({"state": "ready", "device": device_spec.name, "model": address})
        with (
            noting_requests(lambda number: device.stop()),
            gc_paused(),
            with_priority(first or urgently),
        ):
            device.run((lambda text: tell(f"rtsim: {text}")) if first else None)
        say({"state": "over", "ticks": device.n_tick})
    if device.unlogged:
        tell(
            f"rtsim: --log: {log} could not be written any further; rows lost: {device.unlogged}; free "
            "some disk space"
        )
    raise SystemExit(exit_code() or int(bool(device.unlogged)))
