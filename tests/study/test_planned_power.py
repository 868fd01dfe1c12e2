"""What a search with finals can show, as it is told before it begins. Nothing here starts Ray."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from reports.facts.answer import Answer
from reports.facts.evidence import Evidence
from reports.facts.looks import level_share
from reports.facts.question import candidate_figures
from reports.facts.results import Results
from reports.ledger import LEDGER, LOOKS, Ledger, StudyInfo
from reports.ledger.finals import FIRST_SOUP_SEED
from reports.statistics import Sample, finals
from reports.statistics.finals import plan as planned
from reports.statistics.power import Spread
from reports.statistics.sample import pairable
from reports.testing import made_record
from reports.words.markdown import number
from search_spaces.liao2021.averages import STS_AVERAGE
from study.dry_run import preview
from study.plan import Plan
from study.planned_power import ASSUMED, FEW_ITEMS, WHY, TestSize, few_items, gain_in_words, own_tests
from tests.study import plans
from tests.study.plans import ALLOTMENT, CLUSTER
from trainables.corpora.own.split import MIN_ROWS
from trainables.files import write_whole
from trainables.senteval.kinds.classes import TextClasses
from trainables.senteval.kinds.scored_pairs import PairSimilarity
from trainables.senteval.kinds.search import Search

ROOT = Path(__file__).resolve().parents[2]
FIRST = 0.05 * level_share(1)
"""The level of the finalist's interval at a first look."""
SEARCH = ("--space", "scl_tau", "--scale", "laptop", "--search", "optuna", "--goals", "sts")
TESTED = tuple(task for task, _ in STS_AVERAGE.cells)


def plan_of(results: Path, *more: str) -> Plan:
    return plans.plan_of(*SEARCH, "--results", str(results), *more)


def ran(results: Path, temperature: float, *scores: float, tested: bool = True, first: int = 0) -> None:
    """Records of the recipe of that temperature, a seed from `first` on for each score."""
    plan = plan_of(results)
    StudyInfo("scl_tau", evaluation=plan.evaluation.flat()).save(results)
    recipe = plan.base.override({"objective.temperature": temperature})
    for seed, score in enumerate(scores, first):
        numbers = {"STSBenchmark": {"dev_spearman_cosine": score / 2}}
        if tested:
            numbers |= {task: {"spearman_wmean": score} for task in TESTED}
        record = made_record(recipe.flat(), recipe.hash, seed, scores=numbers, protocol=plan.evaluation.protocol)
        Ledger(results / LEDGER).write(record)


def gain_lines(results: Path, *more: str) -> list[str]:
    return gain_in_words(plan_of(results, *more))


def moved(results: Path) -> tuple[float, str]:
    return spread_of(gain_lines(results)[0])


def spread_of(line: str) -> tuple[float, str]:
    """By how much seeds move what, and whence that is known."""
    match = re.search(r"if seeds move (.+) by ([\d.]+) \((.+)\)$", line)
    assert match
    return float(match[2]), f"{match[1]}: {match[3]}"


A, B, C = 0.21, 0.22, 0.23
"""Temperatures of recipes."""


def test_where_nothing_ran_twice_a_spread_is_assumed_and_that_is_said(tmp_path: Path) -> None:
    ran(tmp_path, A, 60.0)
    power = planned(ASSUMED, 1, 5, p_factor=1 / level_share(1))
    for_half, for_one, for_two = (str(count) for count in power.needed.values())
    lines = [
        f"finals: 1 recipe x 5 fresh seeds show a gain of {number(power.gain)} points over the base settings in 8 of "
        f"10 cases, if seeds move a score by 0.50 ({WHY})",
        f"finals: a gain of 0.5, 1 or 2 points needs {for_half}, {for_one} or {for_two} fresh seeds, counting seeds "
        "alone; few test items take more",
    ]
    assert gain_lines(tmp_path) == lines
    assert gain_lines(tmp_path / "new") == lines
    assert 0.8 < power.gain < 1.2


def test_it_is_what_seeds_moved_in_earlier_trials_of_what_the_answer_is_about(tmp_path: Path) -> None:
    """Pooled over recipes; a copy counts once, and a seed that collapsed or a soup not at all."""
    ran(tmp_path, A, 60.0, 62.0)
    ran(tmp_path, A, 66.0, 50.0, first=FIRST_SOUP_SEED)
    source = "STS Avg.: as in earlier trials of this study"
    assert moved(tmp_path) == (1.41, source)
    ran(tmp_path, B, 60.0, 62.0)
    ran(tmp_path, C, 61.0, 61.0, 61.0, 3.0)
    pooled = (2.0 / 3) ** 0.5
    assert moved(tmp_path) == (round(pooled, 2), source)
    power = planned(Spread(pooled, 3), 1, 5, p_factor=1 / level_share(1))
    assert f" {number(power.gain)} points over" in gain_lines(tmp_path)[0]


