"""What a study runs next.

A pure object: it is told what ended, and says which trial begins. It knows neither Ray nor a console nor a file, so
that a replay of recorded trainings drives the very object that a study runs by.

In this order:

1. the rows, and a grid;
2. the exploration. Under a limit on the whole study recipes begin on a part of the data (`Ladder`): the best third of
   those seen there goes on to the next larger part, and at last to all of the data;
3. further seeds, where recipes race for them;
4. the finals: the best recipes and what they are compared with, under fresh seeds, seed by seed;
5. a learning curve.

What is explored leaves room for the finals, so a study that has a limit always comes to an answer.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from reports.ledger import Record, is_fresh, trial_key
from reports.ledger.finals import FIRST_FRESH, PART, SHARE
from reports.recipe_names import BASE, part_name
from search_spaces.goals import upward_values
from study.search.budget import Budget, Running
from study.search.choice import by_merit, by_part
from study.search.course import Course, Explored, Explorer
from study.search.finals import Entrant, rounds, seeds_of
from study.search.ladder import DEAR, DIRECT, Ladder, ladder_for, on_part
from study.search.merits import Merit, merits
from study.search.seed_race import StudySeedRace
from study.trial import Trial
from trainables.recipe import Recipe

MOST_TOO_LONG = 8
"""Recipes that a limit has no room for in a row, after which no other one is asked for."""


class Agenda:
    """Says which trial of a study is next."""

    def __init__(
        self,
        course: Course,
        budget: Budget,
        records: Iterable[Record] = (),
        explorer: Explorer | None = None,
        race: StudySeedRace | None = None,
        curve: Callable[[Agenda], Mapping[str, Recipe]] | None = None,
    ) -> None:
        """`records`: of trials that are done already, of which the budget knows. `curve`: the recipes of a learning
        curve by name, asked for once the finals have run."""
        self.course, self.budget, self.explorer, self.race, self.curve = course, budget, explorer, race, curve
        self.finals = course.finals
        """Their size changes once, where a limit has no room for what is usual."""
        self.done = {record.key: record for record in records}
        self.running: dict[str, Trial] = {}
        self.failed: set[str] = set()
        """Keys of those that failed since this agenda was made."""
        self.finalists: list[Entrant] | None = None
        """None until they are chosen."""
        self.direct = False
        """Whether they are chosen by parts of the data alone."""
        self.parts: list[Entrant] | None = None if curve else []
        """Of the learning curve; None until its recipe is known."""
        self.ladder: Ladder | None = None if course.parts else Ladder()
        """Which parts of the data recipes begin on; None until the pace of a training is known."""
        self.closed = explorer is None
        """Whether no more recipe is asked for, nor promoted."""
        self.left_out: dict[str, Trial] = {}
        """By key, those that a limit had no room for when they were looked at last."""
        self._queue: deque[Trial] = deque()
        """Of explored recipes, those that may begin."""
        self._wholes: dict[str, Explored] = {}
        """By the key of a trial on a part of the data, the recipe that it is a part of."""
        self._base = Explored(course.base, BASE)
        self._cuts: dict[tuple[str, float], Recipe | None] = {}
        self._returned: deque[Trial] = deque()
        self._passed = 0  # recipes that were asked for since one began
        self._since: dict[str, float] = {}  # by key of a trial that runs
        self._ranked: tuple[int, list[Merit]] = (-1, [])  # how many were done then
        if self.ladder is not None:
            self._begin_ladder()
        self._know_ladder()
        self._size_finals()

    # --- what is asked of it

    def next(self) -> Trial | None:
        """The trial that begins now; None where none does: for good, once nothing runs."""
        self.left_out = {}
        if self._returned:
            return self._begun(self._returned.popleft())
        for phase in (self._fixed, self._exploration, self._seeds, self._finals, self._curve):
            for trial in phase():
                if not self._is_open(trial):
                    continue
                if self._fits(trial):
                    return self._begun(trial)
                self.left_out[trial.key] = trial
        return None

    def give_back(self, trial: Trial) -> None:
        """A trial that `next` gave does not begin after all, and is the next one."""
        del self.running[trial.key]
        self._returned.append(trial)

    def claim(self, trial: Trial, limited: bool = False) -> bool:
        """Have a trial begin with others, where it may: nobody runs it, and where it is `limited` there is room."""
        if not self._is_open(trial) or (limited and not self._fits(trial)):
            return False
        self._begun(trial)
        return True

    def tell(self, key: str, record: Record | None) -> None:
        """A running trial has its record now, or None where it failed."""
        trial = self.running.pop(key)
        if record is None:
            self.failed.add(key)
        else:
            self.done[key] = record
            self.budget.add(record)
        if is_fresh(trial.seed):
            return  # what a fresh seed says must not reach any choice
        if self.race and not trial.part:
            self.race.tell(trial, trial.seed, record)
        self._know_ladder()
        self._inform(trial, record)
        self._size_finals()

    @property
    def limited(self) -> bool:
        """Whether it came to its end by a limit, which had no room for what was left."""
        if self.budget.seconds_left() <= 0:
            return self.remaining > 0
        return not self.running and bool(self.left_out or self._cut_short or (self.closed and self._queue))

    @property
    def waits(self) -> bool:
        """Whether trials that run may decide what else there is to run."""
        if not self.running:
            return False
        undecided = self.finals is not None and self.finalists is None
        return undecided or not self.closed or self.parts is None or bool(self.race or self.left_out)

    def waiting(self) -> list[Trial]:
        """Those that may begin next, as far as they are chosen."""
        return [*self._returned, *filter(self._is_open, self.course.fixed), *self._queue, *self._known_finals()]

    @property
    def remaining(self) -> int:
        """Trials that have no record yet, those that run included: as many as are known, and at most to come."""
        known = {trial.key: trial for trial in (*self.running.values(), *self.waiting())}
        searched = [trial for trial in known.values() if not is_fresh(trial.seed)]
        unasked = 0 if self.closed or self.explorer is None else self.course.recipes - len(self.explorer.explored)
        chosen = 0 if self.finals is None or self.finalists is not None else self.finals.recipes * self.finals.seeds
        raced = self.race.open(searched) if self.race else 0
        curve = self.finals.of_curve if self.finals and self.parts is None else 0
        further = len(self.course.seeds) - 1 if self.course.first_decides else 0
        first = sum(not trial.row and trial.seed == self.course.seeds[0] for trial in searched)
        return len(known) + max(0, unasked) * len(self.course.seeds) + first * further + chosen + raced + curve

    def room(self) -> float:
        """How many trials like those with the base settings the limits leave room for; infinite without any."""
        base = self.course.base if self.ladder is None or self.closed else self.ladder.first(self.course.base)
        self.budget.expect([base])
        return self.budget.room(base.hash, self._running)

    # --- phases: trials in the order of their begin

    def _fixed(self) -> Iterator[Trial]:
        """With the base settings on the smallest part first: what they take tells the pace of all that follows."""
        if self.ladder is None and self._probe:
            yield self._probe
        yield from self.course.fixed
        if self.ladder is not None and self.ladder.parts:
            yield from self._parts_of(self._base, self.ladder.parts[:1])

    def _exploration(self) -> Iterator[Trial]:
        if self.closed or self.explorer is None or self.ladder is None:
            return
        yield from [*self._queue]
        yield from self._promoted()
        while self._passed < MOST_TOO_LONG and self._may_ask():
            one = self.explorer.ask()
            self._passed += 1
            if one is not None:
                yield from self._enter(one)
        yield from self._promoted(closing=True)
        if all(is_fresh(trial.seed) for trial in self.running.values()):
            self.closed = True

    def _may_ask(self) -> bool:
        """Whether another recipe is wanted, and one like the base settings has room."""
        assert self.explorer is not None
        assert self.ladder is not None
        if len(self.explorer.explored) >= self.course.recipes or not self.explorer.has_more():
            return False
        first = self.ladder.first(self.course.base)
        self.budget.expect([first])
        return self.budget.fits([first.hash], self._running, self._later(bool(self.ladder.parts)))

    def _seeds(self) -> Iterator[Trial]:
        if self.race and not (self._opens_more() or self._cut_short or self.left_out):
            running = [trial for trial in self.running.values() if not is_fresh(trial.seed)]
            yield from self.race.next(self.budget.places, running)

    def _finals(self) -> Iterator[Trial]:
        """Who is in them is known once nothing else runs; until then a place that would be idle takes what they are
        compared with, whoever is in them."""
        if self.finals is None:
            return
        if self.finalists is None:
            running = [trial for trial in self.running.values() if not is_fresh(trial.seed)]
            if self._opens_more() or (running and any(trial.row for trial in running)):
                return
            if not running:
                self.finalists = self._chosen()
        for group in self._rounds():
            there = [trial for trial in group if self._is_open(trial)]
            if there and not self._room_for(there):
                self.left_out |= {trial.key: trial for trial in there}
                return  # a later seed of some would be of no use
            yield from there

    def _curve(self) -> Iterator[Trial]:
        if self.curve is None or self.finals is None or self.finalists is None or self._known_finals():
            return
        if self.parts is None:
            if self.running:
                return
            seeds = self.finals.seeds
            self.parts = [
                Entrant(recipe, name, seeds_of(recipe, seeds, False), part=True)
                for name, recipe in self.curve(self).items()
            ]
        yield from (trial for one in self.parts for trial in one.trials)

    # --- exploration

    def _enter(self, one: Explored) -> list[Trial]:
        """Queue what begins an explored recipe; the explorer is told of what is done already."""
        for trial in self._of_recipe(one):
            if trial.key in self.done or trial.key in self.failed:
                self._inform(trial, self.done.get(trial.key))
        return self._open(one)

    def _open(self, one: Explored) -> list[Trial]:
        opened = [trial for trial in self._of_recipe(one) if self._is_open(trial) and trial not in self._queue]
        self._queue.extend(opened)
        return opened

    def _of_recipe(self, one: Explored) -> list[Trial]:
        """The trials that begin its exploration: on the smallest part, or on all of the data under as many seeds as are
        decided."""
        assert self.ladder is not None
        if parts := self._parts_of(one, self.ladder.parts[:1]):
            return parts
        first = self.done.get(trial_key(one.recipe.hash, self.course.seeds[0]))
        through = not self.course.first_decides or (first is not None and first.status == "finished")
        seeds = (self.course.seeds if through else self.course.seeds[:1]) if one.recipe.uses_seed else [0]
        return [Trial(one.recipe, seed, one.name) for seed in seeds]

    def _parts_of(self, one: Explored, shares: Iterable[float]) -> list[Trial]:
        return [part for share in shares if (part := self._part(one, share))]

    def _part(self, one: Explored, share: float) -> Trial | None:
        """The recipe on a part of its data; None where it trains nothing, or its data cannot be cut."""
        recipe = self._cut(one.recipe, share)
        if recipe is None or not one.recipe.trains:
            return None
        trial = Trial(recipe, PART, part_name(share, one.name), part=True)
        self._wholes[trial.key] = one
        return trial

    def _cut(self, recipe: Recipe, share: float) -> Recipe | None:
        if (recipe.hash, share) not in self._cuts:
            self._cuts[recipe.hash, share] = on_part(recipe, share)
        return self._cuts[recipe.hash, share]

    def _promoted(self, closing: bool = False) -> Iterator[Trial]:
        """Those that go on to the next larger part, the largest first: of all seen on a part the best third; while
        closing whoever is better there than the base settings, the best first, as long as there is room."""
        if self.ladder is None or self.explorer is None:
            return
        for level, share in reversed([*enumerate(self.ladder.parts)]):
            seen = self._seen(share)
            base = seen.pop(self.course.base.hash, None)
            order = sorted(seen, key=lambda key: seen[key], reverse=True)
            best = order if closing else order[: len(order) // self.ladder.ratio]
            for key in best:
                if base is not None and seen[key] <= base:
                    break
                one = next(each for each in self.explorer.asked if each.recipe.hash == key)
                larger = self._parts_of(one, self.ladder.parts[level + 1 : level + 2])
                yield from larger
                if (closing or not larger) and not self.direct:  # its end may have room where its way has none
                    yield Trial(one.recipe, self.course.seeds[0], one.name)

    def _seen(self, share: float) -> dict[str, float]:
        """By the hash of the whole recipe, the scores on that part of the data."""
        assert self.explorer is not None
        found: dict[str, float] = {}
        for one in (self._base, *self.explorer.asked):
            part = self._cut(one.recipe, share)
            record = self.done.get(trial_key(part.hash, PART)) if part else None
            if record is not None and record.status == "finished":
                values = upward_values(self.course.goals, record.scores, record.cost)
                found |= {one.recipe.hash: values[0]} if values else {}
        return found

    def _inform(self, trial: Trial, record: Record | None) -> None:
        """Tell the explorer of a trial."""
        if trial in self._queue:
            self._queue.remove(trial)
        if self.explorer is None:
            return
        if trial.part:
            one = self._wholes[trial.key]
            first = self._parts_of(one, self.ladder.parts[:1]) if self.ladder else []
            if [trial.key] != [part.key for part in first]:
                return  # the explorer knows all recipes by the same part
            if one.recipe.hash == self.course.base.hash:
                self.explorer.tell_row(one.recipe, one.name, [record])
            else:
                self.explorer.tell(one.recipe.hash, self.course.seeds[0], record)
            return
        asked = next((one for one in self.explorer.asked if one.recipe.hash == trial.recipe_hash), None)
        if asked is not None and not (self.ladder and self.ladder.parts):
            self.explorer.tell(trial.recipe_hash, trial.seed, record)
            if self.course.first_decides and trial.seed == self.course.seeds[0]:
                self._open(asked)
        elif trial.row and self.ladder is not None and not self.ladder.parts:
            self._tell_row([one for one in self.course.fixed if one.recipe_hash == trial.recipe_hash])

    def _tell_row(self, trials: Sequence[Trial]) -> None:
        """Once all trials of a row are done."""
        row = trials[0]
        if self.explorer is not None and row.row and all(trial.key in self.done for trial in trials):
            self.explorer.tell_row(row.recipe, row.name, [self.done[trial.key] for trial in trials])

    def _know_ladder(self) -> None:
        """Decide once on which parts of the data recipes begin, by how many whole trainings a limit has room for."""
        if self.ladder is not None:
            return
        rooms, probe = self._trainings([*self.done.values()]), self._probe
        if probe is None or probe.key in self.failed or (rooms is None and probe.key in self.done):
            self.ladder = Ladder()
        elif rooms is not None:
            before = {record.recipe.get(SHARE) for record in self.done.values() if record.seed == PART}
            self.ladder = ladder_for(rooms, self.course.base, before)
        if self.ladder is not None:
            self._begin_ladder()

    def _begin_ladder(self) -> None:
        """Tell the explorer what is done, and queue what earlier runs have asked for."""
        assert self.ladder is not None
        if not self.ladder.parts:
            for _, trials in itertools.groupby(self.course.fixed, lambda trial: trial.recipe_hash):
                self._tell_row([*trials])
        for one in self.explorer.asked if self.explorer else ():
            self._enter(one)

    @property
    def _probe(self) -> Trial | None:
        """The base settings on a small part of their data."""
        return self._part(self._base, Ladder.PROBE)

    # --- finals

    def _size_finals(self) -> None:
        """Fit them, once, into what a limit leaves. There are none where not even the smallest fit: then the base
        settings are compared with the encoder by their own trials."""
        if self.finals is None or not self.finals.fits or not self.budget.limits:
            return
        fixed = {trial.key for trial in self.course.fixed}
        if (rooms := self._trainings([record for key, record in self.done.items() if key not in fixed])) is not None:
            base = self._base_key
            open_rows = sum(one.row and one.recipe.trains and one.key not in self.done for one in self.course.fixed)
            rooms -= open_rows if any(one.key == base for one in self.course.fixed) else 0
            self.finals = self.finals.fitted(rooms, self.course.parts)
            self.direct = bool(self.finals and self.course.parts and self._is_short())

    @property
    def _base_key(self) -> str:
        """Of the trial with the base settings on all of the data."""
        return trial_key(self.course.base.hash, self.course.seeds[0])

    def _is_short(self) -> bool:
        """Whether what is best on a part of the data has no time for a training on all of them before the finals."""
        base = self._base_key
        first = (self.ladder or Ladder()).first(self.course.base)
        self.budget.expect([first])
        begins = [] if base in self.done or base in self.running else [self.course.base.hash]
        return not self.budget.fits([*begins, *[first.hash] * DIRECT], self._running, self._later(part=True))

    def _trainings(self, without: Sequence[Record]) -> float | None:
        """How many whole trainings of the base settings the limits left room for before those `without`, so that a
        study that goes on decides as it did; None while that is not known, or where there is no limit."""
        self.budget.expect([self.course.base])
        return self.budget.trainings(self.course.base.hash, without)

    def _later(self, part: bool) -> list[list[str]]:
        """Recipes of the trials for which what is explored must leave room, stage by stage: where it is a `part` of the
        data a first recipe on all of them, then the finals, then their learning curve."""
        base, best = self.course.base.hash, self._best_so_far()
        stages = [[base]] if part and best is None and not self.direct else []
        if self.finals is None:
            return stages
        own = [trial.recipe_hash for trial in self._known_finals()]
        finalists = [best or base] * self.finals.recipes * self.finals.seeds if self.finalists is None else []
        return [*stages, [*own, *finalists], [base] * self.finals.curve_trainings]

    def _best_so_far(self) -> str | None:
        """The hash of the explored recipe that is the best on all of the data."""
        explored = {one.recipe.hash for one in self.explorer.asked} if self.explorer else set()
        return next((one.recipe_hash for one in self._merits() if one.recipe_hash in explored), None)

    def _merits(self) -> list[Merit]:
        if self._ranked[0] != len(self.done):
            course = self.course
            found = merits(self.done.values(), course.goals, course.limits, self.race, len(course.seeds))
            self._ranked = len(self.done), found
        return self._ranked[1]

    def _chosen(self) -> list[Entrant]:
        """The finalists: of the best on all of the data, or where nothing had the time for that on parts of them."""
        assert self.finals is not None
        explored = {one.recipe.hash: one for one in self.explorer.asked} if self.explorer else {}
        found = by_merit(self._merits(), self.course, self.finals, explored, self._has_room)
        if not found and self._best_so_far() is None and self.ladder is not None:
            seen = map(self._seen, reversed(self.ladder.parts))
            found = by_part(seen, self.finals, explored, self._has_room)
        return found

    def _has_room(self, recipe: Recipe) -> bool:
        """For a recipe under its first fresh seed, beside the base settings under theirs, as far as these are open."""
        first = [Trial(one, FIRST_FRESH, "") for one in (recipe, self.course.base)]
        left = [trial for trial in first if self._is_open(trial)]
        return not left or first[0] not in left or self._room_for(left)

    def _rounds(self) -> list[list[Trial]]:
        return rounds([*(self.finalists or ()), *(self.finals.beside if self.finals else ())])

    def _known_finals(self) -> list[Trial]:
        return [trial for group in self._rounds() for trial in group if self._is_open(trial)]

    def _room_for(self, trials: Sequence[Trial]) -> bool:
        """For a whole round of the finals."""
        self.budget.expect(trial.recipe for trial in trials)
        return self.budget.fits([trial.recipe_hash for trial in trials], self._running)

    # --- small things

    def _is_open(self, trial: Trial) -> bool:
        return not (trial.key in self.done or trial.key in self.running or trial.key in self.failed)

    def _fits(self, trial: Trial) -> bool:
        """Whether the limits have room for it. Rows come first, and finals keep room for nobody. A recipe that takes
        longer on a part of the data than the base settings begins only where there is time for several like it."""
        self.budget.expect([trial.recipe])
        key, later = trial.recipe_hash, [] if trial.row or is_fresh(trial.seed) else self._later(trial.part)
        if trial.part and self.ladder is not None and trial in self._queue:
            usual = self.ladder.first(self.course.base)
            self.budget.expect([usual])
            if self.budget.is_dearer(key, usual.hash):
                return self.budget.fits([key] * DEAR * self.budget.places, self._running, later)
        return self.budget.fits([key], self._running, later)

    @property
    def _running(self) -> list[Running]:
        now = self.budget.now
        return [(trial.recipe_hash, now - self._since[key]) for key, trial in self.running.items()]

    def _begun(self, trial: Trial) -> Trial:
        self._passed = self._passed if trial.row or is_fresh(trial.seed) else 0
        self.running[trial.key], self._since[trial.key] = trial, self.budget.now
        if trial in self._queue:
            self._queue.remove(trial)
        return trial

    def _opens_more(self) -> bool:
        """Whether something before the finals may still begin."""
        if any(self._is_open(trial) and trial.key not in self.left_out for trial in self.course.fixed):
            return True
        if self.closed or self.ladder is None:
            return not self.closed
        queued = any(trial.key not in self.left_out for trial in self._queue)
        return queued or (self._passed < MOST_TOO_LONG and self._may_ask())

    @property
    def _cut_short(self) -> bool:
        """Whether a limit ended the exploration before all recipes were asked for."""
        if self.explorer is None or not self.budget.limits or self._opens_more():
            return False
        return len(self.explorer.explored) < self.course.recipes and self.explorer.has_more()
