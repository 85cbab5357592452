"""Reading of a C3D file by a forked copy of this process, where the system can fork: as safe, but far
faster.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from rtsim.files.markers import c3d_child, c3d_process
from rtsim.files.markers.c3d_process import BYTES_PER_BYTE, LEAST_BYTES, Content, content_of, failure

SECONDS = 20


def forked_content(path: Path, n_byte: int, *, with_analogs: bool = False) -> Content:
    """Read a file as `read_content` does, with the same code in the child process."""
    if not Path("/proc/self/statm").exists():
        return c3d_process.read_content(path, n_byte, with_analogs=with_analogs)
    memory = LEAST_BYTES + BYTES_PER_BYTE * n_byte
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as words:
        child = os.fork()
        if child == 0:
            run_child(path, memory, with_analogs, out.fileno(), words.fileno())
        _, status = os.waitpid(child, 0)
        out.seek(0)
        words.seek(0)
        code = os.waitstatus_to_exitcode(status)
        if code != 0:
            raise failure(path, code, words.read().decode("utf-8", "replace"), memory)
        return content_of(out.read())


def taken_bytes() -> int:
    """Return the address space that this process uses already, and its copy with it [bytes]."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def run_child(path: Path, memory: int, with_analogs: bool, out: int, words: int) -> None:
    """Read the file in the copied process, write its content, and end."""
    code = 1
    try:
        os.dup2(out, 1)
        os.dup2(words, 2)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", closefd=False)
        c3d_child.main(str(path), taken_bytes() + memory, SECONDS, with_analogs)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        sys.stderr.flush()
        os._exit(code)
