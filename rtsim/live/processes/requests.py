"""Requests to child processes: the whole run as one message, and data for a single process.

The parent writes the message as the first line on the child's standard input, so no option can be lost on
the way.
"""

from __future__ import annotations

import json
from typing import TypeVar

import msgspec

from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError


class EstimatorRequest(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The request to an estimator.

    markers : address of the marker stream
    wait_s, n_subscriber : time to wait [s], and number of subscribers of the results to wait for
    notes : notes that are published with the results
    anyway : whether to continue with a stream whose markers do not belong to the subject
    """

    run: RunConfig
    markers: str
    wait_s: float
    n_subscriber: int
    notes: tuple[str, ...] = ()
    anyway: bool = False


class PlayerRequest(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The request to a player: the source of a run, played at the run's address for markers, with forces if
    it has any.

    speed : factor by which the recording is played faster than it was recorded
    rate : rate of the synthetic walker and jaw [Hz]
    loop : whether to start over at the end; start_s, end_s : the part that is played [s]
    duration_s : duration of the synthetic walker and jaw [s]
    wait_s : time to wait for a subscriber [s]
    """

    run: RunConfig
    speed: float = 1.0
    rate: float | None = None
    loop: bool = False
    start_s: float = 0.0
    end_s: float | None = None
    duration_s: float = 0.0
    wait_s: float = 60.0


Request = TypeVar("Request", EstimatorRequest, PlayerRequest)


def encoded(request: EstimatorRequest | PlayerRequest) -> bytes:
    """Encode a request as one line of JSON in ASCII, which keeps numbers and file names exactly."""
    return json.dumps(msgspec.to_builtins(request)).encode("ascii")


def estimator_request(message: bytes) -> EstimatorRequest:
    """Decode the request to an estimator; ConfigError for an invalid one."""
    return decoded(message, EstimatorRequest)


def player_request(message: bytes) -> PlayerRequest:
    """Decode the request to a player; ConfigError for an invalid one."""
    return decoded(message, PlayerRequest)


def decoded(message: bytes, kind: type[Request]) -> Request:
    """Decode a request of this kind; ConfigError for an invalid one."""
    try:
        return msgspec.convert(json.loads(message), kind)
    except (ValueError, RecursionError) as fault:  # of JSON, and of msgspec
        raise ConfigError(
            f"the request is invalid ({fault})", where="--request",
            remedy="this is reserved for processes that rtsim starts itself; give the options instead",
        ) from None  # fmt: skip
