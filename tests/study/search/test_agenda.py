"""What an agenda says is next, on simulated time: no Ray, no console, no files."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from reports.ledger import Record, is_fresh
from reports.ledger.finals import PART_SEED, TIE_MARGIN, SoupVariant
from reports.testing import made_record
from search_spaces.goals import searched
from study.rows import as_it_came
from study.search.agenda import Agenda
from study.search.agenda_words import finals_in_words, plan_in_words
from study.search.budget import Budget
from study.search.design import Explored, StudyDesign
from study.search.finals import FINALS_SHARE, SearchFinals
from study.search.ladder import Ladder, on_part
from study.search.seed_race import StudySeedRace
from study.testing.agenda import SimulatedClock, SimulatedTrial, drive
from study.trial import Trial
from tests.conftest import slow_case
from trainables.recipe import Recipe

BASE = Recipe().override({"optimisation.epochs": 1, "optimisation.learning_rate": 2e-5})
MINUTE = 60.0
EPOCH = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
GOALS = searched(("sts",))
RATES = [10 ** (-2 - (number * 77 % 400) / 80) for number in range(400)]
"""Learning rates in an order in which no few of them are near each other."""


class Rates:
    """An explorer of learning rates, each with the next number of epochs."""

    def __init__(self, rates: Sequence[float], proposed: Sequence[Explored] = (), epochs: Sequence[int] = (1,)) -> None:
        self.rates, self.proposed, self.outcomes = [*rates], [*proposed], dict[str, Record | None]()
        self.epochs = epochs

    @property
    def explored(self) -> list[str]:
        return [run.recipe.hash for run in self.proposed]

    def has_more(self) -> bool:
        return len(self.proposed) < len(self.rates)

    def ask(self, share: float) -> Explored | None:
        number = len(self.proposed)
        rate, epochs = self.rates[number], self.epochs[number % len(self.epochs)]
        recipe = BASE.override({"optimisation.learning_rate": rate, "optimisation.epochs": epochs})
        self.proposed.append(Explored(recipe, f"rate {rate:g}"))
        return self.proposed[-1]

    def tell(self, recipe_hash: str, seed: int, record: Record | None) -> None:
        self.outcomes[recipe_hash] = record

    def tell_row(self, recipe: Recipe, name: str, records: Sequence[Record | None]) -> None:
        self.outcomes[recipe.hash] = records[0]


def quality(recipe: Recipe) -> float:
    """The best rate is 1e-3; less data is worse."""
    share = float(str(recipe.flat()["corpus.share"]))
    return 80.0 - 5 * abs(math.log10(recipe.optimisation.learning_rate) + 3) + 4 * math.log2(share)


def outcome(
    whole: float = 3 * MINUTE,
    scoring: float = 6.0,
    begin: float = 0.0,
    batches: int = 0,
    quicker: float = 1.0,
    late: float = 1.0,
    untrained: float = 50.0,
):
    """An epoch of all of the data takes so many seconds, to `begin` a training and its scores a few, whatever part of
    the data it is on. `untrained`: what the encoder scores as it came. `batches`: of an epoch of all of the data, where
    a record tells its steps. `quicker`: what share of that a training on all of the data takes; `late`: how many times
    that every fifth recipe takes on a part."""

    def of(trial: Trial) -> tuple[float, Record]:
        recipe = trial.recipe
        share = float(str(recipe.flat()["corpus.share"])) if recipe.trains else 0.0
        off = quicker if share == 1 else late if int(trial.recipe_hash, 16) % 5 == 0 else 1.0
        steps, ready = whole * share * recipe.optimisation.epochs * off, begin * recipe.trains
        score = quality(recipe) if recipe.trains else untrained
        cost = {"seconds": ready + steps + scoring, "train_seconds": ready + steps, "evaluation_seconds": scoring}
        scores = {"STSBenchmark": {"dev_spearman_cosine": score + 0.01 * (trial.seed % 7)}}
        record = made_record(recipe.flat(), trial.recipe_hash, trial.seed, scores=scores, cost=cost)
        training = {**record.training, "seconds": steps}
        if batches:
            training["steps"] = max(1, int(batches * share)) * recipe.optimisation.epochs
        return cost["seconds"], dataclasses.replace(record, training=training)

    return of


def slow_start(whole: float):
    """To begin its steps takes the first training 42 seconds, which count as steps."""
    usual, first = outcome(whole), itertools.count()

    def of(trial: Trial) -> tuple[float, Record]:
        seconds, record = usual(trial)
        more = 0.7 * MINUTE if trial.recipe.trains and next(first) == 0 else 0.0
        cost = {**record.cost, "seconds": seconds + more, "train_seconds": record.cost["train_seconds"] + more}
        training = {**record.training, "seconds": record.training["seconds"] + more}
        return seconds + more, dataclasses.replace(record, cost=cost, training=training)

    return of


def longer(times: Callable[[Trial], float], **how: float):
    """Trials take so many times as long; the rest as `outcome` has it."""
    usual = outcome(**how)

    def of(trial: Trial) -> tuple[float, Record]:
        _, record = usual(trial)
        cost = {name: times(trial) * seconds for name, seconds in record.cost.items()}
        training = {"steps": round(100 * times(trial)), **record.training}  # more work, not a busy machine
        training["seconds"] *= times(trial)
        return cost["seconds"], dataclasses.replace(record, cost=cost, training=training)

    return of


def agenda(
    minutes: float | None = None,
    rates: Sequence[float] = (),
    places: int = 2,
    before: Sequence[SimulatedTrial] = (),
    proposed: Sequence[Explored] = (),
    epochs: Sequence[int] = (1,),
    **changes,
) -> tuple[Agenda, SimulatedClock, Rates]:
    """Of a study, or of one that goes on: these ran before, and these recipes were asked for."""
    clock = SimulatedClock()
    explorer = Rates(rates or RATES, proposed, epochs)
    limits = {"minutes": minutes} if minutes else {}
    records = kept(before)
    rows = {as_it_came(BASE).hash: "untrained", BASE.hash: "base"}
    fixed = [Trial(as_it_came(BASE), 0, "untrained", True), Trial(BASE, 0, "base", True)]
    finals = SearchFinals(1, 5, BASE, rows)
    how: dict[str, Any] = {
        "goals": GOALS,
        "recipes": len(explorer.rates),
        "finals": finals,
        "allows_parts": bool(minutes),
    }
    design = StudyDesign(fixed=fixed, base=BASE, **{**how, "limits": limits, **changes})
    return Agenda(design, Budget(design.limits, records, places, clock), records, explorer), clock, explorer


def kept(ran: Sequence[SimulatedTrial]) -> list[Record]:
    """Their records, with the times at which they ended."""
    ended = [(run.record, EPOCH + datetime.timedelta(seconds=run.ended)) for run in ran if run.record is not None]
    return [dataclasses.replace(record, finished_at=time.isoformat()) for record, time in ended]


def seeds(ran: Sequence[SimulatedTrial], recipe: Recipe) -> int:
    return sum(is_fresh(run.trial.seed) and run.trial.recipe == recipe and run.record is not None for run in ran)


def test_a_soup_without_room_leaves_a_study_whole() -> None:
    search, clock, _ = agenda(rates=[1e-3])
    drive(search, clock, outcome())
    (pick,) = search.finalists or ()
    models = tuple(trial.key for trial in pick.trials)
    search.plan_soups = lambda: [Trial(pick.recipe, SoupVariant(1.0).seed, "soup", averaged=models)]
    search.progress.fits = lambda *given, **options: False
    assert search.next() is None
    assert not search.limited


def test_a_row_without_room_holds_up_no_finals_and_one_that_has_not_begun_is_not_left_out() -> None:
    """Twenty epochs take twice the limit. A study that goes on is limited only once it has no next trial."""
    search, clock, explorer = agenda(30, RATES[:3], places=1, allows_parts=False)
    long = Trial(BASE.override({"optimisation.epochs": 20}), 0, "long", True)
    design = dataclasses.replace(search.design, fixed=[*search.design.fixed, long])
    search = Agenda(design, Budget(design.limits, (), 1, clock), (), explorer)
    ran = drive(search, clock, outcome())
    assert long.key not in {run.trial.key for run in ran}
    assert seeds(ran, BASE) >= 2
    assert search.limited
    before = [run for run in ran if run.trial.recipe != BASE and not is_fresh(run.trial.seed)]
    again, clock, _ = agenda(limits={"worker_hours": 0.3}, rates=RATES, before=before, proposed=explorer.proposed)
    assert not again.exploration.opens_more
    assert not again.limited
    drive(again, clock, outcome())
    assert again.limited


def test_what_follows_the_finals_comes_also_where_a_limit_leaves_out_several_of_their_rounds() -> None:
    """Each of their trainings takes twice as long as those before."""
    search, clock, _ = agenda(20)
    following = list[Agenda]()
    search.plan_soups = lambda: following.append(search) or []  # type: ignore[func-returns-value]
    ran = drive(search, clock, longer(lambda trial: 2.0 if is_fresh(trial.seed) else 1.0))
    assert search.finals is not None
    assert 1 <= seeds(ran, BASE) <= search.finals.seeds - 2
    assert following


KINDS: dict[str, tuple[dict[str, float], dict[str, Sequence[int]]]] = {
    "time goes into steps": ({}, {}),
    "a training takes long to begin": ({"begin": 0.5 * MINUTE}, {}),
    "epochs differ": ({}, {"epochs": (1, 2, 1, 3)}),
}


QUICK = [(1.7, 1), (1.7, 4), (2.5, 2), (4, 1), (4, 8), (9, 2)]
"""Trainings and places, each with one kind. `make test-long` has all of them, and larger ones."""


@pytest.mark.parametrize(
    ("trainings", "places", "kind"),
    [
        slow_case(
            trainings, places, kind, when=(trainings, places) not in QUICK or (row + column + 1) % len(KINDS) != at
        )
        for row, trainings in enumerate((1.7, 2.5, 4, 9, 25))
        for column, places in enumerate((1, 2, 4, 8, 16))
        for at, kind in enumerate(KINDS)
    ],
)
def test_a_limit_has_an_answer_and_a_larger_one_goes_on(trainings: float, places: int, kind: str) -> None:
    """In time, no trial twice, and under as many seeds of the finalist as of the base settings. Once it is over, the
    same command runs nothing."""
    costs, explorers = KINDS[kind]
    whole = outcome(**costs)(Trial(BASE, 0, "base"))[0] / MINUTE
    ran: list[SimulatedTrial] = []
    proposed: Sequence[Explored] = ()
    for limit in (trainings, trainings, 2 * trainings):
        study, clock, explorer = agenda(limit * whole, RATES[:60], places, ran, proposed, **explorers)
        before, spent = [*ran], study.budget.spent("minutes")
        ran += drive(study, clock, outcome(**costs))
        assert len({run.trial.key for run in ran}) == len(ran)
        assert spent * MINUTE + clock.seconds <= limit * whole * MINUTE
        if limit == trainings and before:
            assert ran == before
        if limit < {1: 3.8, 2: 2.3}.get(places, 1.6):
            continue  # there is room for the base settings alone
        assert study.finals is not None
        (pick,) = study.finalists or ()
        assert seeds(ran, pick.recipe) == seeds(ran, BASE) >= 1
        assert len({run.trial.name for run in ran if not run.trial.row}) >= 4
        proposed = explorer.proposed


@pytest.mark.parametrize(
    ("minutes", "places"),
    [(20, 1), (20, 3), (40, 1), (40, 3), slow_case(40, 2), slow_case(90, 2), slow_case(240, 1), slow_case(240, 3)],
)
def test_a_limit_is_spent_on_exploration_and_finals_that_come_to_their_end(minutes: float, places: int) -> None:
    search, clock, explorer = agenda(minutes, places=places)
    ran = drive(search, clock, outcome())
    assert clock.seconds <= minutes * MINUTE
    assert all(run.record is not None for run in ran)
    (pick,) = search.finalists or ()
    assert seeds(ran, pick.recipe) == seeds(ran, BASE) == search.finals.seeds
    own = [run for run in ran if is_fresh(run.trial.seed) and run.trial.recipe.trains]
    spent = sum(run.ended - run.began for run in ran)
    assert sum(run.ended - run.began for run in own) <= 1.2 * FINALS_SHARE * minutes * MINUTE * places
    assert spent >= 0.5 * minutes * MINUTE * places
    better = sum(quality(run.recipe) > quality(pick.recipe) for run in explorer.proposed)
    assert better <= len(explorer.proposed) / 4
    assert len(explorer.proposed) >= (8 if minutes * places >= 40 else 2)


@pytest.mark.slow
@pytest.mark.parametrize(("minutes", "size"), [(8, (1, 1)), (20, (1, 3)), (60, (1, 9)), (120, (2, 10))])
def test_finals_that_are_asked_for_are_the_most_that_a_limit_leaves_to_them(
    minutes: float, size: tuple[int, int]
) -> None:
    proposed = SearchFinals(2, 10, BASE, {as_it_came(BASE).hash: "untrained", BASE.hash: "base"})
    search, clock, explorer = agenda(minutes, finals=proposed)
    ran = drive(search, clock, outcome())
    assert (search.finals.recipes, search.finals.seeds) == size
    assert seeds(ran, BASE) == search.finals.seeds
    assert len(explorer.proposed) >= 5
    assert ("as 2x10 would leave too little to explore" in plan_in_words(search)) == (size != (2, 10))


@pytest.mark.parametrize(("minutes", "places"), [(8, 1), (4.5, 1), (4, 2), (3, 2)])
def test_a_limit_too_short_for_a_search_names_one_that_does(minutes: float, places: int) -> None:
    """A training takes three minutes. Of two limits none is named: it is not known which is too small. Nor is one where
    recipes have no parts."""
    short, clock, _ = agenda(minutes, places=places)
    ran = drive(short, clock, outcome())
    words = plan_in_words(short)
    assert short.finals is None
    assert {run.trial.name for run in ran if not run.trial.part} == {"untrained", "base"}
    assert clock.seconds <= minutes * MINUTE
    assert "leaves too little to search: the base settings are compared with the original encoder" in words
    least = float(words.partition("minutes=")[2].partition(" ")[0])
    assert least > minutes
    longer, clock, explorer = agenda(least, places=places)
    drive(longer, clock, outcome())
    assert longer.finals is not None
    assert longer.rounds.least("minutes") is None
    assert explorer.proposed
    whole, clock, _ = agenda(minutes, places=places, allows_parts=False)
    drive(whole, clock, outcome())
    assert whole.rounds.least("minutes") is None
    both = Budget({"minutes": minutes, "worker_hours": 5}, (), places, SimulatedClock())
    assert Agenda(short.design, both, ()).rounds.least("minutes") is None


@pytest.mark.parametrize(("minutes", "places"), [(40, 1), (40, 4), slow_case(90, 2)])
def test_recipes_race_for_seeds_under_a_limit_and_finals_have_their_room(minutes: float, places: int) -> None:
    """`--seeds 1:3`: those that may be the best get further seeds before time is over."""
    study, clock, explorer = agenda(minutes, places=places, allows_parts=False)
    race = StudySeedRace(study.design.fixed, range(1), 3, GOALS, None, {})
    budget = Budget(study.design.limits, (), places, clock)
    study = Agenda(study.design, budget, (), explorer, race)
    ran = drive(study, clock, outcome())
    assert clock.seconds <= minutes * MINUTE
    further = [run.trial for run in ran if run.trial.seed in (1, 2)]
    assert further
    assert len(explorer.proposed) >= 3
    (pick,) = study.finalists or ()
    assert seeds(ran, pick.recipe) == seeds(ran, BASE) >= 1


def test_recipes_begin_on_a_part_and_the_better_ones_go_on() -> None:
    search, clock, explorer = agenda(60)
    ran = drive(search, clock, outcome())
    assert search.ladder == Ladder((0.125, 0.5))
    first, second = (
        [run.trial for run in ran if run.trial.recipe.flat().get("corpus.share") == share]
        for share in search.ladder.shares
    )
    assert {trial.seed for trial in (*first, *second)} == {PART_SEED}
    assert 2 <= len(second) <= len(first) / 2
    assert {BASE} < {trial.recipe.override({"corpus.share": 1.0}) for trial in second}
    assert not [run for run in ran if run.trial.seed == 0 and not run.trial.row]
    (pick,) = search.finalists or ()
    assert quality(pick.recipe) == max(quality(run.recipe) for run in explorer.proposed)


@pytest.mark.parametrize("slower", [1.0, 20.0])
@pytest.mark.parametrize("places", [1, 2, 8])
def test_where_the_base_does_not_gain_on_a_part_recipes_begin_on_half(places: int, slower: float) -> None:
    """There what trains least would look best. The ladder waits for the encoder's score, however long that takes."""
    on_probe = quality(BASE.override({"corpus.share": Ladder.PROBE})) + 0.01 * (PART_SEED % 7)
    begun = {}
    for untrained in (on_probe - 1, on_probe, on_probe + 1):
        search, clock, _ = agenda(200 / places, RATES[:30], places)
        ran = drive(search, clock, longer(lambda trial: 1.0 if trial.recipe.trains else slower, untrained=untrained))
        begun[untrained] = search.ladder.shares[0] if search.ladder else None
        shares = [run.trial.recipe.flat()["corpus.share"] for run in ran if run.trial.part]
        assert shares[0] == Ladder.PROBE
        assert search.finalists
    assert [*begun.values()] == [Ladder.PROBE, 0.5, 0.5]


