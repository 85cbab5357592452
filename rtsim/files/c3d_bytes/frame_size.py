"""Checks that the header and the parameters of a C3D file describe its frames in the same way.

The library that reads C3D files, ezc3d, follows the parameters, other programs the header. If the two differ
in the size of a frame or of a number, ezc3d takes analog values or halves of numbers for positions. The
length of the file shows which of the two is right.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path

from rtsim.errors import ConfigError
from rtsim.files.markers.c3d_check import BLOCK, Head
from rtsim.files.markers.c3d_frames import stated_counts
from rtsim.files.markers.c3d_process import Content

WORDS_OF_POINT = 4
"""Coordinates, and one for residual and cameras."""
SPARE = 2 * BLOCK
"""Limit of the bytes after the last frame: data fill whole blocks, and some programs add one more."""
SCALE_AT, RATE_AT = 12, 20
"""Bytes of the header at which the scale of points and the rate of frames stand, in Intel format."""
ALIKE = 1e-4
"""Relative difference up to which two numbers differ by rounding only."""
REMEDY = "export the trial again, as C3D or as TRC"


def check_frames(copy: Path, head: Head, content: Content, path: Path) -> Content:
    """Check the frame and number sizes of a C3D file; return its content with notes on differences between
    header and parameters.

    ConfigError if the sizes that ezc3d used do not fit the length of the file.

    copy : the file, or a copy of it, in Intel format
    head : fields of its header
    content : what ezc3d read from it
    path : path of the file, for messages
    """
    with open(copy, "rb") as file:
        start = file.read(BLOCK)
    (scale,), (rate,) = (struct.unpack_from("<f", start, at) for at in (SCALE_AT, RATE_AT))
    size = 2 if content.is_integer else 4  # as the reader takes it
    _check_frame_size(head, content, size, path)
    if (scale > 0.0) != content.is_integer:
        _check_number_size(head, content, size, path)
    notes = [
        f"the header states a {what} of {by_header:g}, but POINT:{what.upper()} states "
        f"{by_parameter:g}; the value of POINT:{what.upper()} was used"
        for what, by_header in (("rate", rate), ("scale", scale))
        if by_header > 0.0 < (by_parameter := _first(content, what.upper()))
        and not math.isclose(by_header, by_parameter, rel_tol=ALIKE)
    ]
    return content._replace(notes=(*content.notes, *notes))


def _check_frame_size(head: Head, content: Content, size: int, path: Path) -> None:
    """Raise ConfigError where the numbers of a frame differ between header and parameters, unless the length
    of the file shows that ezc3d, which follows the parameters, is right.

    Only a number of frames that the file states counts for this: with frames of any size ezc3d reads on to
    the end of the file, so that what it has read always fits.

    head, content : fields of the header, and what ezc3d read
    size : size of a number according to ezc3d [bytes], 2 or 4
    """
    n_frame, n_point, _ = content.points.shape
    by_header = WORDS_OF_POINT * head.n_point + head.n_value
    by_parameters = WORDS_OF_POINT * n_point + content.n_value
    if (head.n_point, head.n_value) == (n_point, content.n_value) or n_frame == 0 or n_point == 0:
        return
    counts = stated_counts(head, content)
    is_header_right = any(fits(head, size * count * by_header) for count in counts)
    if n_frame in counts and fits(head, size * n_frame * by_parameters) and not is_header_right:
        return
    raise ConfigError(
        f"according to the header, each frame contains {by_header} numbers ({head.n_point} points, "
        f"{head.n_value} analog values), according to the parameters {by_parameters} ({n_point} "
        f"points, {content.n_value} analog values); positions and analog values cannot be separated",
        where=str(path),
        remedy=REMEDY,
    )


def _check_number_size(head: Head, content: Content, size: int, path: Path) -> None:
    """Raise ConfigError because only one of header and POINT:SCALE says that numbers are integers, so that
    their size is unknown.

    There is no error if the file has no analog values, whose size ezc3d takes from the header, and the file's
    length fits the points only with the size that ezc3d assumes.

    size : size of a number according to ezc3d [bytes], 2 or 4
    """
    n_frame, n_point, _ = content.points.shape
    n_number = n_frame * WORDS_OF_POINT * n_point
    if content.n_value == 0 and fits(head, size * n_number) and not fits(head, (6 - size) * n_number):
        return
    whole, real = "whole numbers of 16 bits", "floating-point numbers"
    by_header, by_parameter = (real, whole) if size == 2 else (whole, real)
    raise ConfigError(
        f"by the scale in the header the coordinates are {by_header}, but by POINT:SCALE they are "
        f"{by_parameter}; the file does not show which is true",
        where=str(path),
        remedy=REMEDY,
    )


def fits(head: Head, n_byte: int) -> bool:
    """Return whether frames that take n_byte bytes in total account for all of the file's data, except for
    padding of the last blocks; head : fields of the file's header
    """
    return 0 <= head.n_byte - BLOCK * (head.data_start - 1) - n_byte < SPARE


def _first(content: Content, name: str) -> float:
    """Return the first number of a parameter of the group POINT; 0 if the parameter is missing."""
    values = content.parameters["POINT"].get(name, [])
    return float(values[0]) if values and not isinstance(values[0], str) else 0.0
