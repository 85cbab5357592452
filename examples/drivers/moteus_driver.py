"""A driver for `rtsim hil`: one joint on a moteus controller behind an fdcanusb adapter.

    python moteus_driver.py --port /dev/fdcanusb tcp://127.0.0.1:5563

NO HARDWARE HAS RUN IT: it was tested against a simulated controller alone. Two watchdogs stand behind each
other: this process lets torque fall when its command is too old; the controller ends it by itself when this
process, or the cable, is gone. Runs on the machine of the model.
"""

import argparse
import math
import select
import termios

import moteus_wire as wire
from device_side import Guard, now, serve

REPLY_NS = 1_500_000  # wait for the controller
MISSED_MOST, STARTING_MOST = 3, 100  # ticks without an answer of it; ticks in which it may get ready
FALLING_S = 0.02  # its watchdog while torque falls
TURN = 2.0 * math.pi


class Moteus:
    """The controller: one frame and one reply a tick."""

    def __init__(self, port: str, servo: int, sign: float, zero_deg: float) -> None:
        self.port, self.servo, self.sign, self.zero = wire.Port(port), servo, sign, math.radians(zero_deg)
        self.angle = self.speed = self.torque = 0.0
        self.t_ns = now()
        self.mode = self.code = 0
        self.n_missed = self.n_starting = 0

    def tick(self, guard: Guard) -> str:
        """Send what the guard allows and read what is measured; what is wrong with it, in words."""
        t_ns = now()
        torque, acts = self.sign * guard.tick(), guard.state in ("armed", "falling")
        valid_s = guard.left_s() if guard.state == "armed" else FALLING_S
        frame = wire.torque_frame(torque, guard.limit, valid_s) if acts else wire.STOP
        self.port.lines()  # replies that came too late are old
        self.port.send(wire.line_of(self.servo, frame))
        answered = self._read(now() + REPLY_NS)
        self.t_ns = t_ns if answered else self.t_ns
        self.n_missed = 0 if answered else self.n_missed + 1
        self.n_starting = self.n_starting + 1 if acts and self.mode != wire.IN_POSITION else 0
        if self.n_missed > MISSED_MOST:
            return f"moteus has not answered for {self.n_missed} ticks"
        if answered and self.mode == wire.FAULT:
            return f"moteus fault {self.code} ({wire.FAULTS.get(self.code, 'see its reference')})"
        if answered and self.mode == wire.TIMED_OUT and acts:
            return "moteus's own watchdog has acted"
        return f"moteus stays in mode {self.mode}" if self.n_starting > STARTING_MOST else ""

    def _read(self, due_ns: int) -> bool:
        """Wait for the reply to the newest frame; whether it came."""
        while (left_ns := due_ns - now()) > 0:
            select.select([self.port.fd], [], [], 1e-9 * left_ns)
            for line in self.port.lines():
                found = wire.reply_of(self.servo, line)
                if found is not None and self._keep(found):
                    return True
        return False

    def _keep(self, found: dict[int, float]) -> bool:
        """Take over a reply; whether it has everything, in numbers that are some."""
        values = [found.get(key, math.nan) for key in (wire.POSITION, wire.VELOCITY, wire.TORQUE)]
        if wire.MODE not in found or not all(map(math.isfinite, values)):
            return False
        self.mode, self.code = int(found[wire.MODE]), int(found.get(wire.FAULT_CODE, 0.0))
        self.angle = self.sign * (TURN * values[0] - self.zero)
        self.speed, self.torque = self.sign * TURN * values[1], self.sign * values[2]
        return True

    def stop(self) -> None:
        """End all torque."""
        self.port.send(wire.line_of(self.servo, wire.STOP))


def number(text: str) -> float:
    """A number of the command line."""
    if not math.isfinite(value := float(text)):
        raise argparse.ArgumentTypeError(f"{text} is no number that can be meant")
    return value


def torque(text: str) -> float:
    """A limit of torque [N m]."""
    if not 0.0 < (value := number(text)) <= wire.LARGEST_NM:
        raise argparse.ArgumentTypeError(f"{text}; allowed: more than 0, at most {wire.LARGEST_NM:g} N m")
    return value


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("address", nargs="?", default="tcp://127.0.0.1:5563", help="where the model waits")
    parser.add_argument("--port", required=True, help="serial port of the adapter")
    parser.add_argument("--id", type=int, default=1, help="of the controller on the bus")
    parser.add_argument("--torque-max", type=torque, default=5.0, help="own limit, at the output shaft [N m]")
    parser.add_argument(
        "--sign", type=int, choices=(1, -1), default=1, help="-1: the shaft turns the other way"
    )
    parser.add_argument(
        "--zero", type=number, default=0.0, help="where the shaft is at the joint's zero [deg]"
    )
    given = parser.parse_args()
    try:
        motor = Moteus(given.port, given.id, given.sign, given.zero)
    except (OSError, termios.error) as fault:
        parser.exit(1, f"{given.port} is no serial port that can be used: {fault}\n")
    serve(given.address, motor, given.torque_max)


if __name__ == "__main__":
    main()
