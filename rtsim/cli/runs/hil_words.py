"""Messages of `rtsim hil` at the beginning and at the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rtsim.cli.runs.hil_run import HilOptions
    from rtsim.config.runs.hil_schema import HilSpec
    from streams.control.commands import ControlServer


def said_first(ways: HilOptions, urgent: bool, is_pinned: bool, has_key: bool) -> list[str]:
    """Return messages for the beginning of a run with a device: on options that the system did not grant, and
    on the emergency key.

    urgent : whether the system gives the loop real-time priority over all other programs
    is_pinned : whether the loop is pinned to the requested processor
    has_key : whether keys of the terminal are the emergency stop
    """
    told = []
    if ways.urgently and not urgent:
        told.append(
            "the time steps have no priority over other processes: only root and users with an rtprio limit "
            "may have it"
        )
    if ways.cpu is not None and not is_pinned:
        told.append(f"the loop is not pinned to processor {ways.cpu}: this system does not permit it")
    if has_key:
        told.append("space or Esc in this terminal is the emergency stop")
    return [f"rtsim: {words}" for words in told]


def said_of_access(ways: HilOptions, server: ControlServer) -> list[str]:
    """Return messages on who may give which commands, if that differs from the default."""
    told = []
    if ways.again is not None:
        told.append("a replayed run takes its commands, and its emergency stops, from the recording alone")
    elif not server.stop_address:
        by_signal = f", and by the signal {ways.signal.name}" if ways.signal.name else ""
        told.append(
            f"{server.address} receives no datagrams; the emergency stop can be given by `rtsim command "
            f"emergency_stop`, by a key in this terminal{by_signal}"
        )
    if not server.askers.tells:
        told.append(
            "this system does not reveal which user a connection belongs to: whoever can connect may "
            "arm; --key and --clients limit that"
        )
    return [f"rtsim: {words}" for words in told]


def in_words_of(spec: HilSpec, told: dict[str, Any]) -> str:
    """Return the first line that a run with a device prints: config, rate, and addresses of results,
    commands, device and emergency stop.

    told : addresses by name
    """
    ways = [told["stop"], f"{told['signal']} to process {told['pid']}" if told["signal"] else ""]
    stops = " or ".join(filter(None, ways)) if told["stop"] else ""
    return (
        f"{spec.name}: {spec.exchange.mode} at {spec.exchange.rate_hz:g} Hz; results at {told['results']}, "
        f"commands (arm, disarm, emergency_stop, status, stop, ...) at {told['control']}, "
        f"device at {told['device']}; {f'emergency stop at {stops}; ' if stops else ''}Ctrl-C ends it"
    )


def latched(summary: dict[str, Any]) -> str:
    """Return a message if a run with a device ended in a fault or emergency stop that was not cleared by
    arming again; "" if it did not.
    """
    if summary["arming"] != "fault":
        return ""
    before = summary["faults"] - 1
    others = f", after {before} earlier faults" if before else ""
    return (
        f"the run ends in a fault that latched at {summary['fault_s']:.3f} s{others}: "
        f"{summary['last_transition']}; check the device, then arm it again in a new run"
    )


def in_words(summary: dict[str, Any]) -> list[str]:
    """Return the closing lines of a run with a device from its summary."""
    known = [key for key in ("p50", "p99", "p99_9", "max") if f"round_trip_us.{key}" in summary]
    trip = ", ".join(f"{key} {summary[f'round_trip_us.{key}']:.0f}" for key in known)
    lost = f"{summary['missed']} missed" if "missed" in summary else f"{summary['unusable']} unusable"
    first = (
        f"{summary['ticks']} time steps, {lost}, {summary['unanswered']} without an answer of the device, "
        f"{summary['in_time_percent']:g} % of commands in time, "
        f"{summary['faults']} faults; {summary['arming']} ({summary['last_transition']}); "
        f"{summary['reason']}"
    )
    return [first, f"round trip to the device and back [us]: {trip}"] if trip else [first]
