"""Fits as the cases of a study: each case runs the command `rtsim fit` in a process of its own, whose JSON
output is the result.

A fit takes seconds to minutes, so the start of a process hardly matters, and the options of the command need
no second description here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rtsim.config.reading import is_file
from rtsim.config.runs.study_schema import StudySpec
from rtsim.errors import ConfigError
from rtsim.live.processes.children import APART, CHILD, LAST
from rtsim.studies.changes import placed
from rtsim.studies.outcome import FigureColumns


class FitTask:
    """What a study of fits solves in each case: a run of `rtsim fit`."""

    groups: tuple[str, ...] = ()

    def __init__(self, spec: StudySpec, folder: str) -> None:
        assert spec.fit is not None
        how = spec.fit
        self._name = how.name
        arguments = [placed(word, folder) for word in how.arguments]
        options = {
            name: [placed(x, folder) for x in value] if isinstance(value, tuple) else placed(value, folder)
            for name, value in how.options.items()
        }
        self._folder = folder
        self.bases: Mapping[str, Any] = {"input": {"arguments": arguments, **options}}
        every = [*arguments, *options.values()]
        self.files = tuple(Path(word) for word in every if isinstance(word, str) and is_file(word))

    def solve(self, changed: Mapping[str, Any], seed: int) -> FigureColumns:
        """Solve a case: run the fit and return its results; ConfigError with the last message of a fit that
        fails.

        changed : {"input": options of the command with the values of the case}, or {}; seed : not used
        """
        tables = dict(changed.get("input", self.bases["input"]))
        arguments = [str(placed(word, self._folder)) for word in tables.pop("arguments")]
        for name, value in tables.items():
            arguments += words_of(name, value, self._folder)
        command = [sys.executable, "-m", "rtsim.cli.main", "fit", self._name, *arguments, "--json"]
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said,
            tempfile.TemporaryDirectory(prefix="rtsim-study-") as folder,
            # its standard input closes with this process, by which it ends as well
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, encoding="utf-8",
                errors="replace", cwd=folder, env={**os.environ, CHILD: "1"}, **APART,
            ) as process,
        ):  # fmt: skip
            assert process.stdout is not None
            out = process.stdout.read()
            process.wait()
            said.seek(0)
            err = said.read()
        if process.returncode != 0:
            lines = err.strip().splitlines() or ["the fit printed no message"]
            raise ConfigError(lines[-1].removeprefix(LAST), where=f"fit {self._name}")
        try:
            return FigureColumns(json.loads(out))
        except json.JSONDecodeError:
            raise ConfigError("the fit printed no numbers as JSON", where=f"fit {self._name}") from None


def words_of(name: str, value: Any, folder: str) -> list[str]:
    """Return an option of `rtsim fit` as words of its command line; an option that is true becomes a flag.

    value : a list repeats the option; folder : folder in which files named by the value are looked for
    """
    if isinstance(value, bool):
        return [f"--{name}"] if value else []
    values = value if isinstance(value, list) else [value]
    return [f"--{name}={placed(one, folder)}" for one in values]
