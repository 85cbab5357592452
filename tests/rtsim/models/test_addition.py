"""Models that are another one with force laws, bodies, contacts, elements and methods more."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtsim.config.models.model_tables import MethodSpec
from rtsim.errors import ConfigError
from rtsim.models.load import load_model

HEAD = 'name = "more"\nsource = "made up"\nadds_to = "lower_limb"\n'
ELEMENT = (
    '[[elements]]\nname = "across"\nkind = "plane"\nnormal = [0.0, 0.0, 1.0]\n'
    'a = { segment = "thigh", origin = "distal" }\nb = { segment = "shank" }\n'
)
CONTACT = (
    '[[contacts]]\nname = "medial"\nellipsoid = { segment = "thigh", radius_mm = 30.0 }\n'
    'plane = { segment = "shank", normal = [0.0, 1.0, 0.0] }\n'
)


def written(folder: Path, text: str) -> str:
    """The file of an addition."""
    path = folder / "more.toml"
    path.write_text(HEAD + text)
    return str(path)


def test_an_addition_is_the_model_with_what_is_added(tmp_path: Path) -> None:
    """Protects from numbers written twice: all that is not named stays, what is added stands behind it."""
    base = load_model("lower_limb")
    law = "[laws.ACL]\nstiffness_N = 5000.0\nslack_length_mm = 40.0\n"
    method = '[methods.more]\nhard = ["medial", "across"]\n'
    spec = load_model(written(tmp_path, ELEMENT + law + method))
    assert (spec.name, spec.bodies, spec.muscles) == ("more", base.bodies, base.muscles)
    assert spec.contacts == base.contacts
    assert [one.name for one in spec.ligaments if one.pulls] == ["ACL"]
    assert spec.ligaments[0].length == base.ligaments[0].length
    assert [*spec.methods] == [*base.methods, "more"]
    assert [element.name for element in spec.elements] == ["across"]
    assert "made up" in spec.source
    assert base.source in spec.source


def test_the_shipped_knee_is_the_lower_limb() -> None:
    """Protects the knee of force-dependent kinematics from a limb of its own."""
    knee, base = load_model("knee_fdk"), load_model("lower_limb")
    assert (knee.bodies, knee.muscles, knee.surfaces) == (base.bodies, base.muscles, base.surfaces)
    assert [one.name for one in knee.contacts if one.presses] == ["medial", "lateral"]
    assert [one.name for one in knee.ligaments if one.pulls] == ["ACL", "PCL", "MCL", "LCL"]


def test_the_shipped_jaw_with_discs_is_the_mandible() -> None:
    """Protects a contact in the place of the model's own: the fossa presses on the disc."""
    more, base = load_model("mandible_disc"), load_model("mandible")
    assert more.bodies[:2] == base.bodies
    assert [body.name for body in more.bodies[2:]] == ["right_disc", "left_disc"]
    assert (more.muscles, more.ligaments, more.markers) == (base.muscles, base.ligaments, base.markers)
    names = [contact.name for contact in base.contacts]
    assert [contact.name for contact in more.contacts[:4]] == names
    for own, other in zip(more.contacts, base.contacts, strict=False):
        assert own.b == other.b
        assert (own.a.segment, other.a.segment) == (f"{own.name.split('_')[0]}_disc", "mandible")
    assert len(more.contacts) == 8
    assert len(more.springs) == 6


BASE = """
name = "base"
source = "made up"
[[bodies]]
name = "thigh"
joint = "free"
[[bodies]]
name = "shank"
parent = "thigh"
joint = "free"
[[contacts]]
name = "medial"
ellipsoid = { segment = "thigh", radius_mm = 30.0 }
plane = { segment = "shank", normal = [0.0, 1.0, 0.0] }
[[elements]]
name = "rod"
kind = "distance"
a = { segment = "thigh" }
b = { segment = "shank" }
target_mm = 40.0
"""


