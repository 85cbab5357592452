"""Latency of the whole chain of a double, `rtsim connect` and `rtsim estimate`, compared with a plain ZeroMQ
source.

The frames are those of the synthetic walker among 60 markers. The plain source is measured just before each
system, so that the load of the machine is similar.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.adapters.chain import AdapterChain
from benchmarks.adapters.drive import ZEROMQ
from rtsim.bench.figures import BenchFigure
from rtsim.live.processes.children import Child
from streams.clock import now_ns
from streams.receiving.subscriber import Subscriber

SECONDS, QUICK_SECONDS = 20.0, 5.0
SETTLE_NS = 2_000_000_000
"""First results that do not count, of the estimator's own start [ns]."""
READY_S = 600.0
ABOVE_US = 600.0
ANY_PORT = "tcp://127.0.0.1:0"


def estimated(scheme: str, quick: bool) -> list[BenchFigure]:
    """Return the times from receipt to publication in the estimator, and from capture to publication,
    compared with the plain source.
    """
    seconds = QUICK_SECONDS if quick else SECONDS
    plain, system = stamps_of(ZEROMQ, seconds), stamps_of(scheme, seconds)
    (plain_us, plain_age_us), (us, age_us) = between(plain), between(system)
    return [
        BenchFigure("receive_to_publish_us.p50", us, "us"),
        BenchFigure("receive_to_publish_above_zeromq_us", us - plain_us, "us", ABOVE_US, "lower"),
        BenchFigure("capture_to_publish_us.p50", age_us, "us"),
        BenchFigure("capture_to_publish_above_zeromq_us", age_us - plain_age_us, "us"),
    ]


def between(stamps: NDArray[np.int64]) -> tuple[float, float]:
    """Return the median times from receipt and from capture to publication [us] for stamps (n, 3)."""
    captured, received, published = stamps.T
    return 1e-3 * float(np.median(published - received)), 1e-3 * float(np.median(published - captured))


def stamps_of(scheme: str, seconds: float) -> NDArray[np.int64]:
    """Return when each frame was captured, received and its result published, (n, 3) [ns]."""
    rows: list[tuple[int, int, int]] = []
    with AdapterChain(scheme, walker=True) as chain:
        asked = ["estimate", "--source", "walker", "--markers", chain.address, "--results", ANY_PORT]
        estimator = Child("estimator", [*asked, "--control", ANY_PORT])
        try:
            ready = estimator.wait_ready(READY_S)
            with Subscriber(ready["results"], ("result",), backlog=4096) as results:
                start_ns = now_ns() + SETTLE_NS
                while (now := now_ns()) < start_ns + round(1e9 * seconds):
                    estimator.check()
                    frame = results.wait(0.1)
                    if frame is not None and now > start_ns:
                        rows.append((frame.t_capture, frame.t_received, frame.t_published))
        finally:
            estimator.close()
        chain.ended()
    if not rows:
        raise RuntimeError(
            f"no result from frames of the simulated {scheme} server came within {seconds:g} s"
        )
    return np.array(rows, np.int64)
