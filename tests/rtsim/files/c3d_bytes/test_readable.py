"""C3D files that other programs have edited: parameters that the reader needs, and header, go missing."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.blocks import rotations_of
from rtsim.files.c3d_bytes.processor import for_processor
from rtsim.files.c3d_bytes.readable import with_trial
from rtsim.files.c3d_bytes.section import INTEGER, REAL, C3dParameter, Section
from rtsim.files.c3d_bytes.words import INTEL
from rtsim.files.markers.c3d import read_c3d, whole_content
from tests.rtsim.files.c3d_bytes.results import ROTATION, source_file, with_rotations
from tests.rtsim.files.conftest import c3d_bytes

BLOCK = 512
DEC = 85
VICON = {"MANUFACTURER": {"COMPANY": ["Vicon"]}}


def edited(path, change):
    """A file whose parameter section was changed, in the room that it has."""
    data = path.read_bytes()
    section = Section(data[BLOCK:], str(path))
    n_byte = BLOCK * (section.words.whole(data[16:18]) - 1) - BLOCK
    change(section)
    path.write_bytes(data[:BLOCK] + section.written().ljust(n_byte, b"\0") + data[BLOCK + n_byte :])
    return path


def without(section: Section, group: str, name: str = "") -> None:
    """Leave out a group with its parameters, or one of them."""
    number = next(-record.group for record in section.records if record.group < 0 and record.key == group)
    section.records = [
        record
        for record in section.records
        if abs(record.group) != number or (name and (record.group < 0 or record.key != name))
    ]


def filled(section: Section, n_byte: int = 0) -> None:
    """Fill the blocks of the section, or so many bytes, with parameters until another one has no room."""
    n_byte = n_byte or len(section.written())
    while True:
        before = list(section.records)
        section.put("NOTES", f"T{len(before)}", C3dParameter(-1, (1,), b"x"))
        if len(section.written()) > n_byte:
            section.records = before
            return


@pytest.mark.parametrize("code", [INTEL, DEC])
@pytest.mark.parametrize("is_full", [False, True])
def test_a_file_of_vicon_without_trial_is_read(tmp_path, code, is_full):
    """Protects files of Vicon that another program saved without the group TRIAL, which the reader needs."""
    wanted = read_c3d(source_file(tmp_path, code=code, more=VICON))

    def change(section: Section) -> None:
        without(section, "TRIAL")
        if is_full:
            filled(section)

    found = read_c3d(edited(source_file(tmp_path, code=code, more=VICON), change))
    assert found.names == wanted.names
    np.testing.assert_array_equal(found.times, wanted.times)
    np.testing.assert_array_equal(found.positions, wanted.positions)


def test_rotations_move_with_the_data_behind_a_new_group(tmp_path):
    """Protects from a crash of the reader: rotations of segments were looked for among the frames."""
    path = with_rotations(source_file(tmp_path, more={**VICON, **ROTATION}))
    n_byte = 512 * (struct.unpack_from("<H", path.read_bytes(), 16)[0] - 2)

    def change(section: Section) -> None:
        without(section, "TRIAL")
        filled(section, n_byte)

    data = edited(path, change).read_bytes()
    longer = with_trial(data, "a.c3d")
    assert len(longer) > len(data)
    assert rotations_of(longer, "a.c3d") == rotations_of(data, "a.c3d")


@pytest.mark.parametrize("name", ["USED", "RATE", ""])
def test_analog_values_are_no_positions(tmp_path, name):
    """Protects positions: analog values that no parameter counts were read as coordinates of markers."""
    path = edited(source_file(tmp_path, n_frame=200), lambda section: without(section, "ANALOG", name))
    with pytest.raises(ConfigError, match="each frame contains 16 numbers") as refused:
        read_c3d(path)
    assert "the parameters 12 (3 points, 0 analog values)" in str(refused.value)


def test_points_that_no_parameter_counts_are_told(tmp_path):
    """Protects positions: with fewer points in the parameters than in the frames each frame is another's."""
    path = source_file(tmp_path, n_frame=200)
    edited(
        path, lambda section: section.put("POINT", "USED", C3dParameter(INTEGER, (), struct.pack("<h", 2)))
    )
    with pytest.raises(
        ConfigError, match=r"\(3 points, 4 analog values\), according to the parameters 12 \(2 points"
    ):
        read_c3d(path)


