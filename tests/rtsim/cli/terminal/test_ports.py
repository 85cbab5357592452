"""Ports of a run: checked before slow work, shifted together, and told."""

from __future__ import annotations

import json
import time

import pytest

from streams.control.commands import request
from tests.rtsim.cli.patience import nothing_begins

OFFSET = 23_000  # where nobody is expected
ADDRESSES = (
    "tcp://127.0.0.1:80000",
    "tcp://127.0.0.1:5560x",
    "tcp://127.0.0.1:",
    "tcp://:5560",
    "tcp://127.0.0.1",
)
MORE = (
    "tcp://127.0.0.1:-1",
    "tcp://127.0.0.1:+5560",
    "tcp://127.0.0.1:5560 ",
    "udp://127.0.0.1:5560",
    "tcp://a b:1",
)
MINE = f"""
name = "mine"
[ports]
results = "tcp://127.0.0.1:{5561 + OFFSET}"
control = "tcp://127.0.0.1:{5562 + OFFSET}"
"""
PLACES = {
    "--source": ("live", "--source"),
    "--results": ("live", "--results"),
    "--control": ("estimate", "--control"),
    "--markers": ("estimate", "--markers"),
    "--address": ("replay", "walker", "--address"),
    "ADDRESS": ("record",),
}
OTHERS = [
    ("monitor", "tcp://127.0.0.1:80000"),
    ("monitor", "--control", "tcp://127.0.0.1:5562x"),
    ("doctor", "tcp://127.0.0.1:80000"),
    ("command", "status", "--control", "tcp://127.0.0.1:0"),
    ("simulate", "knee", "--live", "--results", "tcp://127.0.0.1:65536"),
    ("simulate", "knee", "--live", "--control", "tcp://127.0.0.1:5562x"),
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("address", [*ADDRESSES, *MORE])
def test_what_is_no_address_is_refused_everywhere(here, place, address):
    """Protects against a wrong port that the library would bend to another: one sentence, at once."""
    done = here(*PLACES[place], address)
    assert done.code == 1
    assert done.err.startswith(f"rtsim: {place}: {address!r} ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("arguments", OTHERS, ids=" ".join)
def test_other_places_refuse_it_too(here, arguments):
    """Protects every other command that takes an address."""
    done = here(*arguments)
    assert done.code == 1
    assert "ports are" in done.sentence


@pytest.mark.parametrize("key", ["markers", "results", "control"])
def test_a_wrong_address_in_a_run_config_is_told(here, tmp_path, key):
    """Protects run configs: file and key are named."""
    (tmp_path / "mine.toml").write_text(f'name = "mine"\n[ports]\n{key} = "tcp://127.0.0.1:80000"\n')
    done = here("live", "--config", "mine.toml")
    assert done.code == 1
    assert done.sentence.startswith(f"rtsim: mine.toml: ports.{key}: 'tcp://127.0.0.1:80000' has the port")


def test_two_sockets_at_one_address_are_told(here, port):
    """Protects against an estimator that stands in its own way."""
    address = f"tcp://127.0.0.1:{port}"
    done = here("live", "--results", address, "--control", address)
    assert (done.code, done.sentence) == (
        1,
        f"rtsim: --control: {address} is taken by --results already; give --control another port",
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("live", "--method", "best"),
        ("live", "--method", "best", "--source", "nowhere.trc"),
        ("estimate", "--markers", "tcp://127.0.0.1:1", "--subject", "walker", "--method", "best"),
    ],
    ids=" ".join,
)
def test_a_wrong_method_is_told_before_anything_begins(here, monkeypatch, arguments):
    """Protects patience: nothing slow begins before the command line is known to be right."""
    nothing_begins(monkeypatch)
    done = here(*arguments)
    assert done.code == 1
    assert done.sentence.startswith("rtsim: --method: unknown method 'best'; allowed: zero, minimised,")


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("live",), "--results"),
        (("estimate", "--markers", "tcp://127.0.0.1:1", "--subject", "walker"), "--results"),
        (("simulate", "knee", "--live"), "--control"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else value,
)
def test_a_second_instance_is_told_before_anything_begins(
    here, monkeypatch, taken, any_ports, arguments, option
):
    """Protects patience: what holds the port, the option and the remedy, before kernels are compiled."""
    nothing_begins(monkeypatch)
    done = here(*arguments, *any_ports, option, taken)
    assert done.code == 1
    assert done.sentence.startswith(f"rtsim: {option}: {taken} is in use, perhaps by another run; ")
    assert "--port-offset auto" in done.sentence


@pytest.mark.parametrize("offset", ["-1", "x", "70000", "1.5", ""])
def test_an_offset_that_is_none_is_refused(here, offset):
    """Protects ports: a whole number, or auto."""
    done = here("live", f"--port-offset={offset}")
    assert done.code == 1
    assert "--port-offset" in done.sentence
    assert "allowed: 0 to 65535, or auto" in done.sentence


def test_an_offset_beyond_the_last_port_is_refused(here):
    """Protects against ports that are none."""
    done = here("live", "--port-offset", "60000")
    assert done.code == 1
    assert "'tcp://127.0.0.1:65561' has the port '65561'" in done.sentence


def test_auto_is_for_those_who_bind(here):
    """Protects the user of `command`: it cannot know which run is meant."""
    done = here("command", "status", "--port-offset", "auto")
    assert (done.code, done.sentence) == (1, "rtsim: --port-offset: 'auto'; allowed: 0 to 65535")


@pytest.mark.process
def test_runs_side_by_side_find_ports_and_tell_them(start, rtsim, tmp_path):
    """Protects two runs on one machine: free ports are found, told on both outputs, and reached by commands
    with the same offset.
    """
    first = start("live", "--loop", "--json", "--port-offset", OFFSET)
    first.said(f"results at tcp://127.0.0.1:{5561 + OFFSET}, commands at tcp://127.0.0.1:{5562 + OFFSET}\n")
    second = rtsim("live", "--duration", 0.2, "--json", "--port-offset", OFFSET)
    assert second.code == 1
    assert second.sentence.startswith(f"rtsim: --results: tcp://127.0.0.1:{5561 + OFFSET} is in use")
    (tmp_path / "mine.toml").write_text(MINE)
    third = rtsim("live", "--config", "mine.toml", "--duration", 0.2, "--json", "--port-offset", "auto")
    assert third.code == 0, third.err
    places = json.loads(third.out)["addresses"]
    assert places["results"] == f"tcp://127.0.0.1:{5571 + OFFSET}"
    assert f"results at {places['results']}, commands at {places['control']}\n" in third.err
    due = time.monotonic() + 120.0
    while not request(f"tcp://127.0.0.1:{5562 + OFFSET}", "status", timeout_s=1.0)[0]:
        assert time.monotonic() < due
    done = rtsim("command", "stop", "--port-offset", OFFSET)
    assert (done.code, done.out) == (0, "Stopping.\n")
    assert first.wait().code == 0
