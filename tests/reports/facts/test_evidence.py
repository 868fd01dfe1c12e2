"""What a results folder proves: figures as samples, rows against the baseline, the best set, how many seeds more."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import time
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from scipy.stats import binomtest

from reports.facts.boards import boards
from reports.facts.evidence import Evidence
from reports.facts.guards import Flag, Flags
from reports.facts.looks import level_share
from reports.facts.more_seeds import SeedsWanted
from reports.facts.quantity import Quantity, average_quantity, quantity
from reports.facts.results import Results
from reports.formats.page_data import pairs
from reports.ledger import PREDICTIONS
from reports.testing import changed
from reports.words.comparisons import more_seeds
from search_spaces import spaces
from search_spaces.averages import AVERAGES, average
from search_spaces.paper import Column, Table
from tests.populations import Population, write
from tests.synthetic_results import make_results
from trainables.senteval.tasks import GROUPS, TASKS

SPACES = spaces()
SCL = SPACES["scl_ablation"]
BASELINE, BEST, OTHER = "SBERT baseline", "allpalln-lambda0.3-SCL", "3p3n-lambda0.5-SCL"
ROWS = (BASELINE, BEST, OTHER, "3p3n-Augment", "allpalln-lambda1.0-SCL")
STS = Population(rows=ROWS, tasks=GROUPS["sts"])


def _scores(chance: random.Random) -> dict[str, dict[str, float]]:
    return {name: {number: 100 * chance.random() for number in task.numbers} for name, task in TASKS.items()}


def test_a_quantity_is_the_figure_of_every_column_and_average():
    scores = _scores(random.Random(0))

    def figure(table: Table, column: Column) -> float:
        if column.score is not None:
            return scores[column.score[0]][column.score[1]]
        if column.average is not None:
            return average(column.average, scores) or 0.0
        return fmean(figure(table, table.column(name)) for name in column.mean_of)

    for table in (table for space in SPACES.values() for table in space.tables):
        for column in table.columns:
            assert quantity(table, column).of(scores) == pytest.approx(figure(table, column), abs=1e-9), table.title
    for name in AVERAGES:
        assert average_quantity(name).of(scores) == pytest.approx(average(name, scores), abs=1e-9), name
        assert sum(average_quantity(name).weights.values()) == pytest.approx(1)
        task = sorted(average_quantity(name).tasks)[0]
        assert average_quantity(name).of({**scores, task: {}}) is None


def test_a_quantity_by_its_tasks():
    whole = average_quantity("declutr_downstream")
    mrpc = whole.by_task()["MRPC"]
    assert mrpc.weights == {("MRPC", "test_accuracy"): 0.5, ("MRPC", "test_f1"): 0.5}
    assert whole.minus(whole).of(_scores(random.Random(1))) == pytest.approx(0)
    assert {whole} == {Quantity("of another name", {**whole.weights})}
    assert mrpc != whole


# Boards


def test_a_board():
    board = boards(Evidence.of(dataclasses.replace(STS, seeds=5, gains={BEST: 1.0, OTHER: -0.6}).study(1)))[0]
    by_name = {standing.name: standing for standing in board.standings}
    assert board.baseline == BASELINE
    assert by_name[BASELINE].verdict == "baseline"
    assert by_name[BASELINE].gain is None
    assert by_name[BEST].verdict == "above"
    assert by_name[OTHER].verdict == "below"
    assert by_name["3p3n-Augment"].verdict == "undecided"
    assert [standing.name for standing in board.standings if standing.in_best_set] == [BEST]
    assert by_name[BEST].ranks == (1, 1)
    assert by_name[BEST].wins == 5
    assert by_name[OTHER].losses == 5
    assert by_name[BEST].gain.basis == "seeds and items"
    adjusted = [standing.p_holm for standing in board.standings if standing.gain]
    alone = [standing.gain.p for standing in board.standings if standing.gain]
    assert all(many >= single for many, single in zip(adjusted, alone, strict=True))


def test_means_are_not_called_gains_while_the_baseline_runs():
    """The live page said "gains against the baseline" over means, since the baseline had a hash already."""
    results = dataclasses.replace(STS, gains={BEST: 1.0, OTHER: 0.97}).study(1)
    base = results.info.row_hashes[BASELINE]
    running = dataclasses.replace(results, records=[r for r in results.records if r.recipe_hash != base])
    vars(running)["predictions"] = results.predictions
    board = boards(Evidence.of(running))[0]
    assert board.baseline is None
    assert {item.verdict for item in board.standings if item.sample} == {"missing"}
    assert boards(Evidence.of(results))[0].baseline == BASELINE


def test_one_seed_gives_intervals_over_items_and_no_verdict():
    results = dataclasses.replace(STS, seeds=1, gains={BEST: 2.0}).study(1)
    board = boards(Evidence.of(results))[0]
    rows = [standing for standing in board.standings if standing.name != BASELINE]
    assert {standing.verdict for standing in rows} == {"undecided: one seed"}
    assert all(standing.gain and standing.gain.basis == "items only" and standing.gain.low for standing in rows)
    assert {standing.wins for standing in rows} == {None}
    assert {standing.in_best_set for standing in board.standings} == {None}
    assert board.more_seeds.seeds == 2
    assert "one seed" in more_seeds(board.more_seeds, "gain")


@pytest.mark.slow
def test_more_seeds_settle_what_is_undecided():
    """A gain that seeds alone hide; with as many more seeds as the board asks for it is found."""
    loud = dataclasses.replace(STS, rows=(BASELINE, BEST), gains={BEST: 0.4}, items=400, seed_spread=0.3)
    advice = [boards(Evidence.of(loud.study(seed)))[0].more_seeds for seed in range(8)]
    advised = [each for each in advice if each.seeds]
    assert advised
    for each in advised:
        assert each.settled == (BEST,)
        assert f"{each.seeds} more seed" in more_seeds(each, "gain")
    more = dataclasses.replace(loud, seeds=loud.seeds + max(each.seeds or 0 for each in advised))
    verdicts = [boards(Evidence.of(more.study(seed)))[0].standings[0].verdict for seed in range(8)]
    assert verdicts.count("above") >= 5


@pytest.mark.slow
@pytest.mark.parametrize(("gains", "settled"), [({BEST: -0.4}, ()), ({BEST: 0.4, OTHER: -0.4}, (BEST,))])
def test_no_seeds_are_advised_to_prove_a_loss(gains: dict[str, float], settled: tuple[str, ...]):
    loud = dataclasses.replace(STS, rows=(BASELINE, *gains), gains=gains, items=400, seed_spread=0.3)
    for seed in range(8):
        board = boards(Evidence.of(loud.study(seed)))[0]
        lower = {
            item.name for item in board.standings if item.verdict == "undecided" and item.gain and item.gain.gain < 0
        }
        assert not lower & {*board.more_seeds.settled}
        assert ("measured no higher" in more_seeds(board.more_seeds, "gain")) == bool(lower)
        assert board.more_seeds.seeds is None or board.more_seeds.settled == settled


@pytest.mark.parametrize(
    ("more", "seeds", "sentence"),
    [
        ({}, None, ""),
        ({"a": None}, 2, "No gain can be decided with one seed"),
        ({"a": math.inf}, None, "no number of seeds would settle the open gain"),
        ({"a": 3.0, "b": 5.0, "c": math.inf}, 5, "5 more seeds of each row would settle 2 of 3 open gains"),
        ({"a": 0.0}, 0, "finishing the study would settle the open gain"),
        ({"a": 25.0}, None, "would need more than 20 more seeds"),
        ({"a": 3.0, "b": None}, 3, "what 1 of 2 open gains would need is unknown"),
        ({"a": 1.0}, 1, "1 more seed of each row would settle the open gain, if as large"),
    ],
)
def test_seeds_in_words(more: dict[str, float | None], seeds: int | None, sentence: str):
    advice = SeedsWanted(more)
    assert advice.seeds == seeds
    assert sentence in more_seeds(advice, "gain")
    assert set(advice.settled) == {name for name, needed in more.items() if needed is not None and needed < 20}


def test_explored_recipes_are_compared_when_asked_but_stand_on_no_board(tmp_path: Path):
    make_results(tmp_path, explored=3, seeds=(1, 2), spread=1.0)
    results = Results.load(tmp_path)
    evidence = Evidence.of(results)
    on_boards = {standing.recipe_hash for board in boards(evidence) for standing in board.standings}
    assert not on_boards & set(results.explored)
    first, second = results.explored[:2]
    assert evidence.compare(first, second, boards(evidence)[0].quantity) is not None


def test_without_tables_averages_sum_the_study_up_or_what_judges_the_goals_where_none_is_whole():
    bare = dataclasses.replace(SCL, tables=(), claims=(), figures=(), goals=("sts",))
    results = dataclasses.replace(STS, space=bare).study(1)
    assert [board.quantity.name for board in boards(Evidence.of(results))] == ["STS Avg."]
    info = dataclasses.replace(results.info, goals=["sts"])
    judging = "STSBenchmark"  # what the goal `sts` is judged by
    some = [
        changed(record, scores={judging: {"test_spearman_cosine": record.scores["STS12"]["spearman_all"]}})
        for record in results.records
    ]
    [board] = boards(Evidence.of(dataclasses.replace(results, info=info, records=some)))
    assert board.quantity.name == f"{judging} test_spearman_cosine"
    assert board.quantity.weights == {(judging, "test_spearman_cosine"): 1.0}
    assert len(board.counted) > 1
    none = [changed(record, scores={"STS12": record.scores["STS12"]}) for record in results.records]
    assert boards(Evidence.of(dataclasses.replace(results, info=info, records=none))) == ()


def test_a_comparison_across_a_flag_gets_no_verdict():
    results = dataclasses.replace(STS, gains={BEST: 1.0}).study(1)
    other_code = results.info.row_hashes[BEST]
    flag = Flag("mine", "elsewhere", frozenset({other_code or ""}))
    evidence = Evidence(results)
    vars(evidence)["flags"] = Flags((flag,))
    board = boards(evidence)[0]
    by_name = {standing.name: standing for standing in board.standings}
    assert by_name[BEST].verdict == "no verdict"
    assert by_name[BEST].blocked_by == by_name[BEST].flags == (flag,)
    assert by_name[BEST].p_holm is None
    assert by_name[BEST].in_best_set is None  # it can be compared with no other row
    assert by_name[OTHER].in_best_set is not None
    evidence = Evidence(results)
    vars(evidence)["flags"] = Flags((flag,), across=frozenset({"mine"}))
    assert boards(evidence)[0].standings[0].verdict == "above"


def test_pairs_for_a_page():
    evidence = Evidence.of(dataclasses.replace(STS, gains={BEST: 1.0}).study(1))
    figures, gains = json.loads(json.dumps(pairs(evidence, ROWS)))
    assert figures == ["STS Avg.", *sorted(GROUPS["sts"])]
    assert len(gains) == 10
    gain, low, high, why = gains["0-1"][0]
    assert why == ""
    assert low < gain < high < 0  # the baseline minus the best


# Samples


@pytest.mark.slow
def test_the_variance_over_items_is_that_of_new_items():
    """Many samples of items, one recipe against another: the spread of their differences is what effects foretell."""
    tasks = {("STS12", "spearman_wmean"): 0.4, ("TREC", "test_accuracy"): 0.3, ("SST2", "test_accuracy"): 0.3}
    figure = Quantity("mixed", tasks)
    still = Population(rows=(BASELINE, BEST), seeds=2, seed_spread=0.0, tasks=tuple(sorted(figure.tasks)))
    gaps, foretold = [], []
    for study in range(60):
        results = still.study(study)
        first, second = (results.info.row_hashes[label] or "" for label in still.rows or ())
        comparison = Evidence.of(results).compare(first, second, figure)
        assert comparison.items_variance is not None
        gaps.append(comparison.gain)
        foretold.append(comparison.items_variance)
    assert np.var(gaps, ddof=1) == pytest.approx(np.mean(foretold), rel=0.35)


def test_two_numbers_of_one_task_share_its_items():
    study = dataclasses.replace(STS, tasks=("MRPC",)).study(1)
    evidence = Evidence.of(study)
    recipe = study.info.row_hashes[BEST] or ""
    both = Quantity("both", {("MRPC", "test_accuracy"): 0.5, ("MRPC", "test_f1"): 0.5})
    sample = evidence.sample(recipe, both)
    assert sample.effects.shape == (3, STS.items)


def test_seeds_that_kept_nothing_leave_the_items_unknown(tmp_path: Path):
    results = write(STS.study(1), tmp_path)
    recipe = results.info.row_hashes[BEST] or ""
    (tmp_path / PREDICTIONS / f"{recipe}-1.npz").unlink()
    evidence = Evidence.of(Results.load(tmp_path))
    sample = evidence.sample(recipe, evidence.figures[0])
    assert sample.effects is None
    comparison = evidence.compare(recipe, results.info.row_hashes[BASELINE] or "", evidence.figures[0])
    assert comparison.basis == "seeds only"


@pytest.mark.slow
def test_a_large_report_takes_seconds():
    large = Population(seeds=5, items=2000).study(1)
    begin = time.process_time()
    evidence = Evidence.of(large)
    assert boards(evidence)
    pairs(evidence, large.asked_rows)
    assert time.process_time() - begin < 30


def test_accuracies_that_no_seed_changes_are_compared_exactly():
    study = dataclasses.replace(STS, seeds=1, tasks=("SST2", "MR"), items=60, gains={BEST: 0.6}).study(3)
    hashes = [study.info.row_hashes[label] or "" for label in (BEST, BASELINE)]
    vars(study)["fixed"] = set(hashes)
    hits = [study.predictions.hits(study.recipes[key][0], "SST2", "test_accuracy") for key in hashes]
    only = [int((hits[0] & ~hits[1]).sum()), int((hits[1] & ~hits[0]).sum())]  # type: ignore[operator, index]
    comparison = Evidence.of(study).compare(hashes[0], hashes[1], Quantity("SST2", {("SST2", "test_accuracy"): 1.0}))
    assert comparison.p == pytest.approx(min(1, binomtest(only[0], sum(only)).pvalue / level_share(1)))
    assert study.predictions.hits(study.recipes[hashes[0]][0], "MR", "test_accuracy") is None  # ten folds
