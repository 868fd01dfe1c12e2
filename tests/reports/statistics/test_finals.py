"""Finals: who is picked, what is shown, and how often whole searches end in a wrong answer."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmarks.statistics.calibrate_finals import KINDS, AnswerRates, MadeUp, calibrate, main, scheme, search
from reports.facts.looks import level_share
from reports.statistics.finals import (
    INCUMBENTS,
    MOST_PICKED,
    POWER,
    RECORDED_SPREAD,
    Reference,
    borrowed_spread,
    deciding_judgement,
    finalists_for,
    gain_over,
    judge,
    pick,
    plan,
    seeds_wanted,
)
from reports.statistics.power import Spread
from reports.statistics.sample import Sample
from reports.statistics.spreads import FEW_SEEDS, NO_BORROWED_SPREAD
from tests.conftest import slow_case

FIRST_LOOK = 1 / level_share(1)


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
    base, unsure, sure = scores(70.0), scores(72.0, 3.0), scores(72.0)
    assert judge([sure, sure, unsure], [2, 1, 0], {"base": base}).picked == 1
    assert judge([sure, unsure], [0, 1], {"base": base}).picked == 0
    assert judge([sure, unsure], [1, 0], {"base": base}, fresh=False).picked == 1
    harmed = judge([sure, unsure], [1, 0], {"base": base, "encoder": encoder(80.0)})
    assert (harmed.picked, harmed.answer) == (1, "keep the encoder")


@pytest.mark.parametrize(
    ("base", "untrained", "answer", "waiting"),
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
def test_the_four_answers(base, untrained, answer, waiting):
    references = {"base": scores(base)} | ({} if untrained is None else {"encoder": encoder(untrained)})
    verdict = judge(FINALISTS, [0], references, p_factor=FIRST_LOOK)
    assert (verdict.answer, verdict.open) == (answer, waiting)
    seeds = seeds_wanted(verdict, FINALISTS, references, borrowed=NO_BORROWED_SPREAD, p_factor=FIRST_LOOK)
    assert (seeds is None) == (answer != "nothing yet")
    assert waiting == () or seeds > 5
    against = INCUMBENTS.get(answer) or next(iter(waiting), None)
    trainings = [*verdict.gains.get(against, ()), *([verdict.base_over_encoder] if against == "encoder" else [])]
    assert verdict.most == max((gain.high for gain in trainings), default=None)


def test_what_is_sure_to_be_less_than_a_seed_moves_is_not_worth_it():
    many = [scores(70.01, 0.4, 200), scores(70.0, 0.4, 200)]
    verdict = judge(many, [0], {"base": scores(70.0, 0.4, 300)})
    assert verdict.gains["base"][0].gain > 0
    assert verdict.gains["base"][0].high < 0.4
    assert verdict.answer == "keep the base"


def test_each_end_of_an_interval_holds_by_itself_for_all_finalists_at_this_look():
    """As Welch's t test has it, whose degrees of freedom are those of two spreads; a little wary."""
    base = scores(70.0, 0.2)
    verdict = judge(FINALISTS, [0], {"base": base, "baseline": scores(69.0)}, p_factor=FIRST_LOOK, goals=2)
    for finalist, gain in zip(FINALISTS, verdict.gains["base"], strict=True):
        whole = stats.ttest_ind(finalist.values, base.values, equal_var=False)
        low, high = whole.confidence_interval(1 - 2 * 0.05 * level_share(1) / 3 / 2)
        assert high - low <= (gain.high - gain.low) * (1 + 1e-9)
        assert gain.high - gain.low == pytest.approx(high - low, rel=0.15)
    widths = [gain.high - gain.low for gain in verdict.gains["base"]]
    assert widths[2] < widths[0] < widths[1]
    assert len(verdict.gains["baseline"]) == 3
    one_sided = stats.ttest_ind([1.0, 1.3, 0.7], [0.0, 0.3, -0.3], alternative="greater", equal_var=False)
    assert one_sided.pvalue == pytest.approx(0.0076, abs=1e-3)
    assert gain_over(scores(1.0, 0.3, 3), scores(0.0, 0.3, 3), NO_BORROWED_SPREAD, 0.05 / 0.015).low > 0
    assert gain_over(scores(1.0, 0.3, 3), scores(0.0, 0.3, 3), NO_BORROWED_SPREAD, 0.05 / 0.007).low < 0


