"""Norms in files of ours."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.norms.norm_set import NormCurve, NormSet, check_convention, read_norms, write_norms
from rtsim.files.norms.variables import NAMES


def some(convention: str = "cgm") -> NormSet:
    """Norms of two angles."""
    random = np.random.default_rng(0)
    curves = {name: NormCurve(random.normal(size=101), random.random(101)) for name in NAMES[:2]}
    return NormSet('Größe "A" <b>', convention, curves, "a 'source'", "CC BY 4.0", 12, 60)


def test_norms_are_read_as_they_were_written(tmp_path) -> None:
    """Protects every number, and names with odd characters."""
    path = tmp_path / "norms.toml"
    write_norms(path, some())
    again = read_norms(path)
    assert again._replace(curves={}) == some()._replace(curves={})
    for name, curve in some().curves.items():
        np.testing.assert_array_equal(again.curves[name].mean, curve.mean)
        np.testing.assert_array_equal(again.curves[name].deviation, curve.deviation)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('convention = "cgm"', 'convention = "vicon"', "convention 'vicon'"),
        ('convention = "cgm"\n', "", "convention None"),
        ("curves.pelvis_tilt]", "curves.pelvis_tlt]", "unknown curve 'pelvis_tlt'"),
        ("n_person = 12", 'n_person = "12"', "n_person = '12'"),
        ("n_person = 12", "n_persons = 12", "unknown key 'n_persons'"),
        ("mean = [", "mean = [0.0, ", "mean is not 101 numbers"),
        ("mean = [", "mean = 1\nother = [", "mean is not 101 numbers"),
        ("deviation = [", "deviation = [nan, ", "deviation is not 101 numbers"),
        ("name =", "name ", "this is not a file of norms"),
    ],
)
def test_a_file_that_is_no_norms_is_refused_in_a_sentence(tmp_path, old: str, new: str, says: str) -> None:
    """Protects from norms of another kind than they say."""
    path = tmp_path / "norms.toml"
    write_norms(path, some())
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
    with pytest.raises(ConfigError, match=says):
        read_norms(path)


def test_binary_and_missing_files_are_refused(tmp_path) -> None:
    """Protects from a traceback."""
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(ConfigError, match="not a file of norms"):
        read_norms(tmp_path / "x.toml")
    with pytest.raises(ConfigError, match="no such file"):
        read_norms(tmp_path / "y.toml")


def test_one_convention_is_not_held_against_the_other() -> None:
    """Protects from norms of Plug-in Gait beside angles of the ISB, and the other way round."""
    check_convention(some("isb"), "isb", "x")
    for norms, angles in (("cgm", "isb"), ("isb", "cgm")):
        with pytest.raises(ConfigError, match="different conventions must not be compared"):
            check_convention(some(norms), angles, "x")
