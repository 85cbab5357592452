"""What a wrong command line must not begin."""

from __future__ import annotations

import pytest

from rtsim.live.processes.children import Child


def nothing_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where kernels are compiled, or where a process starts that does more than wait for its request."""

    def ask(*_: object) -> None:
        pytest.fail("a process was asked for something")

    class Idle(Child):
        def __init__(self, name: str, arguments: list[str], asked_later: bool = False) -> None:
            assert asked_later, "a process began its work"
            super().__init__(name, arguments, asked_later)

    monkeypatch.setattr(Child, "ask", ask)
    monkeypatch.setattr("rtsim.live.processes.children.Child", Idle)
    monkeypatch.setattr(
        "rtsim.live.compiled.groups._Work", lambda name: pytest.fail(f"the group {name} is compiled")
    )