def test_without_a_finalist_the_base_is_held_against_the_encoder():
    for untrained, answer in ((65.0, "keep the base"), (75.0, "keep the encoder"), (69.9, "nothing yet")):
        references = {"base": scores(70.0), "encoder": encoder(untrained)}
        verdict = judge([], [], references, p_factor=FIRST_LOOK)
        assert (verdict.picked, verdict.answer) == (None, answer)
        assert verdict.open == (("encoder",) if answer == "nothing yet" else ())
        assert answer != "nothing yet" or seeds_wanted(verdict, [], references, borrowed=NO_BORROWED_SPREAD) > 5
    assert judge([], [], {"base": scores(70.0)}).answer == "keep the base"
    assert judge([], [], {"base": scores(70.0), "encoder": encoder(1.0)}, fresh=False).answer == "nothing yet"


def alone(mean: float) -> Sample:
    return Sample(np.array([mean]), (0,))


def seeds_for(finalists: list[Sample], references: dict[Reference, Sample], p_factor: float = 1.0) -> float | None:
    borrowed = borrowed_spread([*finalists, *references.values()])
    return seeds_wanted(judge(finalists, [0], references), finalists, references, borrowed=borrowed, p_factor=p_factor)


def test_one_seed_borrows_what_seeds_move_in_others():
    """At least that of recorded trainings, and of no more degrees of freedom, however many ran twice."""
    twice = [scores(50.0, 2.0, 2), scores(60.0, 2.0, 2)]
    borrowed = borrowed_spread([*twice, *twice, alone(3.0), encoder(4.0)])
    assert borrowed.variance == pytest.approx((3 * 0.81 + 2 * 4.0) / 5)
    assert borrowed.freedom == RECORDED_SPREAD.freedom
    assert borrowed_spread([scores(50.0, 0.1, 5)] * 3 + [scores(60.0, 0.1, 5)]) == RECORDED_SPREAD
    gain = gain_over(alone(75.0), alone(70.0), borrowed)
    wide = stats.t.ppf(0.95, borrowed.freedom) * math.sqrt(2 * borrowed.variance)
    assert (gain.low, gain.high) == pytest.approx((5.0 - wide, 5.0 + wide), rel=0.02)
    assert (
        gain_over(scores(75.0), scores(70.0), borrowed).low
        == gain_over(scores(75.0), scores(70.0), NO_BORROWED_SPREAD).low
    )


@pytest.mark.parametrize(
    ("first", "second", "variance"),
    [
        (1, 2, 1.5 * (3 * 0.81 + 4.0) / 4),
        (2, 2, (2.43 + 8) / 5),
        (3, 3, 2 / 3 * (2.43 + 16) / 7),
        (1, 3, 4 / 3 * (2.43 + 8) / 5),
    ],
)
def test_what_few_seeds_moved_counts_beside_what_is_borrowed(first, second, variance):
    """By degrees of freedom, and of no more of these than the borrowed one alone has."""
    own, other = (
        alone(mean) if seeds == 1 else scores(mean, 2.0, seeds) for mean, seeds in ((75.0, first), (70.0, second))
    )
    gain = gain_over(own, other, RECORDED_SPREAD)
    assert gain.high - gain.gain == pytest.approx(
        stats.t.ppf(0.95, RECORDED_SPREAD.freedom) * math.sqrt(variance), rel=0.02
    )


