"""`rtsim lab`: proposes the marker map of a laboratory, which assigns its markers to anatomical landmarks,
from a static trial.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtsim.cli.terminal.lines import tell
from rtsim.cli.terminal.marker_options import PERSON_OPTION
from rtsim.cli.terminal.options import file_options
from rtsim.cli.terminal.plotting import paper_for, plot_options
from rtsim.errors import ConfigError
from rtsim.files.output import check_free

if TYPE_CHECKING:
    from rtsim.files.markers.trial import MarkerTrial
    from rtsim.monitor.figures.paper import Paper
    from rtsim.subjects.lab_proposal.proposal import LabProposal

SUFFIX = ".lab.toml"
MOST_SHOWN = 60
"""Largest number of letters of a marker's name in the table."""
STANDS_IN, OPTIONAL = "alternative", "optional"
KIND_OF_ROLE = {
    **dict.fromkeys(("asis", "epicondyle_lateral", "malleolus_lateral", "calcaneus"), "needed"),
    **dict.fromkeys(
        ("psis", "sacrum", "epicondyle_medial", "thigh_lateral", "malleolus_medial", "shank_lateral",
         "metatarsal_1", "metatarsal_5", "toe"),
        STANDS_IN,
    ),
}  # fmt: skip
"""Role -> whether each leg needs it, or one of several alternatives; all other roles are optional."""


@click.group("lab")
def command() -> None:
    """Propose, draw and explain marker maps, which assign a laboratory's markers to landmarks."""