def with_six_channels(section: Section) -> None:
    """Let the group ANALOG describe more channels than the frames have."""
    section.put_number("ANALOG", "USED", 6)
    for name, kind in (("SCALE", REAL), ("OFFSET", INTEGER)):
        section.put("ANALOG", name, C3dParameter(kind, (6,), bytes(6 * kind)))


@pytest.mark.parametrize("scale", [-0.1, 0.1])
@pytest.mark.parametrize(
    ("change", "n_number"),
    [
        (lambda section: section.put_number("ANALOG", "RATE", 400.0), 20),
        (lambda section: section.put_number("ANALOG", "RATE", 2000.0), 52),
        (lambda section: section.put_number("POINT", "RATE", 50.0), 20),
        (with_six_channels, 24),
        (lambda section: section.put_number("POINT", "USED", 4), 20),
    ],
)
def test_frames_that_parameters_describe_too_large_are_told(tmp_path, scale, change, n_number):
    """Protects positions: read in larger frames up to the end of the file, they were analog values."""
    path = edited(source_file(tmp_path, n_frame=200, scale=scale), change)
    with pytest.raises(ConfigError, match=rf"each frame contains 16 numbers .* parameters {n_number} \("):
        read_c3d(path)


def test_frames_of_the_same_size_but_other_points_are_told(tmp_path):
    """Protects positions: a point more and its four analog values less do not show in the length."""

    def change(section: Section) -> None:
        section.put_number("POINT", "USED", 4)
        section.put_number("ANALOG", "USED", 0)

    with pytest.raises(ConfigError, match=r"16 numbers .*4 analog.*16 \(4 points, 0 analog values\)"):
        read_c3d(edited(source_file(tmp_path, n_frame=200), change))


def test_samples_beside_a_header_that_counts_wrongly(tmp_path):
    """Protects forces: samples of an unsigned converter were looked for by the header's size of a frame."""
    analog = {
        "USED": 2, "RATE": 200.0, "SCALE": np.array([0.5, 2.0]), "OFFSET": (-32_768, -32_768),
        "GEN_SCALE": 1.0, "LABELS": ["Fx", "Fy"], "FORMAT": ["UNSIGNED"],
    }  # fmt: skip
    path = source_file(tmp_path, n_frame=400, scale=0.1, more={"ANALOG": analog})
    wanted = whole_content(path, with_analogs=True)[0]
    data = bytearray(path.read_bytes())
    struct.pack_into("<H", data, 4, 2)
    path.write_bytes(data)
    found = whole_content(path, with_analogs=True)[0]
    np.testing.assert_array_equal(found.analogs, wanted.analogs)
    assert not any("more frames" in note for note in found.notes)


@pytest.mark.parametrize("code", [INTEL, DEC])
@pytest.mark.parametrize("more", [{}, VICON])
@pytest.mark.parametrize(
    ("rate", "n_sample"), [(59.94006, 10), (149.85, 20), (199.8, 10), (179.82, 10), (23.976, 5), (29.97, 5)]
)
def test_rates_of_no_whole_number_keep_their_samples(tmp_path, rate, n_sample, more, code):
    """Protects files at 60/1.001 Hz: their ratio of rates is rounded, and the reader cut it off."""
    n_frame = 40
    points = np.full((n_frame, 3, 3), 500.0)
    points[:, :, 2] = [950.0, 480.0, 50.0]
    samples = np.arange(n_frame * n_sample * 3.0).reshape(n_frame, n_sample, 3)
    point = {"UNITS": ["mm"], "RATE": rate, "USED": 3, "SCALE": -0.1, "FRAMES": n_frame,
             "LABELS": ["RASI", "RKNE", "RHEE"], "Y_SCREEN": ["+Z"]}  # fmt: skip
    analog = {"USED": 3, "RATE": rate * n_sample, "GEN_SCALE": 1.0, "SCALE": np.ones(3), "OFFSET": (0, 0, 0),
              "LABELS": ["Fx", "Fy", "Fz"]}  # fmt: skip
    content = c3d_bytes(points, None, rate, 0, {"POINT": point, "ANALOG": analog, **more}, "<", samples)
    path = tmp_path / "a.c3d"
    path.write_bytes(for_processor(content, code, "a.c3d") if code != INTEL else content)
    found, _ = whole_content(path, with_analogs=True)
    np.testing.assert_array_equal(found.points, points)
    np.testing.assert_array_equal(found.analogs, samples.reshape(-1, 3))
    assert found.analog_rate == pytest.approx(rate * n_sample, rel=1e-6)
    assert found.notes == ()


