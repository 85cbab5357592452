"""Words in marker names: sides, parts of the body, medial and lateral, in the languages of laboratories.

Most languages take the bony landmarks' names from Latin, so a few word beginnings cover many languages.
"""

from __future__ import annotations

import re
import unicodedata

SIDE_WORDS = {
    "right": {"r", "right", "rt", "rgt", "rechts", "rechter", "rechte", "re", "droit", "droite", "dr",
              "derecho", "derecha", "der", "destro", "destra", "dx", "direito", "direita", "hoger"},
    "left": {"l", "left", "lt", "lft", "links", "linker", "linke", "li", "gauche", "ga", "izquierdo",
             "izquierda", "izq", "sinistro", "sinistra", "sx", "esquerdo", "esquerda", "esq", "vanster"},
}  # fmt: skip
"""English, German, Dutch, French, Spanish, Italian, Portuguese, Swedish; lower case without accents."""
LATERAL = re.compile(r"^(lat|outer|outside|ext|aussen|auss|buiten|utv)")
MEDIAL = re.compile(r"^(med|inner|inside|int|innen|binnen|inv)")
FIRST, SECOND, THIRD, FIFTH = (
    ("1", "first", "i"),
    ("2", "second", "ii"),
    ("3", "third", "iii"),
    ("5", "fifth", "v"),
)
ORDERED = {"metatarsal_1": FIRST, "metatarsal_2": SECOND, "metatarsal_3": THIRD, "metatarsal_5": FIFTH}
PARTS = {
    "asis": re.compile(r"^(asis|sias|eias|iasis)"),
    "psis": re.compile(r"^(psis|sips|eips)"),
    "sacrum": re.compile(r"^(sacr|sakr|kreuzbein|heiligbeen)"),
    "greater_trochanter": re.compile(r"^(troc|trok|gtroc)"),
    "knee": re.compile(r"^(knee|knie|genou|ginocchio|rodilla|joelho|kna|epi[ck]ond|[ck]ond[yi]l)"),
    "fibula_head": re.compile(r"^(fib|perone|wadenbein|kuitbeen)"),
    "tibial_tuberosity": re.compile(r"^(tuber|tibtub)"),
    "ankle": re.compile(r"^(ankle|mall?eo|kno?e?chel|enkel|cheville|caviglia|tobillo|tornozelo)"),
    "calcaneus": re.compile(r"^(heel|calc|ferse|hiel|talon|tallon|calcanhar|hal$|kalk)"),
    "metatarsal": re.compile(r"^(metatars|mtars|mth|mt|meta|mittelfuss|mfk)"),
    "hallux": re.compile(r"^(hallux|bigtoe|grosszeh)"),
    "toe": re.compile(r"^(toe|zeh|teen|orteil)"),
}  # fmt: skip
TIP = re.compile(r"^(tip|spitze|pointe|punta|end)$")
"""The tip of a toe is no landmark of the metatarsals."""
PAIRED = {"knee": ("epicondyle_lateral", "epicondyle_medial"),
          "ankle": ("malleolus_lateral", "malleolus_medial")}  # fmt: skip
ELSEWHERE = re.compile(
    r"^(head|kopf|tete|testa|cabeza|temple|vertex|neck|shoulder|schulter|epaule|spalla|hombro|acrom|akrom|"
    r"clav|schluessel|stern|scap|skap|elbow|ellb|coude|gomito|codo|wrist|handgel|poignet|polso|muneca|hand|"
    r"finger|arm|upperarm|forearm|bicep|humer|radius|radial|ulna|rib|spine|lumbar|thorax|chest|trunk|back|"
    r"c7$|t1$|t2$|t6$|t8$|t10$|t12$|l1$|l3$|l4$|l5$)"
)
"""Words of trunk, arms and head."""
ARMS_AND_HEAD = frozenset({"elb", "melb", "lelb", "wra", "wrb", "wri", "fin", "upa", "frm", "fhd",
                           "bhd", "sho", "bak", "arm", "hum", "uar",
                           "far", "han", "rad", "uln", "acr", "clv", "scp"})  # fmt: skip
"""The same in short names, without the letter of the side."""
SEGMENTS = {
    "thigh": re.compile(r"^(thigh|oberschenkel|cuisse|coscia|muslo|coxa|dij)"),
    "shank": re.compile(r"^(shank|shin|unterschenkel|jambe|gamba|pierna|perna|onderbeen|tibia)"),
    "foot": re.compile(r"^(foot|midfoot|fuss|pied|piede|pie$|voet|navic)"),
    "pelvis": re.compile(r"^(pelvis|becken|bassin|bacino|iliac|crist)"),
}  # fmt: skip
COMPUTED = re.compile(r"^v_|hjc|kjc|ajc|joint[ _.]?cent", re.IGNORECASE)
"""Pattern in the names of points that a program computed: joint centres are no markers."""


def words_of(name: str) -> list[str]:
    """Split a name into words in lower case without accents, at separators, capitals and digits."""
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    parted = re.sub(
        r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])", " ", plain
    )
    return [word for word in re.split(r"[^A-Za-z0-9]+", parted.lower()) if word]


def side_in(words: list[str]) -> tuple[str, list[str]]:
    """Return the side that one of the words states, "" if none or both are stated, and the remaining
    words.
    """
    found = {side for side, known in SIDE_WORDS.items() for word in words if word in known}
    if len(found) != 1:
        return "", words
    side = found.pop()
    return side, [word for word in words if word not in SIDE_WORDS[side]]


def roles_in(words: list[str]) -> frozenset[str]:
    """Return the landmarks, such as "epicondyle_lateral", that the words of a marker's name may mean; empty
    where they mean none.
    """
    parts = {part for part, pattern in PARTS.items() for word in words if pattern.match(word)}
    lateral, medial = (any(pattern.match(word) for word in words) for pattern in (LATERAL, MEDIAL))
    roles: set[str] = set()
    for part in parts - {"metatarsal"}:
        outer, inner = PAIRED.get(part, (part, part))
        roles |= {outer} if lateral > medial else {inner} if medial > lateral else {outer, inner}
    if "metatarsal" in parts:
        roles |= {role for role, order in ORDERED.items() if any(word in order for word in words)}
    if any(TIP.match(word) for word in words):
        roles -= {"toe"}
    return frozenset(roles)


def is_elsewhere(words: list[str]) -> bool:
    """Return whether the words of a marker's name mean the trunk, the arms or the head."""
    return any(ELSEWHERE.match(word) for word in words) or any(
        ELSEWHERE.match("".join(words[k : k + 2])) for k in range(len(words))
    )


def segment_in(words: list[str]) -> str:
    """Return the segment of the leg, or the pelvis, that the words of a marker's name mean; "" where they
    mean none or several.
    """
    found = [segment for segment, pattern in SEGMENTS.items() if any(pattern.match(word) for word in words)]
    return found[0] if len(found) == 1 else ""
