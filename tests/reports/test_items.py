"""Which test items an answer mended and which it broke."""

from __future__ import annotations

import dataclasses
import json
import math
import operator
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.__main__ import main
from reports.document import markdown
from reports.facts.answer import Answer
from reports.facts.results import Results
from reports.items import Items, _ItemAnswers, _most_frequent, changed_positions, of_own_data
from reports.ledger import LEDGER, PREDICTIONS, Ledger, Record
from reports.sections import changed as section
from reports.testing import changed
from tests.synthetic_results import add_finals, made_once, make_results
from trainables.errors import UserError
from trainables.senteval.items import Answers, digest
from trainables.senteval.kinds import KINDS
from trainables.senteval.protocol import PROTOCOLS
from trainables.senteval.read_task import read_task
from trainables.senteval.tasks import TASKS, Task

ITEMS = 43  # no multiple of the folds
MENDED, BROKE = (3, 8, 21), (30,)
"""Places of items, from 0."""
WRONG = (3, 8, 21, 35)
"""What the base gets wrong."""
BEFORE, AFTER = operator.attrgetter("before"), operator.attrgetter("after")
KIND = {"mine": "split", "folds": "nested_cv", "pairs": "relatedness"}


@pytest.fixture
def tasks(tmp_path: Path) -> Iterator[None]:
    """Sentences of two classes, once with a test part and once in folds, and scored pairs."""
    added = []
    for name, kind in KIND.items():
        files = tuple(str(tmp_path / f"{name}-{part}.tsv") for part in KINDS[kind].splits)
        for file in files:
            head = "sentence1\tsentence2\tscore" if name == "pairs" else "sentence\tlabel"
            lines = [_line(name, number) for number in range(ITEMS)]
            Path(file).write_text("\n".join([head, *lines]) + "\n", "utf-8")
        added.append(Task(name, kind, "table", files))
    TASKS.add(*added)
    yield
    for task in added:
        TASKS.remove(task.name)


def _line(name: str, number: int) -> str:
    if name != "pairs":
        return f"a \x1b[31m sentence, number {number}\t{number % 2}"
    return f"a sentence {number}\tand another {number}\t{number % 5}.0"


@pytest.fixture
def results(tasks: None, tmp_path: Path) -> Results:
    """A search with finals whose pick mends three items of `mine`, and breaks one, under four of five seeds."""
    made_once(tmp_path / "study", "mended and broken items", _fill)
    return Results.load(tmp_path / "study")


def _fill(folder: Path) -> None:
    make_results(folder, rows=["SBERT baseline"], explored=2, seeds=(0,))
    info = add_finals(folder, (3.0, -3.0))
    dataclasses.replace(info, goals=["mine"]).save(folder)
    ledger = Ledger(folder / LEDGER)
    for record in ledger.read():
        of_the_pick = record.recipe_hash == info.finals.finalists[0]
        ledger.write(_answered(folder, record, better=of_the_pick and record.seed % 5 > 0))


def _answered(folder: Path, record: Record, better: bool) -> Record:
    """The record with answers to both tasks, and the scores that follow from them."""
    scores, arrays = {task: dict(numbers) for task, numbers in record.scores.items()}, {}
    protocol = next(candidate for candidate in PROTOCOLS.values() if candidate.name == record.protocol)
    for name in KIND:
        task = TASKS[name]
        data = read_task(task, folder)
        gold = KINDS[task.kind].tested_splits(data)[0].labels
        if name != "pairs":
            wrong = [35, *BROKE] if better else [*WRONG]
            predicted = np.where(np.isin(np.arange(ITEMS), wrong), 1 - gold, gold)
        else:
            predicted = gold / 5 + (0.0 if better else 0.3) * np.random.default_rng(1).standard_normal(ITEMS)
        named = digest(KINDS[task.kind].tested_splits(data))
        answers = Answers(predicted, gold, items_digest=named)
        scores[name] = {"dev_accuracy": 80.0 + better, "dev_spearman_cosine": 60.0, "examples": ITEMS}
        scores[name] |= KINDS[task.kind].numbers(task, answers, protocol)
        arrays |= answers.arrays(name)
    path = folder / PREDICTIONS / f"{record.key}.npz"
    path.parent.mkdir(exist_ok=True)
    np.savez_compressed(path, **arrays)
    return changed(record, scores=scores, predictions=f"{PREDICTIONS}/{record.key}.npz")


