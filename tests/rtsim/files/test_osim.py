"""OpenSim documents: layouts, versions, strangers' files, real models."""

from __future__ import annotations

import random
from xml.etree import ElementTree

import msgspec
import pytest

from rtsim.errors import ConfigError
from rtsim.files.osim.document import MAX_BYTES
from rtsim.files.osim.model import read_osim
from rtsim.files.osim.parsing import MAX_DEPTH

from .osim_texts import CHAIN, CHAIN_MUSCLES, Joint, Model, wrap_object

WHOLE = Model(
    CHAIN,
    CHAIN_MUSCLES,
    wraps={"e": wrap_object("WrapSphere", "ball", "<radius>0.01</radius>")},
    more="<ControllerSet><objects><PrescribedController name='push'/></objects></ControllerSet>"
    "<ComponentSet><objects><Station name='spot'/></objects></ComponentSet>",
    forces="<CoordinateLimitForce name='limit'/>",
)


@pytest.fixture
def read(tmp_path):
    """Reader of a text or bytes as an .osim file."""

    def read(text):
        path = tmp_path / "small.osim"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_osim(path)

    return read


def test_layouts_of_3_and_4_agree(read):
    """Protects both layouts: the same model, written in either, is the same model here."""
    old, new, newest = (msgspec.to_builtins(read(WHOLE.text(v))[0]) for v in (30000, 40000, 40600))
    assert old.pop("source") != new.pop("source")
    newest.pop("source")
    assert old == new == newest


def test_what_is_left_out_is_said(read):
    """Protects the user from silent losses: controllers, components and other forces are named."""
    spec, notes = read(WHOLE.text(40000))
    for words in (
        "left out of ControllerSet: PrescribedController push; ",
        "left out of ComponentSet: Station spot; ",
        "forces left out: CoordinateLimitForce limit; ",
    ):
        assert any(note.startswith(words) for note in notes), words
    assert len(notes) == len(set(notes))
    assert "by hand" in spec.source
    assert spec.gravity_m_s2 == (0.0, -9.8, 0.0)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "not valid XML"),
        ("<OpenSimDocument Version='40000'>", "not valid XML"),
        ("<html/>", "the root element is html"),
        (
            "<OpenSimDocument Version='4.5'><Model/></OpenSimDocument>",
            "is '4.5'; allowed: a number such as 40000",
        ),
        ("<OpenSimDocument><Model/></OpenSimDocument>", "the Version of its OpenSimDocument is ''"),
        ("<OpenSimDocument Version='20302'><Model/></OpenSimDocument>", "document version 20302"),
        ("<OpenSimDocument Version='50000'><Model/></OpenSimDocument>", "document version 50000"),
        ("<OpenSimDocument Version='40000'/>", "the file contains no element Model"),
        ("<OpenSimDocument Version='40000'><Model/></OpenSimDocument>", "bodies"),
        ("<OpenSimDocument Version='30510'><Model><connectors/></Model></OpenSimDocument>", "test version"),
        ("<a>" * (MAX_DEPTH + 1), "nested more than"),
    ],
)
def test_other_documents_are_refused(read, text, what):
    """Protects from half-read files: each says what it is and where."""
    with pytest.raises(ConfigError, match=what) as error:
        read(text)
    assert "small.osim" in str(error.value)


@pytest.mark.parametrize("before", ["<!-- mine -->\n", "\n", " ", "<!---->"])
def test_what_stands_before_the_declaration_is_named(read, before):
    """Protects from a remedy that names the line of the declaration, which is right."""
    with pytest.raises(ConfigError, match=r"something stands before <\?xml .* remove what stands before it"):
        read(before + WHOLE.text(40000))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("inside", ["", "<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;'>"])
def test_entities_are_refused(read, encoding, inside):
    """Protects from entity bombs and outside references: no document type is read, in any encoding."""
    text = f"<?xml version='1.0' encoding='{encoding}'?><!DOCTYPE x [{inside}]>" + WHOLE.text(40000)[39:]
    with pytest.raises(ConfigError, match="document type"):
        read(text.encode(encoding))