def test_with_time_for_many_the_better_ones_go_on_to_all_of_the_data() -> None:
    """There the base settings have their own row already, and the best is in the finals."""
    search, clock, _ = agenda(120, RATES[:30])
    ran = drive(search, clock, outcome())
    assert search.ladder == Ladder((0.125, 1.0))
    whole = [run.trial for run in ran if run.trial.seed == 0 and run.trial.recipe.trains]
    assert not any(trial.part for trial in whole)
    assert [trial.recipe for trial in whole].count(BASE) == 1
    assert 4 <= len(whole) <= 1 + 30 // 2
    best = max(whole, key=lambda trial: quality(trial.recipe))
    assert [entrant.recipe for entrant in search.finalists or ()] == [best.recipe]
    parts = [run.trial.recipe.flat()["corpus.share"] for run in ran if run.trial.part]
    assert {*parts} == {0.125}


def test_what_gives_way_to_a_much_shorter_training_does_not_go_on() -> None:
    search, clock, _ = agenda(240, [9e-4, *RATES[:39]], epochs=(3, 1))
    ran = drive(search, clock, outcome())

    def gave_way(promoted: SimulatedTrial) -> int:
        """To how many recipes on the smallest part that had ended by then and train for a third as long."""
        parts = [run.trial.recipe for run in ran if run.trial.part and run.ended <= promoted.began]
        whole = promoted.trial.recipe
        shorter = [each for each in parts if each.optimisation.epochs * 3 == whole.optimisation.epochs]
        return sum(quality(each.override({"corpus.share": 1.0})) >= quality(whole) - TIE_MARGIN for each in shorter)

    promoted = [run for run in ran if run.trial.seed == 0 and not run.trial.row]
    assert [run.trial.name for run in promoted if gave_way(run)] == []
    assert {run.trial.recipe.optimisation.epochs for run in promoted} == {1, 3}
    left = [run for run in ran if run.trial.part and run.trial.recipe.optimisation.epochs == 3]
    assert len(left) > 2 * sum(run.trial.recipe.optimisation.epochs == 3 for run in promoted)