def test_else_it_is_that_of_the_goals_development_scores(tmp_path: Path) -> None:
    ran(tmp_path, A, 60.0, 62.0, tested=False)
    assert moved(tmp_path) == (0.71, "STS on development parts: as in earlier trials of this study")


def own(folder: Path, rows: int) -> Plan:
    """A search with a tenth of so many pairs to judge by."""
    pairs = "".join(f"how is thing {number} done,by step {number} of the list\n" for number in range(rows))
    write_whole(folder / f"p{rows}.csv", f"question,answer\n{pairs}")
    given = ("--train", str(folder / f"p{rows}.csv"), "--encoder", "scenes-small", "--search", "optuna")
    return plans.plan_of(*given, "--results", str(folder / f"r{rows}"))


def test_few_test_items_are_warned_of_and_more_bound_the_gain(tmp_path: Path) -> None:
    few = own(tmp_path, 60)
    (warning,) = few_items(few)
    assert own_tests(few) == [TestSize(6, Search.least_deviation)]
    assert warning.startswith("the test has 6 items, so the interval of a gain is about 13.78 points to each side")
    assert warning.endswith("one of 5 or 2 points takes 30 or 175 items; give more by --test")
    (withheld,) = gain_in_words(few)
    assert "no gain is planned, as 6 test items decide" in withheld
    many = own(tmp_path, 600)
    assert (own_tests(many), few_items(many)) == ([TestSize(60, Search.least_deviation)], [])
    *by_seeds, by_items = gain_in_words(many)
    assert len(by_seeds) == 2
    alone = planned(ASSUMED, 1, 5, p_factor=1 / level_share(1)).gain
    gain = math.hypot(alone, (stats.t.ppf(1 - FIRST, 59) + stats.t.ppf(0.8, 59)) * Search.least_deviation / 60**0.5)
    assert f"5 fresh seeds and 60 test items show a gain of {number(gain)} points" in by_seeds[0]
    assert gain > 4 * alone
    assert (
        f"about {number(TestSize(60, Search.least_deviation).half_interval(FIRST))} points to each side, "
        "less where two models " in by_items
    )
    assert own_tests(plan_of(tmp_path / "papers")) == []


def test_what_own_data_says_of_test_items_is_what_is_planned() -> None:
    test = TestSize(FEW_ITEMS, Search.least_deviation)
    page = (ROOT / "docs" / "own_data.md").read_text(encoding="utf-8")
    items, _, points = page.partition("| test items |")[2].splitlines()[:3]
    cells = zip(re.findall(r"[\d,]+", items), re.findall(r"[\d.]+", points), strict=True)
    intervals = {int(count.replace(",", "")): float(half) for count, half in cells}
    assert intervals == {
        count: round(TestSize(count, Search.least_deviation).half_interval(FIRST), 2) for count in intervals
    }
    assert {FEW_ITEMS, test.needed(5.0, FIRST), test.needed(2.0, FIRST)} <= {*intervals}
    assert f"takes {MIN_ROWS} rows" in page
    times = [f"{kind.least_deviation / Search.least_deviation:.1f} times" for kind in (PairSimilarity, TextClasses)]
    assert f"for scored pairs {times[0]}, for labelled texts {times[1]}" in page
    assert f"Below {FEW_ITEMS} the console warns" in page
    assert f"this needs {MIN_ROWS} rows" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_half_an_interval_of_items_alone_is_that_of_a_t_test() -> None:
    generator = np.random.default_rng(0)
    values = generator.normal(size=(4000, 12)) * Search.least_deviation
    half = stats.t.ppf(0.98, 11) * values.std(axis=1, ddof=1) / 12**0.5
    test = TestSize(12, Search.least_deviation)
    assert test.half_interval(0.02) == pytest.approx((half**2).mean() ** 0.5, rel=0.02)
    for points in (5.0, 2.0):
        needed = test.needed(points, FIRST)
        halves = [replace(test, items=items).half_interval(FIRST) for items in (needed, needed - 1)]
        assert halves[0] <= points < halves[1]
    assert replace(test, items=1).half_interval(FIRST) == math.inf


