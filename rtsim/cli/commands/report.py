"""`rtsim report`: a gait report on one or several trials for clinicians, as HTML, PDF, spreadsheet or
tables.
"""

from __future__ import annotations

import os
from datetime import date
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rtsim.cli.runs.report_trials import label_trials, solved_results
from rtsim.cli.terminal.lines import tell
from rtsim.cli.terminal.options import ANYWAY_OPTION, method_options
from rtsim.cli.terminal.types import MarkerSource
from rtsim.errors import ConfigError
from rtsim.files.norms.variables import CONVENTIONS

if TYPE_CHECKING:
    from rtsim.report.clinical.report import GaitReport
    from rtsim.report.clinical.session import ReportTrial

HTML, PDF, PNG, XLSX = ".html", ".pdf", ".png", ".xlsx"
DPI = 150.0
NOW, BEFORE = "now", "before"


@click.command("report")
@click.argument("sources", nargs=-1, required=True, type=MarkerSource())
@method_options
@ANYWAY_OPTION
@click.option("--before", multiple=True, type=MarkerSource(), metavar="FILE",
              help="A trial of an earlier session, drawn for comparison (repeatable).")  # fmt: skip
@click.option("--norms", "norms_path", type=click.Path(path_type=Path), metavar="FILE",
              help="Norms (.toml, see `rtsim norms`): add normal bands and gait profile scores.")  # fmt: skip
@click.option("--angles", type=click.Choice([*CONVENTIONS]),
              help="Convention of the angles (default: that of the norms, else `cgm` if the trials "
                  "contain it).")  # fmt: skip
@click.option("-o", "--out", "outputs", multiple=True, type=click.Path(path_type=Path), metavar="PATH",
              help="Report: .html, .pdf, .png, .xlsx, or a folder for csv and a spreadsheet (repeatable; "
              "default: the name of the first source with .html).")  # fmt: skip
@click.option("--name", default="", metavar="TEXT", help="Name or code of the person, printed on every page.")
@click.option(
    "--date", "day", default="", metavar="TEXT", help="Date of the session (default: date of the first file)."
)
@click.option("--force", is_flag=True, help="Replace files that exist already.")
def command(
    sources: tuple[str, ...], before: tuple[str, ...], norms_path: Path | None, angles: str | None,
    outputs: tuple[Path, ...], name: str, day: str, force: bool, anyway: bool, **options: Any,
) -> None:  # fmt: skip
    """Report the gait of one person: SOURCES are results (.mcap of `analyse`, `live`) or recordings, which
    are solved first with the options of `rtsim analyse`.

    For the folder of a study (`rtsim study`), sensitivity indices, tornado plot, heat map and bands are
    reported.

    The pages show angles over the gait cycle; moments and powers; steps and scores; quality and settings;
    joints and muscles. Several sources are treated as trials of one session, and averaged.
    """
    from rtsim.studies.record import is_study

    if any(is_study(Path(source)) for source in sources):
        from rtsim.cli.runs.study_report import report_study

        others = (*sources[1:], *before, norms_path, angles, name, day, *options.values())
        report_study(Path(sources[0]), outputs, any(others))
        return
    from rtsim.cli.main import installed_version
    from rtsim.files.norms.norm_set import check_convention, read_norms
    from rtsim.report.clinical.report import make_report
    from rtsim.report.clinical.session import ReportSession

    outputs = outputs or (Path(f"{Path(sources[0]).stem or 'report'}{HTML}"),)
    for path in outputs:
        check_output(path, force)
    check_once((*sources, *before))
    check_own_files(sources, before, options)
    norms = read_norms(norms_path) if norms_path is not None else None
    if norms is not None and angles:
        check_convention(norms, angles, str(norms_path))
    now = trials_of(sources, options, anyway)
    check_person(now, anyway, "SOURCES")
    then = trials_of(before, options, anyway)
    check_person(then, anyway, "--before")
    check_names((*now, *then), anyway)
    earlier = ReportSession(BEFORE, then) if then else None
    report = make_report(
        ReportSession(NOW, now), earlier, norms, str(norms_path or ""), person=name or person_of(now),
        date=day or date_of(sources[0], now), version=installed_version(), angles=angles or "",
    )  # fmt: skip
    for trial in (*now, *then):
        for note in trial.notes:
            tell(f"{trial.name}: {note}")
    tell_differences((*now, *then))
    write_report(report, outputs)


