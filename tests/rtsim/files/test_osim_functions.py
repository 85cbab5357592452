"""OpenSim's functions of coordinates as those of a model."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.config.models.function_schema import FunctionSpec
from rtsim.errors import ConfigError
from rtsim.files.osim.model import read_osim
from rtsim.models.packing.functions import function_of, value
from rtsim.models.scaling import scaled_function

from .osim_texts import (
    GROUND,
    LINE,
    SPLINE,
    Coordinate,
    Joint,
    Model,
    spatial_transform,
    transform_axis,
)


@pytest.fixture
def read(write):
    """Reader of a model, in the layout of OpenSim 4 unless told."""

    def read(model, version=40000):
        text = model if isinstance(model, str) else model.text(version)
        return read_osim(write("small.osim", text))

    return read


def knee_with(function, coordinate="bend"):
    """A body on a custom joint whose first translation follows a function of a coordinate."""
    transform = spatial_transform(
        transform_axis("rotation1", "0 0 1", "bend", LINE),
        transform_axis("translation1", "1 0 0", coordinate, function),
    )
    return Model((Joint("CustomJoint", GROUND, "a", (Coordinate("bend"),), transform),))


@pytest.mark.parametrize(
    ("text", "x", "expected"),
    [
        ("<Constant><value>0.3</value></Constant>", 2.0, 0.3),
        ("<LinearFunction><coefficients>2 0.5</coefficients></LinearFunction>", 3.0, 6.5),
        ("<PolynomialFunction><coefficients>1 2 5</coefficients></PolynomialFunction>", 2.0, 13.0),
        (
            "<MultiplierFunction><function><MultiplierFunction><function><LinearFunction>"
            "<coefficients>2 0.5</coefficients></LinearFunction></function><scale>3</scale>"
            "</MultiplierFunction></function><scale>-1</scale></MultiplierFunction>",
            3.0,
            -19.5,
        ),
        # by OpenSim 4.6: SimmSpline through five points, between them and outside
        (SPLINE, 0.3, 0.03037212739656603),
        (SPLINE, -1.7, 0.026072132145745136),
        (SPLINE, 2.5, -0.0073158826403228044),
    ],
)
def test_functions(read, text, x, expected):
    """Protects every function: order of coefficients, scales, and the ends of SIMM's splines."""
    spec, _ = read(knee_with(text))
    (motion,) = (motion for motion in spec.bodies[0].motion if motion.translates is not None)
    assert value(function_of(motion), x) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 9])
def test_splines_reproduce_cubics(read, n):
    """Protects SIMM's ends: through points of a cubic (3 points: parabola, 2: line) it is that polynomial."""
    at = np.sort(np.random.default_rng(n).uniform(-2.0, 2.0, n))
    polynomial = np.array([0.3, -0.2, 0.5, 0.7])[: min(n, 4)]
    values = np.polynomial.polynomial.polyval(at, polynomial)
    text = "<SimmSpline><x>{}</x><y>{}</y></SimmSpline>".format(
        *(" ".join(map(repr, numbers.tolist())) for numbers in (at, values))
    )
    (motion,) = (m for m in read(knee_with(text))[0].bodies[0].motion if m.translates is not None)
    x = 0.5 * (at[0] + at[-1])
    expected = np.polynomial.polynomial.polyval(x, polynomial)
    assert value(function_of(motion), x) == pytest.approx(expected, abs=1e-13)


WAVE = "<amplitude>0.7</amplitude><omega>1.9</omega><phase>-0.3</phase><offset>0.2</offset>"


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (f"<Sine>{WAVE}</Sine>", 0.5, 0.6236304840152276),
        ("<PiecewiseLinearFunction><x>0 1 2</x><y>0 2 1</y></PiecewiseLinearFunction>", -1.0, -2.0),
        ("<PiecewiseLinearFunction><x>0 1 2</x><y>0 2 1</y></PiecewiseLinearFunction>", 1.5, 1.5),
        ("<PiecewiseLinearFunction><x>0 1 2</x><y>0 2 1</y></PiecewiseLinearFunction>", 3.0, 0.0),
    ],
)
def test_waves_and_straight_pieces(read, function, x, expected):
    """Protects both by the values of OpenSim 4.6, with a scale around them, and moved and scaled on."""
    spec, _ = read(knee_with(function))
    motion = next(m for b in spec.bodies for m in b.motion if m.sine or m.lines)
    assert value(function_of(motion), x) == pytest.approx(expected, abs=1e-14)
    doubled = FunctionSpec(**scaled_function(motion, 2.0))
    assert value(function_of(doubled), x) == pytest.approx(2.0 * expected, abs=1e-14)
    wrapped = f"<MultiplierFunction><scale>-3</scale><function>{function}</function></MultiplierFunction>"
    spec, _ = read(knee_with(wrapped))
    motion = next(m for b in spec.bodies for m in b.motion if m.sine or m.lines)
    assert value(function_of(motion), x) == pytest.approx(-3.0 * expected, abs=1e-14)


@pytest.mark.parametrize("tag", ["SimmSpline", "NaturalCubicSpline", "natCubicSpline"])
def test_names_of_splines(read, tag):
    """Protects older models: three names of one function."""
    spec, _ = read(knee_with(SPLINE.replace("SimmSpline", tag)))
    assert spec == read(knee_with(SPLINE))[0]


@pytest.mark.parametrize(
    ("function", "what"),
    [
        ("<GCVSpline/>", "GCVSpline has no counterpart"),
        ("<SimmSpline><x>1</x><y>1</y></SimmSpline>", "two or more pairs"),
        ("<SimmSpline><x>1 2</x><y>1</y></SimmSpline>", "two or more pairs"),
        (
            "<SimmSpline><x>2 1</x><y>1 1</y></SimmSpline>",
            "SimmSpline: x goes from 2 to 1; the values of x must increase",
        ),
        ("<PiecewiseLinearFunction><x>1 1</x><y>1 1</y></PiecewiseLinearFunction>", "x goes from 1 to 1"),
        ("<PiecewiseLinearFunction><x>1</x><y>1</y></PiecewiseLinearFunction>", "two or more pairs"),
        ("<LinearFunction><coefficients>1</coefficients></LinearFunction>", "slope and intercept"),
        ("<PolynomialFunction><coefficients/></PolynomialFunction>", "no coefficients"),
        ("<MultiplierFunction/>", "the function needs another function inside it"),
        ("<Constant><value>x</value></Constant>", "does not consist of numbers"),
        ("<Constant><value>nan</value></Constant>", "nan is not a finite number"),
        ("<Constant><value>inf</value></Constant>", "inf is not a finite number"),
        ("<Constant><value>1e308</value></Constant>", "1e\\+308 is not a finite number"),
    ],
)
def test_functions_that_cannot_be(read, function, what):
    """Protects from a guess: an unknown or broken function is refused, with its place in the file."""
    with pytest.raises(ConfigError, match=what):
        read(knee_with(function))
