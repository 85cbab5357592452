"""`rtsim hil`: a simulated limb and a device in the loop."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from msgspec import to_builtins
from msgspec.structs import asdict

from rtsim.cli.beside import Beside
from rtsim.cli.emergency import emergency_key
from rtsim.cli.lines import tell
from rtsim.cli.options import check_of_use, check_recording
from rtsim.cli.ports import check_ports, check_twins, offset_option, placed
from rtsim.cli.types import Address, Config, Source
from rtsim.config.paths import find_config
from rtsim.config.run_schema import LONGEST_S
from rtsim.errors import ConfigError, ModelError
from rtsim.live.signals import exit_code, noting_requests

if TYPE_CHECKING:
    from rtsim.config.device_schema import DeviceSpec
    from rtsim.config.hil_schema import HilSpec
    from rtsim.live.loop import Loop
    from rtsim.live.run_again import RecordedPort

NO_DEVICE = "none"
PORTS = ("results", "control", "device")
ADDRESSES = ("--results-address", "--control-address", "--port-address")


def _address(name: str, what: str) -> Any:
    return click.option(f"--{name}-address", name, type=Address(binding=True), help=f"{what} [config].")


@click.command("hil")
@click.argument("config", type=Config("hil"))
@click.option(
    "--device", "device", type=Config("devices"),
    help=f"Simulated device to start beside [config]; {NO_DEVICE}: wait for one that somebody else starts.",
)  # fmt: skip
@click.option("--mode", type=click.Choice(["lockstep", "free"]), help="How ticks are shared [config].")
@click.option("--rate", "rate_hz", type=float, help="Ticks per second [config].")
@click.option(
    "--fast",
    is_flag=True,
    help="For simulated devices: not in step with the clock, but as fast as both go; all times are 1 s.",
)
@click.option(
    "--duration", "duration_s", type=float, help="Length of the run [s]; 0 = until stopped [config]."
)
@click.option("--arm", "arm_s", type=float, is_flag=False, flag_value=0.5, metavar="[S]",
              help="Arm by itself at this time of the model [s]; without a number at 0.5.")  # fmt: skip
@_address("results", "Results go here")
@_address("control", "Commands come here")
@_address("port", "The device connects here")
@offset_option()
@click.option(
    "--motion",
    "motion",
    metavar="FILE|ADDRESS",
    help="Motion of coordinates that take one: .mot, .sto, or results of a live run at tcp://HOST:PORT.",
)
@click.option("--prescribe", "prescribed", multiple=True, metavar="COORDINATE",
              help="A coordinate that --motion moves beside the model's own.")  # fmt: skip
@click.option("--urgent", "urgently", is_flag=True, help="Before all other work, where the system grants it.")
@click.option("--cpu", type=click.IntRange(min=0), metavar="N", help="Keep the loop on this processor.")
@click.option("--monitor", "monitor", is_flag=True, help="Open the monitor window too.")
@click.option("--record", "record", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.mcap",
              help="Record everything that is published, from the first tick to the last.")  # fmt: skip
@click.option("--again", "again", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.mcap",
              help="Run a recording in lockstep again, with what the device said then.")  # fmt: skip
@click.option(
    "--from",
    "source",
    type=Source(),
    metavar="SOURCE",
    help="Markers, where the config has [markers]: walker, a file, tcp://HOST:PORT [its run].",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def command(config: str, device: str | None, arm_s: float | None, **options: Any) -> None:
    """Let the limb and the device of CONFIG (.toml or a shipped name) exchange motion and torque.

    The limb is simulated, or that of a person whose markers are followed, as the config has it.

    Torque is commanded only after `rtsim command arm` (or --arm), from zero by a ramp; `disarm` ends it.
    Space or Esc in the terminal, or `rtsim command emergency_stop`, is the emergency stop. Results, outputs
    and the device's messages are published; --record keeps all of them. Ctrl-C ends the run: zero and
    disarmed.
    """
    from rich.console import Console

    from rtsim.cli.compiling import compile_first
    from rtsim.cli.live import require_window
    from rtsim.config.hil_schema import HilSpec
    from rtsim.config.load import load_toml
    from rtsim.live.group_table import group_of_simulation
    from rtsim.live.hardware import hil_loop, moved, parts_of, simulator_for, summary_of

    spec = changed(load_toml(find_config(config, "hil"), HilSpec), device, options)
    if arm_s is not None and not 0.0 <= arm_s <= LONGEST_S:
        raise ConfigError(f"{arm_s:g} s", where="--arm", allowed=f"0 to {LONGEST_S:g} s")
    check_of_use(
        "--arm", arm_s is None or options["again"] is None, "new runs; a recording has its own commands"
    )
    if options["record"]:
        check_recording(options["record"], "--record")
    check_processor(options["cpu"])
    if options["monitor"]:
        require_window()
    again = recorded(options["again"], spec) if options["again"] is not None else None
    ways = Ways(device != NO_DEVICE, arm_s, again=again, **{key: options[key] for key in WAYS})
    if spec.markers is not None:
        run_worn(spec, options["source"] or "", ways)
        return
    check_of_use("--from", not options["source"], "a config with [markers]")
    spec, _ = moved(spec, lambda text: click.echo(f"note: {text}", err=True))
    model, of_device = parts_of(spec)
    note_joint(spec, of_device, ways)
    check_addresses(spec)
    console = Console(stderr=True)
    compile_first(console, (group_of_simulation(model),))
    with console.status("starting"):
        simulator = simulator_for(spec)
    run(spec, ways, partial(hil_loop, spec, simulator), summary_of)


def run_worn(spec: HilSpec, source: str, ways: Ways) -> None:
    """The same with a person who wears the device; source : of the markers, in the place of the run's own."""
    from rich.console import Console

    from rtsim.cli.compiling import compile_first
    from rtsim.config.device_schema import DeviceSpec
    from rtsim.config.load import load_toml
    from rtsim.live import worn
    from rtsim.live.group_table import groups_of

    estimate = worn.run_of(spec, source)
    note_joint(spec, load_toml(find_config(spec.device, "devices"), DeviceSpec), ways)
    check_addresses(spec)
    compile_first(Console(stderr=True), groups_of(estimate))
    run(spec, ways, partial(worn.worn_loop, spec, estimate), worn.summary_of)


