"""Would more data help: what is reckoned from a learning curve, and what is said of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports.document import markdown
from reports.facts.answer import Answer
from reports.facts.best_model import ranking
from reports.facts.learning_curve import trained_on
from reports.facts.looks import trials_digest
from reports.facts.recipe_names import name_of, recipe_names
from reports.facts.results import Results
from reports.ledger import LEDGER, Ledger
from reports.ledger.finals import FIRST_FRESH_SEED, LearningCurve
from reports.sections import SECTIONS, more_data
from reports.testing import changed
from reports.words.answer import lines
from reports.words.lines import as_text
from tests.synthetic_results import add_curve, add_finals, keeps_its_contract, made_once, make_results, shared

LOSSES = {"1/2": 1.5, "1/4": 3.0, "1/8": 5.0}


def what(
    losses: dict[str, float] | None = None, gains: tuple[float, ...] = (3.0, 1.0), **parts: Any
) -> tuple[object, Callable[[Path], None]]:
    """A search whose first recipe is the one to use, and that recipe on parts of its data; and who makes it."""

    def fill(folder: Path) -> None:
        make_results(folder, rows=["SBERT baseline"], explored=4, seeds=(0,))
        add_finals(folder, gains, predictions=parts.get("predictions", False))
        whole = Answer.of(Results.load(folder)).to_train
        add_curve(folder, whole.recipe, LOSSES if losses is None else losses, **parts)

    return ("a curve", losses, gains, parts), fill


def made(*losses: Any, **parts: Any) -> Results:
    """To be read only."""
    return shared(*what(*losses, **parts))


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """To be written to."""
    made_once(tmp_path / "results", *what())
    return Results.load(tmp_path / "results")


def curve_of(results: Results) -> LearningCurve:
    assert results.info.finals.curve is not None
    return results.info.finals.curve


def line(results: Results) -> str:
    """The answer's line on data; empty without one."""
    return next((text for text in as_text(lines(Answer.of(results), results.info, str)) if text.startswith("Data")), "")


def test_each_doubling_has_its_gain_and_the_last_one_its_line() -> None:
    results = made()
    data = Answer.of(results).data
    content = Answer.of(results).as_json()["data"]
    assert (content["unit"], content["trials"]) == ("pairs", {"done": 15, "planned": 15})
    assert [part["share"] for part in content["parts"]] == ["1/8", "1/4", "1/2", "all"]
    assert {*content["parts"][-1]["gain"]} == {"gain", "low", "high"}
    assert [part.rows for part in data.parts] == [1500, 3000, 6000, 12000]
    gains = [part.gain for part in data.parts]
    assert gains[0] is None
    for comparison, expected in zip(gains[1:], (2.0, 1.5, 1.5), strict=True):
        assert comparison.gain == pytest.approx(expected, abs=0.6)
        assert (comparison.low or 0) < expected < (comparison.high or 0)
    assert line(results).startswith("Data   the last doubling of the data, from 6,000 to 12,000 pairs, brought +1.")
    assert line(results).endswith("; what another one would bring was not measured")


def test_items_and_the_choice_among_finalists_widen_the_interval(results: Results) -> None:
    """Of one finalist alone, with the same scores, it is shorter."""

    def width() -> float:
        data = Answer.of(Results.load(results.folder)).data
        gain = data.parts[-1].gain
        return (gain.high or 0.0) - (gain.low or 0.0)

    seeds_only, finals = width(), results.info.finals
    fewer = dataclasses.replace(finals, finalists=finals.finalists[:1])
    dataclasses.replace(results.info, finals=fewer).save(results.folder)
    assert width() < seeds_only


@pytest.mark.slow
def test_predictions_count() -> None:
    data = Answer.of(made(predictions=True)).data
    assert data.parts[-1].gain is not None
    assert data.parts[-1].flags == ()


def test_it_changes_nothing_else(tmp_path: Path) -> None:
    """No row, no explored recipe, no finalist, no other look; the answer is the one without it."""
    make_results(tmp_path / "without", rows=["SBERT baseline"], explored=4, seeds=(0,))
    add_finals(tmp_path / "without", (3.0, 1.0))
    without, results = Results.load(tmp_path / "without"), made()
    parts = {*curve_of(results).parts.values()}
    assert not parts & {*results.recipes}
    assert not parts & {recipe.recipe_hash for recipe in ranking(results)}
    assert trials_digest(results, "finals") == trials_digest(without, "finals")
    mine, other = (dataclasses.replace(Answer.of(study), data=None, seconds=0.0) for study in (results, without))
    assert mine == other
    assert Answer.of(results).seconds > Answer.of(without).seconds