def test_a_model_without_methods_holds_what_is_added(tmp_path: Path) -> None:
    """Protects from an element that is switched off, and from a contact that is held and presses, too."""
    path = tmp_path / "base.toml"
    path.write_text(BASE)
    head = HEAD.replace("lower_limb", path.as_posix())
    law, more = "[laws.medial]\nstiffness = 1e5\n", tmp_path / "more.toml"
    more.write_text(head + ELEMENT.replace(', origin = "distal"', "") + law)
    assert load_model(str(more)).methods == {"default": MethodSpec(hard=("rod", "across"))}
    more.write_text(head + law + "[methods.loose]\nhard = []\n")
    assert load_model(str(more)).methods == {"default": MethodSpec(hard=("rod",)), "loose": MethodSpec()}
    path.write_text(BASE + '[methods.default]\nhard = ["rod"]\n')
    more.write_text(head + ELEMENT.replace(', origin = "distal"', ""))
    assert load_model(str(more)).methods == {"default": MethodSpec(hard=("rod",))}


def test_a_body_is_checked_with_the_methods_that_are_added(tmp_path: Path) -> None:
    """Protects a free foot whose axes only an added method needs, beside a model without methods."""
    path, more = tmp_path / "base.toml", tmp_path / "more.toml"
    path.write_text(BASE)
    foot = '[[bodies]]\nname = "foot"\nparent = "shank"\njoint = "free"\naxes = ["w", "u"]\n'
    method = '[methods.hinged]\njoints = { foot = "universal" }\n'
    more.write_text(HEAD.replace("lower_limb", path.as_posix()) + foot + method)
    spec = load_model(str(more))
    assert spec.methods["default"] == MethodSpec(hard=("medial", "rod"))
    assert spec.methods["hinged"].joints == {"foot": "universal"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "[laws.medial]\nstiffness = 1e5\n" + CONTACT,
            r"laws\.medial: the contact medial is given among the contacts, and a force law",
        ),
        (
            "[laws.knee]\nstiffness = 1.0\n",
            r"laws: there is a force law for 'knee', but the model lower_limb has no contact .*medial",
        ),
        (
            "[laws.ACL]\nlength = { target_mm = 40.0 }\n",
            r"laws.ACL: the key length of ACL is not part of a force law",
        ),
        ("[laws.ACL]\nstiffness_N = -1.0\n", r"more\.toml: laws\.ACL: key stiffness_N: Expected"),
        ("[laws.medial]\nradius_mm = 1.0\n", r"more\.toml: laws\.medial: .* unknown field `radius_mm`"),
        ('[methods.zero]\nhard = ["ACL"]\n', "lower_limb has a method 'zero' already"),
        ('[methods.more]\nhard = ["knee"]\n', "unknown 'knee'"),
        ("muscles = []\n", "muscles"),
        ('[[bodies]]\nname = "shank"\njoint = "free"\n', "bodies: 'shank'"),
        ('[[springs]]\nname = "cord"\ncoordinate = "knee"\nstiffness_N_m_rad = 1.0\n', "unknown 'knee'"),
    ],
)
def test_what_cannot_be_added_is_told(tmp_path: Path, text: str, words: str) -> None:
    """Protects additions: what is not there, what is there already, what is none, each in a sentence."""
    with pytest.raises(ConfigError, match=words):
        load_model(written(tmp_path, text))


def test_an_addition_to_an_addition_is_refused(tmp_path: Path) -> None:
    """Protects from chains, and from a file that adds to itself."""
    path = written(tmp_path, "")
    Path(path).write_text(HEAD.replace("lower_limb", "knee_fdk"))
    with pytest.raises(ConfigError, match="knee_fdk is itself an addition to another model"):
        load_model(path)


def test_files_that_lead_back_to_each_other_are_refused(tmp_path: Path) -> None:
    """Protects from a model without end: a file of both sides that adds to what it doubles."""
    both, more = tmp_path / "both.toml", tmp_path / "more.toml"
    both.write_text(
        f'name = "both"\nsource = "x"\nboth_sides_of = "{more.as_posix()}"\nmiddle = ["pelvis"]\n'
    )
    more.write_text(HEAD.replace("lower_limb", both.as_posix()))
    with pytest.raises(ConfigError, match=r"both\.toml has both sides already"):
        load_model(str(both))
    with pytest.raises(ConfigError, match=r"more\.toml is itself an addition to another model"):
        load_model(str(more))
    more.write_text(HEAD)
    assert load_model(str(both)).has_both_sides
