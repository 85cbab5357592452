"""The live connection to Foxglove, read by a client of the WebSocket that is not ours."""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time

import pytest

from rtsim.bridges.foxglove_server import FoxgloveServer, serve_foxglove
from rtsim.errors import ConfigError

GUARD_S = 120.0


def test_a_viewer_gets_the_figure_and_the_numbers(walk):
    """Protects the live picture: channels are advertised with their schemas, frames come as they are sent."""
    pytest.importorskip("foxglove")
    client = pytest.importorskip("websockets.sync.client")
    said, stop = [], threading.Event()
    serving = threading.Thread(
        target=serve_foxglove, args=(walk.address, 0, (), None, stop, said.append), daemon=True
    )
    serving.start()
    due = time.monotonic() + GUARD_S
    while not said:
        assert time.monotonic() < due
        time.sleep(0.01)
    address = said[0].rpartition(" ")[2]
    channels, got = {}, {}
    with client.connect(address, subprotocols=["foxglove.sdk.v1"], max_size=None) as viewer:
        while not {"/scene", "/tf", "/numbers/joint_angles"} <= got.keys():
            assert time.monotonic() < due
            walk.send()
            try:
                message = viewer.recv(timeout=0.02)
            except TimeoutError:
                continue
            if isinstance(message, bytes):
                number, t_ns = struct.unpack_from("<IQ", message, 1)
                got[channels[number]["topic"]] = t_ns, json.loads(message[13:])
                continue
            for channel in json.loads(message).get("channels", ()):
                channels[channel["id"]] = channel
                asked = {
                    "op": "subscribe",
                    "subscriptions": [{"id": channel["id"], "channelId": channel["id"]}],
                }
                viewer.send(json.dumps(asked))
    stop.set()
    serving.join(GUARD_S)
    assert not serving.is_alive()
    scene = next(channel for channel in channels.values() if channel["topic"] == "/scene")
    assert (scene["encoding"], scene["schemaName"]) == ("json", "foxglove.SceneUpdate")
    assert json.loads(scene["schema"])["required"] == ["deletions", "entities"]
    assert {entity["id"] for entity in got["/scene"][1]["entities"]} >= {"bones", "markers_measured"}
    assert abs(got["/tf"][0] - time.time_ns()) < 3600 * 10**9


def test_a_taken_port_is_told():
    """Protects who has Foxglove's own bridge open: the port is named, and what to do."""
    pytest.importorskip("foxglove")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        with pytest.raises(ConfigError, match="cannot be opened"):
            FoxgloveServer(taken.getsockname()[1])


def test_without_the_package_the_extra_is_named(monkeypatch):
    """Protects who has not installed it: which extra, in one sentence."""
    monkeypatch.setitem(sys.modules, "foxglove", None)
    with pytest.raises(ConfigError, match=r"rtsim\[foxglove\]"):
        FoxgloveServer(0)


def test_a_field_that_is_named_twice_is_told():
    """Protects against a slip on the command line."""
    with pytest.raises(ConfigError, match="twice"):
        serve_foxglove("tcp://127.0.0.1:1", 0, ("a", "a"), None, threading.Event(), print)