def test_parts_are_called_by_the_share() -> None:
    results = made()
    curve = curve_of(results)
    whole = name_of(results, curve.whole or "")
    assert name_of(results, curve.parts["1/8"] or "") == f"1/8 of the data: {whole}"
    names = [*recipe_names(results).values()]
    assert len(names) == len({*names})


def test_a_part_counts_once_it_has_all_of_its_seeds() -> None:
    """Whoever looks before cannot stop where it looks well."""
    results = made({"1/4": 3.0, "1/2": 1.5}, missing=1)
    data = Answer.of(results).data
    assert (data.trials.done, data.trials.planned) == (9, 10)
    assert [part.figure is None for part in data.parts] == [True, False, True, False]
    assert [part.gain for part in data.parts] == [None] * 4
    assert line(results) == "Data   9 of 10 trials of the learning curve are done"


def test_half_of_the_data_may_be_too_few() -> None:
    assert line(made({})) == ("Data   half of the data are too few for the recipe, so what more would bring is unknown")


def test_a_training_that_diverged_is_in_no_figure(results: Results) -> None:
    ledger = Ledger(results.folder / LEDGER)
    record = ledger.get(curve_of(results).parts["1/2"] or "", FIRST_FRESH_SEED)
    ledger.write(dataclasses.replace(record, status="pruned", evaluations=[]))
    data = Answer.of(Results.load(results.folder)).data
    assert [part.seeds for part in data.parts] == [5, 5, 4, 5]
    assert data.parts[-1].gain is not None


def test_what_else_differs_forbids_a_verdict(results: Results, tmp_path: Path) -> None:
    """The half ran under another torch."""
    ledger = Ledger(results.folder / LEDGER)
    for record in results.finals[curve_of(results).parts["1/2"] or ""]:
        ledger.write(changed(record, versions={**record.versions, "torch": "1.0"}))
    flagged = Results.load(results.folder)
    assert "; no verdict, for the flag code; what another" in line(flagged)
    assert "(no verdict: `code`)" in markdown(more_data.write(flagged, tmp_path / "pictures"))


@pytest.mark.parametrize(
    ("corpus", "amount"),
    [
        ({"pairs": 30, "anchors": 10}, (10, "anchors")),
        ({"pairs": 30, "anchors": 30}, (30, "pairs")),
        ({"pairs": 30}, (30, "pairs")),
        ({"texts": 30, "anchors": 10}, (30, "texts")),
        ({}, (None, "rows")),
    ],
)
def test_negatives_are_no_data_of_their_own(corpus: dict[str, int], amount: tuple[int | None, str]) -> None:
    records = [changed(record, data={"corpus": corpus}) for record in made().records[:1]]
    assert trained_on(records) == amount


def test_of_the_base_where_that_is_kept() -> None:
    results = made(gains=(-0.5, -0.6))
    answer = Answer.of(results)
    assert answer.kind == "base"
    assert answer.data.name == answer.references["base"].name
    assert [part.seeds for part in answer.data.parts] == [5, 5, 5, 5]
    assert line(results)


@pytest.mark.parametrize(("losses", "missing"), [(None, 0), (None, 7), ({"1/2": 1.0}, 0)])
def test_the_section_keeps_its_contract(losses: dict[str, float] | None, missing: int) -> None:
    """Of a whole curve, of an unfinished one, and of one that is too short; without any: `test_plugins.py`."""
    keeps_its_contract(SECTIONS["more_data"], made(losses, missing=missing) if missing else made(losses))


def test_it_has_a_table_and_a_picture(tmp_path: Path) -> None:
    text = markdown(more_data.write(made(), tmp_path / "pictures"))
    assert text.startswith("The last doubling of the data, from 6,000 to 12,000 pairs, brought +1.")
    assert "![Score over the pairs to train on](pictures/data-curve.svg)" in text
    assert [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("|")][2:] == [
        "none: the original encoder", "1/8", "1/4", "1/2", "all",
    ]  # fmt: skip
    assert "among 2; that of a score is its own" in text
