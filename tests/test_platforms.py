"""Windows and macOS, played on Linux: what they lack is not asked for without a look first."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from rtsim.cli.terminal import emergency
from rtsim.cli.terminal.emergency import EmergencySignal, emergency_key
from rtsim.files.markers import c3d_child
from rtsim.live.processes import thread_priority
from tests.syntax_trees import ROOT, syntax_trees

POSIX_MODULES = frozenset(["fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"])
POSIX_SIGNALS = frozenset(
    [
        "SIGALRM",
        "SIGCONT",
        "SIGHUP",
        "SIGKILL",
        "SIGPIPE",
        "SIGQUIT",
        "SIGSTOP",
        "SIGUSR1",
        "SIGUSR2",
        "SIGXCPU",
        "alarm",
        "pthread_kill",
        "pthread_sigmask",
        "setitimer",
        "sigwait",
    ]
)
POSIX_FUNCTIONS = frozenset(
    [
        "chown",
        "fchmod",
        "fchown",
        "fork",
        "geteuid",
        "getgid",
        "getpgid",
        "getuid",
        "killpg",
        "mkfifo",
        "nice",
        "openpty",
        "sched_getaffinity",
        "sched_getscheduler",
        "sched_setaffinity",
        "sched_setscheduler",
        "set_blocking",
        "setpriority",
        "setsid",
        "statvfs",
        "uname",
        "wait4",
    ]
)
LOOKED_BEFORE = {
    "kernels/compiler/private_folder.py": "HAS_OWNERS",
    "streams/access/ownership.py": 'os.name != "posix"',
    "streams/access/users.py": "TELLS",
    "rtsim/bench/runs/monitor.py": "sys.platform",
    "rtsim/studies/solving.py": 'sys.platform != "linux"',
}
"""Modules that ask by another name whether the system has it, and how."""
PLAYED = """
import asyncio, concurrent.futures, multiprocessing.context, subprocess, tempfile
import pkgutil, importlib, os, signal, sys
import click, ezc3d, msgspec, numba, numpy, rich.console, rich.progress, scipy, zmq
import numba.core.caching
import http.server, logging.handlers, mcap.reader, mcap.writer, platform, socketserver, ssl, uuid
missing = {missing!r}
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
for name in missing:
    sys.modules.pop(name, None)
for module, names in ((signal, {signals!r}), (os, {functions!r})):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
sys.platform = {platform!r}
failed = []
for package in ("kernels", "streams", "rtsim"):
    for found in pkgutil.walk_packages([os.path.join({root!r}, package)], package + "."):
        if found.name.startswith("rtsim.monitor") or found.name.endswith("c3d_child"):
            continue
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as fault:
            if fault.name in missing or fault.name.partition(".")[0] in ("kernels", "streams", "rtsim"):
                failed.append(f"{{found.name}}: {{fault}}")
        except Exception as fault:
            failed.append(f"{{found.name}}: {{type(fault).__name__}}: {{fault}}")
print("\\n".join(failed))
"""


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """The tree of every module of the installed packages, by its path."""
    return syntax_trees("kernels", "streams", "rtsim")


@pytest.mark.process
@pytest.mark.parametrize(
    ("platform", "modules", "signals", "functions"),
    [
        ("win32", POSIX_MODULES, POSIX_SIGNALS, POSIX_FUNCTIONS),
        ("darwin", frozenset(), frozenset(), frozenset(["sched_getaffinity", "sched_setscheduler"])),
    ],
)
def test_every_module_is_imported(
    platform: str, modules: frozenset[str], signals: frozenset[str], functions: frozenset[str]
) -> None:
    """Protects users of Windows and macOS: no module needs, to be imported, what their system lacks."""
    # what POSIX's own standard library calls as it is imported later stays
    needed_here = {"fork", "geteuid", "getuid", "uname"}
    code = PLAYED.format(
        missing=sorted(modules), signals=sorted(signals), functions=sorted(functions - needed_here),
        platform=platform, root=str(ROOT),
    )  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == ""


def at_import(tree: ast.Module) -> Iterator[ast.AST]:
    """Nodes that run as a module is imported: those outside of functions."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield node
            waiting += ast.iter_child_nodes(node)