def test_items_that_were_mended_and_broken(results: Results) -> None:
    items = Items.of(results, "mine")
    assert (items.number, items.over, items.items) == ("test_accuracy", "base", ITEMS)
    assert items.gain == pytest.approx(100 * 2 / ITEMS * 0.8)
    assert sorted(entry.item - 1 for entry in items.mended) == [*MENDED]
    assert [entry.item - 1 for entry in items.broke] == [*BROKE]
    assert {(entry.before, entry.after) for entry in items.mended} == {(0.0, 0.8)}
    assert [entry.text for entry in items.broke] == ["a \x1b[31m sentence, number 30"]
    assert sum(entry.change > 0 for entry in items.mended) == 3
    assert [(entry.label, entry.items) for entry in items.labels] == [("0", 22), ("1", 21)]
    was, now = ([round(entry.items * share(entry), 6) for entry in items.labels] for share in (BEFORE, AFTER))
    assert was == [22 - sum(place % 2 == 0 for place in WRONG), 21 - sum(place % 2 for place in WRONG)]
    assert now == [was[0] + 0.8 * (1 - 1), was[1] + 0.8 * 2]
    assert sum(now) - sum(was) == pytest.approx(items.gain * ITEMS / 100)


@pytest.mark.parametrize("task", ["mine", "folds"])
def test_what_is_shown_adds_up_to_the_gain(task: str, results: Results) -> None:
    """Of folds, too, whose mean accuracy it is, and which are not of one size."""
    items = Items.of(results, task)
    assert [len(items.mended), len(items.broke)] == [len(MENDED), len(BROKE)]
    assert math.fsum(entry.change for entry in (*items.mended, *items.broke)) == pytest.approx(items.gain, abs=1e-6)
    assert len({round(abs(entry.change), 6) for entry in items.mended}) == (2 if task == "folds" else 1)


def test_where_nothing_is_right_or_wrong_items_add_to_the_gain(results: Results) -> None:
    name = "test_spearman_cosine"
    task = dataclasses.replace(TASKS["pairs"], metric=name)
    TASKS.remove("pairs")
    TASKS.add(task)
    items = Items.of(results, "pairs")
    assert items.gain > 0
    assert {entry.after for entry in (*items.mended, *items.broke)} == {None}
    changes = [entry.change for entry in items.mended] + [entry.change for entry in items.broke]
    assert np.sum(changes) == pytest.approx(items.gain, rel=1e-3)
    assert items.mended[0].change == max(changes)
    assert " ⟷ and another " in items.mended[0].text
    console, report = items.as_text(), markdown(section.write(results, results.folder))
    assert f"of {ITEMS} test items these add most, and take most\n\nbetter for:\n" in console
    assert "43 test items and worse on" not in report