def test_looks_take_half_of_a_limit_and_no_recipe_that_could_not_be_judged() -> None:
    """The best recipe takes ten times as long as the others: on a part there is time for it, but not for finals."""
    slow = 1e-3
    search, clock, _ = agenda(20, rates=[slow, 3e-4, 1e-4, 3e-5, 1e-5, 2e-4])
    ran = drive(search, clock, longer(lambda trial: 10.0 if trial.recipe.optimisation.learning_rate == slow else 1.0))
    looks = [run for run in ran if run.trial.part]
    assert {run.trial.recipe.flat()["optimisation.learning_rate"] for run in looks} >= {slow, 3e-4}
    assert max(run.ended for run in looks) <= 10 * MINUTE
    (pick,) = search.finalists or ()
    assert pick.name == "rate 0.0003"
    assert seeds(ran, pick.recipe) == seeds(ran, BASE) >= 2


@pytest.mark.parametrize(("rate", "why"), [(1e-3, "no time is left to judge"), (1e-6, "no recipe was seen above the")])
def test_finals_without_a_finalist_say_why(rate: float, why: str) -> None:
    search, clock, explorer = agenda(20, rates=[rate])
    drive(search, clock, longer(lambda trial: 10.0 if trial.recipe.optimisation.learning_rate == rate else 1.0))
    assert (len(explorer.proposed), search.finalists) == (1, [])
    assert finals_in_words(search).startswith(f"finals: {why}")


