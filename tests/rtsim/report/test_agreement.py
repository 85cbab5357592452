"""Tables of choices beside each other: numbers, cycles, and what cannot be compared."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.config.runs.run_schema import Compare
from rtsim.errors import ConfigError
from rtsim.files.recording import Results
from rtsim.methods.agreement import frequency_of
from rtsim.report.agreement import compare, in_words
from streams.messages import FieldSpec, Session

TIMES = np.arange(1000) / 100.0
SPEC = Compare(choice="joint", fields={"places": ("measured", "own")}, cycles=3, start_s=2.0)


def results_of(places: np.ndarray) -> Results:
    """Places of one point along two axes [m]."""
    field = FieldSpec("places", (1, 2), "m", ("left",), ("x", "y"))
    session = Session(session="s", stream="result", t_start=0, rate=100.0, fields=(field,))
    n = len(places)
    return Results(session, {"places": places[:, None]}, TIMES[:n], np.zeros(n, np.int64))


def wave(frequency: float, scale: float = 1.0) -> np.ndarray:
    phase = 2.0 * np.pi * frequency * TIMES
    return scale * 1e-3 * np.column_stack([np.sin(phase), 2.0 + 0.2 * np.cos(phase)])


@pytest.mark.parametrize("frequency", [0.5, 0.83, 1.7])
def test_cycles_and_numbers_are_those_of_the_curves(frequency: float) -> None:
    """Protects the tables: the movement's own frequency, lengths in millimetres, each entry by itself."""
    told = compare(
        {"measured": results_of(wave(frequency)), "own": results_of(wave(frequency, 1.1))}, SPEC, "x"
    )
    assert told["frequency_hz"] == pytest.approx(frequency, rel=0.01)
    assert told["cycles"] == 3
    first, second = told["rows"]
    assert (first["entry"], first["unit"], first["choice"], first["beside"]) == (
        "left x",
        "mm",
        "own",
        "measured",
    )
    assert first["mean"]["rmsd"] == pytest.approx(0.1 / np.sqrt(2.0), rel=0.02)
    assert first["mean"]["magnitude"] == pytest.approx(0.1)
    assert (first["mean"]["r2"], second["mean"]["r2"]) == pytest.approx((1.0, 1.0))
    assert "left y" in in_words(told)


def test_nothing_is_compared_that_cannot_be() -> None:
    """Protects users from tables of nothing: unknown fields, no cycles, each in one sentence."""
    found = {"measured": results_of(wave(1.0)), "own": results_of(wave(1.0))}
    unknown = Compare(choice="joint", fields={"forces": ("measured", "own")})
    with pytest.raises(ConfigError, match=r"measured do not contain this field.*allowed: places"):
        compare(found, unknown, "x")
    short = {name: results_of(wave(0.5)[:150]) for name in found}
    with pytest.raises(ConfigError, match="no whole cycle"):
        compare(short, SPEC, "x")


def test_what_stands_still_has_no_frequency() -> None:
    """Protects against cycles of noise that is not there."""
    assert np.isnan(frequency_of(TIMES, np.ones((1000, 3))))
    assert np.isnan(frequency_of(TIMES, np.full((1000, 3), np.nan)))
    assert np.isnan(frequency_of(TIMES[:4], np.ones((4, 3))))


def test_long_names_and_numbers_do_not_touch() -> None:
    """Protects tables of any labels: what is wider than usual moves the columns, and none is cut."""
    field = FieldSpec(
        "forces", (1,), "N", ("a_condyle_with_a_long_name",), frame="the body that carries them"
    )
    session = Session(session="s", stream="result", t_start=0, rate=100.0, fields=(field,))
    curves = 123456.789 * (2.0 + np.sin(2.0 * np.pi * TIMES))[:, None]
    found = {
        name: Results(session, {"forces": scale * curves}, TIMES, np.zeros(len(TIMES), np.int64))
        for name, scale in (("measured", 1.0), ("own", -1e-7))
    }
    spec = Compare(choice="joint", fields={"forces": ("measured", "own")}, cycles=3, start_s=2.0)
    head, row = in_words(compare(found, spec, "x")).splitlines()[-2:]
    assert row.startswith("a_condyle_with_a_long_name  ")
    assert len(head) == len(row)
    ends = [head.index(name) + len(name) for name in ("rmsd", "r2", "magnitude", "phase")]
    assert all(row[end - 1] == ")" for end in ends)


def test_axes_of_a_body_have_the_names_of_anatomy() -> None:
    """Protects the tables: along a body's own axes AP, SI, ML; along the ground's x, y, z."""
    for frame, names in (
        ("the body that carries them", ["left AP", "left SI"]),
        ("ground", ["left x", "left y"]),
    ):
        field = FieldSpec("places", (1, 2), "m", ("left",), ("x", "y"), frame)
        session = Session(session="s", stream="result", t_start=0, rate=100.0, fields=(field,))
        found = {
            name: Results(session, {"places": wave(1.0, scale)[:, None]}, TIMES, np.zeros(1000, np.int64))
            for name, scale in (("measured", 1.0), ("own", 1.1))
        }
        assert [row["entry"] for row in compare(found, SPEC, "x")["rows"]] == names
