"""Benchmark of the monitor's window, drawn by software rendering: how often it is redrawn, its load, and its
effect on the latency of the live loop whose results it shows.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from tempfile import TemporaryDirectory

import numpy as np
from msgspec.structs import replace

from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.runs import latency
from rtsim.live.processes.children import CHILD, Child
from streams.codec import FieldLayout
from streams.messages import Curves, FieldSpec, Result, Session, new_session_id
from streams.publisher import Publisher

N_FIELD, N_JOINT, N_MOVEMENT, RATE_HZ, STRIDE_S = 2, 10, 3, 100.0, 1.1
"""The results shown: sixty curves with standard deviations, and a stick figure that walks."""
REDRAW_HZ, CPU_PERCENT, RATIO = 30.0, 60.0, 1.05
START_S = 3.0
"""Time for a window to start, which does not count in measurements of the loop [s]."""
N_TURN = 3
"""Number of runs of each kind, which alternate."""
SEGMENTS = ("pelvis", "thigh_r", "shank_r", "foot_r", "thigh_l", "shank_l", "foot_l")


def run(seconds: float) -> list[BenchFigure]:
    """Return the benchmark results of a monitor window that shows a synthetic walk for `seconds` [s], and of
    the latency of the live loop with and without a window.
    """
    say(f"monitor: {N_FIELD * N_JOINT * N_MOVEMENT} curves at {RATE_HZ:g} Hz for {seconds:g} s")
    account = drawn(seconds)
    say(
        f"monitor: the loop without a window, with a window, and with a stopped window, {N_TURN} times "
        f"{seconds:g} s"
    )
    p99 = {name: float(np.median(values)) for name, values in loops(seconds).items()}
    figures = [
        BenchFigure("curves", account["n_curve"], "1"),
        BenchFigure("strides", account["n_stride"], "1"),
        BenchFigure("redraw_hz", account["redraw_hz"], "Hz", REDRAW_HZ, "higher"),
        BenchFigure("curve_redraw_hz", account["curve_redraw_hz"], "Hz"),
        BenchFigure("cpu_percent", account["cpu_percent"], "% of a core", CPU_PERCENT, "lower"),
        BenchFigure("frames_taken", account["n_frame"], "1"),
    ]
    for name, value in p99.items():
        figures.append(BenchFigure(f"loop_p99_us.{name}", value, "us"))
    for name in [name for name in p99 if name != "without"]:
        label = "loop_p99_ratio" if name == "with" else f"loop_p99_ratio.{name}"
        figures.append(BenchFigure(label, p99[name] / p99["without"], "1", RATIO, "lower"))
    return figures


def drawn(seconds: float) -> dict[str, float]:
    """Run a monitor window on the synthetic walk for `seconds` [s]; return the counts that it prints at its
    end, such as redraws and load.
    """
    over = threading.Event()
    with TemporaryDirectory() as folder, Publisher("tcp://127.0.0.1:0") as publisher:
        sender = threading.Thread(target=walk_on, args=(publisher, over), daemon=True)
        sender.start()
        command = [sys.executable, "-m", "rtsim.cli.main", "monitor", publisher.address]
        done = subprocess.run(
            [*command, "--duration", str(seconds), "--json"], env=environment(folder), capture_output=True,
            text=True, check=False, timeout=seconds + 60.0,
        )  # fmt: skip
        over.set()
        sender.join()
    if done.returncode:
        raise RuntimeError(f"the window has failed: {done.stderr.strip()[-400:]}")
    account: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return account


def loops(seconds: float) -> dict[str, list[float]]:
    """Return the 99th percentiles of the time from receipt to publication in the live loop [us], one for each
    repeated run: without a window that shows its results, with one, and with one that is frozen, which means
    that the system has stopped its process.
    """
    ways: dict[str, Callable[[str], list[Child]]] = {
        "without": lambda results: [], "with": lambda results: [_window(results)],
    }  # fmt: skip
    if hasattr(signal, "SIGSTOP"):
        ways["frozen"] = lambda results: [_stopped(results)]
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(N_TURN):
        for name, beside in ways.items():
            chain = latency.of_walker(RATE_HZ, seconds, "minimised", False)
            stamps = latency.measure(chain, beside)[0]
            inside = 1e-3 * (stamps[:, 2] - stamps[:, 1])
            late = inside[int(START_S * RATE_HZ) :] if len(inside) > 2.0 * START_S * RATE_HZ else inside
            found[name].append(float(np.percentile(late, 99.0)))
    return found


def _window(results: str) -> Child:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    return Child("monitor", ["monitor", results])


def _stopped(results: str) -> Child:
    """Start a monitor window, and freeze it after a while as if its machine had frozen; results : address of
    the results that it receives
    """
    window = _window(results)
    threading.Timer(START_S, os.kill, (window.pid, signal.SIGSTOP)).start()
    return window


def environment(folder: str) -> dict[str, str]:
    """Return the environment variables of an off-screen window with its own settings in a folder, so that
    the user's settings have no effect.
    """
    kept = {name: value for name, value in os.environ.items() if name != CHILD}
    return {**kept, "QT_QPA_PLATFORM": "offscreen", "LIBGL_ALWAYS_SOFTWARE": "1", "XDG_CONFIG_HOME": folder}


def walk_on(publisher: Publisher, over: threading.Event, speed: float = 1.0) -> None:
    """Publish the synthetic walk until the event `over` is set, `speed` times as fast as it was walked."""
    labels = [f"joint{j}_{m}" for j in range(N_JOINT) for m in ("flexion", "adduction", "rotation")]
    n = len(labels)
    fields = [
        FieldSpec(name="segment_positions", shape=(7, 3), unit="m", labels=SEGMENTS),
        FieldSpec(name="segment_rotations", shape=(7, 3, 3), unit="1", labels=SEGMENTS),
        FieldSpec(name="joint_centres", shape=(7, 3), unit="m", labels=SEGMENTS),
    ]
    for k in range(N_FIELD):
        curves = Curves("", f"angle {k}", k, 0.1)
        angles = FieldSpec(name=f"angles{k}", shape=(n,), unit="rad", labels=labels, curves=curves)
        fields += [angles, replace(angles, name=f"spread{k}", of=angles.name, role="deviation", curves=None)]
    session = Session(
        session=new_session_id(), stream="result", t_start=0, rate=RATE_HZ, fields=fields,
        meta={"subject": "bench", "side": "both"},
    )  # fmt: skip
    publisher.announce(session)
    layout, seq, begun, begun_ns = FieldLayout(session), 0, time.monotonic(), time.perf_counter_ns()
    while not over.wait(max(0.0, begun + seq / (speed * RATE_HZ) - time.monotonic())):
        publisher.service()
        t = seq / RATE_HZ
        now = begun_ns + round(1e9 * t)
        phase = np.array([t / STRIDE_S, t / STRIDE_S + 0.5]) % 1.0
        ahead = np.where(phase < 0.6, 0.3 - phase, -0.3 + 1.5 * (phase - 0.6))
        places = np.array([[0.0, 0.9, 0.0], *([[part * a, 0.9 * (1.0 - part), 0.2 * k - 0.1]
                           for k, a in enumerate(ahead) for part in (0.3, 0.6, 0.95)])])  # fmt: skip
        places[:, 0] += 1.2 * t
        swing = 0.5 * np.sin(2.0 * np.pi * t / STRIDE_S + np.arange(n))
        data = {
            **{f"angles{k}": swing for k in range(N_FIELD)},
            **{f"spread{k}": np.full(n, 0.03) for k in range(N_FIELD)},
            "segment_positions": places, "joint_centres": places,
            "segment_rotations": np.tile(np.eye(3), (7, 1, 1)),
        }  # fmt: skip
        publisher.send(
            Result(
                session=session.session,
                seq=seq,
                time=t,
                t_capture=now,
                t_received=now,
                t_solved=now,
                t_published=now,
                status=0,
                iterations=1,
                residual=0.0,
                data=layout.pack(data),
            )
        )
        seq += 1