@pytest.mark.parametrize(("minutes", "places"), [(24, 1), (26, 2), (30, 2), (80, 2)])
def test_room_is_kept_for_the_best_recipe_though_its_training_is_long(minutes: float, places: int) -> None:
    """One recipe in four takes six times as long as others, and is far better than these on any part of the data."""
    usual = outcome(2 * MINUTE)

    def long_is_better(trial: Trial) -> tuple[float, Record]:
        seconds, record = usual(trial)
        score = quality(trial.recipe) + 20 * (trial.recipe.optimisation.epochs > 1) if trial.recipe.trains else 60.0
        scores = {"STSBenchmark": {"dev_spearman_cosine": score}}
        scored = made_record(trial.recipe.flat(), trial.recipe_hash, trial.seed, scores=scores, cost=record.cost)
        return seconds, dataclasses.replace(scored, training=record.training)

    search, clock, _ = agenda(minutes, places=places, epochs=(1, 1, 1, 6))
    ran = drive(search, clock, long_is_better)
    (pick,) = search.finalists or ()
    assert pick.recipe.optimisation.epochs == 6
    assert seeds(ran, pick.recipe) >= 1


@pytest.mark.parametrize(("ahead", "many"), [(0.2, True), (2.0, False)])
def test_a_long_recipe_keeps_others_from_training_if_it_is_clearly_ahead(ahead: float, many: bool) -> None:
    """The first recipe takes six times as long as others; after it come twelve bad ones, then good ones."""
    usual = outcome(4 * MINUTE)
    search, clock, explorer = agenda(34, places=2, epochs=(6, *[1] * 399))

    def scored(trial: Trial) -> tuple[float, Record]:
        seconds, record = usual(trial)
        rate = trial.recipe.optimisation.learning_rate
        index = next(
            (n for n, each in enumerate(explorer.proposed) if each.recipe.optimisation.learning_rate == rate), -1
        )
        score = 70.0 + (ahead if index == 0 else -5.0 if 0 < index < 13 else 8.0 if index > 0 else 0.0)
        scores = {"STSBenchmark": {"dev_spearman_cosine": score if trial.recipe.trains else 60.0}}
        made = made_record(trial.recipe.flat(), trial.recipe_hash, trial.seed, scores=scores, cost=record.cost)
        return seconds, dataclasses.replace(made, training=record.training)

    drive(search, clock, scored)
    (pick,) = search.finalists or ()
    assert (len(explorer.proposed) > 20) == many
    assert (pick.recipe.optimisation.epochs == 1) == many