def note_joint(spec: HilSpec, device: DeviceSpec, ways: Ways) -> None:
    """Say that the device which is started beside is for another joint, where it is."""
    from rtsim.live.hardware import of_another_joint

    if ways.with_device and (text := of_another_joint(spec, device)):
        tell(f"note: {text}")


def changed(spec: HilSpec, device: str | None, options: dict[str, Any]) -> HilSpec:
    """The config with what the command line says otherwise; ConfigError for what cannot be."""
    from rtsim.config.hil_schema import LONGEST_MS, HilSpec
    from rtsim.config.load import check_record

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
    return check_record(tables, HilSpec, "the options")


def check_addresses(spec: HilSpec) -> None:
    """ConfigError for an address that cannot be bound, by the option that it comes from."""
    check_ports(dict(zip(ADDRESSES, asdict(spec.ports).values(), strict=True)))


def recorded(path: Path, spec: HilSpec) -> RecordedPort:
    """The recording of a run of this config; sentences on what of it is not repeated."""
    from rtsim.live.run_again import RecordedPort

    port = RecordedPort(path)
    port.check(spec)
    for words in port.notes:
        tell(f"rtsim: {words}")
    return port


def check_processor(cpu: int | None) -> None:
    """ConfigError for a processor that there is not."""
    from rtsim.live.urgency import processors

    known = processors()
    if cpu is not None and known and cpu not in known:
        raise ConfigError(f"no processor {cpu}", where="--cpu", allowed=", ".join(map(str, known)))


class Ways(NamedTuple):
    """How a run goes: with a simulated device of its own, armed by itself at a time [s], and the options."""

    with_device: bool
    arm_s: float | None
    record: Path | None
    again: RecordedPort | None
    urgently: bool
    cpu: int | None
    monitor: bool
    as_json: bool


WAYS = ("record", "urgently", "cpu", "monitor", "as_json")