def test_large_and_missing_files_are_refused(tmp_path):
    """Protects memory and the user's time: a huge file is refused unread, a missing one by name."""
    path = tmp_path / "large.osim"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ConfigError, match="larger than"):
        read_osim(path)
    with pytest.raises(ConfigError, match="no such file"):
        read_osim(tmp_path / "none.osim")


def test_newer_documents_are_tried(read):
    """Protects users of the next 4.x: its documents are read, and the note says that they are unknown."""
    _, notes = read(WHOLE.text(40700))
    assert any("newer" in note for note in notes)


def test_defaults_of_a_class_stand_for_what_is_missing(read):
    """Protects models that state properties once: the file's defaults apply where an element is silent."""
    given = (
        "<defaults><Thelen2003Muscle name='default'><max_contraction_velocity>7</max_contraction_velocity>"
        "<max_isometric_force>1</max_isometric_force></Thelen2003Muscle></defaults>"
    )
    spec, _ = read(Model(CHAIN, CHAIN_MUSCLES, more=given).text(30000))
    assert spec.muscles[0].hill.max_contraction_speed == 7.0
    assert spec.muscles[0].hill.max_isometric_force_N == 500.0  # its own goes first


def test_damaged_documents_never_surprise(tmp_path):
    """Protects against strangers: whatever is taken out or put in, a model or a ConfigError comes back."""
    draw = random.Random(3)
    words = ["", "abc", "1", "1 2 3", "nan", "-1", "1e999", "0 0 0", "/bodyset/e", "../.."]
    path = tmp_path / "damaged.osim"
    results = {True: 0, False: 0}
    for k in range(150):
        root = ElementTree.fromstring(WHOLE.text((30000, 40000)[k % 2]))
        parent, child = draw.choice([(parent, child) for parent in root.iter() for child in parent])
        if k % 3:
            child.text = draw.choice(words)
        else:
            parent.remove(child)
        path.write_text(ElementTree.tostring(root, encoding="unicode"))
        try:
            read_osim(path)
            results[True] += 1
        except ConfigError:
            results[False] += 1
    assert min(results.values()) > 20  # some damage is harmless, some is not


def test_real_model(shared):
    """Protects the reader of a published model: gait2354 (CC BY 3.0), whole."""
    path = shared / "gait_opensim" / "gait2354" / "subject01_simbody.osim"
    spec, notes = read_osim(path)
    assert (len(spec.bodies), len(spec.muscles)) == (12, 54)
    assert sum(len(body.coordinates) for body in spec.bodies) == 23
    assert sum(station.within is not None for muscle in spec.muscles for station in muscle.path) == 12
    assert sum(station.moving is not None for muscle in spec.muscles for station in muscle.path) == 4
    assert sum(body.mass_kg for body in spec.bodies) == pytest.approx(72.6, abs=1e-9)
    assert "CC" in spec.source
    assert len(spec.markers) == 39
    assert not any("left out" in note for note in notes)


def test_bodies_stand_in_any_order(read):
    """Protects files that name a child before its parent: parents come first here."""
    spec, _ = read(Model(CHAIN[::-1]).text(40000))
    assert [body.name for body in spec.bodies] == list("abcdefg")


@pytest.mark.parametrize(
    ("joints", "what"),
    [
        ((Joint("WeldJoint", "b", "a"), Joint("WeldJoint", "a", "b")), "in a closed loop"),
        ((Joint("WeldJoint", "ground", "a"), Joint("WeldJoint", "nobody", "b")), "unknown frame"),
    ],
)
def test_bodies_without_way_to_ground_are_refused(read, joints, what):
    """Protects the tree: every body hangs from ground by a way that exists."""
    with pytest.raises(ConfigError, match=what):
        read(Model(joints).text(40000))


def test_two_joints_of_a_body_are_refused(read):
    """Protects loops from being dropped: the second joint is named, and the remedy is a constraint."""
    text = Model(CHAIN[:1]).text(40000)
    again = Joint("PinJoint", "ground", "a", CHAIN[0].coordinates).text_4()
    with pytest.raises(ConfigError, match=r"already has a joint,.*WeldConstraint"):
        read(text.replace("</objects></JointSet>", f"{again}</objects></JointSet>"))