def test_the_room_for_whole_finals_is_that_of_the_best_on_a_part() -> None:
    search, clock, explorer = agenda(60, places=1)
    for _ in range(10):
        trial = search.next()
        assert trial is not None
        seconds, record = outcome()(trial)
        clock.seconds += seconds
        search.tell(trial.key, record)
    best = max((each.recipe for each in explorer.proposed if each.recipe.hash in explorer.outcomes), key=quality)
    assert quality(best) > quality(BASE)
    finals, _ = search.exploration.reserved_stages
    assert finals.count(best.hash) == finals.count(BASE.hash) == search.design.finals.seeds


def test_recipes_leave_room_for_finals_with_the_best_so_far() -> None:
    """Which takes ten times as long as they do; an earlier run had asked for all of them. The original encoder, which
    is better than all of them, is no finalist."""
    slow = 1e-3
    times = longer(lambda trial: 10.0 if trial.recipe.optimisation.learning_rate == slow else 1.0, untrained=99.0)
    first, clock, explorer = agenda(rates=[slow, *RATES[:30]], places=1, allows_parts=False)
    ran = drive(first, clock, times)
    before = [run for run in ran[:3] if not is_fresh(run.trial.seed)]
    assert [run.trial.name for run in before] == ["untrained", "base", "rate 0.001"]
    again, clock, _ = agenda(220, explorer.rates, 1, before, explorer.proposed, allows_parts=False)
    kept_for = [*itertools.chain(*again.exploration.reserved_stages)]
    assert kept_for.count(explorer.explored[0]) == kept_for.count(BASE.hash) == 5
    more = drive(again, clock, times)
    (pick,) = again.finalists or ()
    assert pick.name == "rate 0.001"
    assert seeds(more, pick.recipe) == seeds(more, BASE) == 5


