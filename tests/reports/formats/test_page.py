"""The page in a browser: nothing that its policy refuses, and everything that a reader can do."""

from __future__ import annotations

import csv
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reports.formats import FORMATS
from reports.report import write_report
from reports.testing import make_study
from tests.reports.formats.test_formats import EXAMPLES, HOSTILE, document, hostile_study


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return FORMATS["html"].write(document(hostile_study(tmp_path_factory.mktemp("study")))).as_uri()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """The page, opened; at the end of each test its console holds no error."""
    opened = browser.new_page(viewport={"width": 1200, "height": 800})
    problems: list[str] = []
    opened.on(
        "console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None
    )
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.goto(address)
    yield opened
    assert problems == []
    assert opened.evaluate("window.pwned") is None
    opened.close()


def names(page: Any) -> list[str]:
    """The labels of the main table's lines, as they stand."""
    return [
        HOSTILE[int(row)]
        for row in page.locator("#rows tr[data-row]").evaluate_all("all => all.map(one => one.dataset.row)")
    ]


def test_a_broken_policy_is_seen(browser: Any, address: str, tmp_path: Path):
    """The control of the other tests: a script that the policy does not know is refused, and the console says so."""
    text = (
        Path(address.removeprefix("file://")).read_text().replace("</body>", "<script>window.pwned=1</script></body>")
    )
    (tmp_path / "broken.html").write_text(text)
    opened, problems = browser.new_page(), []
    opened.on("console", lambda message: problems.append(message.text))
    opened.goto((tmp_path / "broken.html").as_uri())
    assert any("Content Security Policy" in problem for problem in problems)
    assert opened.evaluate("window.pwned") is None
    opened.close()


def test_rows_are_sorted_and_filtered(page: Any):
    gain = page.locator("#rows th", has_text="gain")
    button = gain.get_by_role("button")
    assert names(page) == list(HOSTILE[:3])
    button.click()  # numbers: the largest first
    assert (names(page), gain.get_attribute("aria-sort")) == (list(HOSTILE[2::-1]), "descending")
    button.press("Enter")
    assert (names(page), gain.get_attribute("aria-sort")) == (list(HOSTILE[:3]), "ascending")
    page.locator("#rows th", has_text="steps").get_by_role("button").click()  # nothing but dashes
    assert names(page) == list(HOSTILE[:3])
    assert gain.get_attribute("aria-sort") is None
    page.evaluate("document.querySelector('#rows tr[data-row=\"0\"] td').textContent = '—'")
    for order in ([2, 1, 0], [1, 2, 0]):  # dashes are last either way
        button.click()
        assert names(page) == [HOSTILE[place] for place in order]

    box = page.get_by_label("Show only rows with")
    for words, left in (
        ("optimisation.weight_decay=0.0", [0, 1, 2]),
        ("objective.name=ce", [0]),
        ("objective.name!=ce  optimisation.batch_size>=16", [1, 2]),
        ("optimisation.batch_size<16", []),
        ("onerror", [1]),
        ("onerror objective.name=ce", []),
        ("objective.positives=none", [0, 2]),
    ):
        box.fill(words)
        shown = page.locator("#rows tr[data-row]:not([hidden])").evaluate_all(
            "all => all.map(one => Number(one.dataset.row))"
        )
        assert sorted(shown) == left
        assert page.get_by_text(f"{len(left)} of 3 rows fit.").is_visible()
    box.fill("objective.wieght=1")
    assert page.get_by_text("No recipe has the key objective.wieght.").is_visible()


def test_two_rows_are_compared(page: Any):
    lines, panel = page.locator("#rows tr[data-row]"), page.locator("#panel")
    lines.nth(0).locator("td").first.click()
    assert "choose a second row" in panel.inner_text()
    lines.nth(2).get_by_role("checkbox").press("Space")
    assert panel.locator("h3").inner_text() == f"{HOSTILE[0]} minus {HOSTILE[2]}"
    row = panel.locator("tr", has=page.get_by_role("rowheader", name="MR", exact=True)).locator("td")
    counts = [int(row.nth(place).inner_text()) for place in (2, 3)]
    data = page.evaluate(
        "(() => { const [a, , b] = study.rows.map((row) => [...bits(row.right.MR.bits)]"
        ".map((byte) => byte.toString(2).padStart(8, '0')).join(''));"
        "return [...a].reduce(([x, y], bit, place) => [x + (bit > b[place]), y + (bit < b[place])], [0, 0]); })()"
    )
    assert counts == data
    first = row.nth(0).inner_text()
    panel.get_by_text("MR: items that flipped").click()
    assert "Items" in panel.locator("details[open]").inner_text()
    for place in (0, 2, 2, 0):  # the other way round: the sign turns
        lines.nth(place).get_by_role("checkbox").click()
    assert panel.locator("h3").inner_text() == f"{HOSTILE[2]} minus {HOSTILE[0]}"
    gain, turned = (float(text.split(" [")[0]) for text in (first, row.nth(0).inner_text()))
    assert gain == -turned
    assert "no verdict" not in panel.inner_text()
    page.evaluate("study.pairs['0-1'][0][3] = 'steps'")
    lines.nth(1).get_by_role("checkbox").click()  # a third takes the place of the one chosen first
    assert panel.locator("h3").inner_text() == f"{HOSTILE[0]} minus {HOSTILE[1]}"
    assert panel.locator("th").filter(has_text="no verdict, because of").count() == 1
    assert panel.locator("tbody tr").first.locator("td").last.inner_text() == "steps"


