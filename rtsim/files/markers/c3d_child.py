"""Read one C3D file in a process of its own: `python c3d_child.py PATH MOST_BYTES MOST_SECONDS [analogs]`.

The C++ reader crashes on some damaged files and fills memory on others. In this separate process such a file
does no other harm; the system limits its memory and processor time where it can (not on Windows). No module
of rtsim is imported, so that it starts quickly. rtsim/files/markers/c3d_process.py starts it and reads what
it writes to standard output: one line of JSON (rates [Hz], first frame, shapes, counts, parameters), then
the points (n, n_point, 3) as float64, missing ones NaN, and where asked for the scaled analog samples
(n_sample, n_channel).
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

GROUPS = (
    "POINT", "MANUFACTURER", "PROCESSING", "FORCE_PLATFORM", "ANALOG", "TRIAL", "EVENT", "SUBJECTS",
    "ROTATION",
)  # fmt: skip
NO_READER = 3  # exit code: the package cannot be loaded
UNREADABLE = 4  # exit code: it refuses the file
TOO_LARGE = 5  # exit code: memory did not suffice


def limit(n_byte: int, seconds: int) -> None:
    """Limit memory [bytes], processor time [s] and core dumps, as far as the system permits."""
    try:
        import resource
    except ImportError:  # Windows
        return
    wanted = ((resource.RLIMIT_AS, n_byte), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0))
    for kind, most in wanted:
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        with contextlib.suppress(ValueError, OSError):  # macOS refuses some
            resource.setrlimit(kind, (most, hard))


def parameters_of(content: Any) -> dict[str, dict[str, list[Any]]]:
    """Return the texts and numbers of the parameter groups that a trial needs, in the order of the file."""
    return {
        group: {
            name: list(plain_values(parameter["value"]))
            for name, parameter in content["parameters"].get(group, {}).items()
            if "value" in parameter
        }
        for group in GROUPS
    }


def sizes_of(content: Any) -> dict[str, list[int]]:
    """Return the dimensions of each numeric parameter of the force plates, such as their corners."""
    import numpy as np

    group = content["parameters"].get("FORCE_PLATFORM", {})
    return {name: list(np.shape(p["value"])) for name, p in group.items() if "value" in p}


def values_per_frame(content: Any) -> int:
    """Return the number of analog values of each frame, as ezc3d counts them; content : a C3D file that ezc3d
    has read
    """
    import numpy as np

    n_frame = np.shape(content["data"]["points"])[2]
    return int(np.size(content["data"]["analogs"])) // max(1, n_frame)


def plain_values(values: Any) -> Iterator[Any]:
    """Yield the texts (of UTF-8 or Latin-1) and numbers of a C3D parameter in the types of JSON."""
    import numpy as np

    for value in values if isinstance(values, list) else np.ravel(values, order="F").tolist():
        if isinstance(value, str):
            raw = value.encode("utf-8", "surrogateescape")
            try:
                yield raw.decode("utf-8")
            except UnicodeDecodeError:
                yield raw.decode("latin-1")
        elif isinstance(value, (bool, int, float)):
            yield value


def main(path: str, n_byte: int, seconds: int, with_analogs: bool) -> None:
    """Read the file and write its content to standard output; on failure, end the process with one of this
    module's exit codes.
    """
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads would reserve address space
    limit(n_byte, seconds)
    try:
        import ezc3d
        import numpy as np
    except Exception as error:  # a broken binary fails with more than ImportError
        print(error, file=sys.stderr)
        sys.exit(NO_READER)
    try:
        content = ezc3d.c3d(path)
        points = np.asarray(content["data"]["points"], dtype=np.float64)
        missing = np.asarray(content["data"]["meta_points"]["residuals"])[0] < 0.0
        positions = np.ascontiguousarray(points[:3].transpose(2, 1, 0))
        positions[missing.T] = np.nan
        samples = np.zeros((0, 0))
        if with_analogs:
            samples = np.ascontiguousarray(content["data"]["analogs"][0].T, dtype=np.float64)
        head = {
            "rate": float(content["header"]["points"]["frame_rate"]),
            "first": int(content["header"]["points"]["first_frame"]),
            "shape": positions.shape,
            "analog_rate": float(content["header"]["analogs"]["frame_rate"]),
            "analog_shape": samples.shape,
            "n_value": values_per_frame(content),
            "parameters": parameters_of(content),
            "sizes": sizes_of(content),
        }
    except MemoryError:
        sys.exit(TOO_LARGE)
    except Exception as error:  # the C++ reader raises what it likes
        print(error, file=sys.stderr)
        sys.exit(TOO_LARGE if "bad_alloc" in str(error) else UNREADABLE)
    sys.stdout.buffer.write(json.dumps(head).encode("ascii") + b"\n")
    sys.stdout.buffer.write(positions.data)
    sys.stdout.buffer.write(samples.tobytes())
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), "analogs" in sys.argv[4:])
