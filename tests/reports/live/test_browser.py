"""The live page in a real browser: it keeps its content policy, shows what runs, and goes on without reloading."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reports.ledger import LEDGER, Ledger, StudyInfo
from reports.live.report_process import CachedReport
from reports.live.server import LiveServer
from tests.live_folder import DONE, add_curve, running_study
from tests.live_pictures import chromium, served

pytest.importorskip("playwright", reason="a browser is driven by playwright, which is not installed")
if shutil.which("chromium") is None:
    pytest.skip("there is no chromium on this machine", allow_module_level=True)

WAIT = 20_000
"""Milliseconds."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    running_study(tmp_path, seeds=(0, 1))
    with served(tmp_path) as live:
        live.verdicts = CachedReport(lambda: json.dumps({"finished": 18, "boards": [], "claims": {}}), threading.Lock())
        yield live


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def console() -> list[str]:
    """What the console said, and errors of the page."""
    return []


@pytest.fixture
def page(browser: Any, console: list[str]) -> Iterator[Any]:
    opened = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
    opened.on("console", lambda message: console.append(message.text))
    opened.on("pageerror", lambda error: console.append(str(error)))
    yield opened
    opened.close()


def test_it_follows_a_running_study(server: LiveServer, page: Any, console: list[str]) -> None:
    results = server.folder.results
    hidden = Ledger(results / LEDGER).path(StudyInfo.load(results).row_hashes["SBERT baseline"] or "", 1)
    content = hidden.read_text()
    hidden.unlink()
    page.goto(server.address)
    assert page.inner_text("#counts").startswith(f"Trials: {2 * DONE - 1} finished, 2 running")
    assert "60 of 90" in page.inner_text("#running")
    page.evaluate("window.sameDocument = true")

    hidden.write_text(content)
    key = server.folder.view().progress.running[0].key  # type: ignore[union-attr]
    add_curve(results, key, 75)
    page.locator("#counts", has_text=f"{2 * DONE} finished").wait_for(timeout=WAIT)
    assert "75 of 90" in page.inner_text("#running")
    assert page.title().startswith(f"{2 * DONE}/")
    assert page.evaluate("window.sameDocument")
    assert console == []


def test_it_fits_a_phone_is_dark_and_every_colour_is_seen(server: LiveServer, page: Any) -> None:
    page.goto(server.address)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    strokes = page.evaluate("[...document.querySelectorAll('.curve')].map(c => getComputedStyle(c).stroke)")
    assert len(strokes) == DONE + 2
    assert "none" not in strokes


def test_the_keyboard_reaches_everything(server: LiveServer, page: Any) -> None:
    page.goto(server.address)
    reached = []
    for _ in range(9):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "document.activeElement.id || document.activeElement.className"
                " || document.activeElement.getAttribute('href')"
            )
        )
    assert reached[:3] == ["skip", "report", "running"]
    page.focus("#queued-count")
    page.keyboard.press("Enter")
    assert page.is_visible("#queued table")


@pytest.mark.slow
def test_it_says_when_the_server_is_gone(server: LiveServer, page: Any) -> None:
    page.goto(server.address)
    assert page.is_hidden("#lost")
    page.route("**/state.json", lambda route: route.abort())
    page.wait_for_selector("#lost", state="visible", timeout=WAIT)


def test_the_policy_stops_a_foreign_script(server: LiveServer, page: Any, console: list[str]) -> None:
    page.goto(server.address)
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.evil = 1'}))")
    assert page.evaluate("window.evil") is None
    assert any("Content Security Policy" in text for text in console)  # so the other tests would see a broken rule


@pytest.mark.slow
def test_the_whole_report_is_served_and_keeps_its_own_policy(server: LiveServer, page: Any, console: list[str]) -> None:
    page.goto(server.address)
    page.click("text=The whole report of what is finished", timeout=120_000)
    page.wait_for_selector("table", timeout=120_000)
    assert page.url == f"{server.address}report"
    assert "SBERT baseline" in page.inner_text("body")
    assert console == []
