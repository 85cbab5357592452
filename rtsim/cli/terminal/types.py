"""Types of values on the command line, with their checks and shell completion."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

from rtsim.config.paths import find_config, shipped_names
from rtsim.config.runs.run_schema import LONGEST_S, RunConfig
from rtsim.errors import ConfigError, RtsimError
from rtsim.live.inputs.sources import MADE_UP
from streams.addresses import LAST_PORT, check_address, is_stream
from streams.capture.system import CaptureAddress, is_capture, parse_capture
from streams.errors import StreamError

AUTO = "auto"


def option_of(parameter: click.Parameter | None) -> str:
    """Return the spelling of an option, or of an argument, on the command line."""
    if parameter is None:
        return "address"
    return parameter.opts[0] if isinstance(parameter, click.Option) else parameter.name.upper()


def checked(address: str, where: str, binding: bool = False) -> str:
    """Return the address; ConfigError for an invalid one."""
    try:
        check_address(address, binding)
    except StreamError as fault:
        raise ConfigError(str(fault), where=where) from fault
    return address


class Address(click.ParamType):
    """A type of option values: tcp://HOST:PORT; binding : whether it is an address to bind."""

    name = "address"

    def __init__(self, binding: bool = False) -> None:
        self.binding = binding

    def convert(self, value: str, parameter: click.Parameter | None, context: click.Context | None) -> str:
        return checked(value, option_of(parameter), self.binding)


def checked_capture(source: str, where: str) -> CaptureAddress:
    """Parse the address of a capture system; ConfigError for an invalid address, or one with an invalid
    option.
    """
    try:
        return parse_capture(source)
    except StreamError as fault:
        raise ConfigError(str(fault), where=where) from fault


class MarkerSource(click.ParamType):
    """A type of option values, a source of markers: the synthetic walker, the synthetic jaw, a file or a
    stream; capture : whether a capture system is allowed.
    """

    name = "source"

    def __init__(self, capture: bool = False) -> None:
        self.capture = capture

    def convert(self, value: str, parameter: click.Parameter | None, context: click.Context | None) -> str:
        if self.capture and is_capture(value):
            checked_capture(value, option_of(parameter))
            return value
        return Address().convert(value, parameter, context) if is_stream(value) else value

    def shell_complete(
        self, context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return offered(MADE_UP, incomplete)


class PortOffset(click.ParamType):
    """A type of option values: a whole number, or `auto` if addresses are bound."""

    name = "N"

    def __init__(self, auto: bool) -> None:
        self.auto = auto

    def convert(
        self, value: str | int, parameter: click.Parameter | None, context: click.Context | None
    ) -> str | int:
        if isinstance(value, int) or (self.auto and value == AUTO):
            return value
        if not (value.isascii() and value.isdigit() and len(value) < 6 and int(value) <= LAST_PORT):
            allowed = f"0 to {LAST_PORT}" + (f", or {AUTO}" if self.auto else "")
            raise ConfigError(f"{value!r}", where=option_of(parameter), allowed=allowed)
        return int(value)

    def shell_complete(
        self, context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return offered((AUTO,), incomplete) if self.auto else []


class NumberWithin(click.FloatRange):
    """A type of option values, a number within a range; nan, which is neither below nor above any number, is
    rejected.
    """

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float:
        number = float(super().convert(value, parameter, context))
        if math.isnan(number):
            self.fail("nan is no number", parameter, context)
        return number


class Span(click.ParamType):
    """A type of option values: a span of time START:STOP [s]."""

    name = "START:STOP"

    def convert(
        self,
        value: str | tuple[float, float],
        parameter: click.Parameter | None,
        context: click.Context | None,
    ) -> tuple[float, float]:
        if isinstance(value, tuple):
            return value
        try:
            start, stop = (float(part) for part in value.split(":"))
        except ValueError:
            start = stop = math.nan
        if not -LONGEST_S <= start < stop <= LONGEST_S:
            raise ConfigError(
                f"{value!r}", where=option_of(parameter), allowed="START:STOP in seconds, START before STOP"
            )
        return start, stop


class Config(click.ParamType):
    """A type of option values: a .toml file, or the name of a shipped config from one folder (models, labs,
    subjects, runs).
    """

    name = "text"

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def shell_complete(
        self, context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return offered(shipped_names(self.folder), incomplete)


class MethodName(click.ParamType):
    """A type of option values: name of a method of the model that the command line states before it."""

    name = "text"

    def shell_complete(
        self, context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from rtsim.config.runs.choices import load_run
        from rtsim.models.load import load_model

        config, choices, model = (context.params.get(key) for key in ("config", "choices", "model"))
        try:
            run = load_run(find_config(config, "runs"), choices or ()) if config else RunConfig(name="live")
            return offered(load_model(model or run.model).methods, incomplete)
        except RtsimError:  # said when the command is run
            return []


def offered(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Return the names for shell completion that begin with the text typed so far; files if none does."""
    fitting = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return fitting or [CompletionItem(incomplete, type="file")]


def check_new(name: str, given: Container[str], option: str) -> None:
    """Raise ConfigError for a name to which words NAME=VALUE of an option have given a value already."""
    if name in given:
        raise ConfigError(f"{name} is given twice", where=option, remedy="keep one of the two values")


def texts_of(words: Iterable[str], option: str, form: str) -> dict[str, str]:
    """Return the values of words such as NAME=VALUE by their names; ConfigError for a word without a value,
    and for a name that is given twice.

    option : what the words were given to, form : how they are written, for the message
    """
    values: dict[str, str] = {}
    for name, equals, value in (word.partition("=") for word in words):
        if not equals:
            raise ConfigError(f"{name!r} has no value", where=option, allowed=form)
        check_new(name, values, option)
        values[name] = value
    return values
