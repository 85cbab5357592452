"""The report in a real browser without a window: pointing, keys, touch, narrow windows and print."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rtsim.report.clinical.document import html_of, pages_of
from rtsim.report.clinical.report import GaitReport
from rtsim.report.clinical.tables import tables_of
from tests.rtsim.report.clinical.made_up import gait_results, report_of

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
ODD = "<script>document.title = 'x'</script><img src='http://127.0.0.1:9/x'>"
PERCENTS = (1, 37, 99)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser without a window."""
    api = pytest.importorskip("playwright.sync_api")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip("no Chromium is installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open a report in a window; what it asks for and complains of is kept, and must be the file alone."""
    pages = []

    def open_report(report: GaitReport, width: int = 1280, height: int = 900, **options: Any) -> Any:
        path = tmp_path / "report.html"
        path.write_text(html_of(report, pages_of(report)), "utf-8")
        page = browser.new_page(viewport={"width": width, "height": height}, **options)
        page.asked, page.faults = [], []
        page.on("request", lambda asked: page.asked.append(asked.url))
        page.on("pageerror", lambda fault: page.faults.append(str(fault)))
        page.on("console", lambda said: page.faults.append(said.text))
        page.goto(path.as_uri())
        pages.append((page, path.as_uri()))
        return page

    yield open_report
    for page, url in pages:
        assert page.asked == [url]
        assert page.faults == []
        page.close()


def both_sessions() -> GaitReport:
    """A report with norms, two trials, and an earlier session."""
    trials = gait_results(), gait_results(seed=1)
    return report_of(*trials, before=gait_results(seed=2), norms=True)


def place_of(page: Any, number: int, box: list[float], percent: float) -> tuple[float, float]:
    """Scroll a panel into the window; return a place in it, at a percent of the cycle [px]."""
    room = page.query_selector_all(".page svg")[number].bounding_box()
    scale = room["width"] / 2100.0
    page.evaluate("(y) => window.scrollBy(0, y - 300)", room["y"] + 0.5 * (box[2] + box[3]) * scale)
    room = page.query_selector_all(".page svg")[number].bounding_box()
    x = box[0] + percent / 100.0 * (box[1] - box[0])
    return room["x"] + x * scale, room["y"] + 0.5 * (box[2] + box[3]) * scale


def told(page: Any) -> list[str]:
    """Lines of the words that are shown beside the pointer."""
    shown = page.evaluate("getComputedStyle(document.getElementById('told')).display") != "none"
    return str(page.inner_text("#told")).split("\n") if shown else []


def test_pointing_reads_the_values_of_the_tables(opened: Callable[..., Any]) -> None:
    """Protects what a reader reads: right value, side, session and percent of every panel."""
    report = both_sessions()
    means = {row[:4]: row[5:7] for t in tables_of(report) if t.name == "means" for row in t.rows}
    page = opened(report)
    curves = [report.kinematics["now"], report.kinetics["now"]]
    n_read = 0
    for number, (drawn, few) in enumerate(zip(pages_of(report)[:2], curves, strict=True)):
        for panel, curve in zip(drawn.panels, few, strict=True):
            for percent in PERCENTS:
                page.mouse.move(*place_of(page, number, panel["box"], percent))
                head, *lines = told(page)
                assert head == f"{curve.title} [{curve.unit}], {percent} %"
                for line in lines:
                    name, mean, spread = re.fullmatch(r"(.+): (\S+) ± (\S+)", line).groups()  # type: ignore[union-attr]
                    if name == "norm":
                        continue
                    side, _, session = name.partition(" ")
                    known = means[session or "now", side, percent, curve.name]
                    digits = [len(shown.partition(".")[2]) for shown in (mean, spread)]
                    for value, shown, n in zip(known, (mean, spread), digits, strict=True):
                        assert abs(float(shown) - value) <= 0.5 * 10.0**-n + 1e-4
                    n_read += 1
    assert n_read == 2 * 9 * len(PERCENTS) * 4
    page.mouse.move(1, 1)
    assert told(page) == []


def test_flagged_strides_are_read_as_such(opened: Callable[..., Any]) -> None:
    """Protects from "not known" where the pointer is on a curve that is drawn, though it is in no mean."""
    results = gait_results()
    results.status[:] = 8
    report = report_of(results)
    page = opened(report)
    panel = pages_of(report)[0].panels[6]
    page.mouse.move(*place_of(page, 0, panel["box"], 50))
    strides = report.kinematics["now"][6].strides["right"][:, 50]
    numbers = [float(x) for x in re.findall(r"-?\d+\.\d+", told(page)[1])]
    assert told(page)[1].startswith("right: no mean, strides")
    np.testing.assert_allclose(numbers, [strides.min(), strides.max()], atol=0.051)


def test_keys_read_a_curve(opened: Callable[..., Any]) -> None:
    """Protects readers without a mouse: each panel is reached, its values are words for screen readers."""
    page = opened(both_sessions())
    page.keyboard.press("Tab")
    assert told(page)[0] == "Pelvic tilt [deg], 0 %"
    for key in ("PageUp", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    assert told(page)[0] == "Pelvic tilt [deg], 11 %"
    spoken = page.evaluate("document.activeElement.getAttribute('aria-valuetext')")
    assert spoken == "; ".join(told(page)[1:])
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    assert told(page)[0] == "Pelvic tilt [deg], 100 %"
    page.keyboard.press("Tab")
    assert told(page)[0].startswith("Pelvic obliquity")
    page.keyboard.press("Escape")
    assert told(page) == []


def test_a_finger_reads_a_curve_on_a_narrow_screen(opened: Callable[..., Any]) -> None:
    """Protects tablets and phones: a tap reads, and the page is as wide as the screen."""
    report = both_sessions()
    page = opened(report, 600, 800, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 600
    x, y = place_of(page, 0, pages_of(report)[0].panels[8]["box"], 50)
    page.touchscreen.tap(x, y)
    assert told(page)[0] == "Foot progression [deg], 50 %"


def test_words_at_the_edge_stay_in_the_window(opened: Callable[..., Any]) -> None:
    """Protects the words beside the pointer from being cut at the right and the lower edge."""
    report = both_sessions()
    box = pages_of(report)[0].panels[8]["box"]
    page = opened(report, 800, 400)
    room = page.query_selector(".page svg").bounding_box()
    page.evaluate("(y) => window.scrollBy(0, y - 390)", room["y"] + box[2] * room["width"] / 2100.0)
    page.mouse.move(room["x"] + (box[1] - 5.0) * room["width"] / 2100.0, 395)
    seen = page.query_selector("#told").bounding_box()
    assert told(page)[0].startswith("Foot progression")
    assert seen["x"] >= 0.0
    assert seen["y"] >= 0.0
    assert seen["x"] + seen["width"] <= 800.0
    assert seen["y"] + seen["height"] <= 400.0


def test_a_print_has_the_pages_of_the_report_alone(opened: Callable[..., Any]) -> None:
    """Protects prints: as many sheets as pages, without the words beside the pointer."""
    report = both_sessions()
    page = opened(report)
    page.mouse.move(*place_of(page, 0, pages_of(report)[0].panels[0]["box"], 50))
    assert told(page)
    page.emulate_media(media="print")
    assert told(page) == []
    for paper in ({"prefer_css_page_size": True}, {"format": "Letter"}):
        sheets = len(re.findall(rb"/Type\s*/Page\b", page.pdf(**paper)))
        assert sheets == len(pages_of(report))


@pytest.mark.parametrize(
    "modes", [{"color_scheme": "dark"}, {"color_scheme": "dark", "forced_colors": "active"}]
)
def test_dark_browsers_show_dark_ink_on_white(opened: Callable[..., Any], modes: dict[str, str]) -> None:
    """Protects the page and the words beside the pointer from a browser's own dark colours."""
    report = both_sessions()
    page = opened(report, **modes)
    page.mouse.move(*place_of(page, 0, pages_of(report)[0].panels[0]["box"], 50))
    ink = (
        "(s) => { const c = getComputedStyle(document.querySelector(s));"
        "return [c.color, c.fill, c.backgroundColor]; }"
    )
    assert page.evaluate(ink, ".page svg text")[1] == "rgb(26, 26, 26)"
    assert page.evaluate(ink, ".page svg rect")[1] == "rgb(255, 255, 255)"
    assert page.evaluate(ink, "#told")[::2] == ["rgb(26, 26, 26)", "rgb(255, 255, 255)"]


def test_names_run_no_script_and_no_text_is_cut(opened: Callable[..., Any]) -> None:
    """Protects from names that are HTML, and from texts that the browser cuts or draws on another."""
    long = f"{ODD}WÄCHTERSHÄUSER-{'M' * 90}"
    report = report_of(gait_results(subject=ODD, notes=[long]), gait_results(seed=1), name=long)
    trials = tuple(trial._replace(name=f"{long} {k}.c3d") for k, trial in enumerate(report.now.trials))
    page = opened(report._replace(now=report.now._replace(trials=trials)))
    assert page.title().startswith("Gait report: <script>")
    over = page.evaluate(
        """() => [...document.querySelectorAll('.page svg')].flatMap((svg, n) => {
             const texts = [...svg.querySelectorAll('text')].filter((t) => !t.hasAttribute('transform'));
             const boxes = texts.map((t) => {
               const box = t.getBBox(), y = Number(t.getAttribute('y'));
               const size = Number(t.getAttribute('font-size'));
               return [box.x, box.x + box.width, y - 0.72 * size, y + 0.02 * size, t.textContent];
             });
             return boxes.flatMap((a, k) => [
               ...(a[0] < 0 || a[1] > 2100 || a[3] > 2970 ? [['off', n, a[4]]] : []),
               ...boxes.slice(k + 1).filter((b) => a[0] < b[1] && b[0] < a[1] && a[2] < b[3] && b[2] < a[3])
                 .map((b) => ['on', n, a[4], b[4]]),
             ]);
           })"""
    )
    assert over == []
