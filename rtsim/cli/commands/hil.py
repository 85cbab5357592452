"""`rtsim hil`: a limb, simulated or a person's, and a device exchange motion and torque in a loop (hardware
in the loop).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins
from msgspec.structs import asdict

from rtsim.cli.runs.hil_run import WAYS, HilOptions, run
from rtsim.cli.terminal.emergency import EmergencySignal
from rtsim.cli.terminal.lines import tell
from rtsim.cli.terminal.options import PRIORITY_OPTION, check_of_use, check_recording
from rtsim.cli.terminal.ports import check_ports, check_twins, offset_option, placed
from rtsim.cli.terminal.security import bind_options, role_keys
from rtsim.cli.terminal.types import Address, Config, MarkerSource
from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import LONGEST_S
from rtsim.errors import ConfigError

if TYPE_CHECKING:
    from rtsim.config.runs.device_schema import DeviceSpec
    from rtsim.config.runs.hil_schema import HilSpec
    from rtsim.live.hardware.device_replay import RecordedPort

NO_DEVICE = "none"
FROM_CONFIG = "(default: from the config)"
PORTS = ("results", "control", "device")
OF_OPTIONS = {
    "duration_s": "--duration", "exchange.rate_hz": "--rate", "motion": "--motion",
    "prescribed": "--prescribe",
}  # fmt: skip
ADDRESSES = ("--results-address", "--control-address", "--port-address")


def _address(name: str, what: str) -> Any:
    return click.option(f"--{name}-address", name, type=Address(binding=True), help=f"{what} {FROM_CONFIG}.")


@click.command("hil")
@click.argument("config", type=Config("hil"))
@click.option(
    "--device", "device", type=Config("devices"),
    help=f"Simulated device to start together with the model {FROM_CONFIG}; {NO_DEVICE}: wait for a device "
        "that is started separately.",
)  # fmt: skip
@click.option("--mode", type=click.Choice(["lockstep", "free"]),
              help="lockstep: the model waits for the device in every time step; free: each runs by its "
                  f"own clock {FROM_CONFIG}.")  # fmt: skip
@click.option("--rate", "rate_hz", type=float, help=f"Time steps per second {FROM_CONFIG}.")
@click.option(
    "--fast",
    is_flag=True,
    help="For simulated devices: run as fast as both sides can, not in real time; the model and the device "
    "then wait up to 1 s for each other (exchange.deadline_ms and exchange.valid_for_ms).",
)
@click.option("--duration", "duration_s", type=float,
              help=f"Length of the run [s]; 0 = until stopped {FROM_CONFIG}.")  # fmt: skip
@click.option("--arm", "arm_s", type=float, is_flag=False, flag_value=0.5, metavar="[S]",
              help="Arm the device at this simulated time [s]; 0.5 s if no number follows.")  # fmt: skip
@_address("results", "Address at which results are published")
@_address("control", "Address at which commands are received")
@_address("port", "Address to which the device connects")
@offset_option()
@click.option(
    "--motion",
    "motion",
    metavar="FILE|ADDRESS",
    help="Motion of the prescribed coordinates: .mot, .sto, or results of a live run at tcp://HOST:PORT.",
)
@click.option("--prescribe", "prescribed", multiple=True, metavar="COORDINATE",
              help="Coordinate that --motion prescribes in addition to those that the model names "
                  "(repeatable).")  # fmt: skip
@click.option(
    "--urgent",
    "urgently",
    is_flag=True,
    help=(
        "Run before other programs as with --priority first, but without limit on processor time, and on "
        "a processor that never sleeps."
    ),
)
@PRIORITY_OPTION
@click.option("--cpu", type=click.IntRange(min=0), metavar="N", help="Run the loop on this processor only.")
@click.option("--monitor", "monitor", is_flag=True, help="Open the monitor window too.")
@click.option("--record", "record", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.mcap",
              help="Record everything that is published, from the first time step to the last.")  # fmt: skip
@click.option("--again", "again", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.mcap",
              help="Replay a recording in lockstep, with the messages that its device sent.")  # fmt: skip
@click.option(
    "--from",
    "source",
    type=MarkerSource(),
    metavar="SOURCE",
    help="Where the person's markers come from, if CONFIG has a table [markers]: walker (the built-in "
    "simulated gait), a file, or tcp://HOST:PORT (default: the source that the run config in [markers] "
    "states).",
)
@bind_options
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def command(config: str, device: str | None, arm_s: float | None, **options: Any) -> None:
    """Let the limb and the device of CONFIG exchange motion and torque. CONFIG is a .toml file, or the name
    of one that comes with rtsim.

    The limb is simulated, or belongs to a person whose markers are tracked, as the config states.

    Torque is commanded only after `rtsim command arm` (or --arm), from zero by a ramp; `disarm` ends it.
    Space or Esc in the terminal, `rtsim command emergency_stop`, or SIGUSR2, is the emergency stop. Results,
    outputs and the device's messages are published; --record stores all of them. Ctrl-C ends the run with
    zero torque, disarmed.

    With --key and --clients the folders watch, set, arm and device below --clients determine what each key
    may do; without them other users of this machine may watch and stop.
    """
    press = EmergencySignal()
    click.get_current_context().call_on_close(press.close)
    from rtsim.cli.commands.live import require_window
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.cli.terminal.console import LastingConsole
    from rtsim.config.load import load_toml
    from rtsim.config.runs.hil_schema import HilSpec
    from rtsim.live.compiled.group_table import groups_of_limb
    from rtsim.live.hardware.device_loop import hil_loop
    from rtsim.live.hardware.hil_summary import summary_of
    from rtsim.live.hardware.limb_parts import moved, parts_of, simulator_for

    spec = changed(load_toml(find_config(config, "hil"), HilSpec), device, options)
    if arm_s is not None and not 0.0 <= arm_s <= LONGEST_S:
        raise ConfigError(f"{arm_s:g} s", where="--arm", allowed=f"a time of 0 to {LONGEST_S:g} s")
    check_of_use(
        "--arm",
        arm_s is None or options["again"] is None,
        "new runs; in a replay, all commands to the device come from the recording",
    )
    if options["record"]:
        check_recording(options["record"], "--record")
    check_processor(options["cpu"])
    if options["monitor"]:
        require_window()
    again = recorded(options["again"], spec) if options["again"] is not None else None
    # without it nothing would be faster, while the torque of a model that has ended would stay for a second
    in_step = again is not None or spec.exchange.mode == "lockstep"
    check_of_use("--fast", in_step or not options["fast"], "runs in lockstep (--mode) and replays (--again)")
    keys = role_keys(options["key"], options["clients"])
    if keys is not None:
        click.get_current_context().call_on_close(keys.close)
    of_options = {key: options[key] for key in WAYS}
    in_time = again is None and (spec.exchange.paced or spec.exchange.mode == "free")
    given = options["priority"]
    check_of_use("--priority", not (given and options["urgently"]), "runs without --urgent")
    check_of_use("--priority", in_time or given != "first", "new runs in real time (without --fast)")
    first = in_time and given != "ordinary"
    ways = HilOptions(device != NO_DEVICE, arm_s, first, again=again, signal=press, keys=keys, **of_options)
    if spec.markers is not None:
        run_worn(spec, options["source"] or "", ways, bool(options["fast"]))
        return
    check_of_use("--from", not options["source"], "configs with a table [markers]")
    spec, _ = moved(spec, lambda text: click.echo(f"note: {text}", err=True))
    model, of_device = parts_of(spec)
    note_joint(spec, of_device, ways)
    check_addresses(spec, ways)
    console = LastingConsole(stderr=True)
    for group in groups_of_limb(model):
        compile_first(console, (group,))
    with console.status("starting"):
        simulator = simulator_for(spec)
    run(spec, ways, partial(hil_loop, spec, simulator), summary_of)


def run_worn(spec: HilSpec, source: str, ways: HilOptions, fast: bool) -> None:
    """Run the loop with a person who wears the device; the motion of the person is estimated from markers.

    source : source of markers in place of the run's own, "" = its own
    ways : options of the command line; fast : whether the option --fast is given
    """
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.cli.terminal.console import LastingConsole
    from rtsim.config.load import load_toml
    from rtsim.config.runs.device_schema import DeviceSpec
    from rtsim.live.compiled.group_table import groups_of
    from rtsim.live.hardware import wearable_run
    from streams.addresses import is_stream

    estimate = wearable_run.run_of(spec, source)
    may_be_fast = ways.with_device or ways.again is not None or not is_stream(estimate.source)
    check_of_use("--fast", may_be_fast or not fast, "recordings, replays and simulated devices")
    note_joint(spec, load_toml(find_config(spec.device, "devices"), DeviceSpec), ways)
    check_addresses(spec, ways)
    compile_first(LastingConsole(stderr=True), (*groups_of(estimate), "sensors"))
    run(spec, ways, partial(wearable_run.wearable_loop, spec, estimate), wearable_run.summary_of)


def note_joint(spec: HilSpec, device: DeviceSpec, ways: HilOptions) -> None:
    """Print a note if the simulated device that is started with the run is made for another joint than the
    one on which it acts.
    """
    from rtsim.live.hardware.limb_parts import of_another_joint

    if ways.with_device and (text := of_another_joint(spec, device)):
        tell(f"note: {text}")


def changed(spec: HilSpec, device: str | None, options: dict[str, Any]) -> HilSpec:
    """Return the config of a run with the options of the command line applied; ConfigError for an impossible
    one.

    device : name or file of the device, None = that of the config
    """
    from rtsim.config.load import check_record
    from rtsim.config.runs.hil_schema import LONGEST_MS, HilSpec

    given = dict(zip(ADDRESSES, (options[key] for key in ("results", "control", "port")), strict=True))
    usual = dict(zip(given, asdict(spec.ports).values(), strict=True))
    ports = dict(zip(PORTS, placed(given, usual, options["port_offset"]).values(), strict=True))
    check_twins(ports)
    exchange = {key: options[key] for key in ("mode", "rate_hz") if options[key] is not None}
    if options["fast"]:
        exchange |= {"paced": False, "deadline_ms": LONGEST_MS, "valid_for_ms": LONGEST_MS}
    new: dict[str, Any] = {"duration_s": options["duration_s"]} if options["duration_s"] is not None else {}
    new |= {key: options[key] for key in ("motion", "prescribed") if options[key]}
    if device not in (None, NO_DEVICE):
        new["device"] = device
    tables = to_builtins(spec)
    tables |= {"exchange": tables["exchange"] | exchange, "ports": ports, **new}
    return check_record(tables, HilSpec, "the options", OF_OPTIONS)


def check_addresses(spec: HilSpec, ways: HilOptions) -> None:
    """Raise ConfigError for an address that cannot be bound, naming the option that states it."""
    from streams.control.emergency_stop import check_stop_free
    from streams.errors import StreamError

    security = ways.keys.people if ways.keys is not None else None
    check_ports(dict(zip(ADDRESSES, asdict(spec.ports).values(), strict=True)), security)
    if ways.again is None:
        try:
            check_stop_free(spec.ports.control)
        except StreamError as fault:
            raise ConfigError(
                str(fault),
                where="--control-address",
                remedy="choose another number for --port-offset, or --port-offset auto",
            ) from fault


def recorded(path: Path, spec: HilSpec) -> RecordedPort:
    """Return a port that delivers the device's messages from the recording of a run of this config, in place
    of a device, for an exact replay; print notes on the parts that are not replayed.
    """
    from rtsim.live.hardware.device_replay import RecordedPort

    port = RecordedPort(path)
    port.check(spec)
    for words in port.notes:
        tell(f"rtsim: {words}")
    return port


def check_processor(cpu: int | None) -> None:
    """Raise ConfigError for a processor that does not exist."""
    from rtsim.live.processes.thread_priority import processors

    known = processors()
    if cpu is not None and known and cpu not in known:
        raise ConfigError(f"no processor {cpu}", where="--cpu", allowed=", ".join(map(str, known)))
