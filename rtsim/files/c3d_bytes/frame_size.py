"""Checks that the reader of a C3D file took frames of the size that the header states.

The reader counts points and analog values by parameters, other programs by the header. Where the two differ,
frames of the wrong size turn analog values into positions.
"""

from __future__ import annotations

from pathlib import Path

from rtsim.errors import ConfigError
from rtsim.files.markers.c3d_check import BLOCK, Head
from rtsim.files.markers.c3d_process import Content

WORDS_OF_POINT = 4
"""Coordinates, and one for residual and cameras."""
SPARE = 2 * BLOCK
"""Bytes after the last frame: data fill whole blocks, and some programs write one more."""


def check_frame_size(head: Head, content: Content, path: Path) -> None:
    """Raise ConfigError where the numbers of a frame differ between header and parameters, unless the length
    of the file shows that the reader, which follows the parameters, is right.
    """
    n_frame, n_point, _ = content.points.shape
    by_header = WORDS_OF_POINT * head.n_point + head.n_value
    by_parameters = WORDS_OF_POINT * n_point + content.n_value
    if by_header == by_parameters or n_frame == 0 or n_point == 0:
        return
    n_data = head.n_byte - BLOCK * (head.data_start - 1)
    size = 2 if content.is_integer else 4
    if fits(n_data, size * n_frame * by_parameters) and not fits(n_data, size * n_frame * by_header):
        return
    raise ConfigError(
        f"the header counts {by_header} numbers in each frame ({head.n_point} points, {head.n_value} analog "
        f"values), the parameters {by_parameters} ({n_point} points, {content.n_value} analog values), so "
        "that positions cannot be told from analog values",
        where=str(path),
        remedy="export the trial again, as C3D or as TRC",
    )


def fits(n_data: int, n_frames: int) -> bool:
    """Whether frames of so many bytes are all of the data, but for what fills the last blocks."""
    return 0 <= n_data - n_frames < SPARE
