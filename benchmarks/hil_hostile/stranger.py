"""Commands of another user to a run: `python -m benchmarks.hil_hostile.stranger UID ADDRESS NAME...`.

It gives each command in turn and prints whether it was done, and the answer, as JSON.
"""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys

from benchmarks.hil_hostile.case import LeftOut
from benchmarks.hil_hostile.wire import ask

NOBODY = "nobody"
PATIENCE_S = 2.0


def asked_by_another(address: str, *names: str) -> list[tuple[bool, str]]:
    """Return the answers that another user gets; LeftOut if this user cannot become another one."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        raise LeftOut("only root can become another user")
    try:
        uid = pwd.getpwnam(NOBODY).pw_uid
    except KeyError:
        raise LeftOut(f"there is no user {NOBODY}") from None
    command = [sys.executable, "-m", "benchmarks.hil_hostile.stranger", str(uid), address, *names]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60.0)
    return [(done, text) for done, text in json.loads(told.stdout)]


def main() -> None:
    """Become another user, then ask."""
    uid, address, names = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    os.setgroups([])
    os.setuid(uid)
    answers = []
    for name in names:
        name, _, pairs = name.partition(":")
        args = dict(pair.split("=") for pair in pairs.split(",") if pair)
        answers.append(ask(address, name, PATIENCE_S, **args))
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
