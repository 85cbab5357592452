"""Message types: what users of the records rely on."""

from streams.messages import FieldSpec, Status, marker_session, new_session_id


def test_status_in_words():
    """Protects the words shown for a status, unknown bits included."""
    assert Status(0).names() == "ok"
    assert (Status.LATE | Status.STALE).names() == "late, stale"
    assert Status(16 + 8 + 2).names() == "degraded, not_converged, invalid_input"
    assert Status(1 + 64).names() == "late, suspect"
    assert Status(1 + 256).names() == "late, unknown bits 0x100"


def test_session_ids_are_distinct_and_well_formed():
    """Protects the form of session ids, on which restarts depend."""
    ids = {new_session_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(len(id_) == 16 and int(id_, 16) >= 0 and id_ == id_.lower() for id_ in ids)


def test_lists_and_tuples_make_the_same_field():
    """Protects comparisons of descriptors built here with decoded ones."""
    assert FieldSpec("a", [2, 3], "m", ["x", "y"]) == FieldSpec("a", (2, 3), "m", ("x", "y"))


def test_marker_session_describes_positions():
    """Protects the descriptor of every markers stream."""
    session = marker_session(
        ["LASI", "RASI"], rate=100.0, t_start=5, unit="mm", up="Z", meta={"subject": "s1"}
    )
    (spec,) = session.fields
    assert (spec.name, spec.shape, spec.unit, spec.labels) == ("positions", (2, 3), "mm", ("LASI", "RASI"))
    assert session.meta == {"subject": "s1", "up": "Z"}
