"""Which labels are names."""

from rtsim.labelling.unnamed import named_others, unnamed_in


def test_numbers_and_ghosts_are_no_names() -> None:
    """Protects strangers with a name, as vertebrae, from being taken for unnamed markers."""
    labels = [
        "RASI",
        "",
        "*12",
        "Unlabeled 1203",
        "New 0012",
        "17",
        "C7",
        "T10",
        "M1",
        "Anna:*3",
        "uname*4",
        "WAND",
    ]
    assert unnamed_in(labels, [0]).tolist() == [1, 2, 3, 4, 5, 9, 10]


def test_without_any_name_that_is_followed_all_are_unnamed() -> None:
    """Protects streams that call their markers by words of their own."""
    assert unnamed_in(["a", "b", "C7"], []).tolist() == [0, 1, 2]


def test_markers_of_other_persons_are_never_unnamed() -> None:
    """Protects from names for another person's markers, also where nobody's marker is known by name."""
    assert unnamed_in(["a", "b", "", "*2"], [], [1]).tolist() == [0, 2, 3]
    assert unnamed_in(["RASI", "7", "*2"], [0], [1]).tolist() == [2]
    labels = ["Anna:RASI", "Ben:RASI", "Ben:*3", "*4", "", "Unlabeled 5", "C7"]
    own = ["RASI", "", "", "", "", "", ""]
    assert named_others(labels, own) == [1, 2, 6]
