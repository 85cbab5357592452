"""Ports of a run are its own while kernels compile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rtsim.cli.terminal.ports import check_ports, held
from rtsim.errors import ConfigError
from tests.rtsim.live.rig import free_address


def test_another_run_is_told_and_the_port_is_given_back() -> None:
    """Protects the minutes of a first start: a port that was free when it began is free when it ends."""
    address = free_address()
    others = ["tcp://127.0.0.1:0", "ipc://elsewhere"]
    with held([address, *others]), pytest.raises(ConfigError, match="is in use, perhaps by another run"):
        check_ports({"--results": address})
    check_ports({"--results": address})


@pytest.mark.process
def test_another_process_is_told(tmp_path: Path) -> None:
    """Protects that from a second terminal: `rtsim live` there says which port is taken, and how to go on."""
    address = free_address()
    with held([address]):
        done = subprocess.run(
            [sys.executable, "-m", "rtsim.cli.main", "live", "--results", address],
            capture_output=True, text=True, cwd=tmp_path, check=False,
        )  # fmt: skip
    assert done.returncode != 0
    assert f"{address} is in use, perhaps by another run" in " ".join(done.stderr.split())