def trials_of(sources: tuple[str, ...], options: dict[str, Any], anyway: bool) -> tuple[ReportTrial, ...]:
    """Return the trials of a session for a report; sources that are recordings without results are solved
    first.

    options : options of `rtsim analyse` for that
    anyway : whether to accept a recording that does not fit the subject
    """
    from rtsim.report.clinical.session import trial_of

    names = label_trials(sources)
    return tuple(
        trial_of(solved_results(source, options, anyway, quiet=True), name)
        for source, name in zip(sources, names, strict=True)
    )


def check_once(sources: tuple[str, ...]) -> None:
    """Raise ConfigError for a trial that is given twice, as it would be counted twice."""
    seen: set[Path] = set()
    for source in sources:
        path = Path(os.path.realpath(source))
        if path in seen and path.exists():
            raise ConfigError(f"{source} is given twice", where="SOURCES", remedy="give each trial once")
        seen.add(path)


def check_own_files(sources: tuple[str, ...], before: tuple[str, ...], options: dict[str, Any]) -> None:
    """Raise ConfigError for a file of one recording or of one session, given by an option or by a run config,
    that would also be used for another one.

    options : options of `rtsim analyse`, with which every source is solved
    """
    if not any(options.values()):
        return
    from rtsim.cli.terminal.options import make_run

    run = make_run(**{**options, "source": sources[0]})
    for option, file, whole, others in (
        ("--forces", run.forces, "recording", (*sources[1:], *before)),
        ("--static", run.static, "session", before),
        ("--subject", run.subject, "session", before),
    ):
        if file and others:
            raise ConfigError(
                f"{file} belongs to one {whole}, but would also be used for {others[0]}", where=option,
                remedy=f"solve the trials of each {whole} by `rtsim analyse TRIAL {option} FILE --out "
                    "RESULTS.mcap`, and report these results",
            )  # fmt: skip


def check_person(trials: tuple[ReportTrial, ...], anyway: bool, option: str) -> None:
    """Raise ConfigError for trials of one session whose persons differ in name or size; with --anyway, only
    print a warning. option : option or argument that states the trials, for the error
    """
    from rtsim.report.clinical.person_size import name_difference, size_difference

    words = name_difference(trials) or size_difference(trials)
    if words and not anyway:
        raise ConfigError(
            words, where=option, allowed="trials of one person in one session, because they are averaged",
            remedy="report each person separately, compare with an earlier session with --before, or add "
                "--anyway",
        )  # fmt: skip
    if words:
        tell(words)


def check_names(trials: tuple[ReportTrial, ...], anyway: bool) -> None:
    """Raise ConfigError for trials of two sessions that name different persons; with --anyway, only print a
    warning.
    """
    from rtsim.report.clinical.person_size import name_difference

    words = name_difference(trials)
    if words and not anyway:
        raise ConfigError(
            words, where="--before", allowed="an earlier session of the same person",
            remedy="give an earlier session of this person, or add --anyway",
        )  # fmt: skip
    if words:
        tell(words)


def tell_differences(trials: tuple[ReportTrial, ...]) -> None:
    """Print a note if trials that are averaged or overlaid were solved by different methods."""
    methods = sorted({str(trial.results.session.meta.get("method") or "") for trial in trials} - {""})
    if len(methods) > 1:
        tell(
            f"the trials are solved by different methods ({', '.join(methods)}), whose angles differ: "
            "compare sessions by one method"
        )


def check_output(path: Path, force: bool) -> None:
    """Raise ConfigError before slow work if an output cannot be written."""
    from rtsim.files.output import check_folder, check_free

    suffix = path.suffix.lower()
    if str(path) == "-":
        raise ConfigError(
            "a report cannot be written to standard output",
            where="--out",
            allowed="the name of a file or a folder",
        )
    if path.is_dir() or not suffix:
        if path.exists() and not path.is_dir():
            raise ConfigError(
                f"{path} is a file, not a folder",
                where="--out",
                remedy="give the name of a new folder, or of a file with a known suffix",
            )
        check_folder(path / "about.csv" if path.is_dir() else path, "--out")
        there = sorted(p.name for p in path.glob("*.csv")) if path.is_dir() else []
        if there and not force:
            raise ConfigError(
                f"{path} already contains tables, such as {there[0]}", where="--out",
                remedy="give another folder, or --force",
            )  # fmt: skip
        return
    if suffix not in (HTML, PDF, PNG, XLSX):
        raise ConfigError(
            f"{path.name} has no known suffix", where="--out",
            allowed=f"a name ending in {HTML}, {PDF}, {PNG} or {XLSX}, or a folder",
        )  # fmt: skip
    for each in pages_there(path) or [numbered(path, 1)] if suffix == PNG else [path]:
        check_free(each, force)
    if suffix in (PDF, PNG):
        from rtsim.monitor.qt_library import PAGES, require_qt

        require_qt(PAGES)
    if suffix == XLSX:
        from rtsim.report.clinical.tables import require_xlsx

        require_xlsx()