def test_the_command(results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(results.folder), "--items", "mine"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("mine: #1 ")
    assert "against the base settings, +3.72 points of test_accuracy; of 43 test items mended 3, broke 1\n" in shown
    assert "\x1b" not in shown
    assert shown.count("sentence, number") == 4
    assert "| 0 % | 80 % |" in " ".join(shown.split()).replace(" |", " |")
    assert main([str(results.folder), "--items", "mine", "--format", "json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [len(content[name]) for name in ("mended", "broke")] == [3, 1]
    assert all(item["guesses"][1] == item["label"] != item["guesses"][0] for item in content["mended"])
    for file in results.folder.rglob("*"):
        assert not file.is_file() or b"sentence, number" not in file.read_bytes(), "texts stay where they are"


def test_the_report_shows_some_of_them_with_their_texts(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(section, "MAX_SHOWN_ITEMS", 2)
    whole = markdown(section.write(results, results.folder))
    assert "Against the base settings `#1` mends 3 of 43 test items and breaks 1" in whole
    lines = [line for line in whole.splitlines() if "sentence, number" in line]
    assert len(lines) == 3
    assert all("\x1b" not in line for line in lines)
    assert [cell.strip() for cell in lines[0].split("|")[2:7]] == ["1", "0", "1", "0 %", "80 %"]
    head = next(line for line in whole.splitlines() if line.startswith("| Mended"))
    assert [cell.strip() for cell in head.split("|")[2:5]] == ["label", "guess before", "guess now"]
    by_label = [[cell.strip() for cell in line.split("|")[1:5]] for line in whole.splitlines() if line[:4] == "| 1 "]
    assert by_label == [["1", "21", "86 %", "93 %"]]

    Path(TASKS["mine"].files[2]).unlink()
    without = markdown(section.write(results, results.folder))
    assert "|" not in without
    assert "Their texts are not here" in without
    unjudged = dataclasses.replace(results, info=dataclasses.replace(results.info, finals=None))
    assert section.write(unjudged, results.folder) == []


def test_an_item_of_a_search_has_its_own_score(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a number is the mean over items, that of each before and now, which are no shares of right seeds."""
    monkeypatch.setattr(Items, "right_or_wrong", False)
    items = Items.of(results, "mine")
    assert "before | now" in " ".join(items.as_text().split())
    assert "does better on 3 of 43 test items" in markdown(section.write(results, results.folder))


@pytest.mark.parametrize("harm", ["gone", "other"])
def test_without_the_files_items_go_by_their_number(harm: str, results: Results) -> None:
    file = Path(TASKS["mine"].files[2])
    if harm == "gone":
        file.unlink()
    else:
        file.write_text(file.read_text("utf-8").replace("number 5\t", "number five\t"), "utf-8")
    items = Items.of(results, "mine")
    assert len(items.mended) == 3
    assert {entry.text for entry in items.mended} == {None}
    reason = {"gone": "mine-test.tsv", "other": "are not the ones that were scored"}[harm]
    assert items.no_texts.startswith("no texts: ")
    assert reason in items.no_texts
    assert reason in items.as_text()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--items", "mnie"), "--items: no task is called 'mnie'; did you mean 'mine'?"),
        (("--items", "MR"), "--items MR: the trials of the finals kept no answers to its test items from which"),
        (("--items", "mine", "--format", "html"), "--items is shown on the console, or printed with --format json"),
    ],
)
def test_what_cannot_be_shown(options: tuple[str, ...], sentence: str, results: Results) -> None:
    with pytest.raises(UserError) as caught:
        main([str(results.folder), *options])
    assert sentence in str(caught.value)


def test_a_study_without_finals_has_no_answer_to_compare(results: Results) -> None:
    with pytest.raises(UserError, match="has no finals, so there is nothing"):
        Items.of(dataclasses.replace(results, info=dataclasses.replace(results.info, finals=None)), "mine")


@pytest.mark.parametrize("changes", [{"picked": ()}, {"kind": "base"}], ids=["none picked", "the base to be used"])
def test_where_no_recipe_is_to_be_used_the_base_is_compared_with_the_encoder(
    changes: dict[str, Any], results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = Answer.of(results)
    assert Items.of(results, "mine").over == "base"
    monkeypatch.setattr(Answer, "of", lambda _: dataclasses.replace(answer, **changes))
    items = Items.of(results, "mine")
    assert (items.recipe, items.over) == (answer.references["base"].name, "encoder")


def test_where_the_limit_left_no_room_for_finals_the_base_of_the_search_is_compared(results: Results) -> None:
    """As the answer does, which then rests on it."""
    limit = {"limit": "minutes", "number": 2.0, "spent": 1.6, "left_out": 0}
    plan = results.info.finals
    assert plan.as_it_came is not None
    ended = dataclasses.replace(
        results,
        records=[*results.records, *results.finals[plan.base]],
        finals={plan.as_it_came: results.finals[plan.as_it_came]},
        info=dataclasses.replace(results.info, limited=limit),
    )
    assert not Answer.of(ended).picked
    assert Items.of(ended, "mine").over == "encoder"
    assert section.write(ended, ended.folder)


def test_only_tasks_of_ones_own_are_shown_with_their_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SECURITY.md promises that reports of SentEval's tasks hold no sentence."""
    assert not any(map(of_own_data, ("TREC", "STSBenchmark", "nothing")))
    own = dataclasses.replace(TASKS["TREC"], files=(str(tmp_path / "a"), str(tmp_path / "b")))
    monkeypatch.setattr("reports.items.TASKS", {"heldout": own})
    assert of_own_data("heldout")


def test_a_tie_of_two_seeds_is_no_change() -> None:
    """Half of the seeds lies between right and wrong, and is no change, whoever is compared with whom."""
    before, after = np.array([0.0, 0.0, 1.0, 1.0, 0.5, 0.4]), np.array([0.5, 1.0, 0.5, 0.0, 0.5, 0.6])
    mended, broke = changed_positions(before, after)
    assert ([*mended], [*broke]) == ([1, 5], [3])
    assert [[*places] for places in changed_positions(after, before)] == [[3], [1, 5]]


def test_what_was_answered_where_most_seeds_are_wrong_is_their_most_frequent_mistake() -> None:
    """Even where the right class is answered more often than any other; of equally frequent ones the first."""
    answers = [np.array(seed) for seed in ([0, 1, 1], [0, 2, 1], [1, 2, 1], [2, 0, 1], [2, 1, 1])]
    assert _most_frequent(answers, np.array([0, 0, 1])).tolist() == [2, 1, 1]


def test_equal_items_have_not_changed(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean of some equal numbers may differ from them in the last digit."""
    of = _ItemAnswers.of

    def nearly(results: Results, recipe: str, task: str, number: str) -> _ItemAnswers:
        seeds = of(results, recipe, task, number)
        place = 1 if recipe == Answer.of(results).picked[0].recipe else 0
        return dataclasses.replace(seeds, moves=np.full(len(seeds.moves), 0.1) - place * 1e-16, own=None, adds_up=True)

    task = dataclasses.replace(TASKS["pairs"], metric="test_spearman_cosine")
    TASKS.remove("pairs")
    TASKS.add(task)
    monkeypatch.setattr(_ItemAnswers, "of", nearly)
    items = Items.of(results, "pairs")
    assert items.mended == items.broke == ()
