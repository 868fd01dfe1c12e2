"""Sections: what each must do, and one that a file from outside the repository adds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reports.__main__ import main
from reports.facts.results import Results
from reports.ledger import LEDGER, PLUGINS, Ledger
from reports.report import write_report
from reports.sections import SECTIONS, Section, in_order
from reports.testing import SectionContract, changed, make_study
from tests.synthetic_results import keeps_its_contract, section_text
from trainables.errors import UserError
from trainables.plugins import load_plugin
from trainables.recipe import Recipe
from trainables.senteval.tasks import TASKS, Task

PLUGIN = """
from reports.document import DataTable
from reports.sections import SECTIONS, Section


def seeds(results, pictures):
    lines = [[label, str(len(results.of_row(label)))] for label in results.asked_rows]
    return [DataTable(["Row", "seeds"], lines)]


SECTIONS.add(Section("seeds", "How many seeds", seeds, after="sure"))
"""


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> list[Results]:
    """Two rows under two seeds, and one under one."""
    return [make_study(tmp_path_factory.mktemp("study"), rows=many, seeds=many) for many in (2, 1)]


@pytest.mark.parametrize("name", SECTIONS)
def test_every_section_keeps_its_contract(name: str, studies: list[Results]):
    for results in studies:
        keeps_its_contract(SECTIONS[name], results)


class TestAStrangersSection(SectionContract):
    """The plugin of the docstring, held to the same contract."""

    @pytest.fixture
    def section(self, tmp_path: Path) -> Iterator[Section]:
        (tmp_path / "mine.py").write_text(f"{PLUGIN}\nWHERE = {str(tmp_path)!r}\n")  # a plugin runs once a process
        load_plugin(tmp_path / "mine.py")
        yield SECTIONS["seeds"]
        SECTIONS.remove("seeds")

    def test_it_stands_where_it_asked_to(self, section: Section, tmp_path: Path):
        make_study(tmp_path / "results")
        report = write_report(tmp_path / "results").read_text()
        headings = [line for line in report.splitlines() if line.startswith("## ")]
        place = headings.index("## How sure that is")
        assert headings[place : place + 2] == ["## How sure that is", "## How many seeds"]
        assert "| SBERT baseline |     2 |" in report


@pytest.mark.parametrize("by", ["the study", "--plugin"])
def test_the_command_knows_plugins(tmp_path: Path, by: str, capsys: Any, request: pytest.FixtureRequest):
    results = make_study(tmp_path / "results")
    file = (results.folder / PLUGINS if by == "the study" else tmp_path) / "mine.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{PLUGIN}\nWHERE = {str(tmp_path)!r}\n")  # a plugin runs once a process
    request.addfinalizer(lambda: SECTIONS.remove("seeds"))
    more = []
    if by == "the study":
        dataclasses.replace(results.info, plugins=["mine.py"]).save(results.folder)
        more = ["--trust"]
    else:
        more = ["--plugin", str(file)]
    main([str(results.folder), *more])
    assert capsys.readouterr().err == ""
    assert "## How many seeds" in (results.folder / "report.md").read_text()


def test_a_section_that_is_broken_is_refused():
    with pytest.raises(UserError, match="the name 'claims' is taken by another section of a report"):
        SECTIONS.add(Section("claims", "Again", lambda results, pictures: ""))
    SECTIONS.add(Section("lost", "Lost", lambda results, pictures: "", after="claim"))
    try:
        with pytest.raises(UserError, match="did you mean 'claims'"):
            in_order()
    finally:
        SECTIONS.remove("lost")
    with pytest.raises(UserError, match="is folded, so it needs a heading"):
        Section("mine", "", lambda results, pictures: "text", folded=True)


def test_two_sections_after_one_stand_in_the_order_of_their_coming():
    names = [section.name for section in in_order()]
    assert names == list(SECTIONS)
    for name in ("one", "two"):
        SECTIONS.add(Section(name, name, lambda results, pictures: "", after="answer"))
    try:
        assert [section.name for section in in_order()][:3] == ["answer", "one", "two"]
    finally:
        SECTIONS.remove("one")
        SECTIONS.remove("two")


def test_a_task_of_ones_own_has_a_table(tmp_path: Path, request: pytest.FixtureRequest):
    results = make_study(tmp_path)
    assert section_text(tmp_path, "further_tasks") == ""
    TASKS.add(Task("reviews", "split", "table", ("/train.tsv", "/dev.tsv", "/test.tsv")))
    request.addfinalizer(lambda: TASKS.remove("reviews"))
    for number, record in enumerate(results.records):
        scores = {**record.scores, "reviews": {"test_accuracy": 70.0 + number % 2, "dev_accuracy": 1.0}}
        Ledger(tmp_path / LEDGER).write(changed(record, scores=scores))
    text = section_text(tmp_path, "further_tasks")
    assert "| SBERT baseline | 70.50 ± 0.71 |" in text
    assert "- reviews: `test_accuracy`" in text
    assert "MRPC" not in text
    names = [section.name for section in in_order()]
    assert names.index("paper_tables") < names.index("further_tasks") < names.index("curves")


def test_results_are_read_for_what_the_layouts_read(tmp_path: Path):
    """Where no trained trial reads labelled pairs, other pairs are no difference to the paper."""
    results = make_study(tmp_path)
    assert results.sources_read == {"corpus.nli"}
    assert "corpus.nli" in [item.key for item in results.differences]
    for record in results.records:
        recipe = Recipe(record.recipe).preferring({"corpus.layout": "spans"})
        Ledger(tmp_path / LEDGER).path(record.recipe_hash, record.seed).unlink()
        changed = dataclasses.replace(record, recipe=dict(recipe.flat()), recipe_hash=recipe.hash)
        Ledger(tmp_path / LEDGER).write(changed)
    read_again = Results.load(tmp_path)
    assert read_again.sources_read == {"corpus.documents"}
    assert "corpus.nli" not in [item.key for item in read_again.differences]
