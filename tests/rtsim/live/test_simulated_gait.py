"""A simulated limb that walks: the spline follows its phase, and its start is another walk."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.config.runs.hil_schema import GaitSpec, HilSpec
from rtsim.errors import ConfigError
from rtsim.live.hardware.device_loop import hil_loop
from rtsim.live.hardware.limb_parts import parts_of, simulator_for
from rtsim.live.inputs.recorded import KeptResults
from rtsim.stages.device.simulated_gait import SimulatedGait
from streams.messages import Command
from tests.rtsim.device.straight import StraightPort

PERIOD_S = 1.25
"""Of the motion of shank_foot."""
SPEC = load_toml(find_config("ankle_spline", "hil"), HilSpec)


def test_the_spline_acts_in_strides_that_begin_sure():
    """Protects the config that is shipped: no torque for two strides, then its peak once a stride; after a
    reset of the limb the same again."""
    spec = replace(
        SPEC,
        device="ideal_orthosis",
        duration_s=11.0,
        exchange=replace(SPEC.exchange, paced=False, valid_for_ms=1e3),
    )
    port = StraightPort(load_toml(find_config(spec.device, "devices"), DeviceSpec))
    port.hello()
    loop = hil_loop(spec, simulator_for(spec), port, KeptResults(), arm_s=0.1)
    assert any(isinstance(stage, SimulatedGait) for stage in loop.stages)
    restart_at = 3000
    orders = {restart_at: "reset", restart_at + 50: "arm"}

    def forge(message):
        if message.seq in orders:
            loop.command(Command(session="", name=orders[message.seq]))
        return message

    port.forge = forge
    loop.run()
    torque = np.array([output.torque[0] for output in port.outputs])
    n_stride = round(PERIOD_S * spec.exchange.rate_hz)
    for begin in (0, restart_at + 12):  # as fast as rate_max_Nm_s lets torque fall
        assert (torque[begin : begin + 2 * n_stride] == 0.0).all()
    assert torque[: restart_at - 10].min() == pytest.approx(spec.controller.peak_Nm, rel=0.01)
    assert torque[restart_at:].min() == pytest.approx(spec.controller.peak_Nm, rel=0.01)


def test_a_coordinate_that_is_not_there_is_told():
    """Protects the author of a config: which coordinates the model has."""
    with pytest.raises(ConfigError, match=r"no coordinate 'hip'; allowed: .*shank_tilt.*knee_forwards"):
        parts_of(replace(SPEC, gait=GaitSpec("hip")))
