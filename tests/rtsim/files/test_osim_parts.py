"""Parts of OpenSim documents in files of their own."""

from __future__ import annotations

import re

import msgspec
import pytest

from rtsim.errors import ConfigError
from rtsim.files.osim.document import Aloud
from rtsim.files.osim.model import read_osim
from rtsim.files.osim.scaled import scaled_text
from rtsim.files.osim.setup_ik import read_ik_setup
from rtsim.files.osim.setup_scale import read_scale_setup

from .osim_texts import CHAIN, CHAIN_MUSCLES, Model

COUPLER = (
    '<CoordinateCouplerConstraint name="k"><coupled_coordinates_function><LinearFunction><coefficients>'
    "0.1 0.02</coefficients></LinearFunction></coupled_coordinates_function><independent_coordinate_names>"
    "bend</independent_coordinate_names><dependent_coordinate_name>slide</dependent_coordinate_name>"
    "</CoordinateCouplerConstraint>"
)
MARKERS = (
    "<MarkerSet><objects><Marker name='m'><{0}>{1}f</{0}><location>0.1 0.2 0.3</location></Marker></objects>"
    "</MarkerSet>"
)
SETS = ("BodySet", "ConstraintSet", "ForceSet", "MarkerSet")
DOCUMENT = "<OpenSimDocument Version='{}'>{}</OpenSimDocument>"


def whole(version):
    """Text of a model that has every kind of set."""
    own = (
        MARKERS.format("body", "") if version < 40000 else MARKERS.format("socket_parent_frame", "/bodyset/")
    )
    return Model(CHAIN, CHAIN_MUSCLES, constraints=COUPLER, more=own).text(version)


@pytest.fixture
def apart(tmp_path, write):
    """Writer of a model whose sets each have a file of their own in the folder `sets`."""

    def to_files(text, version):
        (tmp_path / "sets").mkdir(exist_ok=True)
        for tag in SETS:
            (found,) = re.findall(f"<{tag}>.*</{tag}>", text)
            write(f"sets/{tag}.xml", DOCUMENT.format(version, found))
            text = text.replace(found, f"<{tag} file=' sets\\{tag}.xml'/>")
        return write("apart.osim", text)

    return to_files


@pytest.mark.parametrize("version", [30000, 40000])
def test_sets_in_files_of_their_own(write, apart, version):
    """Protects from a model without its muscles, couplers and markers: sets in other files belong to it."""
    one, several = (
        msgspec.to_builtins(read_osim(path)[0])
        for path in (write("one.osim", whole(version)), apart(whole(version), version))
    )
    assert one.pop("source") != several.pop("source")
    assert several == one
    assert (len(one["muscles"]), len(one["couplers"]), len(one["markers"])) == (3, 1, 1)


def test_the_written_model_is_whole(write, apart, tmp_path):
    """Protects the scaled file: parts stand in it, and none of another version, whose layout is another."""
    path = apart(whole(40000), 40000)
    text = scaled_text(path, {}, read_osim(path)[0], {})
    assert "file=" not in text
    again = read_osim(write("again.osim", text))[0]
    assert len(again.muscles) == 3
    part = tmp_path / "sets" / "ForceSet.xml"
    part.write_text(part.read_text().replace("40000", "40500"))
    with pytest.raises(ConfigError, match=r"ForceSet \(file ForceSet.xml\): the file has version 40500"):
        scaled_text(path, {}, read_osim(path)[0], {})


TASKS = "<IKTaskSet name='p'>{}<objects><IKMarkerTask name='A'>{}</IKMarkerTask></objects></IKTaskSet>"
WEIGHT = "<weight>3</weight>"


def ik(inside):
    return DOCUMENT.format(40000, f"<InverseKinematicsTool name='t'>{inside}</InverseKinematicsTool>")


@pytest.mark.parametrize(
    "part",
    [
        DOCUMENT.format(20302, TASKS.format("", WEIGHT)),
        TASKS.format("", WEIGHT),
        DOCUMENT.format(
            40000,
            TASKS.format(f"<defaults><IKMarkerTask name='default'>{WEIGHT}</IKMarkerTask></defaults>", ""),
        ),
    ],
    ids=["document", "without a document", "weight by the file's defaults"],
)
def test_tasks_in_a_file(write, part):
    """Protects the tasks of a setup that names a file for them."""
    write("tasks.xml", part)
    setup = read_ik_setup(write("setup.xml", ik("<IKTaskSet file='tasks.xml'/>")))
    assert setup.tasks.markers == {"A": 3.0}
    assert setup.notes == ()


