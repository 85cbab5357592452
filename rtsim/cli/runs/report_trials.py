"""Results of trials for `rtsim report` and `rtsim norms make`: read if they exist, solved otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from rtsim.cli.terminal.lines import tell
from rtsim.errors import ConfigError
from streams.addresses import is_stream

if TYPE_CHECKING:
    from rtsim.files.recording import Results

RECORDING = ".mcap"
N_TOLD = 10


def label_trials(sources: Sequence[str]) -> list[str]:
    """Return labels of trials from their file names; files of the same name are labelled with as many of
    their folders as tell all of them apart.
    """
    paths = [Path(source) for source in sources]
    labels = [path.name for path in paths]
    for n_part in range(2, max((len(path.parts) for path in paths), default=0) + 1):
        if len(set(labels)) == len(labels):
            break
        labels = [
            label if labels.count(label) == 1 else "/".join(path.parts[-n_part:])
            for label, path in zip(labels, paths, strict=True)
        ]
    return labels


def solved_results(
    source: str, options: dict[str, Any], anyway: bool = False, quiet: bool = False
) -> Results:
    """Return the results of a source: those in a recording (.mcap), else those of its solution with the
    options of a run.

    quiet : whether not to print the notes of the run, as the caller prints the notes of the results

    ConfigError for a stream, for an unreadable source, and if no frame gave usable results.
    """
    from rtsim.files.recording import read_results

    if is_stream(source):
        raise ConfigError(
            f"{source!r} is a stream", where="SOURCES", allowed="files",
            remedy="record it (`rtsim live --record FILE.mcap`) and give that file",
        )  # fmt: skip
    if Path(source).suffix.lower() == RECORDING and not any(options.values()):
        try:
            return with_own_source(read_results(source))
        except ConfigError as error:
            if "no results" not in error.what:
                raise
    return solve_anew(source, options, anyway, quiet)


def with_own_source(results: Results) -> Results:
    """Return recorded results; without the path of the C3D file that was solved if the present file of that
    path is another one, such as that of another person in another folder, whose events would be taken.
    """
    from rtsim.files.c3d_bytes.source import open_source
    from rtsim.files.c3d_bytes.write import is_of_another

    meta = results.session.meta
    path = str(meta.get("source") or "")
    if Path(path).suffix.lower() != ".c3d" or not Path(path).is_file():
        return results
    try:
        differs = is_of_another(results, open_source(path, None, None, str(meta.get("person") or "")))
    except ConfigError:  # as of axes that only options tell: nothing can be compared
        return results
    if not differs:
        return results
    note = (
        f"{path} was not used for gait events and the date, because it is not the recording that was solved: "
        "the names of its markers, or the distances between them, are not those in the results"
    )
    session = structs.replace(results.session, meta={**meta, "source": ""})
    return results._replace(session=session, notes=(*results.notes, note))


def solve_anew(source: str, options: dict[str, Any], anyway: bool, quiet: bool) -> Results:
    """Solve a recording with the options of a run and return its results, with its gait events in their
    descriptor.

    anyway : whether to accept a recording that does not fit the subject
    quiet : whether messages of the run are not printed
    """
    from rtsim.cli.commands.analyse import check_usable, solve
    from rtsim.cli.terminal.console import LastingConsole
    from rtsim.cli.terminal.options import make_run
    from rtsim.methods.gait.summary import gait_of, recorded_with

    run = make_run(**{**options, "source": source})
    solved = solve(run, anyway, LastingConsole(stderr=True))
    sentences = solved.sentences[:N_TOLD]
    try:
        check_usable(solved, source)
    except ConfigError:
        quiet = False  # nobody tells notes of what is refused
        raise
    finally:
        for sentence in [] if quiet else sentences:
            tell(sentence)
    whose = str(solved.results.session.meta.get("person", ""))
    gait = gait_of(solved.results, run.source, whose, with_plates=not solved.wrong)
    return recorded_with(solved.results, gait)
