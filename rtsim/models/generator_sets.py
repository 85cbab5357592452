"""Sets of torque generators, found by name or file, and the generators that a set has at each joint."""

from __future__ import annotations

from functools import lru_cache

from msgspec.structs import replace

from rtsim.config.load import load_toml
from rtsim.config.models.torque_generator_schema import GeneratorFit, GeneratorSet, TorqueGenerator
from rtsim.config.paths import find_config
from rtsim.errors import ConfigError
from rtsim.models.packing.torque_generators import PlacedGenerator

FOLDER = "generators"


def load_set(name: str, through: tuple[str, ...] = ()) -> GeneratorSet:
    """Load the set of torque generators with that name or in that file, including the generators of the set
    that it names as its base.

    If the set lists no joints of its own, it has the joints of its base.

    through : files of the sets whose base, or base's base, is this set; ConfigError if this set is among them
    """
    path = find_config(name, FOLDER)
    if str(path) in through:
        raise ConfigError(
            f"the set {name} names itself as its base", where=f"{through[-1]}: base", remedy="leave base out"
        )
    own: GeneratorSet = load_toml(path, GeneratorSet)
    if not own.base:
        return own
    base = load_set(own.base, (*through, str(path)))
    generators: dict[str, TorqueGenerator] = {**base.generators, **own.generators}
    return replace(
        own,
        generators=generators,
        joints=own.joints or base.joints,
        columns=own.columns or base.columns,
        fits={**base.fits, **own.fits},
        velocity_blends_to=own.velocity_blends_to or base.velocity_blends_to,
    )


@lru_cache(maxsize=8)
def generators_of(name: str) -> tuple[PlacedGenerator, ...]:
    """Return the extensor and the flexor of every joint of a set; ConfigError for a missing generator."""
    found, placed = load_set(name), []
    for joint in found.joints:
        for kind, muscle, sign in (("extensor", joint.extensor, -1), ("flexor", joint.flexor, 1)):
            if muscle not in found.generators:
                raise ConfigError(
                    f"there is no generator {muscle!r}", where=f"{name}: joints.{joint.coordinate}",
                    allowed=", ".join(found.generators),
                )  # fmt: skip
            name_at_joint = f"{joint.coordinate}_{kind}"
            fit = found.fits.get(name_at_joint, GeneratorFit())
            spec = found.generators[muscle]
            if fit.strength_Nm is not None:
                spec = replace(spec, strength_Nm=fit.strength_Nm)
            sign_of_torque = sign * joint.flexion_sign
            to_one = found.velocity_blends_to == "one"
            placed.append(
                PlacedGenerator(
                    name_at_joint, muscle, spec, joint, sign_of_torque, to_one=to_one, fit=fit.row
                )
            )
    names = [one.name for one in placed]
    if unknown := [one for one in found.fits if one not in names]:
        raise ConfigError(
            f"no joint of the set has a generator {unknown[0]!r}",
            where=f"{name}: fits",
            allowed=", ".join(names),
        )
    if not placed:
        raise ConfigError(
            f"the set {name} has no joints", where="torque_generators.set", remedy="name a set with joints"
        )
    return tuple(placed)
