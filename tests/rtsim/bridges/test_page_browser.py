"""The page in a real browser without a window."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rtsim.bridges.page import PageOptions, serve_page

GUARD_S = 120.0
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@pytest.fixture
def page(walk: Any) -> Iterator[Any]:
    """A browser's page on the walk, and the walk goes on by itself."""
    api = pytest.importorskip("playwright.sync_api")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip("no Chromium is installed")
    stop, over, urls = threading.Event(), threading.Event(), []
    args = (walk.address, PageOptions("127.0.0.1:0"), None, stop, urls.append, print)
    server = threading.Thread(target=serve_page, args=args)
    server.start()

    def go_on() -> None:
        while not over.wait(0.01):
            walk.send(1)

    walker = threading.Thread(target=go_on)
    walker.start()
    due = time.monotonic() + GUARD_S
    while not urls:
        assert time.monotonic() < due
        time.sleep(0.01)
    try:
        with api.sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            shown = browser.new_page(viewport={"width": 1180, "height": 820})
            shown.faults, shown.hold_walk = [], over.set
            shown.on("pageerror", lambda fault: shown.faults.append(str(fault)))
            shown.on("console", lambda said: shown.faults.append(said.text) if said.type == "error" else None)
            shown.set_default_timeout(1000 * GUARD_S)
            shown.goto(urls[0])
            yield shown
            browser.close()
    finally:
        over.set()
        stop.set()
        walker.join()
        server.join()


def colours(page: Any, selector: str) -> set[tuple[int, ...]]:
    """The colours of a canvas."""
    values = page.evaluate(
        "(s) => { const c = document.querySelector(s), pen = c.getContext('2d');"
        "const bytes = pen.getImageData(0, 0, c.width, c.height).data;"
        "return [...new Set(new Uint32Array(bytes.buffer))]; }",
        selector,
    )
    return {tuple(int(value).to_bytes(4, "little")) for value in values}


def until(done: Callable[[], bool]) -> None:
    """Wait for something; the page's policy allows no scripts to wait with."""
    due = time.monotonic() + GUARD_S
    while not done():
        assert time.monotonic() < due
        time.sleep(0.05)


def n_plot(page: Any) -> int:
    """How many plots are there."""
    return len(page.query_selector_all(".plot"))


def test_the_page_shows_the_walk(page: Any) -> None:
    """Protects what a viewer sees: figure with both legs, curves, status in words, gait events."""
    until(lambda: page.inner_text("#connection") == "receiving")
    page.wait_for_selector("#events span")
    until(lambda: n_plot(page) == 3)
    assert page.inner_text("#chip-status") == "ok"
    assert "minimised · both_legs" in page.inner_text("#details")
    event = page.inner_text("#events span")
    assert event.endswith(("right heel strike", "left toe-off"))
    assert {(0, 114, 178, 255), (193, 39, 45, 255)} <= colours(page, "#figure")  # right blue, left red
    assert (0, 114, 178, 255) in colours(page, ".plot canvas")
    assert page.faults == []


def test_curves_are_chosen_and_kept(page: Any) -> None:
    """Protects the choice of curves: it changes what is drawn, and is there again when the page is."""
    page.wait_for_selector(".plot")
    page.click("#chooser summary")
    for box in page.query_selector_all("#choices input")[1:]:
        box.uncheck()
    until(lambda: n_plot(page) == 1)
    page.reload()
    until(lambda: n_plot(page) == 1)
    until(lambda: page.inner_text(".plot b") != "–")
    assert page.faults == []


def test_views_and_themes(page: Any) -> None:
    """Protects the buttons: a view turns the figure, the other theme recolours everything."""
    page.wait_for_selector(".plot")
    page.click("text=Frontal")
    assert page.get_attribute("#views button:nth-child(2)", "aria-pressed") == "true"
    page.click("#theme")
    assert page.inner_text("#theme") == "Light"
    until(lambda: (86, 180, 233, 255) in colours(page, "#figure"))
    assert page.faults == []


def test_a_silent_stream_is_said(page: Any) -> None:
    """Protects from an old picture taken for a new one."""
    until(lambda: page.inner_text("#connection") == "receiving")
    page.hold_walk()
    until(lambda: page.inner_text("#connection").startswith("no data since"))
    until(lambda: page.get_attribute("#figure", "class") == "dim")
    assert page.faults == []