@pytest.mark.parametrize(("seeds", "alike"), [(3, False), (FEW_SEEDS + 1, True)])
def test_four_seeds_stand_on_their_own_spread(seeds: int, alike: bool):
    first, second = scores(75.0, 1.0, seeds), scores(70.0, 0.2, seeds)
    own, more = (
        gain_over(first, second, borrowed).low for borrowed in (RECORDED_SPREAD, replace(RECORDED_SPREAD, variance=9.0))
    )
    assert bool(own == more) == alike


def test_where_nothing_ran_twice_recorded_trainings_lend_and_what_measured_lower_is_not_used():
    assert borrowed_spread([alone(1.0), encoder(1.0)]) is RECORDED_SPREAD
    for untrained, answer in ((None, "use"), (60.0, "use"), (74.0, "nothing yet"), (80.0, "keep the encoder")):
        references = {"base": alone(70.0)} | ({} if untrained is None else {"encoder": encoder(untrained)})
        assert judge([alone(75.0)], [0], references, borrowed=RECORDED_SPREAD).answer == answer
    assert judge([alone(75.0)], [0], {"base": alone(70.0)}).answer == "nothing yet"  # where nothing is borrowed
    assert judge([alone(69.0)], [0], {"base": alone(70.0)}).answer == "keep the base"
    assert judge([alone(69.0)], [0], {"base": alone(70.0), "encoder": encoder(1.0)}).open == ("encoder",)


def test_without_fresh_items_or_a_second_seed_or_a_base_there_is_no_verdict():
    sure = {"base": scores(60.0)}
    assert judge(FINALISTS, [0], sure).answer == "use"
    chosen_by = judge(FINALISTS, [0], sure, fresh=False)
    assert (chosen_by.answer, chosen_by.open, chosen_by.most) == ("nothing yet", (), None)
    assert chosen_by.gains["base"][0].gain == pytest.approx(13.0)
    single = judge([alone(73.0)], [0], sure)
    assert (single.answer, single.open) == ("nothing yet", ("base",))
    assert judge(FINALISTS, [0], {"encoder": encoder(50.0)}).answer == "nothing yet"
    assert 2 < seeds_for([alone(71.0)], {"base": alone(70.0)}) < math.inf  # by recorded trainings
    assert seeds_for([alone(50.0)], sure) is None  # a loss is not worth proving
    unknown = judge([alone(73.0)], [0], {"base": alone(70.0)})
    assert seeds_wanted(unknown, [alone(73.0)], {"base": alone(70.0)}, borrowed=NO_BORROWED_SPREAD) is None


def test_no_number_of_seeds_settles_what_items_leave_open():
    random = np.random.default_rng(0)
    of_items = [random.normal(0, 2 / math.sqrt(200), 200) for _ in range(2)]
    few = [
        Sample(scores(mean).values, tuple(range(5)), False, np.tile(own - own.mean(), (5, 1)), "few")
        for mean, own in zip((71.0, 70.0), of_items, strict=True)
    ]
    assert seeds_for(few[:1], {"base": few[1]}) == math.inf
    bare = [Sample(sample.values, sample.seeds) for sample in few]
    assert judge(bare[:1], [0], {"base": bare[1]}).answer == "use"  # negative control: by seeds alone it is sure


def test_later_looks_need_more_seeds():
    assert seeds_for(FINALISTS, {"base": scores(72.7)}, 20.0) > seeds_for(FINALISTS, {"base": scores(72.7)}, 2.0)


def test_a_planned_gain_is_shown_as_often_as_foretold():
    planned, shown = plan(Spread(1.0, 8), 3, 4, p_factor=FIRST_LOOK), []
    for number in range(100):
        random = np.random.default_rng([7, number])
        runs = [random.normal(mean, 1.0, 4) for mean in (planned.gain, 0, 0, 0)]
        samples = [Sample(values, tuple(range(len(values)))) for values in runs]
        shown.append(judge(samples[:3], [0], {"base": samples[3]}, p_factor=FIRST_LOOK).answer == "use")
    assert np.mean(shown) == pytest.approx(POWER, abs=0.12)
    assert planned.needed[2.0] < planned.needed[1.0] < planned.needed[0.5]


