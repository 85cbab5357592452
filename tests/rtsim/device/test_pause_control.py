"""Pause, step and reset: when the limb stands, and that it never does so under torque."""

from __future__ import annotations

from rtsim.device.pause_control import WAIT_S, PauseControl


def moves(hold: PauseControl, n: int, off: bool = True) -> str:
    """Return a letter for each of some ticks: m moves, s stands, b goes back to its start."""
    found = ""
    for _ in range(n):
        hold.tick(off, 0.01)
        found += "b" if hold.back else "s" if hold.stands else "m"
    return found


def test_a_pause_waits_for_the_device_and_steps_are_counted() -> None:
    """Protects whoever follows the angle: the limb stands once the device is off, then moves by request."""
    hold = PauseControl()
    assert moves(hold, 3, off=False) == "mmm"
    hold.pause()
    assert moves(hold, 3, off=False) == "mmm"
    assert moves(hold, 3) == "sss"
    hold.n_left += 2
    assert moves(hold, 4) == "mmss"
    assert moves(hold, 2, off=False) == "ss"  # it does not begin to move of its own accord
    hold.pause()  # again changes nothing
    assert moves(hold, 2) == "ss"
    hold.resume()
    assert moves(hold, 2) == "mm"
    assert hold.n_moved == 10


def test_a_device_that_never_is_off_cannot_prevent_a_pause() -> None:
    """Protects the command: the wait for the device is bounded."""
    hold = PauseControl()
    hold.pause()
    n = round(WAIT_S / 0.01)
    assert moves(hold, n + 2, off=False) == "m" * n + "ss"


def test_a_reset_waits_too_and_leaves_a_pause_as_it_is() -> None:
    """Protects from jumps under torque: back when off, one tick from the start, then as before."""
    hold = PauseControl()
    hold.reset()
    assert moves(hold, 4, off=False) == "mmmm"
    assert moves(hold, 3) == "bmm"
    hold.pause()
    assert moves(hold, 2) == "ss"
    hold.reset()
    assert moves(hold, 3) == "bss"
