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

    Enter the block before the first frame can arrive. The loop itself collects young objects once a second,
    which takes microseconds as all older ones are frozen. Inside another `gc_paused` block only objects that
    were made since are collected. Objects that the program froze before stay frozen at the end, too.
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
