"""Labels of the channels of electromyograms, with or without Lab Streaming Layer."""

from rtsim.bridges.emg import told_apart


def test_muscles_of_one_name_are_told_apart() -> None:
    """Protects from two curves of one label, of which readers by name see one: left and right as "RF"."""
    assert told_apart(["RF", "", "RF", "TA"]) == ("RF (channel 1)", "channel 2", "RF (channel 3)", "TA")
    assert len(set(told_apart(["x" * 200, "x" * 200]))) == 2