def test_a_recipe_whose_finals_would_have_no_room_does_not_begin() -> None:
    """Its training alone would have: it takes six times as long as that of the base settings."""
    search, clock, explorer = agenda(60, [1e-3], places=1, epochs=(6,), allows_parts=False)
    ran = drive(search, clock, outcome())
    assert [run.name for run in explorer.proposed] == ["rate 0.001"]
    assert not [run for run in ran if run.trial.recipe == explorer.proposed[0].recipe]
    assert clock.seconds < 40 * MINUTE


def test_no_finals_begin_before_it_is_known_on_which_part_recipes_begin() -> None:
    """The base settings, which would have told their pace, have failed."""
    search, _, _ = agenda(60)
    probe, untrained, base = (search.next() for _ in range(3))
    assert probe is not None
    assert probe.part
    search.tell(untrained.key, outcome()(untrained)[1])
    search.tell(base.key, None)
    assert search.next() is None
    assert search.awaits_records


def test_who_has_no_room_for_a_seed_is_no_finalist() -> None:
    """The best recipe takes ten times as long as the others."""
    slow = BASE.override({"optimisation.learning_rate": 1e-3}).hash
    search, clock, explorer = agenda(70, rates=[1e-3, 3e-4, 1e-4], places=2, allows_parts=False)
    ran = drive(search, clock, longer(lambda trial: 10.0 if trial.recipe_hash == slow else 1.0))
    (pick,) = search.finalists or ()
    assert pick.recipe.hash in (explorer.proposed[1].recipe.hash, slow)
    assert seeds(ran, pick.recipe) > 0


def test_what_prepares_a_training_takes_no_longer_for_more_data() -> None:
    record = outcome()(Trial(BASE.override({"corpus.share": 0.125}), 0, "part"))[1]
    for prepared, whole in ((0.0, 3 * MINUTE), (20.0, 3 * MINUTE + 20.0)):
        part = 3 * MINUTE / 8
        cost = {"seconds": part + prepared, "train_seconds": part + prepared}
        budget = Budget({"minutes": 60.0}, [dataclasses.replace(record, cost=cost, training={"seconds": part})])
        budget.expect([BASE])
        assert budget.guess("minutes", BASE.hash) == pytest.approx(whole / MINUTE)


def test_a_larger_limit_keeps_to_the_parts_that_there_are() -> None:
    first, clock, explorer = agenda(40)
    ran = drive(first, clock, outcome())
    records = [run.record for run in ran if run.record is not None]
    again, clock, _ = agenda(400)
    again = Agenda(again.design, Budget({"minutes": 400.0}, records, 2, clock), records, explorer)
    assert again.ladder == first.ladder


def test_the_explorer_is_told_of_the_smallest_part_alone() -> None:
    search, clock, explorer = agenda(30)
    drive(search, clock, outcome())
    shares = {record.recipe["corpus.share"] for record in explorer.outcomes.values() if record is not None}
    assert shares == {search.ladder.shares[0] if search.ladder else None}


@pytest.mark.parametrize(("whole", "minutes", "begins"), [(MINUTE, 5, True), (90 * MINUTE, 20, False)])
def test_the_base_settings_begin_where_the_guess_is_too_long_but_may_be_too_high(
    whole: float, minutes: float, begins: bool
) -> None:
    """First steps are slow, and an eighth of the data counts them eight times."""
    search, clock, _ = agenda(minutes, places=1)
    ran = drive(search, clock, slow_start(whole))
    base = [run for run in ran if run.trial.recipe == BASE and not is_fresh(run.trial.seed)]
    guess = search.budget.guess("minutes", BASE.hash)
    assert [run.record is not None for run in base] == [True] * begins
    assert begins or (guess is not None and guess > 60)


@pytest.mark.parametrize(("minutes", "places"), [(7, 1), (16, 1), (5, 2), (14, 2)])
def test_a_search_begins_once_the_base_settings_ended_sooner_than_expected(minutes: float, places: int) -> None:
    """An eighth of the data lets expect 6.6 minutes, and they take one."""
    search, clock, explorer = agenda(minutes, places=places)
    ran = drive(search, clock, slow_start(MINUTE))
    assert len(explorer.proposed) >= 2
    assert search.finals is not None
    assert search.finalists
    assert clock.seconds > 0.6 * 60 * minutes
    assert all(run.record is not None for run in ran)
    assert seeds(ran, search.finalists[0].recipe) >= 1
    assert "recipes on 1/8 of the data" in plan_in_words(search)


