"""Records of real data: the sets' files, the design of recipes, the recorder, and what is made of its lines."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.own import own_records
from benchmarks.own._page import pages
from benchmarks.own._portfolio import left_out, portfolio, regrets
from benchmarks.own._recipes import AS_IT_CAME, BASE, DRAWN, LISTED, RATE, designed
from benchmarks.own._sets import Rows, drawn, of_files, sections
from benchmarks.own._table import OwnTable, effects, load, rank_correlation, table_of, top_regret
from benchmarks.own.own_records import Job, Recorder, packed, planned
from search_spaces.space import Domain
from trainables.recipe import SCENES_ENCODER, Recipe, Value

RATES = (2e-5, 1e-4, 5e-4, 5e-5, 2e-4)


def rows(name: str, best: int, seeds: int = 2) -> pd.DataFrame:
    """A made-up set: recipe n has a rate of `RATES`, `best` the highest score; a part of the data says half of it."""
    lines = [_line(name, AS_IT_CAME, 1.0, 1, {"optimisation.epochs": 0}, 40.0)]
    for number, rate in enumerate(RATES, 1):
        score = 60.0 - 3 * abs(number - best)
        keys = {} if number == BASE else {RATE: rate}
        for seed in range(1, seeds + 1):
            lines.append(_line(name, number, 1.0, seed, keys, score + 0.2 * seed))
        lines.append(_line(name, number, 0.25, 1, keys, score / 2))
    return pd.DataFrame([{"kind": "pairs", **packed(line)} for line in lines])


def _line(
    name: str, recipe: int, share: float, seed: int, keys: Mapping[str, Value], score: float
) -> dict[str, object]:
    rungs = [score / 4, score / 3, score / 2] if share == 1 and recipe else []
    described = {"set": name, "recipe": recipe, "share": share, "seed": seed, "keys": keys, "steps": 6}
    pauses = {"rungs": rungs, "rung_steps": [1, 2, 3][: len(rungs)]}
    return {**described, "dev": score, "test": score - 5, **pauses, "seconds": 8 * share}


@pytest.fixture
def tables() -> dict[str, OwnTable]:
    return {name: table_of(rows(name, best)) for name, best in (("a", 3), ("b", 3), ("c", 4), ("d", 5))}


def test_parts_share_no_row_and_are_drawn_alike() -> None:
    lines: Rows = [(str(number),) for number in range(50)]
    parts = drawn((lines, [], []), (20, 10, 5))
    assert [len(part) for part in parts] == [20, 10, 5]
    assert len({row for part in parts for row in part}) == 35
    assert drawn((lines, [], []), (20, 10, 5)) == parts


def test_a_heading_is_as_long_as_its_line() -> None:
    text = f"PEP: 1 Title: Other things What is it? =========== {'word ' * 30}Why so -------- no heading"
    assert [(heading, len(begins.split())) for _, heading, begins in sections(1, text)] == [("What is it?", 30)]


DOMAINS = (
    Domain("optimisation.learning_rate", low=5e-6, high=3e-4, log=True),
    Domain("optimisation.batch_size", choices=(16, 32, 64)),
    Domain("optimisation.epochs", choices=(1, 3, 10)),
    Domain("objective.name", choices=("mnrl", "ntxent")),
)
FLAT = {**Recipe().preferring({"corpus.layout": "pairs", "objective.name": "mnrl", RATE: 2e-5}).flat()}


def test_a_design_has_what_its_space_has_under_numbers_that_stay() -> None:
    design = designed(DOMAINS, FLAT)
    assert design[BASE] == {}
    assert LISTED[2] == design[2] == {RATE: 1e-4}
    assert {number for number, keys in design.items() if keys.get("optimisation.batch_size") == 128} == set()
    assert {keys["objective.name"] for keys in design.values() if "objective.name" in keys} == {"ntxent"}
    assert {*DRAWN} <= design.keys()
    other = designed(DOMAINS[:1], FLAT)
    assert [other[number][RATE] for number in DRAWN] == [design[number][RATE] for number in DRAWN]


def test_all_data_and_a_small_part_come_first_and_labelled_sets_last() -> None:
    jobs = [*planned({"a": "pairs", "b": "labelled", "c": "scored"}, range(3))]
    assert jobs[:3] == [("a", Job(0, 1.0, 1)), ("c", Job(0, 1.0, 1)), ("a", Job(1, 1.0, 1))]
    assert [job for name, job in jobs if name == "b"] == [job for name, job in jobs if name == "a"]
    assert [name for name, _ in jobs].index("b") == 2 * len(jobs) // 3
    assert len({*jobs}) == len(jobs) == 3 * (1 + 2 * 5)
    shares = [job.share for name, job in jobs if name == "c"]
    assert shares == [1.0, 1.0, 1.0, 0.125, 0.125, 0.25, 0.5, 0.25, 0.5, 1.0, 1.0]


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    folder = tmp_path_factory.mktemp("own")
    words = ["red", "green", "blue", "small", "large", "old", "new", "wooden", "round", "flat"]
    for part, start in (("train", 0), ("dev", 60), ("test", 75)):
        with (folder / f"{part}.csv").open("w", encoding="utf-8", newline="") as file:
            lines = ((f"a {words[n % 10]} thing {n}", f"thing {n}, which is {words[n % 10]}") for n in range(start, 90))
            csv.writer(file).writerows([("question", "answer"), *lines][: 61 if part == "train" else 16])
    return Recorder(of_files("pairs", "things", folder, SCENES_ENCODER), folder / "things.jsonl", None)


@pytest.mark.slow
def test_a_recorder_appends_once_and_goes_on(recorder: Recorder) -> None:
    for _ in range(2):
        recorder.record(Job(BASE, 1.0, 1))
    recorder.record(Job(BASE, 0.5, 1))
    lines = [json.loads(line) for line in recorder.file.read_text().splitlines()]
    assert [(line["share"], line["steps"], len(line["rungs"])) for line in lines] == [(1.0, 4, 2), (0.5, 2, 0)]
    assert all(0 < line["dev"] <= 100 and 0 < line["test"] <= 100 for line in lines)
    assert lines[0]["seconds"] > lines[0]["training_seconds"] > 0
    assert Recorder(recorder.own, recorder.file, None).done == recorder.done


@pytest.mark.slow
def test_a_packed_record_grows_and_is_not_trained_again(recorder: Recorder, tmp_path: Path) -> None:
    file, folder = tmp_path / "record.parquet", tmp_path / "lines"
    folder.mkdir()
    for share in (0.25, 1.0):
        line = {**_line("mr", 2, share, 1, {RATE: 1e-4}, 50.0), "files": recorder.own.hash}
        (folder / "mr.jsonl").write_text(json.dumps(line) + "\n")
        own_records.pack(folder, file)
    jobs = own_records.jobs_of(str(file), dataclasses.replace(recorder.own, name="mr"))
    assert jobs == {Job(2, 0.25, 1), Job(2, 1.0, 1)}
    other = Recorder(recorder.own, recorder.file, None, jobs)
    before = recorder.file.read_text()
    other.record(Job(2, 1.0, 1))
    assert recorder.file.read_text() == before


def test_a_pause_of_a_short_training_is_several_rungs() -> None:
    row = packed({"steps": 4, "rungs": [10.0, 20.0], "rung_steps": [1, 2], "keys": {}})
    assert [row[f"rung_{number}"] for number in (1, 2, 3)] == [10.0, 10.0, 20.0]


def test_what_fails_is_a_line(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(recorder.design, 99, {"optimisation.batch_size": 5000})
    recorder.record(Job(99, 1.0, 1))
    line = json.loads(recorder.file.read_text().splitlines()[-1])
    assert line["dev"] is None
    assert line["failed"] == "UnsuitedError"


def test_a_table_holds_each_number_in_its_place(tables: Mapping[str, OwnTable]) -> None:
    table = tables["a"]
    assert table.dev.shape == (5, 4, 2)
    assert table.truth == pytest.approx([49.3, 52.3, 55.3, 52.3, 49.3])
    assert np.isnan(table.dev[:, 0]).all()
    assert table.rungs[2, :, 0] == pytest.approx([60.2 / 4, 60.2 / 3, 60.2 / 2])
    assert table.as_it_came == (40.0, 35.0)


def test_what_failed_ranks_last_and_is_worth_the_encoder() -> None:
    made = rows("a", 3)
    made.loc[(made["recipe"] == 3) & (made["share"] == 1), ["dev", "test"]] = np.nan
    table = table_of(made)
    assert table.truth[2] == 35.0
    assert table.chosen_by[2] == -np.inf
    assert rank_correlation(table.looks["1 of the data"], table.truth) == pytest.approx(1.0)


def test_a_regret_is_what_the_best_of_the_top_lacks() -> None:
    truth = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert [top_regret(look, truth, 0.2) for look in (truth, -truth)] == [0, 4]


def test_a_setting_adds_what_recipes_alike_but_for_it_differ_by(tables: Mapping[str, OwnTable]) -> None:
    assert effects(tables["a"])[RATE, 5e-4] == pytest.approx([6.0])


def test_a_portfolio_begins_with_what_helps_most_and_spreads_its_rates(tables: Mapping[str, OwnTable]) -> None:
    order = portfolio([*tables.values()], 4)
    assert order[0] == 3
    rates = [RATES[number - 1] for number in order]
    assert 2e-5 in rates
    assert max(rates) / min(rates) >= 10


def test_regrets_fall_to_nothing_and_each_set_is_left_out(tables: Mapping[str, OwnTable]) -> None:
    assert regrets([1, 3, 2], tables["a"]) == pytest.approx([1.0, 0.0, 0.0])
    lost = left_out(tables, 5)
    assert lost.shape == (4, 5)
    assert lost[:, -1] == pytest.approx(0.0)
    assert lost[3, 0] == pytest.approx(0.5)  # the others say 3, and 5 would be best


@pytest.mark.slow
def test_the_page_holds_what_the_records_say() -> None:
    """`python -m benchmarks own_records --table minilm-2 minilm-6 --out docs/record_own.md` writes it."""
    records = {name: load(name) for name in ("minilm-2", "minilm-6")}
    assert len({table.kind for table in records["minilm-2"].values()}) == 4
    text = (Path(__file__).parents[2] / "docs" / "record_own.md").read_text(encoding="utf-8")
    assert pages(records) in text
