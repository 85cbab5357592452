"""Electromyograms of C3D files: chosen by names, in volts, what is wrong with a channel told."""

from __future__ import annotations

import ezc3d
import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.c3d_emg import find_channels, oddities, read_c3d_emg

RATE, N_FRAME = 1000.0, 40
LABELS = ("Force.Fz1", "Voltage.L Rect", "Voltage.R Rect", "EMG 1", "EMG 2", "Angle", "Plain", "l rect")


def signals(n=int(RATE / 100.0) * N_FRAME):
    """Return (n, n_channel) of noise, each channel of its own."""
    return np.random.default_rng(4).normal(size=(n, len(LABELS)))


@pytest.fixture
def c3d(tmp_path):
    """Return a function that writes a C3D file with analog channels, and gives its path."""

    def write(units=("N", "V", "mV", "uV", "V", "deg", "", "V"), samples=None, labels=LABELS):
        file = ezc3d.c3d()
        file["parameters"]["POINT"]["RATE"]["value"] = [100.0]
        file["parameters"]["POINT"]["LABELS"]["value"] = ["RASI"]
        file["parameters"]["ANALOG"]["RATE"]["value"] = [RATE]
        file["parameters"]["ANALOG"]["LABELS"]["value"] = list(labels)
        file["parameters"]["ANALOG"]["UNITS"]["value"] = list(units)
        file.add_parameter("FORCE_PLATFORM", "CHANNEL", np.array([[1.0]]))
        file["data"]["points"] = np.ones((4, 1, N_FRAME))
        file["data"]["analogs"] = (signals() if samples is None else samples).T[None]
        file.write(str(tmp_path / "walk.c3d"))
        return str(tmp_path / "walk.c3d")

    return write


def test_channels_are_read_by_names_in_volts(c3d):
    """Protects muscles: the channels that were named, in their order, with what their units are."""
    emg = read_c3d_emg(c3d(), "R Rect, Voltage.L Rect,EMG*")
    assert emg.names == ("Voltage.R Rect", "Voltage.L Rect", "EMG 1", "EMG 2")
    assert (emg.unit, emg.rate, emg.notes) == ("V", RATE, ())
    columns, volts = [2, 1, 3, 4], np.array([1e-3, 1.0, 1e-6, 1.0])
    np.testing.assert_allclose(emg.samples, signals()[:, columns] * volts, rtol=1e-6)


def test_a_channel_is_chosen_once_and_the_exact_name_comes_first(c3d):
    """Protects against the wrong side: exact names before others, a channel named twice is one."""
    assert read_c3d_emg(c3d(), "l rect,l rect").names == ("l rect",)
    assert find_channels("EMG 2", ["EMG 2", "emg 2"], "a.c3d") == [0]
    assert find_channels("a*", ["Ab", "b", "ac", ""], "a.c3d") == [0, 2]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("Soleus", "no analog channel 'Soleus'"),
        ("EMG 1,,EMG 2", "no analog channel ''"),
        ("X*", "no analog channel 'X"),
        ("Fz1", "is a channel of a force plate"),
        ("Angle", "is in deg, so it is not an electromyogram"),
        ("EMG 1,Plain", "Plain of .* states no unit"),
    ],
)
def test_what_is_no_electromyogram_is_told_in_a_sentence(c3d, wanted, words):
    """Protects who misspells a name or takes a plate for a muscle: what is wrong, and what there is."""
    with pytest.raises(ConfigError, match=words):
        read_c3d_emg(c3d(), wanted)


def test_files_without_such_channels_are_told(c3d, tmp_path):
    """Protects who gives --emg for another file: no C3D, none with channels, two of one name."""
    with pytest.raises(ConfigError, match="no analog channels"):
        read_c3d_emg(str(tmp_path / "walk.trc"), "EMG 1")
    with pytest.raises(ConfigError, match=r"2 analog channels of .* are called 'EMG'"):
        read_c3d_emg(c3d(labels=("EMG", "EMG", *LABELS[2:])), "EMG")


@pytest.mark.parametrize("wanted", ["EMG*", "EMG_R,E?G", "*"])
def test_a_pattern_does_not_match_two_channels_of_one_name(c3d, wanted):
    """Protects a channel from being lost: results that are looked up by label would have only one of both."""
    path = c3d(labels=("EMG", "EMG", "EMG_R", *LABELS[3:]), units=("V",) * len(LABELS))
    with pytest.raises(ConfigError, match=r"2 analog channels of .* are called 'EMG'") as refused:
        read_c3d_emg(path, wanted)
    assert refused.value.remedy == "rename the channels in the capture system"
    assert read_c3d_emg(path, "EMG_*").names == ("EMG_R",)


def test_a_channel_without_a_unit_is_the_files_number(c3d):
    """Protects from invented volts: no unit is told as none."""
    emg = read_c3d_emg(c3d(), "Plain")
    assert emg.unit == ""
    assert "no unit is stated" in emg.notes[0]


def test_oddities_of_a_channel_are_told():
    """Protects who reads envelopes: constant, missing and saturated channels are named, sound ones not."""
    sound = np.random.default_rng(1).normal(size=20_000)
    assert oddities("A", sound) == []
    assert oddities("A", np.round(4.0 * sound)) == []  # few steps of a small signal are no limit
    assert "is saturated" in oddities("A", np.clip(np.repeat(sound, 4), -1.5, 1.5))[0]
    assert "is constant" in oddities("A", np.full(100, 2.5))[0]
    assert (
        "1.0 % of the samples of this channel are missing"
        in oddities("A", np.where(np.arange(20_000) % 100, sound, np.nan))[0]
    )
    assert "100.0 %" in oddities("A", np.full(100, np.nan))[0]


def test_channels_of_force_plates_are_not_offered() -> None:
    """Protects who asks for a name that is not there from a list of force channels."""
    with pytest.raises(ConfigError) as refused:
        find_channels("TA", ["Fx", "Fy", "EMG 1"], "a.c3d", {0, 1})
    assert refused.value.allowed == "EMG 1"
    with pytest.raises(ConfigError, match="all belong to force plates"):
        find_channels("TA", ["Fx", "Fy"], "a.c3d", {0, 1})
