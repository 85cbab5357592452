"""How a child process tells its parent what it is doing: one JSON line per state on standard output."""

from __future__ import annotations

import json


def say(state: dict) -> None:
    """Print one state, at once."""
    print(json.dumps(state), flush=True)


def parse(line: str) -> dict:
    """The state in a line; {} where the line is something else."""
    try:
        state = json.loads(line)
    except json.JSONDecodeError:
        return {}
    return state if isinstance(state, dict) else {}
