"""The pages of a report, and the report as one HTML file that works without a network."""

from __future__ import annotations

from html import escape
from importlib.resources import files

import msgspec

from rtsim.report.clinical.curve_pages import joint_pages, kinematic_pages, kinetic_pages
from rtsim.report.clinical.drawing import Page, printable
from rtsim.report.clinical.frame import framed
from rtsim.report.clinical.quality_page import quality_pages
from rtsim.report.clinical.report import GaitReport
from rtsim.report.clinical.steps_page import step_pages
from rtsim.report.clinical.time_curves import is_over_time
from rtsim.report.clinical.time_pages import time_pages

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
STYLE = """body { margin: 0; background: #e8eaed; font-family: sans-serif; }
.page { position: relative; width: 210mm; margin: 6mm auto; background: #fff; box-shadow: 0 1px 6px #0004; }
.page svg { display: block; width: 100%; height: auto; }
#told { position: fixed; display: none; pointer-events: none; background: #fff; border: 1px solid #5c6166;
  padding: 4px 8px; font-size: 13px; line-height: 1.4; white-space: pre; z-index: 2; }
@page { size: A4; margin: 0; }
@media print { body { background: #fff; } .page { margin: 0; box-shadow: none; break-after: page; } }"""


def pages_of(report: GaitReport) -> list[Page]:
    """Return all pages: kinematics, moments and powers, steps, quality, joints and muscles.

    Without a full stride, there are curves over time in place of those over the cycle, and no page of steps.
    """
    if is_over_time(report):
        return framed(report, [*time_pages(report), *quality_pages(report)])
    pages = [
        *kinematic_pages(report), *kinetic_pages(report), *step_pages(report), *quality_pages(report),
        *joint_pages(report),
    ]  # fmt: skip
    return framed(report, pages)


def html_of(report: GaitReport, pages: list[Page]) -> str:
    """Return one HTML file: the pages, and our script that shows the values of a curve where a reader
    points.
    """
    title = escape(printable(f"Gait report: {report.person}"))
    body = "\n".join(
        f'<div class="page" data-page="{k}">\n{page.svg()}</div>' for k, page in enumerate(pages)
    )
    data = msgspec.json.encode([page.panels for page in pages]).decode().replace("<", "\\u003c")
    script = files("rtsim.report.clinical").joinpath("pointing.js").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{title}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n{body}\n"
        f'<div id="told"></div>\n<script type="application/json" id="panels">{data}</script>\n'
        f"<script>\n{script}</script>\n</body>\n</html>\n"
    )
