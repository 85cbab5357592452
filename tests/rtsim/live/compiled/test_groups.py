"""Compiling ahead: in groups, side by side, told, interruptible, once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.live.compiled.group_kernels import KERNELS
from rtsim.live.compiled.group_table import ALL, GROUPS, groups_of_limb
from rtsim.live.compiled.groups import compile_groups, n_kernel_of
from rtsim.live.hardware.limb_parts import parts_of
from tests.rtsim.live.rig import until

ROOT = Path(__file__).resolve().parents[4]

USED = """
import sys
from kernels.compiler import cache, jit
from rtsim.live.compiled.group_table import GROUPS
from rtsim.live.compiled.groups import ENTRIES
group, compiled = GROUPS[sys.argv[1]], []
cache.tell_compiled(compiled.append)
group.call()
called = [k.py_func for k in jit._COMPILED if k.signatures]
called = [f.__globals__["kernel"].py_func if "." + f.__name__ in ENTRIES else f for f in called]
used = {f.__name__ for f in called}
from rtsim.live.compiled.group_kernels import KERNELS
entries = KERNELS[sys.argv[1]].entries
lacking = [k.py_func.__name__ for k in entries if k.py_func.__name__ not in used]
reached = {k.py_func.__name__ for k in jit.reachable(entries)}
print(sorted(lacking), sorted(used - reached), "numba.np.linalg" in sys.modules and not compiled)
"""


@pytest.mark.process
@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="the compiler is off")  # type: ignore[attr-defined]
@pytest.mark.parametrize("name", GROUPS)
def test_a_group_names_all_that_it_calls(name: str) -> None:
    """Protects the count of the first start: every entry is called, and nothing beside them. What is in the
    cache is loaded without the compiler's own modules, half of the time of a start.
    """
    done = subprocess.run(
        [sys.executable, "-c", USED, name],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "[] [] False", done.stderr


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_counts_its_kernels(name: str) -> None:
    """Protects the count: a group has its entries, and what they call."""
    group = KERNELS[name]
    assert all(map(callable, (*group.entries, *group.without)))
    if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        assert n_kernel_of(name) > len(group.entries)


def test_every_group_has_its_kernels() -> None:
    """Protects a new group: its words and its call in one table, its kernels in the other."""
    assert list(KERNELS) == list(ALL)


@pytest.mark.parametrize(
    ("name", "groups"),
    [("ankle", ("coupled-simulation", "energy", "sensors")), ("knee_brace", ("simulation", "sensors"))],
)
def test_a_limb_with_a_device_names_what_watches_over_it(name: str, groups: tuple[str, ...]) -> None:
    """Protects the first start with a device: its watches are compiled with a bar, not in silence."""
    spec = load_toml(find_config(name, "hil"), HilSpec)
    assert groups_of_limb(parts_of(spec)[0]) == groups


N_KERNEL = {
    "solver": 247, "deviations": 333, "simulation": 369, "model": 250, "model-deviations": 336,
    "coupled-simulation": 370, "moment-arms": 166, "forces": 150, "recruitment": 66, "muscles": 62,
    "fdk": 429, "torque-generators": 25, "torque-generator-fit": 58,
    "held-simulation": 408, "turned-simulation": 370, "foot": 100, "foot-fit": 86,
    "conventional": 14, "energy": 330, "sensors": 8,
}  # fmt: skip
"""Of each group on 27 November 2026; who makes one grow by more than a tenth writes the new count here, and
into docs/benchmarks.md what it takes to compile."""


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="the compiler is off")  # type: ignore[attr-defined]
@pytest.mark.parametrize("name", ALL)
def test_a_group_grows_with_a_word(name: str) -> None:
    """Protects the first start: compile time is a budget, and a group does not grow unseen."""
    assert n_kernel_of(name) <= 1.1 * N_KERNEL[name]


@pytest.mark.process
@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="the compiler is off")  # type: ignore[attr-defined]
def test_what_a_group_took_is_told() -> None:
    """Protects the figures of a start: seconds by the clock and of a processor, and memory, of each group."""
    (cost,) = compile_groups(("torque-generators",), anew=True).values()
    assert 0.0 < cost.cpu_s < 60.0 * cost.seconds
    assert os.name == "nt" or 20.0 < cost.peak_mb < 5000.0


def begun(cache: Path, *arguments: str) -> subprocess.Popen[str]:
    """An rtsim command with an empty cache, once it has said that it compiles."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rtsim.cli.main", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)},
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "kernels" in line:
            break
    return process


def children_of(process: subprocess.Popen[str]) -> list[str]:
    """Numbers of the processes that it has started."""
    found = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False)
    return found.stdout.split()


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="signals of a terminal")
@pytest.mark.parametrize(
    "command", [("live",), ("moment-arms", "pin"), ("simulate", "stick_slip"), ("warmup",)]
)
def test_ctrl_c_during_the_first_compilation_is_quiet(command: tuple[str, ...], tmp_path: Path) -> None:
    """Protects whoever stops the first start: exit code 130, no traceback, no process left."""
    process = begun(tmp_path, *command)
    until(lambda: children_of(process) or process.poll() is not None)
    compilers = children_of(process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120.0)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    for compiler in compilers:
        with pytest.raises(ProcessLookupError):
            os.kill(int(compiler), 0)


@pytest.mark.process
def test_a_cache_that_cannot_be_written_is_told_at_the_start(tmp_path: Path) -> None:
    """Protects from silent compilation at every start: `warmup` refuses with the remedy."""
    (tmp_path / "file").touch()
    done = subprocess.run(
        [sys.executable, "-m", "rtsim.cli.main", "warmup"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "file"), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "NUMBA_CACHE_DIR" in done.stderr
    assert "Traceback" not in done.stderr