def test_a_guess_is_by_the_nearest_training() -> None:
    """Of a recipe that has not run, the whole base settings tell more than an eighth of them."""
    part, whole = (Trial(on_part(BASE, share) or BASE, PART_SEED, "", part=True) for share in (Ladder.PROBE, 1))
    ended = [slow_start(MINUTE)(trial) for trial in (part, whole)]
    budget = Budget({"minutes": 20}, [record for _, record in ended], 1, SimulatedClock())
    other = BASE.override({"optimisation.learning_rate": 1e-4})
    shares = {share: on_part(other, share) or other for share in (Ladder.PROBE, 1)}
    budget.expect(shares.values())
    for (seconds, _), recipe in zip(ended, shares.values(), strict=True):
        assert budget.guess("minutes", recipe.hash) == pytest.approx(seconds / MINUTE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("places", "batches"), [(1, 0), (2, 0), (3, 0), (4, 0), (8, 0), (16, 0), (1, 8), (2, 8), (16, 8)]
)
def test_no_limit_is_spent_without_a_recipe_where_finals_have_room(places: int, batches: int) -> None:
    for minutes in range({1: 12, 2: 8}.get(places, 5) + (batches > 0), 24, 2):
        search, clock, _ = agenda(minutes, places=places)
        ran = drive(search, clock, outcome(batches=batches))
        assert search.finals is not None
        assert search.finalists
        assert sum(run.trial.part and not run.trial.name.endswith("base settings") for run in ran) >= 3


def test_where_time_is_short_the_best_of_a_part_is_a_finalist_at_once() -> None:
    search, clock, explorer = agenda(8)
    ran = drive(search, clock, outcome())
    assert not [run for run in ran if run.trial.seed == 0 and not run.trial.row]
    (pick,) = search.finalists or ()
    assert seeds(ran, pick.recipe) == seeds(ran, BASE) == 1
    assert quality(pick.recipe) == max(quality(run.recipe) for run in explorer.proposed)


