"""Numbers that cannot be meant, in every key of a model, a run and a subject: told with key and bounds."""

from __future__ import annotations

import re

import pytest

from rtsim.cli.main import main
from rtsim.config.paths import find_config

AMOUNTS = ("1e300", "-1e300", "inf", "-inf", "nan")
NUMBER = re.compile(r"(?<![\w.\"])-?\d+\.\d+(?:e-?\d+)?(?![\w.])")
SHIPPED = [("models", "knee"), ("models", "impact"), ("models", "wrist"), ("models", "lower_limb"),
           ("models", "stick_slip"), ("runs", "walker"), ("subjects", "walker")]  # fmt: skip


@pytest.fixture
def told(tmp_path, capsys):
    """The one line that `rtsim check` says about a text that it refuses."""

    def check(text: str) -> str:
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(SystemExit) as stop:
            main(["check", str(path)])
        assert stop.value.code == 1
        first, last = capsys.readouterr().err.splitlines()
        assert last == "rtsim: check: 1 of 1 configs contain mistakes"
        assert first.startswith(f"{path}: ")
        return first.removeprefix(f"{path}: ")

    return check


def places(text: str) -> list[tuple[str, int, int]]:
    """The first number of every key of a file, outside comments: key, where it begins and ends."""
    found: dict[str, tuple[str, int, int]] = {}
    for number in NUMBER.finditer(text):
        line = text[text.rfind("\n", 0, number.start()) + 1 : number.start()]
        keys = re.findall(r'([\w"]+)\s*=', line)
        if keys and "#" not in line and line.count('"') % 2 == 0:
            found.setdefault(keys[-1].strip('"'), (keys[-1].strip('"'), *number.span()))
    return list(found.values())


CASES = [
    pytest.param(folder, name, key, begin, end, id=f"{name}-{key}")
    for folder, name in SHIPPED
    for key, begin, end in places(find_config(name, folder).read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("folder", "name", "key", "begin", "end"), CASES)
def test_no_number_beyond_plausibility_is_accepted(told, folder, name, key, begin, end):
    """Protects every quantity of every kind of config: huge, negative huge, infinite, none."""
    text = find_config(name, folder).read_text(encoding="utf-8")
    for amount in AMOUNTS:
        sentence = told(text[:begin] + amount + text[end:])
        assert key in sentence or re.search("segments|coordinates", sentence), sentence
        assert re.search("allowed: |Expected `|no body has|its range|lower limit", sentence), sentence


def test_the_files_have_many_numbers():
    """Protects the test above from finding none."""
    assert len(CASES) > 60


MASS = "mass_kg = 1.5"
IN_KG = "is out of range; allowed: 0, or 1e-09 to 10000 kg"
SENTENCES = [
    (MASS, "mass_kg = 1e300", f"bodies[1].mass_kg: 1e+300 {IN_KG}"),
    (MASS, "mass_kg = 1e-300", f"bodies[1].mass_kg: 1e-300 {IN_KG}"),
    (MASS, f"mass_kg = 1{'0' * 400}", "bodies[1].mass_kg: Number out of range"),
    (MASS, "mass_kg = '1.5'", "bodies[1].mass_kg: Expected `float`, got `str`"),
    (MASS, "mass_kg = true", "bodies[1].mass_kg: Expected `float`, got `bool`"),
    (MASS, "mass_g = 1.5", "bodies[1]: the table contains unknown field `mass_g`; allowed: name, joint"),
    ("= 600.0", "= 1e8", "max_isometric_force_N: 1e+08 is out of range; allowed: 1e-09 to 1e+07 N"),
    ("[20.0, 250.0,", "[20.0, 2.5e8,", "path[0].offset_mm[1]: 2.5e+08 is out of range; allowed: -100000 to"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "amount", "words"), SENTENCES, ids=[a[:20] for _, a, _ in SENTENCES])
def test_the_sentence_names_key_and_bounds(told, key, amount, words):
    """Protects the user: which number, what is allowed in which unit, what to do."""
    text = find_config("pin", "models").read_text(encoding="utf-8")
    assert key in text
    sentence = told(text.replace(key, amount, 1))
    assert words in sentence
    assert sentence.endswith(("correct the value", "correct its spelling"))


def test_names_with_control_characters_are_refused(told):
    """Protects the terminal and files: a muscle whose name would move the cursor."""
    text = find_config("pin", "models").read_text(encoding="utf-8")
    sentence = told(text.replace('name = "flexor"', 'name = "fl\\u001b[2Jexor"'))
    assert sentence.startswith("muscles[0].name: 'fl\\x1b[2Jexor' contains control characters")
