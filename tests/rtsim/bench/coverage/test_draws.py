"""What is drawn for made-up walkers: persons, markers, and errors of the sizes that are stated."""

import numpy as np

from rtsim.bench.coverage import skin, walkers
from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.models.load import ONE_LEG, load_model
from rtsim.subjects.subject import Subject, check_person

BASE = load_toml(find_config("walker", "subjects"), Subject)
LOCAL = np.array([[0.0, -0.05, 0.08], [0.06, -0.2, 0.03], [-0.01, -0.3, 0.07], [0.0, -0.42, -0.05]])
N_PERSON = 400
PHASE = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)


def test_walkers_are_persons_who_differ() -> None:
    """Protects the meaning of 200 walkers: people of possible sizes, each another, with 3 markers or more."""
    rng, spec = np.random.default_rng(2), load_model(ONE_LEG)
    lengths, counts = [], set()
    for _ in range(30):
        walker = walkers.draw_walker(rng, spec, BASE)
        check_person(walker.subject)
        lengths.append(walker.subject.segments["thigh"].length_mm)
        counts |= {len(segment.markers_mm) for segment in walker.subject.segments.values()}
        assert walker.positions.shape == (len(walker.phase), len(walker.subject.marker_names), 3)
        assert np.isfinite(walker.positions).all()
    assert min(lengths) < 320.0 < 430.0 < max(lengths)
    assert min(counts) == walkers.FEWEST
    assert max(counts) >= 5


def test_skin_has_the_size_that_is_stated() -> None:
    """Protects the generator: root mean square along each axis, over markers, persons and time."""
    rng = np.random.default_rng(3)
    drawn = np.array([skin.draw_skin(rng, LOCAL, 0.01, PHASE) for _ in range(N_PERSON)])
    assert drawn.shape == (N_PERSON, len(PHASE), len(LOCAL), 3)
    np.testing.assert_allclose(np.sqrt(np.mean(drawn**2)), 0.01, rtol=0.06)


def test_skin_moves_for_the_greater_part_as_one_body() -> None:
    """Protects its parts: what a shift and a turn of all markers leave of it is what is said."""
    rng = np.random.default_rng(4)
    arms = LOCAL - LOCAL.mean(axis=0)
    turns = np.stack([np.cross(axis, arms) for axis in np.eye(3)], axis=-1)
    rigid = np.concatenate([np.tile(np.eye(3), (len(LOCAL), 1, 1)), turns], axis=2).reshape(-1, 6)
    left = np.eye(len(rigid)) - rigid @ np.linalg.pinv(rigid)
    drawn = np.array([skin.draw_skin(rng, LOCAL, 0.01, PHASE) for _ in range(N_PERSON)])
    rest = drawn.reshape(-1, len(rigid)) @ left
    own = 1.0 - np.mean(skin.RIGID)
    share = (len(rigid) - 6) / len(rigid)  # own motion of markers has a part in shift and turn, too
    np.testing.assert_allclose(np.sum(rest**2) / np.sum(drawn**2), own * share, rtol=0.1)


def test_noise_is_white_and_within_its_bounds() -> None:
    """Protects the noise: of one size in a trial, from frame to frame anew."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        noise = skin.draw_noise(rng, (500, 4, 3))
        assert 0.95 * skin.NOISE_MM[0] < 1e3 * noise.std() < 1.05 * skin.NOISE_MM[1]
        assert abs(np.mean(noise[1:] * noise[:-1])) < 0.05 * noise.var()