def test_no_module_of_one_system_is_imported_at_once(trees: dict[str, ast.Module]) -> None:
    """Protects Windows: modules of POSIX are imported where they are used, after a look at the system."""
    found = []
    for name, tree in trees.items():
        for node in at_import(tree):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            found += [f"{name}: {module}" for module in modules if module in POSIX_MODULES]
    assert found == []


def test_what_one_system_has_is_looked_for_first(trees: dict[str, ast.Module]) -> None:
    """Protects Windows: a function or signal of POSIX is used where the module asks whether it is there."""
    found = []
    for name, tree in trees.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
                continue
            known = {"os": POSIX_FUNCTIONS, "signal": POSIX_SIGNALS}.get(node.value.id, frozenset())
            family = node.attr.replace("_get", "_").replace("_set", "_")
            looks = [f'hasattr({node.value.id}, "{attribute}")' for attribute in known
                     if attribute.replace("_get", "_").replace("_set", "_") == family]  # fmt: skip
            if node.attr in known and not any(
                look in text for look in (*looks, LOOKED_BEFORE.get(name, looks[0]))
            ):
                found.append(f"{name}:{node.lineno} {node.value.id}.{node.attr}")
    assert found == []


def test_every_text_file_has_an_encoding(trees: dict[str, ast.Module]) -> None:
    """Protects Windows, whose own encoding is not UTF-8: names of persons are read as they were written."""
    found = []
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or any(k.arg in ("encoding", None) for k in node.keywords):
                continue
            called = ast.unparse(node.func)
            mode = next(
                (k.value for k in node.keywords if k.arg == "mode"), node.args[1] if node.args[1:] else None
            )
            binary = isinstance(mode, ast.Constant) and "b" in str(mode.value)
            opens = called == "open" and not binary
            if opens or called.endswith((".read_text", ".write_text")):
                found.append(f"{name}:{node.lineno} {called}")
    assert found == []


def test_processes_are_started_anew(trees: dict[str, ast.Module]) -> None:
    """Protects all systems alike: a pool of processes is spawned, never forked, whatever Python chooses."""
    found = []
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("get_context"):
                found.append((name, ast.unparse(node.args[0])))
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
                ("ProcessPoolExecutor", "mp.Pool")
            ):
                assert len(node.args) + len(node.keywords) >= 2, f"{name}:{node.lineno} has no context"
    assert {context for _, context in found} == {"'spawn'"}


def test_an_emergency_signal_is_none_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a run on Windows, also of Python 3.11, whose pipes always block: it begins all the same."""
    monkeypatch.delattr(signal, "SIGUSR2", raising=False)
    monkeypatch.delattr(os, "set_blocking", raising=False)
    with EmergencySignal() as ways:
        assert ways.name == ""


def test_an_emergency_key_is_none_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a run on Windows: it says that there is no key, and does not look for modules of POSIX."""
    monkeypatch.setattr(sys, "platform", "win32")
    for name in ("termios", "tty", "fcntl"):
        monkeypatch.setitem(sys.modules, name, None)
    assert emergency.__name__
    with emergency_key(lambda: None) as there:
        assert there is False


def test_limits_are_none_where_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects Windows: the reader of C3D files works without limits of its process."""
    resource = pytest.importorskip("resource")
    kinds = (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_CORE)
    before = [resource.getrlimit(kind) for kind in kinds]
    monkeypatch.setitem(sys.modules, "resource", None)
    c3d_child.limit(1 << 30, 60)
    assert [resource.getrlimit(kind) for kind in kinds] == before


def test_priority_is_refused_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects Windows and macOS: a run that asks for priority or a processor goes on without."""
    for name in ("sched_setscheduler", "sched_getaffinity", "sched_setaffinity"):
        monkeypatch.delattr(os, name, raising=False)
    assert thread_priority.may_have_priority() is False
    assert thread_priority.processors() == ()
    with thread_priority.pinned(0) as granted:
        assert granted is False
