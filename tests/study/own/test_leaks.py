"""What `--train` holds of `--dev` and `--test` is said before anything runs, and left out where that is asked for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from study.cli.options import parse
from study.own.leaks import items_of
from study.plan import read_request
from study.results_folder.prepare import prepare_results
from tests.study.plans import plan_of
from trainables.corpora.own.held_out import rows_of
from trainables.corpora.own_rows import texts
from trainables.errors import UserError
from trainables.senteval.own_tasks import own_tasks

NOUNS = ["dog", "cat", "horse", "train", "river", "child", "baker", "tower", "ship", "cloud", "piano", "garden"]
PAIRS = [(f"a {noun} stands near the {other}", f"the {other} is beside a {noun}") for noun in NOUNS for other in NOUNS]


def write(path: Path, pairs: list[tuple[str, str]]) -> str:
    rows = [{"sentence1": left, "sentence2": right, "score": index % 5} for index, (left, right) in enumerate(pairs)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def made(folder: Path, train: list[tuple[str, str]], *more: str) -> tuple[str, set[str]]:
    """The space file, and the texts to train on."""
    files = {
        part: write(folder / f"{part}.jsonl", pairs) for part, pairs in (("dev", PAIRS[:20]), ("test", PAIRS[20:40]))
    }
    given = [*("--dev", files["dev"]), *("--test", files["test"]), "--results", str(folder / "results"), *more]
    space = space_of("--train", write(folder / "mine.jsonl", train), "--encoder", "scenes-small", *given)
    return space.read_text(), {text for row in rows_of(space.with_name("train.jsonl")) for text in texts(row)}


def space_of(*arguments: str) -> Path:
    """The space file that a dry run makes."""
    file = read_request(parse([*arguments, "--dry-run"])).subject.file
    return Path(file.path)


def test_leaks_are_said_on_the_console_and_stand_in_the_space(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (left, right), (upper, other) = PAIRS[25], PAIRS[3]
    space, kept = made(tmp_path, [*PAIRS[60:], (left, right), (upper.upper() + "!", other), (PAIRS[30][0], "alone")])
    console = capsys.readouterr().out
    for sentence in (
        "(dev): the training data holds 1 of 20 whole items (1 but for case, spaces and punctuation), and 2 of 40 "
        "single texts (1 exactly, 1 but for",
        "(test): the training data holds 1 of 20 whole items (1 exactly), and 3 of 40 single texts (3 exactly)",
        "2 training rows with a whole item; --drop-leaks leaves these rows out",
    ):
        assert sentence in console
        assert sentence in space
    assert {left, right} <= kept


def test_drop_leaks_leaves_rows_out_that_hold_an_item_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, kept = made(tmp_path, [*PAIRS[60:], PAIRS[25], (PAIRS[30][0], "alone")], "--drop-leaks")
    console = capsys.readouterr().out
    assert "leaks: 1 row of " in console
    assert "mine.jsonl held an item of --dev or --test, exactly or nearly: left out" in console
    assert not {*PAIRS[25]} & kept
    assert {PAIRS[30][0], "alone"} <= kept


def test_drop_leaks_leaves_them_out_of_what_is_put_aside_too(tmp_path: Path) -> None:
    test = write(tmp_path / "test.jsonl", PAIRS[:70])
    mine = write(tmp_path / "mine.jsonl", PAIRS)
    given = ["--train", mine, "--encoder", "scenes-small", "--test", test, "--results", str(tmp_path / "results")]
    folder = space_of(*given, "--drop-leaks").parent
    kept = [
        (row["sentence1"], row["sentence2"])
        for name in ("train", "heldout_dev")
        for row in rows_of(folder / f"{name}.jsonl")
    ]
    assert kept
    assert not {*kept} & {*PAIRS[:70]}


@pytest.mark.parametrize(("first", "held"), [(0, 70), (63, 7), (64, 0)])
def test_a_test_that_training_and_dev_hold_is_warned_of(
    first: int, held: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows that are put aside to choose by count as well, and one item in ten is enough. What would leave no row out of
    all is refused."""
    train, test = (write(tmp_path / f"{number}.jsonl", PAIRS[number : number + 70]) for number in (0, first))
    given = ["--train", train, "--encoder", "scenes-small", "--test", test, "--results", str(tmp_path / "results")]
    space = space_of(*given).read_text()
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("warning: ")]
    sentence = f"training and dev hold {held} of 70 whole items of {first} (test): a gain may be memory"
    assert lines == [f"warning: {sentence}"] * (held > 0)
    assert (f"leaks: {sentence}" in space) == (held > 0)
    if held == 70:
        with pytest.raises(
            UserError, match=r"all 70 rows of \S+ hold an item of --test, exactly or nearly, so --drop-"
        ):
            space_of(*given, "--drop-leaks")