@pytest.mark.parametrize(("limit", "places"), [(15, 1), (15, 3), slow_case(40, 2), slow_case(90, 1), slow_case(90, 3)])
def test_killed_at_any_time_a_study_goes_on_with_what_is_done(limit: int, places: int) -> None:
    """No trial that has a record runs again, and finals that have begun keep their size."""
    whole, clock, explorer = agenda(limit, places=places)
    ran = drive(whole, clock, outcome())
    for killed in range(1, limit, max(1, limit // 20)):
        done = [run for run in ran if run.ended <= killed * MINUTE]
        begun = {run.trial.name.rpartition(": ")[2] for run in ran if run.began < killed * MINUTE}
        proposed = [run for run in explorer.proposed if run.name in begun]
        again, clock, _ = agenda(limit, places=places, before=done, proposed=proposed)
        more = drive(again, clock, outcome())
        assert not {run.trial.key for run in more} & {run.trial.key for run in done}
        assert again.ladder == whole.ladder
        assert clock.seconds + killed * MINUTE <= (limit + 4) * MINUTE  # what the kill cut off is not counted
        assert (again.finals is None) == (whole.finals is None)
        if again.finals is None or whole.finals is None:
            continue
        assert again.finals.seeds >= whole.finals.seeds - 1
        (pick,) = again.finalists or ()
        counts = [seeds([*done, *more], recipe) for recipe in (pick.recipe, BASE)]
        assert min(counts) >= again.finals.seeds - 1


def test_a_trial_that_takes_longer_than_guessed_is_cut_off_by_the_clock() -> None:
    search, clock, _ = agenda(30)
    ran = drive(search, clock, longer(lambda trial: 10.0 if is_fresh(trial.seed) else 1.0))
    assert clock.seconds == pytest.approx(30 * MINUTE)
    assert any(run.record is None for run in ran)
    assert search.limited


@pytest.mark.parametrize(("times", "judged"), [(1.0, 3), (2.4, 1), (2.8, 1)])
def test_a_finalist_that_would_end_after_the_limit_is_replaced_by_one_that_has_room(
    times: float, judged: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best recipe trains for three epochs; on all of the data that takes longer than a part let expect."""

    def takes(trial: Trial) -> float:
        return times if trial.recipe.optimisation.epochs == 3 and not trial.part else 1.0

    def finals(before: Sequence[SimulatedTrial] = (), proposed: Sequence[Explored] = ()):
        rates = [1e-3, *(rate for rate in RATES if rate > 2e-3)]
        search, clock, explorer = agenda(40, rates, before=before, proposed=proposed, epochs=(3, *[1] * 400))
        return search, drive(search, clock, longer(takes)), explorer.proposed

    search, ran, proposed = finals()
    (finalist,) = search.finalists or ()
    assert finalist.recipe.optimisation.epochs == judged
    assert seeds(ran, finalist.recipe) >= 1
    assert seeds(ran, BASE) >= 1
    assert finals_in_words(search, ["rate 1"]).endswith(f"{finalist.name}, instead of rate 1, to end within the limit")
    for killed in (26 * MINUTE, 29 * MINUTE):  # a seed of the next one has ended then, none of the first
        done = [run for run in ran if run.ended <= killed]
        again, more, _ = finals(done, [each for each in proposed if each.name in str([run.trial.name for run in ran])])
        assert [each.recipe for each in again.finalists or ()] == [finalist.recipe]
        assert seeds([*done, *more], finalist.recipe) >= 1
    monkeypatch.setattr(Agenda, "step", lambda *step: None)
    search, ran, _ = finals()
    (finalist,) = search.finalists or ()
    assert (seeds(ran, finalist.recipe) > 0) == (judged == 3)


def in_the_finals() -> tuple[Agenda, SimulatedClock, Trial, Trial]:
    """Return a study that runs the first seeds of its finalist and of the base settings, on two places."""
    search, clock, _ = agenda(30, rates=[1e-3, *(rate for rate in RATES if rate > 2e-3)], epochs=(3, *[1] * 400))
    trial = search.next()
    while trial and not is_fresh(trial.seed):
        seconds, record = outcome()(trial)
        clock.seconds += seconds / 2
        search.tell(trial.key, record)
        trial = search.next()
    best, base = sorted(filter(None, (trial, search.next())), key=lambda trial: trial.recipe == BASE)
    return search, clock, best, base


def test_a_replaced_finalist_comes_back_if_its_first_seed_ends_before_that_of_the_next() -> None:
    """A machine that stands still, goes on sooner than its pace lets expect."""
    search, clock, best, base = in_the_finals()
    assert (best.name, base.recipe) == ("rate 0.001", BASE)
    search.tell(base.key, outcome()(base)[1])
    for step in range(1, 11):
        clock.seconds += 20
        search.step(best.key, step, 100)
    following = search.next()
    assert following is not None
    assert following.recipe not in (BASE, best.recipe)
    assert [each.recipe for each in search.finalists or ()] == [following.recipe]
    for _ in range(20):  # Ray Tune asks often
        search.next()
    assert [each.recipe for each in search.finalists or ()] == [following.recipe]
    search.tell(best.key, outcome()(best)[1])
    search.next()
    assert [each.recipe for each in search.finalists or ()] == [best.recipe]


@pytest.mark.parametrize("slower", [0.5, 1.0, 2.0, 4.0])
def test_the_length_of_a_running_final_is_guessed_from_its_pace(slower: float) -> None:
    search, clock, _ = agenda(30, places=1)
    while (trial := search.next()) and not (is_fresh(trial.seed) and trial.recipe != BASE):
        seconds, record = outcome()(trial)
        clock.seconds += seconds
        search.tell(trial.key, record)
    assert trial is not None
    guess = functools.partial(search.budget.guess, "minutes", trial.recipe_hash)
    for step in range(1, 41):
        clock.seconds += slower * 4.5
        search.step(trial.key, step, 40)
        known = slower if step > 2 else 1.0  # a twentieth of its steps, from the first on
        assert guess() == pytest.approx((known * 180 + 6.0) / 60)
    clock.seconds += 300  # its machine dies; it goes on from its checkpoint
    search.step(trial.key, 20, 40)
    clock.seconds += 18
    search.step(trial.key, 24, 40)
    assert guess() == pytest.approx(186 / 60)
    search.tell(trial.key, outcome()(trial)[1])
    assert guess() == pytest.approx(186 / 60)


@pytest.mark.parametrize("places", [1, 2])
@pytest.mark.parametrize(
    ("training", "scoring", "ends", "scored"),
    [(9.0, 1.2, 10.3, True), (9.0, 5.0, 10.5, False), (10.2, 0.0, 10.0, False)],
)
def test_what_every_answer_needs_is_waited_for_where_its_scores_alone_are_missing(
    training: float, scoring: float, ends: float, scored: bool, places: int
) -> None:
    """All in minutes, of which the limit is ten; on one place it began after a tenth of one."""

    def late(trial: Trial) -> tuple[float, Record | None]:
        seconds, record = usual(trial)
        if trial.recipe != BASE:
            return seconds, record
        cost = {"train_seconds": training * MINUTE, "seconds": (training + scoring) * MINUTE}
        return cost["seconds"], dataclasses.replace(record, cost=cost)

    usual = outcome()
    search, clock, _ = agenda(10, places=places, allows_parts=False)
    search.progress.fits = lambda *given, **options: True  # the guess was too low
    ran = drive(search, clock, late)
    base = next(run for run in ran if run.trial.recipe == BASE)
    assert all(run.began <= min(run.ended, 10 * MINUTE) for run in ran)
    waited = 0.1 if scored and places == 2 else 0.0
    assert (base.ended, base.record is not None) == (pytest.approx((ends - waited) * MINUTE), scored)
    assert ends <= 10 + search.budget.grace / MINUTE
