"""The pages of a gait report, and the report as one HTML file that works without a network."""

from __future__ import annotations

from html import escape
from importlib.resources import files

import msgspec

from rtsim.report.clinical.curve_pages import joint_pages, kinematic_pages, kinetic_pages
from rtsim.report.clinical.drawing import Page
from rtsim.report.clinical.frame import framed
from rtsim.report.clinical.letters import printable
from rtsim.report.clinical.quality_page import quality_pages
from rtsim.report.clinical.report import GaitReport
from rtsim.report.clinical.steps_page import step_pages
from rtsim.report.clinical.time_curves import is_over_time
from rtsim.report.clinical.time_pages import time_pages

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
STYLE = """:root { color-scheme: only light; }
body { margin: 0; background: #e8eaed; font-family: sans-serif; }
.page { position: relative; width: clamp(210mm, 66vw, 330mm); max-width: 100%; margin: 6mm auto;
  background: #fff; box-shadow: 0 1px 6px #0004; }
.page svg { display: block; width: 100%; height: auto; forced-color-adjust: none; }
.panel:focus { outline: 3px solid #00609c; outline-offset: 2px; }
#told { position: fixed; display: none; pointer-events: none; background: #fff; color: #1a1a1a;
  border: 1px solid #5c6166; padding: 4px 8px; font-size: 13px; line-height: 1.4; white-space: pre;
  z-index: 2; forced-color-adjust: none; }
@page { size: A4; margin: 0; }
@media print {
  body { background: #fff; }
  .page { width: 210mm; max-width: none; margin: 0; box-shadow: none; break-after: page; }
  .page:last-of-type { break-after: auto; }
  #told, .cursor { display: none !important; }
  .panel:focus { outline: none; }
}"""


def pages_of(report: GaitReport) -> list[Page]:
    """Return all pages of the gait report: kinematics, moments and powers, steps, quality, joints and
    muscles.

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
    """Return the gait report as one HTML file: the pages, and a script that shows the values of a curve at
    the reader's pointer.
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
        '<div id="told" aria-hidden="true"></div>\n'
        f'<script type="application/json" id="panels">{data}</script>\n'
        f"<script>\n{script}</script>\n</body>\n</html>\n"
    )