def test_the_notes_of_a_space_are_the_studys(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import dataclasses\nfrom search_spaces import load_space\n"
        "SPACE = dataclasses.replace(load_space('scl_tau'), name='noted', notes=('leaks: of note',))\n"
    )
    plan = plan_of("--space", str(file), "--scale", "laptop", "--results", str(tmp_path / "results"))
    assert "leaks: of note" in prepare_results(plan, "").notes


def test_classes_are_held_against_the_training_data_too(tmp_path: Path) -> None:
    """A dev file of classes is what classifiers are trained on; a test file alone is tested by folds."""
    texts = [(f"{left}, {right}", str(index % 2)) for index, (left, right) in enumerate(PAIRS)]
    for name, rows in (("dev", texts[:20]), ("test", texts[20:40])):
        (tmp_path / f"{name}.jsonl").write_text(
            "".join(json.dumps({"sentence": text, "label": label}) + "\n" for text, label in rows)
        )
    dev, test = ([str(tmp_path / f"{part}.jsonl")] for part in ("dev", "test"))
    items = [
        [*map(len, (items_of(task, "dev"), items_of(task, "test")))]
        for given in ((dev, test), (dev, []), ([], test))
        for task in own_tasks(*given)
    ]
    assert items == [[20, 20], [20, 0], [0, 20]]


def test_a_texts_wrong_answer_is_a_part_of_its_item(tmp_path: Path) -> None:
    """A training row that says so of both tells what the test asks."""
    file = tmp_path / "mine_test.csv"
    file.write_text("anchor,positive,negative\n" + "".join(f"a {noun},an {noun},no {noun}\n" for noun in NOUNS))
    (task,) = own_tasks([], [str(file)])
    assert items_of(task, "test")[0] == ("a dog", "an dog", "no dog")


def test_a_judged_text_that_no_corpus_has_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    for name, held in (("queries", ["a dog"]), ("corpus", ["a cat", "a horse"])):
        rows = (json.dumps({"_id": f"{name}{number}", "text": text}) for number, text in enumerate(held))
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
    judged = "".join(f"queries0\t{text}\t{grade}\n" for text, grade in (("corpus0", 1), ("gone", 0), ("lost", 0)))
    (tmp_path / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")
    (task,) = own_tasks([], [f"mine={tmp_path}"])
    assert items_of(task, "test") == [("a dog", "a cat")]


def test_what_nearly_stands_in_what_is_put_aside_is_counted_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows of twins that differ in one word: a row is put aside without its twin. Another row is the test's."""
    lines = [
        f"{text},{label}"
        for label, noun in (("x", "dog"), ("y", "cat"))
        for number in range(40)
        for word in ("one", "two")
        for text in [" ".join([f"{noun}{number}{letter}" for letter in "abcdefghijkl"] + [word])]
    ]
    (tmp_path / "mine.csv").write_text("\n".join(["text,label", *lines, "the tested text,x"]) + "\n")
    (tmp_path / "tested.csv").write_text("text,label\nthe tested text,x\na second,x\na third,x\na fourth,y\n")
    given = ["--train", str(tmp_path / "mine.csv"), "--encoder", "scenes-small", "--results", str(tmp_path / "results")]
    space_of(*given, "--test", str(tmp_path / "tested.csv"), "--drop-leaks")
    console = capsys.readouterr().out
    assert (
        'mine.csv: 160 rows, labelled texts: sentence = text, label = label; 2 labels (x, y); the first: "dog0a '
        in console
    )
    assert re.search(r"leaks: 1 row of \S+mine.csv held an item of --test, exactly or nearly: left out", console)
    assert re.search(r"\d+ training rows that held an item that is put aside, exactly or nearly: left out", console)
