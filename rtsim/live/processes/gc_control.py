"""Keeping the garbage collector out of the live loop, as a full collection stops every thread for 10 to 150
ms.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Suspend garbage collection within the `with` block, after one collection and a freeze of the remaining
    objects.

    Freezing excludes objects from later collections. Enter the block before the first frame can arrive. The
    loop itself collects young objects once a second; this takes microseconds, as all older ones are frozen.
    If the block is inside another `gc_paused` block, only objects that were created since the outer one began
    are collected. Objects that were frozen before the block stay frozen at its end.
    """
    gc.collect()
    if not gc.isenabled():
        yield
        return
    frozen_before = gc.get_freeze_count() > 0
    if not frozen_before:
        gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        if not frozen_before:
            gc.unfreeze()
