"""The contacts of a model with ground, for bodies whose motion is given (kernels/contact/prescribed)."""

from __future__ import annotations

import numpy as np

from kernels.contact.prescribed import Prescribed, prescribe
from rtsim.errors import ConfigError
from rtsim.models.model import Model


def prescribed_contacts(model: Model) -> Prescribed:
    """Return the contacts of a model, all of them between a body and ground; ConfigError for other contacts,
    or for none.
    """
    contacts, pairs = model.forces.contacts, model.forces.pairs
    if not len(contacts.pair):
        raise ConfigError(
            "the model has no contact", where=f"model {model.name}", allowed="contacts with ground"
        )
    between = pairs.body_b[contacts.pair] >= 0
    if between.any() or (contacts.mesh >= 0).any():
        name = model.names.contacts[int(np.flatnonzero(between | (contacts.mesh >= 0))[0])]
        raise ConfigError(
            f"the contact {name} is not a contact with a plane of ground", where=f"model {model.name}",
            allowed='ellipsoids on planes of segment "ground"',
        )  # fmt: skip
    return prescribe(contacts, pairs.body_a[contacts.pair])
