"""Tests that every section and every format of a report must pass. A plugin's tests inherit them:

    class TestMySection(SectionContract):
        @pytest.fixture
        def section(self):
            load_plugin(Path("my_section.py"))
            yield SECTIONS["mine"]
            SECTIONS.remove("mine")

The studies are made up: two rows of a registered space, on a full and on an almost empty ledger. Write your own tests
for the content of your section.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import random
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.document import Block, Bullets, CodeBlock, DataTable, Heading, WrittenSection, markdown
from reports.facts.results import Results
from reports.formats import Document, Format
from reports.ledger import EVALUATED, LEDGER, PREDICTIONS, Evaluation, Ledger, Record, StudyInfo
from reports.made_up import DATA, VERSIONS, with_predictions
from reports.report import write_report
from reports.sections import Section, in_order
from search_spaces import load_space
from trainables.files import write_whole
from trainables.registry import Registry
from trainables.senteval.tasks import GROUPS

SPACE = "scl_ablation"


def make_study(folder: Path, *, rows: int = 2, seeds: int = 2) -> Results:
    """Make a results folder with `rows` rows of a registered space, each under `seeds` seeds, and return its results.

    Scores and predictions are made up, of 60 items a task. The scores follow exactly from the predictions.
    """
    shutil.copytree(_made(rows, seeds).name, folder, dirs_exist_ok=True)
    return Results.load(folder)


@functools.cache
def _made(rows: int, seeds: int) -> tempfile.TemporaryDirectory[str]:
    """Make a folder of `make_study` once, to be copied: hundreds of tests need it, and making predictions is slow."""
    made = tempfile.TemporaryDirectory()
    folder = Path(made.name)
    space = load_space(SPACE)
    base, evaluation = space.recipe("laptop"), space.scored("laptop")
    labels = [row.label for row in space.rows if row.needs is None][:rows]
    recipes = {label: base.override(space.row(label).overrides) for label in labels}
    chance = random.Random(1)
    for recipe in recipes.values():
        for seed in range(seeds):
            scores = {task: {"spearman_wmean": 50 + chance.random()} for task in GROUPS["sts"]}
            scores |= {task: {f"{part}_accuracy": 60.0 for part in ("dev", "test")} for task in GROUPS["transfer"]}
            scores["STSBenchmark"] = {"dev_spearman_cosine": 55 + chance.random()}
            record = made_record(
                dict(recipe.flat()),
                recipe.hash,
                seed,
                scores=scores,
                protocol=evaluation.protocol,
                training={"steps": 90, "tokens": 50_000, "pairs": 5760, "last_loss": 0.7},
                cost={"seconds": 60.0, "train_seconds": 40.0},
                versions=dict(VERSIONS),
                hardware="2 cores",
                data=dict(DATA),
            )
            write_trial(folder, record)
    hashes: dict[str, str | None] = {label: recipe.hash for label, recipe in recipes.items()}
    info = StudyInfo(SPACE, seeds=list(range(seeds)), base=dict(base.flat()), evaluation=dict(evaluation.flat()))
    dataclasses.replace(info, row_hashes=hashes).save(folder)
    return made


def made_record(recipe: dict[str, Any], recipe_hash: str, seed: int, status: Any = "finished", **parts: Any) -> Record:
    """Return a record with one evaluation; with none if `status` is `pruned`. `parts`: fields of either."""
    evaluations = [] if status == "pruned" else [Evaluation("full", {})]
    return changed(Record(recipe, recipe_hash, seed, status, evaluations), **parts)


def changed(record: Record, **parts: Any) -> Record:
    """Return the record with the fields in `parts` replaced, those of an evaluation in the latest evaluation."""
    of_evaluation: dict[str, Any] = {
        name: parts.pop(name) for name in ("protocol", "scores", "geometry", "predictions") if name in parts
    }
    if "data" in parts:
        of_evaluation["data"] = {name: description for name, description in parts["data"].items() if name in EVALUATED}
        parts["data"] = {name: description for name, description in parts["data"].items() if name not in EVALUATED}
    if of_evaluation and (record.evaluations or any(of_evaluation.values())):
        *before, last = record.evaluations or [Evaluation("full", {})]
        parts["evaluations"] = [*before, dataclasses.replace(last, **of_evaluation)]
    return dataclasses.replace(record, **parts)


def write_trial(folder: Path, record: Record) -> Record:
    """Write a record and made-up predictions into a results folder; return the record with the scores of these."""
    scores, arrays = with_predictions(record.scores, record.recipe_hash, record.seed)
    name = f"{PREDICTIONS}/{record.key}.npz"
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type]
    write_whole(folder / name, content.getvalue())
    record = changed(record, scores=scores, predictions=name)
    Ledger(folder / LEDGER).write(record)
    return record


class SectionContract:
    """Tests that every section must pass. Inherit this class, and give your section as the fixture `section`."""

    @pytest.fixture
    def section(self) -> Section:
        raise NotImplementedError("give the section under test as the fixture `section`")

    @pytest.fixture(scope="class", params=[(2, 2), (1, 1)], ids=["two rows, two seeds", "one row, one seed"])
    @classmethod
    def results(cls, request: pytest.FixtureRequest) -> Iterator[Results]:
        rows, seeds = request.param
        with tempfile.TemporaryDirectory() as folder:
            yield make_study(Path(folder), rows=rows, seeds=seeds)

    def test_it_is_listed_once(self, section: Section) -> None:
        assert [other.name for other in in_order()].count(section.name) == 1

    def test_it_writes_markdown(self, section: Section, results: Results, tmp_path: Path) -> None:
        text = markdown(section.written(results, tmp_path / "pictures").blocks)
        lines = text.splitlines()
        assert [line for line in lines if re.match(r"##? ", line)] == [], "a heading within a section is a Heading"
        assert re.findall(r"^ *</?[a-z]+\b.*", text, re.MULTILINE) == [], "no HTML: `folded` makes a fold"
        assert re.findall(r"\b(?:nan|NaN|inf)\b", text) == [], "a missing number is a dash"

    def test_the_same_ledger_gives_the_same_text(self, section: Section, results: Results, tmp_path: Path) -> None:
        pictures = tmp_path / "pictures"
        assert section.written(results, pictures) == section.written(_read_again(results.folder), pictures)

    def test_its_pictures_are_there(self, section: Section, results: Results, tmp_path: Path) -> None:
        text = markdown(section.written(results, tmp_path / "pictures").blocks)
        for name in re.findall(r"\]\((pictures/[^)]+)\)", text):
            assert (tmp_path / name).is_file()

    def test_it_changes_nothing_else(self, section: Section, results: Results, tmp_path: Path) -> None:
        def files() -> dict[Path, bytes]:
            return {path: path.read_bytes() for path in results.folder.rglob("*") if path.is_file()}

        before = files()
        section.written(results, tmp_path / "pictures")
        assert files() == before

    def test_it_stands_in_the_report(self, section: Section, results: Results) -> None:
        rows, seeds = (min(2, many) for many in (len(results.asked_rows), len(results.info.seeds)))
        study, report = _reported(Registry.changes, rows, seeds)
        written = section.written(study, study.folder / "pictures")
        assert (written.markdown if written.blocks else "") in report


@functools.lru_cache(maxsize=1)
def _read_again(folder: Path) -> Results:
    """Load the study in this folder a second time. Cached, because every section is compared with it."""
    return Results.load(folder)


@functools.lru_cache(maxsize=2)
def _reported(changes: int, rows: int, seeds: int) -> tuple[Results, str]:
    """Return a made-up study and its report. `changes` (`Registry.changes`) distinguishes sets of registered sections
    in the cache."""
    folder = Path(_temporary().name) / f"{changes}-{rows}-{seeds}"
    made = make_study(folder, rows=rows, seeds=seeds)
    return made, write_report(folder).read_text(encoding="utf-8")


@functools.cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


TEXT = """*slanted* **strong** `code--span` [a link](https://example.org/a?b=1&c=%7B) <b>no element</b>\\
a new line \\input{x} $1$ & 50 %

> said

1. one
   - deep

---"""
KINDS: tuple[Block, ...] = (
    TEXT,
    Heading("Below"),
    CodeBlock("python study/run.py"),
    DataTable(["word", "number"], [["first", "1.50"], ["[second", "—"]]),
    Bullets(["first", "`second`"]),
)
"""Blocks of every kind that a section may write."""


class FormatContract:
    """Tests that every format must pass. Inherit this class, and give your format as the fixture `form`."""

    @pytest.fixture
    def form(self) -> Format:
        raise NotImplementedError("give the format under test as the fixture `form`")

    @pytest.fixture
    def document(self, tmp_path: Path) -> Document:
        sections = (
            WrittenSection("open", "An open one", KINDS, False),
            WrittenSection("rows", "A folded one", KINDS, True),
        )
        return Document(make_study(tmp_path / "results"), "A title & more", sections)

    def test_it_writes_where_it_says_and_nowhere_else(self, form: Format, document: Document) -> None:
        before = set(document.results.folder.iterdir())
        written = form.write(document)
        assert written == document.results.folder / form.file
        assert set(document.results.folder.iterdir()) - before == {written}
        assert all("1.50" in content for content in _contents(written).values())

    def test_the_same_document_gives_the_same_bytes(self, form: Format, document: Document) -> None:
        first = _contents(form.write(document))
        assert first == _contents(form.write(document))
        assert first


def _contents(written: Path) -> dict[Path, str]:
    """Return the texts of a file, or of every file in a folder."""
    files = written.iterdir() if written.is_dir() else [written]
    return {file: file.read_text(encoding="utf-8") for file in files}