def test_samples_that_the_header_counts_are_not_taken_for_rounded(tmp_path):
    """Protects a file whose header and frames have one sample less than the rounded ratio of its rates."""
    path = source_file(tmp_path, n_frame=200)
    edited(path, lambda section: section.put_number("ANALOG", "RATE", np.nextafter(np.float32(300.0), 0.0)))
    assert read_c3d(path).positions.shape == (200, 3, 3)


def test_a_header_that_counts_wrongly_is_outvoted_by_the_length(tmp_path):
    """Protects files whose header counts channels instead of samples: their length shows who is right."""
    path = source_file(tmp_path, n_frame=200)
    wanted = read_c3d(path)
    data = bytearray(path.read_bytes())
    struct.pack_into("<H", data, 4, 2)
    path.write_bytes(data)
    np.testing.assert_array_equal(read_c3d(path).positions, wanted.positions)


def with_header(path, at: int, value: float):
    """The file with another number in its header."""
    data = bytearray(path.read_bytes())
    struct.pack_into("<f", data, at, value)
    path.write_bytes(data)
    return path


def test_a_rate_that_header_and_parameters_say_differently_is_told(tmp_path):
    """Protects speeds: another rate is not taken in silence."""
    assert not any("rate" in note for note in read_c3d(source_file(tmp_path)).notes)
    trial = read_c3d(with_header(source_file(tmp_path), 20, 120.0))
    assert trial.rate == 100.0
    assert (
        "the header states a rate of 120, but POINT:RATE states 100; the value of POINT:RATE was used"
        in trial.notes
    )


def test_a_scale_that_header_and_parameters_say_differently_is_told(tmp_path):
    """Protects positions of whole numbers: by another scale they are elsewhere."""
    wanted = read_c3d(source_file(tmp_path, scale=0.1))
    trial = read_c3d(with_header(source_file(tmp_path, scale=0.1), 12, 0.2))
    assert (
        "the header states a scale of 0.2, but POINT:SCALE states 0.1; the value of POINT:SCALE was used"
        in trial.notes
    )
    np.testing.assert_array_equal(trial.positions, wanted.positions)


@pytest.mark.parametrize("scale", [-0.1, 0.1])
@pytest.mark.parametrize("is_of_header", [False, True])
def test_numbers_of_another_size_are_no_positions(tmp_path, scale, is_of_header):
    """Protects positions: halves of floating-point numbers were read as whole ones, and two as one."""
    path = source_file(tmp_path, scale=scale, n_frame=200)
    if is_of_header:
        with_header(path, 12, -scale)
    else:
        edited(path, lambda section: section.put_number("POINT", "SCALE", -scale))
    with pytest.raises(ConfigError, match=r"by POINT:SCALE they are .*export the trial again"):
        read_c3d(path)


def test_without_analog_values_the_length_shows_the_size_of_numbers(tmp_path):
    """Protects files whose header says whole numbers: their length shows that the parameters are right."""
    wanted = read_c3d(source_file(tmp_path, n_frame=200, n_channel=0))
    trial = read_c3d(with_header(source_file(tmp_path, n_frame=200, n_channel=0), 12, 0.1))
    np.testing.assert_array_equal(trial.positions, wanted.positions)


@pytest.mark.parametrize("name", ["SCALE", "OFFSET"])
@pytest.mark.parametrize("n_left", [0, 1])
def test_analog_values_without_their_conversion_are_named(tmp_path, name, n_left):
    """Protects the way to the fault: the parameter that is missing is named, not a crash of the reader."""

    def change(section: Section) -> None:
        found = section.parameter("ANALOG", name)
        assert found is not None
        assert found.sizes[0] > n_left
        without(section, "ANALOG", name)
        if n_left:
            short = found.data[: n_left * abs(found.kind)]
            section.put("ANALOG", name, found._replace(sizes=(n_left,), data=short))

    with pytest.raises(ConfigError, match=f"ANALOG:{name} has {n_left} values for"):
        read_c3d(edited(source_file(tmp_path), change))
