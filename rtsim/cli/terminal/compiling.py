"""Compilation of numerical kernels at the first start: what is compiled, its progress, and a remedy if the
code cannot be stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from rtsim.live.compiled.groups import CompileCost, CompileProgress

N_LINE = 10
"""Largest number of lines of progress that are printed if there is no terminal for a bar."""


def compile_first(console: Console, names: Iterable[str], anew: bool = False) -> dict[str, CompileCost]:
    """Compile the kernels that a command will call, unless they are in the cache; return the time and memory
    that each group took.

    names : groups of kernels; anew : whether to check every group, also those known to be complete
    """
    from rich import progress
    from rich.text import Text

    from kernels.compiler.cache import cache_fault
    from rtsim.live.compiled.groups import compile_groups

    if cache_fault():
        console.print(Text(f"note: {cache_fault()}", "yellow"), soft_wrap=True)  # it holds a command
        return {}
    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("compiling, the first time only", visible=False)
        n_line = 0

        def tell(found: CompileProgress) -> None:
            nonlocal n_line
            text = (
                f"compiling, the first time only: {found.n_done} of {found.n_kernel} kernels "
                f"({', '.join(found.at_work)})"
            )
            if console.is_terminal:
                bar.update(task, description=text, completed=found.n_done, total=found.n_kernel, visible=True)
            elif found.at_work and found.n_done * N_LINE >= n_line * found.n_kernel:
                n_line = found.n_done * N_LINE // found.n_kernel + 1
                console.print(Text(text), soft_wrap=True)  # a log has no width

        return compile_groups(names, tell, anew)
