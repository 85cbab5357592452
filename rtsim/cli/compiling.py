"""The first start: what is compiled, how far it is, and what to do where the code cannot be kept."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from rtsim.live.groups import Progress

LINE_S = 10.0
"""Where no terminal shows a bar, a line is printed this often [s]."""


def compile_first(console: Console, names: Iterable[str], anew: bool = False) -> dict[str, float]:
    """Compile what a command will call, unless it is in the cache; returns the seconds of each group.

    names, anew : as for rtsim.live.groups.compile_groups
    """
    from rich.text import Text

    from kernels._cache import cache_fault
    from rtsim.live.groups import compile_groups

    if cache_fault():
        console.print(Text(f"note: {cache_fault()}", "yellow"), soft_wrap=True)  # it holds a command
        return {}
    with console.status("") as status:
        shown = -LINE_S

        def tell(progress: Progress) -> None:
            nonlocal shown
            text = (
                f"compiling, the first time only: {progress.n_done} of {progress.n_kernel} kernels "
                f"({', '.join(progress.at_work)})"
            )
            if console.is_terminal:
                status.update(Text(text))
            elif progress.at_work and time.monotonic() - shown >= LINE_S:
                shown = time.monotonic()
                console.print(Text(text), soft_wrap=True)  # a log has no width

        return compile_groups(names, tell, anew)