def test_what_does_not_scatter_shows_any_gain():
    assert plan(Spread(0.0, 8), 3, 5).gain == 0.0


def test_what_one_seed_shows_is_foretold():
    planned, random = plan(Spread(0.4, 8), 1, 1, p_factor=FIRST_LOOK), np.random.default_rng(3)
    pairs = [(alone(random.normal(planned.gain, 0.4)), alone(random.normal(0, 0.4))) for _ in range(500)]
    shown = [
        judge([own], [0], {"base": base}, borrowed=RECORDED_SPREAD, p_factor=FIRST_LOOK).answer == "use"
        for own, base in pairs
    ]
    assert np.mean(shown) == pytest.approx(POWER, abs=0.06)


@pytest.mark.parametrize(
    ("trainings", "size"),
    [(0, (0, 0)), (1, (0, 1)), (3, (1, 1)), (4, (1, 2)), (10, (1, 5)), (23, (1, 11)), (24, (2, 8))],
)
def test_finals_have_the_size_that_shows_most(trainings, size):
    assert finalists_for(trainings) == size
    assert (size[0] + 1) * size[1] <= trainings


def sound(rates: AnswerRates) -> None:
    """Bounds that so few searches keep but for one case in some hundred."""
    assert rates.wrong.value <= 0.1
    assert not rates.covered.shares or rates.covered.value >= 0.88
    assert not rates.all_covered.shares or rates.all_covered.value >= 0.85


TOO_MANY = {
    "equal, one seed, spreads 5 times as recorded": 0.16,
    "equal, one seed, 3 that ran twice, unequal spreads": 0.18,
}
"""Wrong in more than 5 %, as the page says: 11.7 and 11.6 % of 1,000 searches; and in how many at most."""


@pytest.mark.parametrize(
    ("name", "searches"),
    [
        ("equal", 60),
        ("equal, one seed, 3 that ran twice", 60),
        ("training does nothing, the base alone", 60),
        *(slow_case(name, 300) for name in KINDS if "better" not in name),
    ],
)
def test_equal_recipes_are_seldom_called_better(name, searches):
    rates = calibrate(KINDS[name], searches)
    if name in TOO_MANY:
        assert 0.065 < rates.wrong.value <= TOO_MANY[name]
        return
    sound(rates)
    assert rates.wrong.value <= (0.1 if searches < 300 else 0.065)


@pytest.mark.parametrize(("name", "searches"), [("4 of 14 better", 20), slow_case("4 of 14 better, heavy tails", 100)])
def test_a_planted_gain_is_named_and_shown(name, searches):
    rates = calibrate(KINDS[name], searches)
    sound(rates)
    assert rates.named.value >= 0.9
    assert rates.shown.value >= 0.8


def test_the_control_is_wrong_where_finals_are_not():
    """With few items: no items, and the whole level."""
    rates = calibrate(KINDS["equal, 100 items"], 100)
    assert rates.control.value > 0.1 > rates.wrong.value


@pytest.mark.parametrize("size", [slow_case(size) for size in ((0, 2), (1, 2), (1, 5), (2, 5))])
def test_more_trainings_show_more_and_are_wrong_no_more_often(size):
    wrong, shown = scheme(*size, searches=300)
    assert wrong <= 0.065
    assert sorted(shown) == shown


def test_recipes_chosen_by_the_test_items_get_no_verdict():
    """Negative control: by the spread between seeds alone most of these equal recipes would be called better."""
    kind, rates = KINDS["equal, chosen by the test items"], AnswerRates()
    judged = [search(MadeUp(kind, np.random.default_rng([1, number])), kind, rates) for number in range(20)]
    assert {verdict.answer for verdict in judged} == {"nothing yet"}
    assert rates.control.value > 0.3


