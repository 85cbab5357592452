"""Models written as TOML and read again."""

from __future__ import annotations

import math

import msgspec
import pytest

from rtsim.config.load import check_record, parse_toml
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import shipped_names
from rtsim.files.model_toml import model_text
from rtsim.files.osim.model import read_osim
from rtsim.models.load import load_model

from .osim_texts import CHAIN, CHAIN_MUSCLES, Model, wrap_object


def again(spec: ModelSpec) -> ModelSpec:
    return check_record(parse_toml(model_text(spec, "a\nb"), "text"), ModelSpec, "text")


@pytest.mark.parametrize("name", shipped_names("models"))
def test_shipped_models_survive(name):
    """Protects every kind of entry: what is written is read as the same model, number for number."""
    spec = load_model(name)
    assert again(spec) == spec


def test_opensim_models_survive(write):
    """Protects the way from .osim to .toml: splines, couplers, conditional and moving points."""
    text = Model(
        CHAIN, CHAIN_MUSCLES, wraps={"e": wrap_object("WrapSphere", "ball", "<radius>0.01</radius>")}
    ).text(40600)
    spec = read_osim(write("a.osim", text))[0]
    assert again(spec) == spec


def test_names_and_numbers_that_are_hard_to_write(write):
    """Protects quotes, other scripts, and every digit: strings and floats come back as they were."""
    spec = load_model("pin")
    hard = msgspec.structs.replace(
        spec, name='a "b" \\ c', source="Kniegelenk µ\nnext", gravity_m_s2=(1e-12, math.pi, -9.80665)
    )
    assert again(hard) == hard