def test_defaults_of_a_setup(write):
    """Protects weights that a setup states once for all tasks of a class."""
    defaults = f"<defaults><IKMarkerTask name='default'>{WEIGHT}</IKMarkerTask></defaults>"
    setup = read_ik_setup(write("setup.xml", ik(defaults + TASKS.format("", ""))))
    assert setup.tasks.markers == {"A": 3.0}


def test_measurements_in_a_file_of_a_part(write, tmp_path):
    """Protects from an unscaled model: measurements of a part are found from the whole document's folder."""
    (tmp_path / "sub").mkdir()
    tool = "<ScaleTool name='t'><ModelScaler file='sub/scaler.xml'/></ScaleTool>"
    write(
        "sub/scaler.xml", DOCUMENT.format(40000, "<ModelScaler><MeasurementSet file='m.xml'/></ModelScaler>")
    )
    for folder, name in (("", "here"), ("sub/", "astray")):
        inside = f"<MeasurementSet><objects><Measurement name='{name}'/></objects></MeasurementSet>"
        write(f"{folder}m.xml", DOCUMENT.format(40000, inside))
    setup = read_scale_setup(write("setup.xml", DOCUMENT.format(40000, tool)))
    assert [measurement.name for measurement in setup.scaler.measurements] == ["here"]


@pytest.mark.parametrize(
    ("name", "part", "words"),
    [
        ("gone.xml", "", r"IKTaskSet: the attribute file names 'gone.xml', and there is no such file"),
        (
            "p.xml",
            DOCUMENT.format(40000, "<MarkerSet/>"),
            "p.xml: the file contains no IKTaskSet, but MarkerSet",
        ),
        (
            "p.xml",
            DOCUMENT.format(40000, "<IKTaskSet><IKTaskSet file='p.xml'/></IKTaskSet>"),
            r"\(file p.xml\) / IKTaskSet: the file 'p.xml' contains itself",
        ),
        ("p.xml", "<IKTaskSet>", "p.xml: not valid XML"),
    ],
)
def test_parts_that_cannot_be(write, name, part, words):
    """Protects from a setup that lacks its part in silence: the file and its fault are named."""
    write("p.xml", part)
    with pytest.raises(ConfigError, match=words):
        read_ik_setup(write("setup.xml", ik(f"<IKTaskSet file='{name}'/>")))


def test_parts_of_a_model_of_another_layout_are_refused(apart, tmp_path):
    """Protects from properties with other names: a part before OpenSim 3 is refused like such a model."""
    path = apart(whole(40000), 40000)
    part = tmp_path / "sets" / "ForceSet.xml"
    part.write_text(part.read_text().replace("40000", "20302"))
    with pytest.raises(ConfigError, match=r"ForceSet.xml: document version 20302"):
        read_osim(path)


def test_what_a_part_replaces_is_told(write):
    """Protects from content that has no effect: that beside a file, a file of a member, second defaults."""
    defaults = "<defaults><IKMarkerTask name='default'><weight>{}</weight></IKMarkerTask></defaults>"
    tasks = "<IKMarkerTask name='A' file='one.xml'/><IKMarkerTask name='B'/>"
    part = f"<IKTaskSet>{defaults.format(4)}<objects>{tasks}</objects></IKTaskSet>"
    write("tasks.xml", DOCUMENT.format(40000, part))
    inside = defaults.format(3) + "<IKTaskSet file='tasks.xml'><objects/></IKTaskSet>"
    setup = read_ik_setup(write("setup.xml", ik(inside)))
    assert setup.tasks.markers == {"A": 3.0, "B": 3.0}
    for words in (
        "IKTaskSet: its own content was not used, because it names the file tasks.xml",
        "IKMarkerTask A: its attribute file is ignored, as in OpenSim",
        "tasks.xml: the defaults of IKMarkerTask in this file were not used",
    ):
        assert any(note.startswith(words) for note in setup.notes), words
    assert sum(isinstance(note, Aloud) for note in setup.notes) == 2
