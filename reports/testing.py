"""What every section of a report must do, as tests that a section from outside the repository inherits:

    class TestMySection(SectionContract):
        @pytest.fixture
        def section(self):
            load_plugin(Path("my_section.py"))
            yield SECTIONS["mine"]
            SECTIONS.remove("mine")

The studies are made up: two rows of a registered space, on a full and on an almost empty ledger. A test of your own
holds what your section says.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from reports.ledger import LEDGER, Ledger, Record, StudyInfo
from reports.report import write_report
from reports.results import Results
from reports.sections import Section, in_order
from search_spaces import load_space
from trainables.senteval.tasks import GROUPS

SPACE = "scl_ablation"


def make_study(folder: Path, *, rows: int = 2, seeds: int = 2) -> Results:
    """A results folder with so many rows of a registered space, each under so many seeds, and made-up scores."""
    space = load_space(SPACE)
    base = space.base.override(space.laptop)
    labels = [row.label for row in space.rows if row.needs is None][:rows]
    recipes = {label: base.override(space.row(label).overrides) for label in labels}
    chance = random.Random(1)
    for recipe in recipes.values():
        for seed in range(seeds):
            scores = {task: {"spearman_wmean": 50 + chance.random()} for task in GROUPS["sts"]}
            scores |= {task: {f"{part}_accuracy": 60.0 for part in ("dev", "test")} for task in GROUPS["transfer"]}
            scores["STSBenchmark"] = {"dev_spearman_cosine": 55 + chance.random()}
            record = Record(dict(recipe.flat()), recipe.hash, seed, scores=scores, protocol=recipe.evaluation.protocol)
            Ledger(folder / LEDGER).write(record)
    hashes: dict[str, str | None] = {label: recipe.hash for label, recipe in recipes.items()}
    StudyInfo(SPACE, seeds=list(range(seeds)), base=dict(base.flat()), row_hashes=hashes).save(folder)
    return Results.load(folder)


class SectionContract:
    """Inherit it, and give the section as the fixture `section`."""

    @pytest.fixture
    def section(self) -> Section:
        raise NotImplementedError("give the section under test as the fixture `section`")

    @pytest.fixture(params=[(2, 2), (1, 1)], ids=["two rows, two seeds", "one row, one seed"])
    def results(self, request: pytest.FixtureRequest, tmp_path: Path) -> Results:
        rows, seeds = request.param
        return make_study(tmp_path / "results", rows=rows, seeds=seeds)

    def test_it_has_one_place(self, section: Section) -> None:
        assert [other.name for other in in_order()].count(section.name) == 1

    def test_it_writes_markdown_under_its_own_heading(self, section: Section, results: Results) -> None:
        text = section.text(results, results.folder / "pictures")
        lines = text.splitlines()
        if lines and section.heading:
            assert lines[:2] == [f"## {section.heading}", ""]
            lines = lines[2:]
        assert [line for line in lines if re.match(r"##? ", line)] == [], "headings within a section begin with ###"
        assert re.findall(r"\b(?:nan|NaN|inf)\b", text) == [], "a missing number is a dash"

    def test_the_same_ledger_gives_the_same_text(self, section: Section, results: Results) -> None:
        pictures = results.folder / "pictures"
        assert section.text(results, pictures) == section.text(Results.load(results.folder), pictures)

    def test_its_pictures_are_there(self, section: Section, results: Results) -> None:
        text = section.text(results, results.folder / "pictures")
        for name in re.findall(r"\]\((pictures/[^)]+)\)", text):
            assert (results.folder / name).is_file()

    def test_it_changes_nothing_else(self, section: Section, results: Results) -> None:
        def files() -> dict[Path, bytes]:
            found = [path for path in results.folder.rglob("*") if path.is_file() and path.parent.name != "pictures"]
            return {path: path.read_bytes() for path in found}

        before = files()
        section.text(results, results.folder / "pictures")
        assert files() == before

    def test_it_stands_in_the_report(self, section: Section, results: Results) -> None:
        text = section.text(results, results.folder / "pictures")
        assert text in write_report(results.folder).read_text(encoding="utf-8")