@command.command("new")
@click.argument("static", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"Marker map to write (default: STATIC{SUFFIX}).",
)
@click.option(
    "--movement",
    type=click.Path(path_type=Path),
    help="A movement with the same marker set: markers that are absent here are taken to be worn in the "
    "static trial only.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    help="Picture of the markers with their roles: .png, .svg or .pdf (default: a .png file in the "
    "folder of the map).",
)
@click.option("--no-plot", is_flag=True, help="Draw no picture.")
@PERSON_OPTION
@file_options
@click.option(
    "--force",
    is_flag=True,
    help="Replace the files of the marker map and of its picture if they exist already.",
)
def new(
    static: Path,
    out: Path | None,
    movement: Path | None,
    plot: Path | None,
    no_plot: bool,
    person: str | None,
    units: str | None,
    up: str | None,
    force: bool,
) -> None:
    """Propose a marker map from STATIC, a trial in which the person stands still with all markers on.

    Roles follow from the names and the positions of the markers. Uncertain roles are reported, and marked in
    the map: check and correct it, and give it as --lab.
    """
    from rtsim.subjects.lab_proposal.map_text import map_text
    from rtsim.subjects.lab_proposal.proposal import propose
    from rtsim.subjects.lab_proposal.proposed_map import refusal

    path = out or static.with_suffix(SUFFIX)
    if path.suffix != ".toml":
        raise ConfigError(
            f"{path} cannot be the name of a marker map", where="--out", allowed="a name that ends in .toml"
        )
    check_free(path, overwrite=force)
    paper = paper_of_map(path, plot, no_plot, force)
    trial = read_person(static, person, up, units)
    moving = None if movement is None else read_person(movement, person, up, units)
    found = propose(trial, path.name.removesuffix(".toml").removesuffix(".lab"), moving)
    for note in trial.notes:
        tell(f"{static}: {note}")
    print_roles(found)
    if paper is not None:
        draw(paper, static, found)
    if found.proposed.lab is None:
        raise refusal(found.proposed, str(static))
    from rtsim.files.output import write_text

    write_text(
        path, map_text(found.proposed.lab, found.roles, remarks(static, found), found.proposed.one_leg)
    )
    click.echo(f"wrote {path}", err=True)
    tell(
        f"read the map, correct the marked entries, then run: rtsim check {path}; rtsim analyse WALK "
        f"--static {static} --lab {path}"
    )


def paper_of_map(path: Path, plot: Path | None, no_plot: bool, force: bool) -> Paper | None:
    """Return the file in which a marker map is drawn as a picture; None if no picture is requested, or if by
    default none can be drawn.

    path : file of the map
    plot : file given by --plot; no_plot : whether the picture is left out
    force : whether a file may be replaced
    """
    if no_plot and plot is not None:
        raise ConfigError(
            "--plot draws the picture and --no-plot leaves it out; give only one of them",
            where="--plot, --no-plot",
            remedy="leave one out",
        )
    if no_plot:
        return None
    file = plot or path.with_suffix(".png")
    check_free(file, overwrite=force)
    try:
        return paper_for(file, None, None)
    except ConfigError as fault:
        if plot is not None:
            raise
        tell(f"no picture: {fault}")
        return None


def read_person(path: Path, person: str | None, up: str | None, units: str | None) -> MarkerTrial:
    """Read the markers of one person from a file, even if no shipped marker map matches them."""
    from rtsim.subjects.markers.persons import read_one, share_of_labs

    return read_one(path, share_of_labs(), person or "", up, units, strict=True)


def print_roles(found: LabProposal) -> None:
    """Print a table of the roles (anatomical landmarks) and the markers proposed for them, then notes on
    uncertain, missing and omitted ones.
    """
    from rtsim.subjects.lab_proposal.landmark_places import PLACES
    from rtsim.subjects.lab_proposal.proposed_roles import CERTAIN, UNSURE

    proposed = found.proposed
    by_slot = {(role.role, role.side): role for role in found.roles}
    marks = {CERTAIN: "", UNSURE: " ?"}
    tell(f"{'role':22s}{'right':24s}{'left':24s}", err=False)
    order = [*PLACES, *(role.role for role in found.roles)]
    for name in dict.fromkeys(name for name in order if any(role.role == name for role in found.roles)):
        cells = []
        for side in ("right", "left"):
            one = by_slot.get((name, side)) or by_slot.get((name, ""))
            cells.append(f"{one.marker}{marks.get(one.certainty, ' (by position)')}" if one else "-")
        shown = [f"{cell[:MOST_SHOWN]:23s} " for cell in cells]
        tell(f"{name:22s}{shown[0]}{shown[1]}".rstrip(), err=False)
    counts = [sum(role.certainty == kind for role in found.roles) for kind in (CERTAIN, UNSURE)]
    rest = len(found.roles) - sum(counts)
    tell(
        f"{counts[0]} roles found by name and position, {rest} by position or name alone, "
        f"{counts[1]} unsure (marked ?)",
        err=False,
    )
    for role in found.roles:
        if role.certainty == UNSURE:
            tell(
                f"unsure role: marker {role.marker} is taken as {role.side} {role.role}: {role.why}".replace(
                    "  ", " "
                ),
                err=False,
            )
    for text in (*found.told, *proposed.without):
        tell(f"note: {text}", err=False)
    if proposed.one_leg:
        for side, missing in proposed.lacking.items():
            tell(
                f"note: the map covers one leg only, because the {side} leg lacks {', '.join(missing)}",
                err=False,
            )


def remarks(static: Path, found: LabProposal) -> list[str]:
    """Return the comments at the head of a proposed marker map: from which trial it was made, and what the
    words `check` and UNSURE beside its roles mean.
    """
    return [
        f"Proposed by `rtsim lab new` from {static.name}: check every role before use.",
        "Roles without a comment follow from both name and position; `check` marks roles that only "
        "one of the two gives,",
        "UNSURE marks roles that neither gives for certain, or for which name and position "
        "contradict each other.",
    ]


def draw(paper: Paper, static: Path, found: LabProposal) -> None:
    """Draw the markers of the static trial with the roles (anatomical landmarks) proposed for them."""
    from rtsim.monitor.figures.marker_figure import DrawnMarker, save_markers
    from rtsim.subjects.lab_proposal.proposed_roles import BY_PLACE, CERTAIN, UNSURE

    x = found.pose.stature * found.pose.seen(found.standing.points)
    by_marker = {role.marker: role for role in found.roles}
    followed = {one.marker for one in found.followed}
    markers = []
    for name, place in zip(found.standing.names, x, strict=True):
        role = by_marker.get(name)
        side = role.side if role else "right" if place[2] > 0.0 else "left"
        kind = role.certainty if role else "followed" if name in followed else "none"
        markers.append(DrawnMarker(name, role.role if role else "", side, place, kind))
    colours = {
        CERTAIN: ("good", "landmark known from name and position"),
        BY_PLACE: ("accent", "landmark known from position or name alone"),
        UNSURE: ("bad", "landmark uncertain"),
        "followed": ("text_dim", "marker on no landmark, tracked in movement with its segment"),
        "none": ("occluded", "not used"),
    }  # fmt: skip
    save_markers(paper, f"{static.name}: proposed landmarks of the markers", markers, colours)
    click.echo(f"wrote {paper.path}", err=True)


@command.command("roles")
@plot_options
def roles(plot: Path | None, plot_size: str | None, plot_dpi: int | None) -> None:
    """List the roles that a marker map can have: which are required, and the consequences of missing
    others.
    """
    from rtsim.subjects.lab_proposal.proposed_map import NEEDED, WITHOUT
    from rtsim.subjects.made_up.standing_landmarks import DRAWN, standing_landmarks

    paper = paper_for(plot, plot_size, plot_dpi)
    for role in DRAWN:
        what = WITHOUT.get(role) or NEEDED.get(role, "the results are the same without this marker")
        tell(f"{role:22s}{KIND_OF_ROLE.get(role, OPTIONAL):12s}{what}", err=False)
    if paper is None:
        return
    from rtsim.monitor.figures.marker_figure import DrawnMarker, save_markers

    markers = [
        DrawnMarker("", role, side, place, KIND_OF_ROLE.get(role, OPTIONAL))
        for (role, side), place in standing_landmarks().items()
    ]
    colours = {
        "needed": ("good", "needed"), STANDS_IN: ("accent", "alternative: see the table of roles"),
        OPTIONAL: ("text_dim", "optional"),
    }  # fmt: skip
    save_markers(paper, "Roles of a marker map", markers, colours)
    click.echo(f"wrote {paper.path}", err=True)
