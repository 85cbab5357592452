"""A run of the walker on both legs, one of which stands on a plate."""

import msgspec

from tests.rtsim.live.test_with_forces import RUN

LEGS = msgspec.structs.replace(RUN, side="both")