def person_of(trials: tuple[ReportTrial, ...]) -> str:
    """Return the name or code of the person, as stored in the results, or else that of the subject model
    unless it is merely the name of a trial. Without any, return a note that there is no name.
    """
    metas = [trial.results.session.meta for trial in trials]
    for key in ("subject_name", "person"):
        found = next((str(meta[key]) for meta in metas if meta.get(key)), "")
        if found:
            return found
    for meta in metas:
        measured_in = {Path(str(meta.get(key) or "")).stem for key in ("source", "static")}
        name = Path(str(meta.get("subject") or "")).stem
        if name and name not in measured_in:
            return name
    return "name of the person not given (--name)"


def date_of(source: str, trials: tuple[ReportTrial, ...]) -> str:
    """Return, as text, the modification date of the file from which the first trial was solved, or else of
    `source`; without such a file, a note that the date is not given.

    The file that results name is used only if it is a C3D file, which was compared with them: a file of
    another kind may be that of another person, of the same name in another folder.
    """
    solved = Path(str(trials[0].results.session.meta.get("source") or ""))
    for path in (*([solved] if solved.suffix.lower() == ".c3d" else []), Path(source)):
        if path.is_file():
            return f"file of {date.fromtimestamp(path.stat().st_mtime).isoformat()}"
    return "date of the session not given (--date)"


def write_report(report: GaitReport, outputs: tuple[Path, ...]) -> None:
    """Write all files, and report each of them."""
    from rtsim.files.output import write_bytes, write_text
    from rtsim.report.clinical.document import html_of, pages_of
    from rtsim.report.clinical.tables import curves_of, require_xlsx, tables_of, write_folder, write_xlsx

    drawn = any(path.suffix.lower() in (HTML, PDF, PNG) and not path.is_dir() for path in outputs)
    pages = pages_of(report) if drawn else []
    tables = tables_of(report) if any(is_folder(p) or p.suffix.lower() == XLSX for p in outputs) else []
    for path in outputs:
        if is_folder(path):
            path.mkdir(exist_ok=True)
            write_folder(path, tables)
            try:
                require_xlsx()
                write_xlsx(path / "report.xlsx", tables, curves_of(report))
            except ConfigError as error:
                tell(f"{path}: the spreadsheet was not written: {error}")
        elif path.suffix.lower() == HTML:
            write_text(path, html_of(report, pages))
        elif path.suffix.lower() == PDF:
            from rtsim.monitor.figures.svg_pages import save_pdf

            save_pdf(path, [page.svg() for page in pages], f"Gait report: {report.person}")
        elif path.suffix.lower() == PNG:
            from rtsim.monitor.figures.svg_pages import picture_of

            for number, page in enumerate(pages, 1):
                write_bytes(numbered(path, number), picture_of(page.svg(), DPI))
            last = numbered(path, len(pages)).name
            click.echo(f"wrote {numbered(path, 1)} to {last}", err=True)
            for former in pages_there(path)[len(pages) :]:
                tell(f"{former} is left over from a longer report and is not a page of this report")
            continue
        else:
            write_xlsx(path, tables, curves_of(report))
        click.echo(f"wrote {path}", err=True)


def is_folder(path: Path) -> bool:
    """Return whether an output is a folder."""
    return path.is_dir() or not path.suffix


def pages_there(path: Path) -> list[Path]:
    """Return the paths of existing page pictures (anna-1.png and so on), by page number."""
    found = {}
    for other in path.parent.glob(f"{escape(path.stem)}-*{path.suffix}"):
        number = other.stem[len(path.stem) + 1 :]
        if number.isascii() and number.isdigit() and other == numbered(path, int(number)):
            found[int(number)] = other
    return [found[number] for number in sorted(found)]


def numbered(path: Path, number: int) -> Path:
    """Return the path of the picture of a page, such as anna-1.png."""
    return path.with_name(f"{path.stem}-{number}{path.suffix}")