def test_the_table_is_markdown(capsys):
    main(["--searches", "2", "--only", "4 of 14 better"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("| 4 of 14 better | ")
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
            return [Sample(values, tuple(range(seeds))) for values in (truths[recipe] + spread * moves).T]

        ran = [trained(recipe, spreads[recipe % len(spreads)], 5) for recipe in range(3)]
        base = trained(3, 1.0, 5)
        order = pick([[sample.mean for sample in by_goal] for by_goal in ran])
        samples = [[by_goal[goal] for by_goal in ran] for goal in range(2)]
        p_factor, goals = (1 / 3, 1) if plain else (FIRST_LOOK, 2)
        front = [
            [judge(samples[goal], [place], {"base": base[goal]}, p_factor=p_factor, goals=goals) for goal in range(2)]
            for place in order
        ]
        used = {
            (place, goal)
            for place, own in zip(order, front, strict=True)
            for goal in range(2)
            if own[goal].answer == "use"
        }
        self.wrong += any(truths[pair] <= 0 for pair in used)
        self.named += {(0, 0), (1, 1)} <= used
        gains = [(front[0][goal].gains["base"][place], truths[place, goal]) for place in range(3) for goal in range(2)]
        self.covered += all(gain.low is not None and gain.low <= true <= gain.high for gain, true in gains)
        member, main_goal = deciding_judgement(front)
        assert not used or (order[member], main_goal) in used


@pytest.mark.parametrize(("kind", "searches"), [("goals unrelated", 40), *(slow_case(kind, 400) for kind in FRONTS)])
def test_no_member_of_a_front_is_falsely_called_better_by_any_goal(kind: str, searches: int):
    fronts = Fronts(kind, searches)
    print(f"{kind}: {100 * fronts.wrong / searches:.1f} % wrong, all cover in {100 * fronts.covered / searches:.1f} %")
    assert fronts.wrong <= 0.05 * searches
    assert fronts.covered >= 0.93 * searches


@pytest.mark.parametrize(("kind", "searches"), [("goals unrelated", 20), *(slow_case(kind, 100) for kind in FRONTS)])
def test_each_member_is_named_by_the_goal_that_it_gains_by(kind: str, searches: int):
    fronts = Fronts(kind, searches, 3.0)
    print(f"{kind}: {100 * fronts.named / searches:.1f} % named, {100 * fronts.wrong / searches:.1f} % wrong")
    assert fronts.wrong <= 0.05 * searches
    assert fronts.named >= 0.5 * searches


def test_a_level_that_finalists_and_goals_do_not_share_is_too_little():
    """The control: each interval for itself, with the whole level."""
    assert Fronts("goals unrelated", 60, plain=True).wrong > 0.05 * 60


def test_a_front_is_told_by_the_first_goal_that_shows_a_member():
    base = scores(70.0)

    def judged(*means: float):
        return [judge([scores(mean)], [0], {"base": base}) for mean in means]

    assert deciding_judgement([judged(69, 69), judged(69, 73), judged(68, 74)]) == (1, 1)
    assert deciding_judgement([judged(69, 69), judged(73, 73)]) == (1, 0)
    assert deciding_judgement([judged(69, 69), judged(68, 70.4)]) == (1, 1)  # nothing can be told yet
    assert deciding_judgement([judged(69, 69), judged(68, 68)]) == (0, 0)


def test_the_largest_gain_that_is_left_holds_the_true_one_where_the_base_is_kept():
    """To keep the base is no claim, and often wrong: finalists are one point better, and seeds move them by one."""
    random, left = np.random.default_rng(0), []
    for _ in range(200):
        finalists = [Sample(random.normal(71.0, 1.0, 5), tuple(range(5))) for _ in range(3)]
        base = Sample(random.normal(70.0, 1.0, 5), tuple(range(5)))
        verdict = judge(finalists, [int(random.integers(3))], {"base": base}, p_factor=FIRST_LOOK)
        left += [verdict.most] if verdict.answer == "keep the base" else []
    assert len(left) > 3
    assert all(most >= 1.0 for most in left)
