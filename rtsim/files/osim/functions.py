"""OpenSim's functions of one coordinate converted to those of a model file, in radians and metres."""

from __future__ import annotations

from typing import Any

import numpy as np

from rtsim.files.osim.document import Node

SPLINES = ("SimmSpline", "NaturalCubicSpline", "natCubicSpline")
"""Three names of one class of OpenSim. Its splines are not natural, in spite of the second name."""
LINES = ("PiecewiseLinearFunction",)
SINE = ("Sine",)
WAVE = (("amplitude", 1.0), ("omega", 1.0), ("phase", 0.0), ("offset", 0.0))
"""Parameters of a sine with their defaults."""
KNOWN = (
    "Constant", "LinearFunction", "PolynomialFunction", "MultiplierFunction", *SPLINES, *LINES, *SINE,
)  # fmt: skip


def function_below(node: Node) -> Node | None:
    """Return the function inside a property: within an element `function` in OpenSim 3.x, directly in 4.x;
    None if there is none.
    """
    holder = node.child("function")
    if holder is not None:
        node = holder
    for child in node.children():
        if child.tag in KNOWN:
            return child
        if child.tag[:1].isupper():  # an object, not a property
            refuse(child)
    return None


def refuse(node: Node) -> None:
    node.fail(
        f"a {node.tag} has no counterpart in rtsim",
        allowed=", ".join(KNOWN),
        remedy="replace it by a SimmSpline through its points",
    )


def read_function(node: Node, scale: float = 1.0) -> dict[str, Any]:
    """Return the function of an element, times a scale, as entries of a model file."""
    if node.tag == "MultiplierFunction":
        inside = function_below(node)
        if inside is None:
            node.fail(
                "the function needs another function inside it, which it multiplies",
                remedy="correct this element in the file",
            )
        return read_function(inside, scale * node.number("scale", 1.0))
    if node.tag == "Constant":
        return {"constant": scale * node.number("value", 0.0)}
    if node.tag in SINE:
        amplitude, omega, phase, offset = (node.number(name, usual) for name, usual in WAVE)
        return {"sine": [scale * amplitude, omega, phase, scale * offset]}
    if node.tag in (*SPLINES, *LINES):
        at, value = node.numbers("x") or [], node.numbers("y") or []
        if len(at) < 2 or len(at) != len(value):
            node.fail(
                f"the function has {len(at)} values of x but {len(value)} values of y",
                allowed="two or more pairs of x and y",
                remedy="correct this element in the file",
            )
        fall = next((k for k in range(1, len(at)) if not at[k] > at[k - 1]), 0)
        if fall:
            node.fail(
                f"x goes from {at[fall - 1]:g} to {at[fall]:g}; the values of x must increase",
                remedy="correct this element in the file",
            )
        points = {"at": at, "value": [scale * y for y in value]}
        return {"lines": points} if node.tag in LINES else {"spline": {**points, "ends": "cubic"}}
    # OpenSim writes the highest power first, also of [slope, intercept]
    coefficients = [scale * c for c in node.numbers("coefficients") or []]
    if node.tag == "LinearFunction":
        if len(coefficients) != 2:
            node.fail(f"{len(coefficients)} coefficients", allowed="two coefficients: slope and intercept")
        return {"linear": coefficients}
    if not coefficients:
        node.fail("the function has no coefficients", remedy="correct this element in the file")
    return {"polynomial": coefficients[::-1]}


def rough_value(function: dict[str, Any], x: float) -> float:
    """Evaluate a function, given as entries of a model file, at x: exactly, except that a spline is
    interpolated linearly between its knots. Keys that state no function stand for f(x) = x.
    """
    if "constant" in function:
        return float(function["constant"])
    if "linear" in function:
        return float(function["linear"][0] * x + function["linear"][1])
    if "polynomial" in function:
        return float(np.polynomial.polynomial.polyval(x, function["polynomial"]))
    if "sine" in function:
        amplitude, omega, phase, offset = function["sine"]
        return float(amplitude * np.sin(omega * x + phase) + offset)
    points = function.get("spline") or function.get("lines")
    if points:
        return float(np.interp(x, points["at"], points["value"]))
    return x
