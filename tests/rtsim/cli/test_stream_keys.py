"""Keys of `rtsim estimate` for two servers: one, the other, or both may demand keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtsim.cli.commands.estimate import keys_of_streams
from rtsim.errors import ConfigError
from streams.access.key_files import create_keys
from streams.access.security import Security


def test_each_stream_has_the_keys_that_were_given_for_it(tmp_path: Path) -> None:
    """Protects a laboratory whose forces come from another computer, and its markers from this one."""
    (a, _), (b, _) = create_keys(tmp_path, "markers"), create_keys(tmp_path, "forces")
    _, own = create_keys(tmp_path, "own")
    markers, forces = Security.for_client(own, a), Security.for_client(own, b)
    assert keys_of_streams(None, None, None) == (None, None)
    assert keys_of_streams(str(own), str(a), None) == (markers, None)
    assert keys_of_streams(str(own), None, str(b)) == (None, forces)
    assert keys_of_streams(str(own), str(a), str(b)) == (markers, forces)
    for given in ((None, str(a), str(b)), (None, None, str(b))):
        with pytest.raises(ConfigError, match="--client-key and --forces-server-key go together"):
            keys_of_streams(*given)
