"""`rtsim norms`: creates gait norms from a laboratory's own trials, or reads them from files of other
programs.
"""

from __future__ import annotations

from pathlib import Path

import click

from rtsim.cli.runs.report_trials import solved_results
from rtsim.cli.terminal.lines import tell
from rtsim.errors import ConfigError
from rtsim.files.norms.variables import CONVENTIONS

TRIALS = (".mcap", ".c3d", ".trc")
STATIC = "static"

_OUT = click.option("-o", "--out", required=True, type=click.Path(path_type=Path), metavar="FILE.toml",
                    help="File of norms to write.")  # fmt: skip
_FORCE = click.option("--force", is_flag=True, help="Replace a file that exists already.")
_NAME = click.option("--name", default="", help="Name of the norms (default: name of the file).")
_SOURCE = click.option(
    "--source", default="", help="Source of the norms, printed on every page that uses them."
)
_LICENCE = click.option("--licence", default="", help="Licence of the norms: what others may do with them.")


@click.group("norms")
def command() -> None:
    """Make or read gait norms: mean and standard deviation of nine angles over the gait cycle.

    Norms belong to one convention: `cgm`, the conventional gait model as in Plug-in Gait, or `isb`, the
    angles of the ISB convention.
    """


@command.command("make")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@_OUT
@click.option("--angles", type=click.Choice([*CONVENTIONS]),
              help="Convention of the angles (default: cgm, if all trials contain such angles).")  # fmt: skip
@_NAME
@_SOURCE
@_LICENCE
@_FORCE
def make(
    folder: Path, out: Path, angles: str | None, name: str, source: str, licence: str, force: bool
) -> None:
    """Make norms of the trials in FOLDER: results (.mcap), or recordings (.c3d, .trc), which are solved with
    the static trial of their folder (a name with `static`).

    Trials in a common subfolder of FOLDER, however deep, belong to one person; any other trial belongs to the
    person named in its results. The persons are told.
    """
    from rtsim.files.markers.trial import name_some
    from rtsim.files.norms.norm_set import write_norms
    from rtsim.files.output import check_free
    from rtsim.report.clinical.laboratory_norms import norms_of_trials
    from rtsim.report.clinical.session import trial_of

    check_toml(out)
    check_free(out, force)
    found = trials_in(folder)
    trials = []
    for path, static in found:
        try:
            results = solved_results(str(path), {"static": str(static)} if static else {})
        except ConfigError as error:
            tell(f"{path.name} was left out: {error}")
            continue
        person = path.parent.relative_to(folder).as_posix() if path.parent != folder else ""
        trials.append((person, trial_of(results, path.name)))
    norms, notes = norms_of_trials(trials, str(folder), angles or "", name or out.stem, source, licence)
    for note in notes:
        tell(note)
    write_norms(out, norms)
    if folders := sorted({person for person, _ in trials if person}):
        tell(f"each of these folders counted as one person: {name_some(folders, 40)}")
    tell(f"{out}: {norms.words}; persons: {norms.n_person}, strides: {norms.n_stride}")
    click.echo(f"wrote {out}", err=True)


def check_toml(out: Path) -> None:
    """Raise ConfigError for a file name with the suffix of another format than TOML."""
    if out.suffix.lower() != ".toml":
        raise ConfigError(
            f"{out.name} cannot be the name of a file of norms",
            where="--out",
            allowed="a name that ends in .toml",
        )


def trials_in(folder: Path) -> list[tuple[Path, Path | None]]:
    """Return the trials below a folder, each with the static trial in the same folder; ConfigError if there
    is none.
    """
    files = sorted(p for p in folder.rglob("*") if p.suffix.lower() in TRIALS and p.is_file())
    found = []
    for path in files:
        if STATIC in path.stem.lower():
            continue
        beside = [p for p in files if p.parent == path.parent and STATIC in p.stem.lower()]
        found.append((path, static_of(path, beside) if path.suffix.lower() != ".mcap" else None))
    if not found:
        raise ConfigError(
            "the folder contains no trial", where=str(folder), allowed=", ".join(TRIALS),
            remedy="put results of `rtsim analyse --out` into it, or recordings with their static trial",
        )  # fmt: skip
    return found


def static_of(trial: Path, beside: list[Path]) -> Path | None:
    """Return the static trial of a recording: the only one in its folder, or the one whose name has the most
    in common with its own.

    ConfigError if several fit equally, as they may be of other persons.
    """
    from rtsim.subjects.markers.marker_names import shared_beginning

    alike = [path for path in beside if path.suffix.lower() == trial.suffix.lower()]
    shared = {path: len(shared_beginning((path.stem.lower(), trial.stem.lower()))) for path in alike}
    best = [path for path in alike if shared[path] == max(shared.values())]
    if len(best) > 1:
        raise ConfigError(
            f"several static trials might belong to this trial: {', '.join(path.name for path in best)}",
            where=str(trial),
            remedy="put the trials of each person into a separate folder, with one static trial",
        )  # fmt: skip
    if len(alike) > 1:
        tell(
            f"{trial.name}: the static trial {best[0].name} was used, because its name begins most similarly"
        )
    return best[0] if best else None


@command.command("read")
@click.argument("file", type=click.Path(path_type=Path))
@_OUT
@click.option("--convention", required=True, type=click.Choice([*CONVENTIONS]),
              help="Convention of the joint angles; for files of Polygon and Nexus: cgm.")  # fmt: skip
@_NAME
@_SOURCE
@_LICENCE
@_FORCE
def read(file: Path, out: Path, convention: str, name: str, source: str, licence: str, force: bool) -> None:
    """Read norms from FILE: .gcd, or .csv with columns variable, percent, mean, deviation."""
    from rtsim.files.norms.foreign import read_foreign
    from rtsim.files.norms.norm_set import NormSet, write_norms
    from rtsim.files.output import check_free

    check_toml(out)
    check_free(out, force)
    foreign = read_foreign(file)
    for note in foreign.notes:
        tell(f"{file}: {note}")
    norms = NormSet(
        name=name or file.stem, convention=convention, curves=foreign.curves,
        source=source or f"read from {file.name}", licence=licence,
    )  # fmt: skip
    write_norms(out, norms)
    click.echo(f"wrote {out}", err=True)
