"""Shared set-up of all tests."""

import contextlib
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.fake_time import FakeTime
from tests.processor_time import add_option, measure

# The same examples in every run, and no clock: on a busy machine a call takes as long as it takes.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

# Workers use all processors: threads of linear algebra beside them would only wait for each other.
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

# A run in the background of a shell ignores Ctrl-C, and so would every process that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # as under nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(__file__).resolve().parents[1].parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of real recordings and reference solutions; tests that need it are skipped without it."""
    if not SHARED.is_dir():
        pytest.skip("the shared recordings are not here")
    return SHARED


@pytest.fixture
def fake_time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """The project's clock, which moves only by sleeping."""
    fake = FakeTime()
    monkeypatch.setattr("streams.clock.now_ns", fake.now)
    monkeypatch.setattr("streams.clock.time.sleep", fake.sleep)
    return fake


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    """A run in the process of the tests forbids to compile; the next test of that process may again."""
    yield
    if "kernels.compiler.jit" in sys.modules:
        sys.modules["kernels.compiler.jit"].allow_compilation()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays to the end: modules and thousands of tests are no garbage, and looking through
    them took half of a test that runs a loop, which collects before its first frame.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


OF_RUNS = ("model", "forces", "coupled-simulation")
"""Groups whose entries the tests of kernels call with other types."""
FOLDERS = {ROOT / "tests", ROOT / "tests" / "kernels", ROOT / "tests" / "rtsim", ROOT / "tests" / "streams"}


def of_many(config: pytest.Config) -> bool:
    """Whether a run is of whole folders, not of chosen files."""
    return bool({Path(argument).resolve() for argument in config.args} & FOLDERS)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Workers only where they are worth their start; one more than processors, as runs wait for clocks."""
    return min((os.cpu_count() or 1) + 1, 8) if of_many(config) else 0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With the compiler off, one seed of each test, and none that is marked `compiled`: others go through the
    same lines, a thousand times as slowly as compiled.
    """
    if os.environ.get("NUMBA_DISABLE_JIT") != "1" or not of_many(config):
        return
    first: dict[str, object] = {}
    repeats = {item for item in items if item.get_closest_marker("compiled")}
    for item in items:
        values = dict(item.callspec.params) if hasattr(item, "callspec") else {}
        seed = values.pop("seed", None)
        if first.setdefault(f"{item.nodeid.partition('[')[0]} {values}", seed) != seed:
            repeats.add(item)
    config.hook.pytest_deselected(items=sorted(repeats, key=items.index))
    items[:] = [item for item in items if item not in repeats]


def share_bytecode(config: pytest.Config) -> None:
    """Where Python is told to write no bytecode, a folder of this run takes it, and nothing is written beside
    the sources: else each of the hundreds of processes of a run would compile every module anew.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        folder = tempfile.mkdtemp(prefix="rtsim-bytecode-")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = folder
        sys.dont_write_bytecode = False


@contextlib.contextmanager
def collecting(config: pytest.Config) -> Iterator[None]:
    """Meanwhile one process collects the tests of a first run: all workers then find their bytecode, which
    each of them would make, half a minute of a processor.
    """
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-n", "0", *config.args]
    silent = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=silent, stdout=silent, stderr=silent)
    try:
        yield
        process.wait()
    finally:
        process.kill()
        process.wait()


def pytest_addoption(parser: pytest.Parser) -> None:
    """A table of where processor time goes."""
    add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Before a run of many tests, compile what they share, each group in a process, once for all workers."""
    measure(config)
    worker, silent = hasattr(config, "workerinput"), config.option.collectonly
    if worker or silent or not of_many(config):
        return
    share_bytecode(config)
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return
    from kernels.compiler.cache import is_complete
    from rtsim.live.compiled.group_table import GROUPS, ON_DEMAND
    from rtsim.live.compiled.groups import compile_groups

    chosen = {Path(argument).resolve() for argument in config.args}
    of_runs = OF_RUNS if chosen == {ROOT / "tests" / "kernels"} else ()
    on_demand = ON_DEMAND if config.option.markexpr == "own_kernels" else ()
    names = [name for name in (*GROUPS, *on_demand) if name not in of_runs]
    if all(map(is_complete, names)):
        return
    workers = bool(getattr(config.option, "tx", None))
    with collecting(config) if workers else contextlib.nullcontext():
        compile_groups(names)
