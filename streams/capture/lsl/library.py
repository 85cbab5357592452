"""The library liblsl through its Python package, which is needed only where its streams are used."""

from __future__ import annotations

import ctypes
import importlib
import os
from functools import cache
from pathlib import Path
from typing import Any

from streams.capture.records import CaptureError
from streams.clock import now_ns

REMEDY = (
    "install it with the extra: pip install 'rtsim[lsl]'; its wheels bring liblsl for Linux with glibc 2.35, "
    "Windows and macOS, elsewhere get liblsl from conda-forge or its releases and name it in PYLSL_LIB"
)


QUIET = "[log]\nlevel = -3\n[tuning]\nInletBufferReserveMs = 100\nInletBufferReserveSamples = 16\n"
"""Settings of liblsl: no output of its own, and little memory reserved at once for each stream."""
CONFIGS = ("lsl_api.cfg", "~/lsl_api/lsl_api.cfg", "/etc/lsl_api/lsl_api.cfg")
"""Files in which liblsl looks for its user's settings."""


@cache
def lsl() -> Any:
    """Import and return the module pylsl. CaptureError where it, or liblsl, is missing."""
    try:
        library = importlib.import_module("pylsl")
    except (ImportError, OSError, RuntimeError) as fault:
        raise CaptureError("missing", f"Lab Streaming Layer needs pylsl ({fault}); {REMEDY}") from fault
    # It would write a line of every stream that comes and goes; who has settings of its own keeps them.
    configured = "LSLAPICFG" in os.environ or any(Path(name).expanduser().exists() for name in CONFIGS)
    if not configured and hasattr(library, "set_config_content"):
        library.set_config_content(QUIET)
    return library


def correction(library: Any, inlet: Any, timeout_s: float) -> tuple[float, float]:
    """Measure the difference between the clock of a sender and that of liblsl; return the difference and the
    round trip of the measurement, both [s].

    library, inlet : the module pylsl, and its open inlet of the sender's stream

    pylsl does not report the round trip, so liblsl is asked directly; if a version of pylsl gives no access
    to liblsl, the round trip is 0. Raises RuntimeError after the timeout, and if the stream no longer exists.
    """
    shared: Any = getattr(getattr(library, "lib", None), "lib", None)
    if not hasattr(shared, "lsl_time_correction_ex") or not hasattr(inlet, "obj"):
        return float(inlet.time_correction(timeout_s)), 0.0
    ask = shared.lsl_time_correction_ex
    remote, trip, fault = ctypes.c_double(), ctypes.c_double(), ctypes.c_int(0)
    ask.restype = ctypes.c_double
    found = ask(
        ctypes.c_void_p(getattr(inlet.obj, "value", inlet.obj)), ctypes.byref(remote), ctypes.byref(trip),
        ctypes.c_double(timeout_s), ctypes.byref(fault),
    )  # fmt: skip
    if fault.value:
        raise RuntimeError(f"liblsl has no time correction (fault {fault.value})")
    return float(found), float(trip.value)


def to_ours_ns(library: Any) -> int:
    """Return the number that, added to a time of liblsl's clock, gives the time of this machine's clock [ns];
    on some systems both are the same clock.

    library : the module pylsl
    """
    tries = []
    for _ in range(5):
        before = now_ns()
        theirs = round(1e9 * library.local_clock())
        after = now_ns()
        tries.append((after - before, (before + after) // 2 - theirs))
    return min(tries)[1]
