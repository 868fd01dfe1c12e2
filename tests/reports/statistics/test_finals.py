"""Finals: who is picked, what is shown, and how often whole searches end in a wrong answer."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks.calibrate_finals import KINDS, Found, Kind, MadeUp, Recorded, calibrate, main, search
from reports.looks import share
from reports.statistics.comparison import compare
from reports.statistics.finals import (
    FEWEST_FREEDOM,
    KEPT,
    MOST_PICKED,
    POWER,
    UNLIKE,
    NoiseFloor,
    base_seeds,
    finalists_for,
    judge,
    pick,
    plan,
    told_by,
)
from reports.statistics.power import Spread
from reports.statistics.sample import Sample
from reports.statistics.spreads import common_spread
from tests.conftest import slow_case

FIRST_LOOK = 1 / share(1)


def scores(mean: float, std: float = 0.4, seeds: int = 5) -> Sample:
    values = np.resize([1.0, -1.0, 0.5, -0.5, 0.0], seeds)
    values = values - values.mean()
    return Sample(mean + values / (values.std(ddof=1) or 1.0) * std, tuple(range(seeds)))


def encoder(value: float) -> Sample:
    return Sample(np.array([value]), (0,), fixed=True)


FINALISTS = [scores(73.0), scores(73.1, 0.5), scores(72.8, 0.3)]


def test_the_best_mean_of_development_scores_is_picked():
    assert pick([[1.0], [3.0], [2.0]]) == [1, 2, 0]
    assert pick([[3.0], [3.0], [4.0]]) == [2, 0, 1]
    front = pick([[float(place), -float(place)] for place in range(8)] + [[-1.0, -9.0]])
    assert len(front) == MOST_PICKED
    assert {0, 7} < set(front) <= set(range(8))
    assert pick([[1.0, 1.0], [0.0, 0.0]]) == [0]


def test_before_the_best_by_development_comes_the_best_that_is_shown():
    """All intervals hold at once, so that one may be chosen by them."""
    base, unsure, sure = scores(70.0, seeds=9), scores(72.0, 3.0), scores(72.0)
    assert judge([sure, sure, unsure], [2, 1, 0], {"base": base}).picked == 1
    assert judge([sure, unsure], [0, 1], {"base": base}).picked == 0
    assert judge([sure, unsure], [1, 0], {"base": base}, fresh=False).picked == 1
    harmed = judge([sure, unsure], [1, 0], {"base": base, "encoder": encoder(80.0)})
    assert (harmed.picked, harmed.answer) == (1, "keep the encoder")


@pytest.mark.parametrize(
    ("base", "came", "answer", "waiting"),
    [
        (70.0, None, "use", ()),
        (70.0, 65.0, "use", ()),
        (73.1, 65.0, "keep the base", ()),
        (74.0, None, "keep the base", ()),
        (70.0, 80.0, "keep the encoder", ()),
        (73.0, 73.0, "keep the encoder", ()),
        (72.7, None, "nothing yet", ("base",)),
        (70.0, 72.9, "nothing yet", ("encoder",)),
        (72.7, 72.9, "nothing yet", ("base", "encoder")),
        (73.3, 73.2, "nothing yet", ("encoder",)),
    ],
)
def test_the_four_answers(base, came, answer, waiting):
    references = {"base": scores(base, seeds=9)} | ({} if came is None else {"encoder": encoder(came)})
    found = judge(FINALISTS, [0], references, looks=FIRST_LOOK)
    assert (found.answer, found.open) == (answer, waiting)
    assert (found.seeds is None) == (answer != "nothing yet")
    assert waiting == () or found.seeds > 5
    against = KEPT.get(answer) or next(iter(waiting), None)
    trainings = [*found.gains.get(against, ()), *([found.base_over_encoder] if against == "encoder" else [])]
    assert found.most == max((gain.high for gain in trainings), default=None)


def test_what_is_sure_to_be_less_than_the_noise_floor_is_not_worth_it():
    many = [scores(70.01, 0.4, 200), scores(70.0, 0.4, 200)]
    found = judge(many, [0], {"base": scores(70.0, 0.4, 300)})
    assert found.gains["base"][0].gain > 0
    assert found.gains["base"][0].high < found.floor.std
    assert found.answer == "keep the base"


def test_intervals_hold_for_all_finalists_at_this_look_with_spreads_that_are_not_pooled():
    base = scores(70.0, 0.2, 9)
    found = judge(FINALISTS, [0], {"base": base, "baseline": scores(69.0)}, looks=FIRST_LOOK, goals=2)
    common = common_spread([*FINALISTS, base, scores(69.0)])
    for finalist, gain in zip(FINALISTS, found.gains["base"], strict=True):
        alone = compare(finalist, base, common=common)
        wide = alone.error.half_width(0.05 * share(1) / 3 / 2)
        assert (gain.low, gain.high) == pytest.approx((alone.gain - wide, alone.gain + wide))
    widths = [gain.high - gain.low for gain in found.gains["base"]]
    assert widths[2] < widths[0] < widths[1]
    assert len(found.gains["baseline"]) == 3


def test_without_fresh_items_or_a_second_seed_or_a_base_there_is_no_verdict():
    sure = {"base": scores(60.0, seeds=9)}
    assert judge(FINALISTS, [0], sure).answer == "use"
    chosen_by = judge(FINALISTS, [0], sure, fresh=False)
    assert (chosen_by.answer, chosen_by.open, chosen_by.most) == ("nothing yet", (), None)
    assert chosen_by.gains["base"][0].gain == pytest.approx(13.0)
    single = judge([Sample(np.array([73.0]), (0,))], [0], sure)
    assert (single.answer, single.open) == ("nothing yet", ("base",))
    assert judge(FINALISTS, [0], {"encoder": encoder(50.0)}).answer == "nothing yet"
    nobody_knows = judge([Sample(np.array([73.0]), (0,))], [0], {"base": Sample(np.array([70.0]), (0,))})
    assert nobody_knows.seeds is None
    assert judge([Sample(np.array([50.0]), (0,))], [0], sure).seeds is None  # a loss is not worth proving


def test_no_number_of_seeds_settles_what_items_leave_open():
    random = np.random.default_rng(0)
    of_items = [random.normal(0, 2 / math.sqrt(200), 200) for _ in range(2)]
    few = [
        Sample(scores(mean).values, tuple(range(5)), False, np.tile(own - own.mean(), (5, 1)), "few")
        for mean, own in zip((71.0, 70.0), of_items, strict=True)
    ]
    assert judge(few[:1], [0], {"base": few[1]}).seeds == math.inf
    bare = [Sample(one.values, one.seeds) for one in few]
    assert judge(bare[:1], [0], {"base": bare[1]}).answer == "use"  # negative control: by seeds alone it is sure


def test_later_looks_need_more_seeds():
    sooner, later = (judge(FINALISTS, [0], {"base": scores(72.7)}, looks=2.0, later=each) for each in (None, 20.0))
    assert later.seeds > sooner.seeds


def test_the_noise_floor_is_pooled_where_recipes_are_alike_in_it():
    alike = NoiseFloor.of([scores(70.0, 0.3), scores(71.0, 0.5, 9), scores(71.0, 0.5, 9), encoder(60.0)])
    assert alike.std == pytest.approx(math.sqrt((4 * 0.09 + 8 * 0.25) / 12))
    assert alike.freedom == 12
    assert alike.by_recipe == pytest.approx((0.3, 0.5, 0.5, None))
    for wide in (0.0, 3.0):
        unlike = NoiseFloor.of([scores(70.0, 0.3), scores(71.0, wide), scores(72.0, 0.3, 4)])
        assert unlike.std is None
        assert unlike.under(scores(70.0, 0.3), scores(71.0, 0.3)) == pytest.approx(0.3)
    assert NoiseFloor.of([encoder(60.0)]).std is None


def test_no_noise_floor_is_known_of_few_seeds():
    """Spreads of three and four seeds that differ threefold may be alike, and may be not: nobody knows."""
    few = [scores(79.0, 1.83, 3), scores(69.8, 0.63, 4)]
    assert stats.bartlett(*(one.values for one in few)).pvalue > UNLIKE
    assert NoiseFloor.of(few).std is None
    reach = [math.sqrt(freedom / stats.chi2.ppf(0.025, freedom)) for freedom in (FEWEST_FREEDOM, FEWEST_FREEDOM - 1)]
    assert reach[0] < 2 < reach[1]


def test_spreads_are_called_unlike_as_bartlett_has_it():
    random, floors = np.random.default_rng(0), []
    for _ in range(100):
        samples = [Sample(random.normal(size=seeds), tuple(range(seeds))) for seeds in (5, 5, 5, 9)]
        floors.append(
            (NoiseFloor.of(samples).std is None, stats.bartlett(*(one.values for one in samples)).pvalue < 0.05)
        )
    assert all(ours == scipys for ours, scipys in floors)
    assert len(set(floors)) == 2


def test_a_planned_gain_is_shown_as_often_as_foretold():
    planned, found = plan(Spread(1.0, 8), 3, 4, looks=FIRST_LOOK), []
    for number in range(100):
        random = np.random.default_rng([7, number])
        runs = [
            random.normal(mean, 1.0, seeds) for mean, seeds in zip((planned.gain, 0, 0, 0), (4, 4, 4, 7), strict=True)
        ]
        samples = [Sample(values, tuple(range(len(values)))) for values in runs]
        found.append(judge(samples[:3], [0], {"base": samples[3]}, looks=FIRST_LOOK).answer == "use")
    assert np.mean(found) == pytest.approx(POWER, abs=0.12)
    assert planned.needed[2.0] < planned.needed[1.0] < planned.needed[0.5]


def test_what_does_not_scatter_shows_any_gain_and_the_base_runs_more_often():
    assert plan(Spread(0.0, 8), 3, 5).gain == 0.0
    assert [base_seeds(count, 5) for count in (1, 3, 4)] == [6, 11, 12]


@pytest.mark.parametrize(
    ("trainings", "size"),
    [(0, (0, 0)), (1, (0, 1)), (3, (1, 1)), (4, (1, 2)), (10, (1, 5)), (23, (1, 11)), (24, (2, 8))],
)
def test_finals_have_the_size_that_shows_most(trainings, size):
    assert finalists_for(trainings) == size
    assert (size[0] + 1) * size[1] <= trainings


def sound(found: Found) -> None:
    """Bounds that so few searches keep but for one case in some hundred."""
    assert found.wrong.value <= 0.1
    assert found.covered.value >= 0.9
    assert found.all_covered.value >= 0.88


@pytest.mark.parametrize(
    ("name", "searches"),
    [("equal, seeds move both scores alike", 30), *(slow_case(name, 100) for name in KINDS if "better" not in name)],
)
def test_equal_recipes_are_seldom_called_better(name, searches):
    found = calibrate(KINDS[name], searches)
    sound(found)
    assert found.answers["use"].value <= 0.1


@pytest.mark.parametrize(("name", "searches"), [("4 of 40 better", 20), slow_case("4 of 40 better, heavy tails", 100)])
def test_a_planted_gain_is_named_and_shown(name, searches):
    found = calibrate(KINDS[name], searches)
    sound(found)
    assert found.named.value >= 0.9
    assert found.shown.value >= 0.8


def test_recipes_chosen_by_the_test_items_get_no_verdict():
    """Negative control: by the spread between seeds alone most of these equal recipes would be called better."""
    kind, found = KINDS["equal, chosen by the test items"], Found()
    judged = [search(MadeUp(kind, np.random.default_rng([1, number])), kind, found) for number in range(20)]
    assert {one.answer for one in judged} == {"nothing yet"}
    assert found.control.value > 0.5


@pytest.mark.parametrize("record", [slow_case("minilm"), slow_case("scenes")])
def test_searches_replayed_from_a_record(record):
    for recorded in Recorded.read(Path(f"benchmarks/recorded/frozen_grid-{record}.parquet")).values():
        sound(calibrate(Kind("equal"), 60, recorded))
        planted = calibrate(Kind("planted", good=4), 60, recorded)
        sound(planted)
        assert planted.shown.value >= 0.8
        sound(calibrate(Kind("as recorded"), 60, recorded, as_recorded=True))


def test_the_table_is_markdown(capsys):
    main(["--searches", "2", "--only", "4 of 40 better"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("| 4 of 40 better | ")
    assert lines[0].count("|") == lines[1].count("|") == lines[2].count("|")


FRONTS = {
    "goals unrelated": (0.0, (1.0,), False),
    "goals alike": (0.9, (1.0,), False),
    "goals against each other": (-0.9, (1.0,), False),
    "unequal spreads": (0.0, (0.15, 0.15, 2.3), False),
    "heavy tails": (0.0, (1.0,), True),
}
"""Finals of two goals: the correlation of what a seed does to both, the spreads of finalists in turn, heavy tails."""


class Fronts:
    """So many finals of three finalists by two goals, each judged as an answer's front is. The first gains so much by
    the first goal, the second by the second, the third nothing. Development scores are the test scores, as for seeds
    that move both alike: the worst case for who is picked."""

    def __init__(self, kind: str, searches: int, gain: float = 0.0, *, plain: bool = False) -> None:
        self.wrong = self.named = self.covered = 0
        for number in range(searches):
            self._search(FRONTS[kind], np.random.default_rng([8, number]), gain, plain)

    def _search(
        self, kind: tuple[float, tuple[float, ...], bool], random: np.random.Generator, gain: float, plain: bool
    ) -> None:
        together, spreads, heavy = kind
        truths = np.array([[gain, 0.0], [0.0, gain], [0.0, 0.0], [0.0, 0.0]])

        def trained(recipe: int, spread: float, seeds: int) -> list[Sample]:
            """By goal."""
            moves = random.standard_normal((seeds, 2))
            moves[:, 1] = together * moves[:, 0] + math.sqrt(1 - together**2) * moves[:, 1]
            moves /= np.sqrt(random.chisquare(4, (seeds, 1)) / 2) if heavy else 1.0
            return [Sample(one, tuple(range(seeds))) for one in (truths[recipe] + spread * moves).T]

        ran = [trained(recipe, spreads[recipe % len(spreads)], 5) for recipe in range(3)]
        base = trained(3, 1.0, base_seeds(3, 5))
        order = pick([[one.mean for one in by_goal] for by_goal in ran])
        samples = [[by_goal[goal] for by_goal in ran] for goal in range(2)]
        looks, goals = (1 / 3, 1) if plain else (FIRST_LOOK, 2)
        front = [
            [judge(samples[goal], [place], {"base": base[goal]}, looks=looks, goals=goals) for goal in range(2)]
            for place in order
        ]
        used = {
            (place, goal)
            for place, own in zip(order, front, strict=True)
            for goal in range(2)
            if own[goal].answer == "use"
        }
        self.wrong += any(truths[one] <= 0 for one in used)
        self.named += {(0, 0), (1, 1)} <= used
        gains = [(front[0][goal].gains["base"][place], truths[place, goal]) for place in range(3) for goal in range(2)]
        self.covered += all(gain.low is not None and gain.low <= true <= gain.high for gain, true in gains)
        member, told = told_by(front)
        assert not used or (order[member], told) in used


@pytest.mark.parametrize(("kind", "searches"), [("goals unrelated", 40), *(slow_case(kind, 400) for kind in FRONTS)])
def test_no_member_of_a_front_is_falsely_called_better_by_any_goal(kind: str, searches: int):
    found = Fronts(kind, searches)
    print(f"{kind}: {100 * found.wrong / searches:.1f} % wrong, all cover in {100 * found.covered / searches:.1f} %")
    assert found.wrong <= 0.05 * searches
    assert found.covered >= 0.93 * searches


@pytest.mark.parametrize(("kind", "searches"), [("goals unrelated", 20), *(slow_case(kind, 100) for kind in FRONTS)])
def test_each_member_is_named_by_the_goal_that_it_gains_by(kind: str, searches: int):
    found = Fronts(kind, searches, 3.0)
    print(f"{kind}: {100 * found.named / searches:.1f} % named, {100 * found.wrong / searches:.1f} % wrong")
    assert found.wrong <= 0.05 * searches
    assert found.named >= 0.5 * searches


def test_a_level_that_finalists_and_goals_do_not_share_is_too_little():
    """The control: each interval for itself, with the whole level."""
    assert Fronts("goals unrelated", 60, plain=True).wrong > 0.05 * 60


def test_a_front_is_told_by_the_first_goal_that_shows_a_member():
    base = scores(70.0, seeds=9)

    def judged(*means: float):
        return [judge([scores(mean)], [0], {"base": base}) for mean in means]

    assert told_by([judged(69, 69), judged(69, 73), judged(68, 74)]) == (1, 1)
    assert told_by([judged(69, 69), judged(73, 73)]) == (1, 0)
    assert told_by([judged(69, 69), judged(68, 70.4)]) == (1, 1)  # nothing can be told yet
    assert told_by([judged(69, 69), judged(68, 68)]) == (0, 0)


def test_the_largest_gain_that_is_left_holds_the_true_one_where_the_base_is_kept():
    """To keep the base is no claim, and often wrong: finalists are one point better, and seeds move them by one."""
    random, left = np.random.default_rng(0), []
    for _ in range(200):
        finalists = [Sample(random.normal(71.0, 1.0, 5), tuple(range(5))) for _ in range(3)]
        base = Sample(random.normal(70.0, 1.0, 11), tuple(range(11)))
        found = judge(finalists, [int(random.integers(3))], {"base": base}, looks=FIRST_LOOK)
        left += [found.most] if found.answer == "keep the base" else []
    assert len(left) > 3
    assert all(most >= 1.0 for most in left)
