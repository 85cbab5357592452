"""What goes wrong before a run: configuration errors, each one clear sentence."""

from __future__ import annotations


class RtsimError(Exception):
    """Base of every error that rtsim raises on purpose; its text is fit to be shown to a user."""


class ConfigError(RtsimError):
    """A bad config, file or command.

    Parameters
    ----------
    what : what is wrong, with the offending value
    where : the file, key or option it stands in
    allowed : the allowed values or range
    remedy : what to do about it
    """

    def __init__(
        self, what: str, *, where: str | None = None, allowed: str | None = None, remedy: str | None = None
    ) -> None:
        self.what, self.where, self.allowed, self.remedy = what, where, allowed, remedy
        text = f"{where}: {what}" if where else what
        if allowed:
            text += f"; allowed: {allowed}"
        if remedy:
            text += f"; {remedy}"
        super().__init__(text)


class ModelError(ConfigError):
    """A model that has no answer to what it was asked: constraints that cannot hold, a path that fails."""