@pytest.mark.usefixtures("own_spaces")
def test_items_vary_by_no_less_in_the_predictions_of_an_example() -> None:
    """The deviation over items alone, without seeds: of the base settings against recipes of the search. The original
    encoder is left out: base settings that hardly train it differ from it on few items."""
    deviations = []
    for file in sorted((ROOT / "docs/examples").glob("own_*/study.json")):
        results = Results.load(file.parent)
        answer, recipes = Answer.of(results), results.finals
        evidence = Evidence(replace(results, records=[record for own in recipes.values() for record in own]))
        figure = candidate_figures(results, recipes[answer.references["base"].recipe][0].scores, ())[0]
        samples = {key: evidence.sample(key, figure) for key in recipes}
        base = samples.pop(answer.references["base"].recipe)
        samples.pop(answer.references["encoder"].recipe)
        for other in samples.values():
            assert pairable(base, other)
            deviations.append(float(np.linalg.norm(base.effect - other.effect)) * len(base.effect) ** 0.5)
    assert min(deviations) >= TextClasses.least_deviation


def test_an_interval_by_items_is_judged_as_the_finals_will_judge_it(tmp_path: Path) -> None:
    """By the next look's share, divided by the finalists: as wide as `judge` makes it where seeds change nothing."""
    generator = np.random.default_rng(0)
    effects = generator.normal(size=200) * Search.least_deviation / 200
    sample, other = (
        Sample(np.full(5, 70.0), (*range(5),), True, np.tile(own, (5, 1)), "same") for own in (effects, 0 * effects)
    )
    for finalists, look in ((3, 1), (1, 2)):
        gain = finals.judge([sample] * finalists, [0], {"base": other}, p_factor=1 / level_share(look)).gains["base"][0]
        level = 0.05 * level_share(look) / finalists
        assert gain.high - gain.gain == pytest.approx(
            TestSize(200, Search.least_deviation).half_interval(level), rel=0.1
        )


def test_every_look_that_was_taken_makes_it_harder(tmp_path: Path) -> None:
    ran(tmp_path, A, 60.0, 62.0)
    first = gain_lines(tmp_path)
    write_whole(tmp_path / LOOKS / "0123456789abcdef.json", '{"at": "2026-11-22T03:30:06+00:00"}')
    second = gain_lines(tmp_path)
    gains = [float(lines[0].split(" points")[0].rpartition(" ")[2]) for lines in (first, second)]
    assert gains[0] < gains[1]


def test_more_seeds_than_anybody_has(tmp_path: Path) -> None:
    ran(tmp_path, A, 54.0, 66.0, 60.0)
    assert re.search(r"2 points needs over 1,000, 625 or 157 fresh seeds", gain_lines(tmp_path)[1])


@pytest.mark.parametrize("brief", [True, False])
def test_a_preview_has_it_where_there_are_finals(tmp_path: Path, brief: bool) -> None:
    lines = preview(plan_of(tmp_path, "--finals", "1x4"), CLUSTER, ALLOTMENT, brief=brief).splitlines()
    index = next(number for number, line in enumerate(lines) if line.startswith("then the finals"))
    assert lines[index + 1].startswith("finals: 1 recipe x 4 fresh seeds show a gain of ")
    assert lines[index + 2].startswith("finals: a gain of 0.5, 1 or 2 points needs ")
    assert "points" not in preview(plan_of(tmp_path, "--finals", "none"), CLUSTER, ALLOTMENT, brief=brief)


def test_nothing_is_told_where_seeds_change_nothing(tmp_path: Path) -> None:
    assert gain_lines(tmp_path, "--set", "optimisation.epochs=0") == []


@pytest.mark.slow
def test_what_is_assumed_is_what_the_kept_examples_show(tmp_path: Path) -> None:
    spreads = []
    for file in sorted((ROOT / "docs/examples").glob("*/study.json")):
        plan = plan_of(tmp_path)
        vars(plan).update(scoring=StudyInfo.load(file.parent).scoring, ledger=Ledger(file.parent / LEDGER))
        spread, source = spread_of(gain_in_words(plan)[0])
        if source.startswith("STS Avg.: as in "):
            spreads.append(spread)
    low, high = map(float, re.findall(r"\d\.\d+", WHY))
    assert spreads
    assert low <= min(spreads) <= max(spreads) <= high
    assert low < ASSUMED.std < high