def run(
    spec: HilSpec, ways: Ways, loop_with: Callable[..., Loop], summarise: Callable[[Loop], dict[str, Any]]
) -> None:
    """Serve the loop until it is over, and tell what it came to.

    loop_with : makes it of a port, a publisher and further arguments
    """
    from rtsim.device.arming import EMERGENCY
    from rtsim.live.hardware import NOBODY
    from rtsim.live.urgency import may_be_urgent, pinned
    from streams.control import ControlServer
    from streams.exchange import DevicePort
    from streams.messages import Command
    from streams.publisher import Publisher

    child = None
    with contextlib.ExitStack() as stack:
        publisher = stack.enter_context(Publisher(spec.ports.results))
        if ways.again is not None:
            loop = loop_with(ways.again, publisher, again=ways.again)
            address = str(ways.again.path)
        else:
            port = stack.enter_context(DevicePort(spec.ports.device, urgent=may_be_urgent(ways.urgently)))
            loop = loop_with(port, publisher, arm_s=ways.arm_s, urgently=ways.urgently)
            address = port.address
        server = stack.enter_context(ControlServer(spec.ports.control, loop.command, loop.commands))
        loop.control_events = server.events
        stack.enter_context(noting_requests(lambda number: loop.stop("interrupted")))
        beside = stack.enter_context(Beside(publisher.events.append))
        if ways.record is not None:
            beside.record(publisher, ["record", publisher.address, str(ways.record)])
        told = {"state": "ready", "results": publisher.address, "control": server.address, "device": address}
        click.echo(json.dumps(told) if ways.as_json else in_words_of(spec, told), err=not ways.as_json)
        if ways.monitor:
            beside.start("monitor", ["monitor", publisher.address, "--control", server.address])
        if ways.with_device and ways.again is None:
            first = ["--urgent"] if ways.urgently else []
            child = beside.start("device", ["device", spec.device, "--model", address, *first])
        press = partial(loop.command, Command(name=EMERGENCY))
        # what is run again has its commands from the recording alone
        key = emergency_key(press) if ways.again is None else contextlib.nullcontext(False)
        with key as has_key, pinned(ways.cpu) as is_pinned:
            for words in said_first(ways, may_be_urgent(ways.urgently), is_pinned, has_key):
                tell(words)
            loop.run()
        publisher.close()
    summary = summarise(loop)
    if ways.as_json:
        click.echo(json.dumps({"state": "over", **summary}))
    else:
        for words in in_words(summary):
            tell(words, err=False)  # reasons are a device's words
    if loop.failure:
        raise ModelError(
            loop.failure, where=spec.model,
            remedy="the device was told zero and disarmed; lower its torque, or shorten the model's step",
        )  # fmt: skip
    if loop.reason == NOBODY:
        words = child.failure() if child else ""
        raise ConfigError(
            f"{NOBODY} within {spec.exchange.connect_s:g} s{': ' + words if words else ''}",
            where=spec.ports.device,
            remedy="start it, as by `rtsim device SPEC --model ADDRESS`",
        )  # fmt: skip
    if words := latched(summary):
        tell(f"rtsim: {words}")
    raise SystemExit(exit_code() or int(bool(words) or beside.failed))


def latched(summary: dict[str, Any]) -> str:
    """What a fault, or an emergency stop, that latched and that nobody armed away came to; "" without one."""
    if summary["arming"] != "fault":
        return ""
    before = summary["faults"] - 1
    others = f", after {before} before it" if before else ""
    return (
        f"the run ends in a fault that latched at {summary['fault_s']:.3f} s{others}: "
        f"{summary['last_transition']}; look at the device, then arm again in a new run"
    )


def said_first(ways: Ways, urgent: bool, is_pinned: bool, has_key: bool) -> list[str]:
    """What was asked for and not granted, and the key; a sentence each."""
    told = []
    if ways.urgently and not urgent:
        told.append(
            "not before other work: the system permits that to root and to users with an rtprio limit"
        )
    if ways.cpu is not None and not is_pinned:
        told.append(f"not kept on processor {ways.cpu}: this system does not permit it")
    if has_key:
        told.append("space or Esc here is the emergency stop")
    return [f"rtsim: {words}" for words in told]


def in_words_of(spec: HilSpec, told: dict[str, str]) -> str:
    """The first line of a run."""
    return (
        f"{spec.name}: {spec.exchange.mode} at {spec.exchange.rate_hz:g} Hz; results at {told['results']}, "
        f"commands (arm, disarm, emergency_stop, status, stop, ...) at {told['control']}, "
        f"device at {told['device']}; Ctrl-C ends it"
    )


def in_words(summary: dict[str, Any]) -> list[str]:
    """The closing lines of a run."""
    known = [key for key in ("p50", "p99", "p99_9", "max") if f"round_trip_us.{key}" in summary]
    trip = ", ".join(f"{key} {summary[f'round_trip_us.{key}']:.0f}" for key in known)
    lost = f"{summary['missed']} missed" if "missed" in summary else f"{summary['unusable']} unusable"
    first = (
        f"{summary['ticks']} ticks, {lost}, {summary['unanswered']} unanswered, "
        f"{summary['in_time_percent']:g} % of commands in time, "
        f"{summary['faults']} faults; {summary['arming']} ({summary['last_transition']}); "
        f"{summary['reason']}"
    )
    return [first, f"round trip [us]: {trip}"] if trip else [first]
