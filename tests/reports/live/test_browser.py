"""The live page in a real browser: it keeps its content policy, shows what runs, and goes on without reloading."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reports.ledger import LEDGER, Ledger, StudyInfo, trial_key
from reports.live.report_process import CachedReport
from reports.live.server import LiveServer
from tests.live_folder import DONE, add_curve, empty_study, fail, running_study
from tests.live_pictures import served

WAIT = 20_000
"""Milliseconds."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    running_study(tmp_path, seeds=(0, 1))
    with served(tmp_path) as live:
        live.verdicts = CachedReport(lambda: json.dumps({"finished": 18, "boards": [], "claims": {}}), threading.Lock())
        yield live


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


def test_it_fits_a_phone_is_dark_and_the_keyboard_reaches_everything(server: LiveServer, page: Any) -> None:
    page.goto(server.address)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    strokes = page.evaluate("[...document.querySelectorAll('.curve')].map(c => getComputedStyle(c).stroke)")
    assert len(strokes) == DONE + 2
    assert "none" not in strokes
    reached = []
    for _ in range(9):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "document.activeElement.id || document.activeElement.className"
                " || document.activeElement.getAttribute('href')"
            )
        )
    assert reached[:3] == ["skip", "report", "best"]
    assert "running" in reached
    page.focus("#queued-count")
    page.keyboard.press("Enter")
    assert page.is_visible("#queued table")


def test_in_the_first_minute_sections_without_content_are_hidden(tmp_path: Path, page: Any) -> None:
    empty_study(tmp_path)
    with served(tmp_path) as live:
        page.goto(live.address)
        headings = "[...document.querySelectorAll('h2')].filter(head => head.checkVisibility()).map(head => head.id)"
        assert page.evaluate(headings) == ["best-title", "running-title"]


LAID_OUT = """() => {
  const rects = [], cut = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    const hidden = parent.closest("script, .skip, thead, details:not([open]) > :not(summary)");
    if (!node.textContent.trim() || hidden) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = parent.closest(".scrolls")?.getBoundingClientRect();
    for (const rect of range.getClientRects()) {
      const top = Math.max(rect.top, box?.top ?? -Infinity), bottom = Math.min(rect.bottom, box?.bottom ?? Infinity);
      if (bottom - top < 4 || rect.width < 2) continue;
      if (rect.left < -1 || rect.right > innerWidth + 1) cut.push(node.textContent);
      rects.push({ left: rect.left + 1, right: rect.right - 1, top: top + 4, bottom: bottom - 4, node });
    }
  }
  const meet = (one, other) =>
    one.node !== other.node && one.left < other.right && other.left < one.right
    && one.top < other.bottom && other.top < one.bottom;
  const overlaps = rects.flatMap((one, place) => rects.slice(place + 1).filter((other) => meet(one, other))
    .map((other) => `${one.node.textContent} / ${other.node.textContent}`));
  const wide = [document.documentElement, ...document.querySelectorAll(".scrolls")];
  const scrolls = wide.filter((part) => part.scrollWidth > part.clientWidth + 1).map((part) => part.id || part.tagName);
  return { cut, overlaps, scrolls };
}"""
"""What of the page is cut, lies on something else, or has to be scrolled sideways."""


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page of a study with a failure, recipes and a running trial that have long names; its report is there."""
    folder = tmp_path_factory.mktemp("long")
    progress = running_study(folder, seeds=(0, 1), explored=4)
    long = (
        "a" * 60 + " optimisation.batch_size=256 is more than corpus.nli='/a/folder/with/a/long/name/train.jsonl' has"
    )
    fail(folder, trial_key("ab12", 0), "1/8 of the data: #1 groups, mined, negatives per anchor 5", long)
    first = dataclasses.replace(progress.running[0], changes=f"objective.temperature=0.0127 corpus.nli=/{'b' * 80}")
    dataclasses.replace(progress, running=[first, *progress.running[1:]]).save(folder)
    with served(folder) as live:
        live.verdicts.get(live.folder.view().signature)
        yield live.address


@pytest.mark.parametrize("width", [1400, 390])
def test_nothing_is_cut_overlaps_or_scrolls_sideways(width: int, long_names: str, browser: Any) -> None:
    opened = browser.new_page(viewport={"width": width, "height": 900})
    opened.goto(long_names)
    assert opened.locator("#course svg").count() == opened.locator("#settings svg").count() == 1
    assert opened.evaluate(LAID_OUT) == {"cut": [], "overlaps": [], "scrolls": []}
    opened.close()


def test_recipes_are_sorted_and_chosen_and_stay_so(tmp_path: Path, page: Any) -> None:
    running_study(tmp_path, seeds=(0,), explored=6)
    page.set_viewport_size({"width": 1400, "height": 900})
    names = "[...document.querySelectorAll('#best tbody th')].map(cell => cell.firstChild.textContent)"
    chosen = "document.querySelector('tr.chosen th').firstChild.textContent"
    with served(tmp_path) as live:
        page.goto(live.address)
        page.click("#best thead th:first-child button")
        in_order = page.evaluate(names)
        assert in_order == sorted(in_order, key=str.casefold)
        assert page.get_attribute("#best thead th:first-child", "aria-sort") == "ascending"
        lines = page.locator("#settings .recipe")
        assert lines.count() == 6
        name = lines.nth(2).get_attribute("data-name")
        lines.nth(2).dispatch_event("click")
        assert page.evaluate(chosen) == name
        page.evaluate("delete shown.best; delete shown.settings; refresh()")
        page.wait_for_timeout(300)
        assert page.evaluate(chosen) == name
        assert page.evaluate(names) == in_order
        page.click("#best thead th:first-child button")
        assert page.evaluate(names) == in_order[::-1]
        lines.nth(2).dispatch_event("click")
        assert page.locator(".chosen").count() == 0


@pytest.mark.slow
def test_it_says_when_the_server_is_gone(server: LiveServer, page: Any) -> None:
    page.goto(server.address)
    assert page.is_hidden("#lost")
    page.route("**/state.json", lambda route: route.abort())
    page.wait_for_selector("#lost", state="visible", timeout=WAIT)


@pytest.mark.slow
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
