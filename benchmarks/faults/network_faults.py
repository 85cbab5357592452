"""Faults of the network and of different clocks, with a source on another machine."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from benchmarks.faults.fault import CannotTryError, FaultOutcome
from benchmarks.faults.relay import NetworkRelay
from benchmarks.faults.rig import PATIENCE_S, FaultRig
from benchmarks.strangers.hostile import line_of, tell
from streams.publisher import Publisher

N = 60
AHEAD_S, BEHIND_S = 3600, -1800
NETEM = "delay 40ms 20ms loss 5% reorder 10%"


@contextmanager
def behind_relay() -> Iterator[tuple[NetworkRelay, FaultRig]]:
    """Yield a relay, and an estimator that receives its markers through it."""
    with ExitStack() as stack:
        publisher = stack.enter_context(Publisher("tcp://127.0.0.1:0"))
        relay = stack.enter_context(NetworkRelay(publisher.address))
        yield relay, stack.enter_context(FaultRig(markers=relay.address, publisher=publisher))


def delayed() -> FaultOutcome:
    """Pieces of the stream are under way for 50 to 150 ms, as packets that are lost and sent again."""
    with behind_relay() as (relay, rig):
        rig.begin()
        rig.send(N)
        relay.delay_s, relay.jitter_s = 0.05, 0.1
        rig.send(2 * N)
        relay.delay_s = relay.jitter_s = 0.0
        rig.pause(0.3)
        rig.passed()
        rig.send(N)
        return rig.finish()


def held() -> FaultOutcome:
    """Nothing gets through for a second, then all that waited comes at once."""
    with behind_relay() as (relay, rig):
        rig.begin()
        rig.send(N)
        relay.holds = True
        rig.send(2 * N)
        relay.holds = False
        rig.pause(0.5)
        rig.passed()
        rig.send(N)
        return rig.finish()


def broken() -> FaultOutcome:
    """The connection breaks, and cannot be made again for half a second."""
    with behind_relay() as (relay, rig):
        rig.begin()
        rig.send(N)
        relay.broken = True
        rig.send(N)
        relay.broken = False
        rig.reconnected()
        rig.passed()
        rig.send(N)
        return rig.finish()


def netem() -> FaultOutcome:
    """In a network namespace the kernel delays, loses and reorders packets on their way."""
    unshare = shutil.which("unshare")
    if unshare is None or shutil.which("tc") is None:
        raise CannotTryError("the program unshare or tc is not installed")
    rule = f"ip link set lo up && tc qdisc add dev lo root netem {NETEM}"
    tried = subprocess.run([unshare, "-rn", "sh", "-c", rule], capture_output=True, text=True, check=False)
    if tried.returncode:
        raise CannotTryError(
            "netem cannot be used in a network namespace: "
            f"{(tried.stderr.strip() or 'refused').splitlines()[0]}"
        )
    return in_namespace([unshare, "-rn", "sh", "-c", f'{rule} && exec "$@"', "sh"])


def in_namespace(prefix: list[str]) -> FaultOutcome:
    """Send an undisturbed stream with source and estimator started by commands with this prefix."""
    command = [*prefix, sys.executable, "-m", "benchmarks.faults.network_faults"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=2.0 * PATIENCE_S)
    if done.returncode:
        return FaultOutcome(0, 0, 0, {}, done.stdout + done.stderr, {"estimator": done.returncode})
    return FaultOutcome(**json.loads(done.stdout.splitlines()[-1]))


def sound() -> FaultOutcome:
    """Send a stream that only the network disturbs."""
    with FaultRig() as rig:
        rig.begin()
        rig.passed()
        rig.send(3 * N)
        rig.pause(1.0)
        return rig.finish()


def ahead() -> FaultOutcome:
    """The source runs where the clock of all stamps is an hour ahead of the estimator's."""
    return apart(AHEAD_S)


def behind() -> FaultOutcome:
    """The source runs where the clock is half an hour behind."""
    return apart(BEHIND_S)


def apart(offset_s: int) -> FaultOutcome:
    """Run the source in a time namespace with a clock offset."""
    unshare = shutil.which("unshare")
    prefix = [unshare or "", "-rT", "--monotonic", str(offset_s)]
    if not unshare or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        raise CannotTryError("this operating system gives a process no clock of its own (time namespace)")
    command = [*prefix, sys.executable, "-m", "benchmarks.soak.source", "100", "1000"]
    source = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        markers = line_of(source)["markers"]
        with FaultRig(["--forces", markers, "--mass", "72"], markers=markers) as rig:
            rig.passed()
            tell(source, "go")
            rig.wait_for_answers(3 * N)
            assert source.stdin is not None
            source.stdin.close()
            outcome = rig.finish()
            return outcome._replace(n_sent=line_of(source)["sent"])
    finally:
        source.kill()
        source.wait()


if __name__ == "__main__":
    print(json.dumps(sound()._asdict()))