def saved(page: Any, button: Any, folder: Path) -> str:
    """What a click on the button saves."""
    with page.expect_download() as download:
        button.click()
    download.value.save_as(folder / download.value.suggested_filename)
    return (folder / download.value.suggested_filename).read_text("utf-8")


def test_tables_and_pictures_are_saved_and_commands_copied(page: Any, tmp_path: Path):
    page.fill("#filter", "pwned")
    save = page.locator("#rows .tool", has_text="CSV").first
    lines = list(csv.reader(saved(page, save, tmp_path).splitlines()))
    shown = page.locator("#rows table").first.locator("tr:visible")
    assert len(lines) == shown.count() == 4
    assert [line[0] for line in lines[1:]] == [" ".join(HOSTILE[row].split()) for row in range(3)]
    assert lines[1][1] == shown.nth(1).locator("td").first.inner_text()
    words = {"=1+1": "'=1+1", "+1.05 [+0.14, +1.96]": "+1.05 [+0.14, +1.96]", "-2+cmd": "'-2+cmd", "\u2014": ""}
    for word, cell in words.items():
        page.evaluate("(word) => { document.querySelector('#rows td').textContent = word; }", word)
        assert next(csv.reader(saved(page, save, tmp_path).splitlines()[1:]))[1] == cell

    content = saved(page, page.locator(".tool", has_text="Save picture").first, tmp_path)
    drawn = ElementTree.fromstring(content)
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}path"))) > 5

    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = page.locator("#kinds .tool", has_text="Copy")
    button.click()
    page.locator("#kinds .tool", has_text="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "python -m reports 'a study'"


def test_keys_links_and_print_reach_all_also_on_a_phone_in_the_dark(page: Any):
    assert page.locator("#careless details").get_attribute("open") is None
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "report"
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = false; })")
    page.evaluate("location.hash = 'careless'")
    page.locator("#careless details[open]").wait_for(timeout=5000)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("main details:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#formulas details").get_attribute("open") is None
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360  # tables scroll in their own boxes
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (light, dark) == ("rgb(255, 255, 255)", "rgb(26, 26, 26)")
    assert "invert" in page.evaluate("getComputedStyle(document.querySelector('figure svg')).filter")


CUT = """() => [...document.querySelectorAll("main *")].filter((one) => {
  const { left, right } = one.getBoundingClientRect();
  const inside = one.closest(".box > *") || one.closest("svg *");
  return !inside && (left < -1 || right > document.documentElement.clientWidth + 1);
}).map((one) => one.outerHTML.slice(0, 90))"""
"""What lies beside the page, but for the content of boxes that scroll."""


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_nothing_of_an_examples_page_is_cut(browser: Any, example: Path, tmp_path: Path):
    """Folds opened: only boxes scroll, and no card of the finals and the rows needs to."""
    opened = browser.new_page(viewport={"width": 400, "height": 860})
    folder = shutil.copytree(example, tmp_path / example.name)
    opened.goto(write_report(folder, ("html",)).as_uri())
    opened.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    for width in (400, 1400):
        opened.set_viewport_size({"width": width, "height": 860})
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        assert opened.evaluate(CUT) == []
        cards = "[...document.querySelectorAll('.box:has(> .cards)')]"
        assert width > 400 or opened.evaluate(f"{cards}.every((box) => box.scrollWidth <= box.clientWidth)")
    opened.close()


@pytest.mark.slow
def test_a_filter_stands_where_there_is_something_to_filter(page: Any, browser: Any, tmp_path: Path):
    assert page.locator(".filter").count() == 1
    opened = browser.new_page()
    opened.goto(FORMATS["html"].write(document(make_study(tmp_path, rows=2, seeds=1))).as_uri())
    assert opened.locator("#rows").count() == 1
    assert opened.locator(".filter").count() == 0  # too few rows
    opened.close()
