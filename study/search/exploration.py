"""Which recipes a search explores, and on how much of the data.

Under a limit on the whole study, recipes train on a part of the data (`Ladder`) for half of the limit. The best third
of the recipes on a part goes on to the next larger part, or to all of the data. The best recipes on the largest part
are the finalists. Without such a limit recipes train on all of the data.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from reports.facts.recipe_names import BASE
from reports.ledger import Record, is_fresh, training_seconds, trial_key
from reports.ledger.finals import PART_SEED, SHARE, TIE_MARGIN, part_name
from search_spaces.goals import upward_values
from search_spaces.limits import exceeded
from study.search.choice import PartScores, best_on_parts
from study.search.design import Explored, Explorer
from study.search.final_rounds import FinalRounds
from study.search.ladder import PARTS_SHARE, RATIO, WHOLE, Ladder, ladder_for, on_part
from study.search.progress import StudyProgress
from study.trial import Trial
from trainables.recipe import Recipe

MOST_ASKS_WITHOUT_ROOM = 16
"""After this many recipes in a row for which a limit has no room, no further recipe is asked for."""

RACING = 2
"""If recipes race for further seeds, exploration leaves room in a limit for the further seeds of this many recipes."""


class Exploration:
    """Yields the trials of explored recipes, and leaves room for the finals."""

    def __init__(self, progress: StudyProgress, finals: FinalRounds, explorer: Explorer | None) -> None:
        self.progress, self.finals, self.explorer, self.design = progress, finals, explorer, progress.design
        self.ladder: Ladder | None = None if self.design.allows_parts else Ladder()
        """The parts of the data that recipes begin on; None until the cost of a training is known."""
        self.closed = explorer is None
        """Whether the exploration is over: no further recipe is asked for or promoted to a larger part."""
        self.queue: deque[Trial] = deque()
        """Trials of explored recipes that may begin."""
        self._wholes: dict[str, Explored] = {}  # by the key of a trial on a part, its recipe on all of the data
        self._base = Explored(self.design.base, BASE)
        self._cuts: dict[tuple[str, float], Recipe | None] = {}
        self._asks_without_room = 0  # recipes that were asked for since the last trial began
        self._scored: tuple[tuple[int, int], Sequence[PartScores]] = (-1, -1), []
        """The numbers of done trials and of proposed recipes, and the result of `by_parts` for these."""
        if self.ladder is not None:
            self._begin_ladder()
        self._know_ladder()

    # --- what the agenda calls

    def pace(self) -> Iterator[Trial]:
        """Yield the base settings on the smallest part: from their cost the costs of all later trials are guessed."""
        if self.ladder is None and self._probe:
            yield self._probe

    def base_part(self) -> list[Trial]:
        """Return the trial of the base settings on the part that recipes begin on; empty if they begin on all data."""
        return self._parts_of(self._base, self.ladder.shares[:1]) if self.ladder else []

    def trials(self) -> Iterator[Trial]:
        """Yield trials in the order in which they begin, as far as there is room."""
        self._know_ladder()  # the original encoder may have been left out since a trial ended
        if self.closed or self.explorer is None or self.ladder is None:
            return
        yield from [*self.queue]
        yield from self._promoted()
        while self._asks_without_room < MOST_ASKS_WITHOUT_ROOM and self._may_ask():
            explored = self.explorer.ask(self.ladder.first_share)
            self._asks_without_room += 1
            if explored is not None:
                yield from self._enter(explored)
        if not self.progress.searching:
            self.closed = True

    def fits(self, trial: Trial) -> bool:
        """Whether limits have room for the trial and then for finals, both with its recipe and with the best so far."""
        if trial.key in self._wholes:
            return self._may_train(trial.recipe, self._wholes[trial.key].recipe)
        self.progress.budget.expect([trial.recipe])
        further = trial.seed >= len(self.design.seeds)
        later = [
            self.finals.coming_stages(picked) if further else self._reserved_for(picked)
            for picked in {self._best, trial.recipe_hash}
        ]
        return all(self.progress.fits([trial.recipe], each, self.decides) for each in later)

    def begin(self, trial: Trial) -> None:
        """Remove a trial that begins from the queue."""
        self._asks_without_room = 0
        self._unqueue(trial)

    def tell(self, trial: Trial, record: Record | None) -> None:
        """Take the record of a trial that is not one of the finals; None: the trial failed."""
        self._know_ladder()
        self._inform(trial, record)

    def decides(self, trial: Trial) -> bool:
        """Whether the score of a running trial may decide which recipes are finalists."""
        return trial.part or (not is_fresh(trial.seed) and (not self._by_parts or trial.key in self._wholes))

    @property
    def opens_more(self) -> bool:
        """Whether a further trial of the exploration may begin."""
        if self.closed or self.ladder is None:
            return not self.closed
        queued = any(trial.key not in self.progress.left_out for trial in self.queue)
        return queued or (self._asks_without_room < MOST_ASKS_WITHOUT_ROOM and self._may_ask())

    @property
    def unasked(self) -> int:
        """Largest number of recipes that are still to be asked for."""
        if self.closed or self.explorer is None:
            return 0
        return max(0, self.design.recipes - len(self.explorer.explored))

    @property
    def wants_more(self) -> bool:
        """Whether recipes are left to ask for, even if the limits have no room for them."""
        explorer = self.explorer
        return explorer is not None and len(explorer.explored) < self.design.recipes and explorer.has_more()

    @property
    def reserved_stages(self) -> list[list[str]]:
        """Trials that need room after a further recipe: recipe hashes in stages, which begin one after another."""
        return (
            self._whole_finals(self._leader or self.design.base) if self._by_parts else self._reserved_for(self._best)
        )

    @property
    def recipes(self) -> Mapping[str, Explored]:
        """All recipes that were asked for, by hash."""
        return {explored.recipe.hash: explored for explored in self.explorer.proposed} if self.explorer else {}

    @property
    def first(self) -> Recipe:
        """The base settings on the part that recipes begin on; once the exploration is over, on all of the data."""
        return self.design.base if self.ladder is None or self.closed else self.ladder.first(self.design.base)

    def by_parts(self) -> Sequence[PartScores]:
        """Return the scores on each part of the data, the largest part first."""
        count = len(self.progress.done), len(self.explorer.proposed) if self.explorer else 0
        if self.ladder and self._scored[0] != count:
            self._scored = count, [self._on_part(share) for share in reversed(self.ladder.shares)]
        return self._scored[1]

    def records(self, share: float) -> dict[str, Record]:
        """Return the records on that share of the data, of explored recipes and the base settings, by the hash of the
        recipe on all of its data."""
        rows = {trial.recipe_hash for trial in self.design.fixed} if share == WHOLE else set()
        explored = (each for each in self.recipes.values() if each.recipe.hash not in rows and each.recipe.trains)
        records: dict[str, Record] = {}
        for each in (self._base, *explored):
            part = self._cut(each.recipe, share)
            record = self.progress.done.get(trial_key(part.hash, self._seed(share))) if part else None
            records |= {each.recipe.hash: record} if record else {}
        return records

    # --- recipes

    def _may_ask(self) -> bool:
        """Whether another recipe is wanted, and the limits have room for a recipe that costs as much as the base."""
        base = self.design.base
        if not self.wants_more:
            return False
        if self._by_parts:
            return self._may_train(self.first, base)
        return self.progress.fits([base], self.reserved_stages, self.decides)

    def _may_train(self, part: Recipe, whole: Recipe) -> bool:
        """Whether `part`, the recipe `whole` on a part of its data, may train. Afterwards there must be room to compare
        `whole` with the base settings, and the best recipe so far. If that is clearly better and finals have several
        seeds, it must stay one that can be judged (`_leader`). And `part` must fit into the limit's share for parts, or
        leave room for whole finals."""
        base, progress, leader = self.design.base, self.progress, self._leader
        if leader == whole:
            leader = None
        progress.budget.expect([whole, base])
        if self.finals.size is None or not progress.fits([part], [[whole.hash, base.hash]], self.decides):
            return False
        if leader:
            stays = self.finals.size.seeds > 1 and self._leads_clearly(leader)
            later = [[leader.hash], [base.hash]] if stays else [[leader.hash, base.hash]]
            if not progress.fits([part], later, self.decides):
                return False
        return progress.fits([part], (), self.decides, PARTS_SHARE) or all(
            progress.fits([part], self._whole_finals(each), self.decides) for each in (whole, leader) if each
        )

    @property
    def _leader(self) -> Recipe | None:
        """The best recipe on parts of the data that beats the base settings there and can still be judged. There must
        be room for a trial of the recipe and, after it, for one of the base settings; not for both at once: in recorded
        studies, a recipe that just fitted beside the base settings cost more seeds than it was worth."""
        base, progress, recipes = self.design.base, self.progress, self.recipes
        for better in best_on_parts(self.by_parts(), base.hash):
            for recipe in (recipes[key].recipe for key in better):
                progress.budget.expect([recipe, base])
                if progress.fits([recipe], [[base.hash]], self.decides):
                    return recipe
        return None

    def _leads_clearly(self, recipe: Recipe) -> bool:
        """Whether the recipe leads the base settings by over `TIE_MARGIN` points, on their largest common part."""
        base = self.design.base.hash
        both = (part.scores for part in self.by_parts() if {recipe.hash, base} <= part.scores.keys())
        return next((scores[recipe.hash] - scores[base] > TIE_MARGIN for scores in both), False)

    def _whole_finals(self, whole: Recipe) -> list[list[str]]:
        """Return two stages of recipe hashes: usual finals with this recipe, a learning curve; empty without finals."""
        if (finals := self.design.finals) is None:
            return []
        references = [entrant.recipe.hash for entrant in finals.references for _ in entrant.seeds]
        curve = [self.design.base.hash] * finals.curve_trainings
        return [[*[whole.hash] * finals.recipes * finals.seeds, *references], curve]

    def _reserved_for(self, picked: str | None) -> list[list[str]]:
        """Return the trials that exploration must leave room for, as stages of recipe hashes: seeds of a race, then
        finals. `picked`: the hash of the finalist; None: a recipe that costs as much as the base settings."""
        return [[picked or self.design.base.hash] * self._raced, *self.finals.coming_stages(picked)]

    @property
    def _by_parts(self) -> bool:
        """Whether recipes begin on parts of the data."""
        return self.ladder is not None and bool(self.ladder.shares)

    @property
    def _raced(self) -> int:
        """Number of further seeds in a race to leave room for: those of `RACING` recipes that have not begun yet."""
        if self.progress.race is None or not self.progress.budget.limits:
            return 0
        least, most = len(self.design.seeds), self.progress.race.race.most
        seeds = [trial.seed for trial in self.progress.running.values()]
        seeds += [record.seed for record in self.progress.done.values()]
        return max(0, RACING * (most - least) - sum(least <= seed < most for seed in seeds))

    @property
    def _best(self) -> str | None:
        """Hash of the best explored recipe on all of the data; None if there is none."""
        return next((key for each in self.progress.ranked() if (key := each.recipe_hash) in self.recipes), None)

    def _enter(self, explored: Explored) -> list[Trial]:
        """Queue the first trials of an explored recipe. Trials that are done already are reported to the explorer."""
        for trial in self._of_recipe(explored):
            if trial.key in self.progress.done or trial.key in self.progress.failed:
                self._inform(trial, self.progress.done.get(trial.key))
        return self._open(explored)

    def _open(self, explored: Explored) -> list[Trial]:
        trials = filter(self.progress.is_open, self._of_recipe(explored))
        opened = [trial for trial in trials if trial not in self.queue]
        self.queue.extend(opened)
        return opened

    def _of_recipe(self, explored: Explored) -> list[Trial]:
        """Return the first trials of an explored recipe: one on the smallest part, or, without parts, those on all of
        the data. These have all seeds, or only the first one while its result decides whether further seeds run."""
        assert self.ladder is not None
        if parts := self._parts_of(explored, self.ladder.shares[:1]):
            return parts
        first = self.progress.done.get(trial_key(explored.recipe.hash, self.design.seeds[0]))
        through = not self.design.first_decides or (first is not None and first.status == "finished")
        seeds = (self.design.seeds if through else self.design.seeds[:1]) if explored.recipe.uses_seed else [0]
        return [Trial(explored.recipe, seed, explored.name) for seed in seeds]

    def _unqueue(self, trial: Trial) -> None:
        if trial in self.queue:
            self.queue.remove(trial)

    def _inform(self, trial: Trial, record: Record | None) -> None:
        """Pass the record of a trial to the explorer; None: the trial failed."""
        self._unqueue(trial)
        if self.explorer is None:
            return
        begins_whole = self.ladder is not None and not self.ladder.shares
        if trial.part:
            whole = self._wholes[trial.key]
            first = self._parts_of(whole, self.ladder.shares[:1]) if self.ladder else []
            if trial not in first:
                return  # the explorer learns all recipes on the same part
            if whole.recipe.hash == self.design.base.hash:
                self.explorer.tell_row(whole.recipe, whole.name, [record])
            else:
                self.explorer.tell(whole.recipe.hash, self.design.seeds[0], record)
        elif begins_whole and (explored := self.recipes.get(trial.recipe_hash)):
            self.explorer.tell(trial.recipe_hash, trial.seed, record)
            if self.design.first_decides and trial.seed == self.design.seeds[0]:
                self._open(explored)
        elif begins_whole and trial.row:
            self._tell_row([other for other in self.design.fixed if other.recipe_hash == trial.recipe_hash])

    def _tell_row(self, trials: Sequence[Trial]) -> None:
        """Pass a row's records to the explorer if all of the row's trials, which are `trials`, are done."""
        row, done = trials[0], self.progress.done
        if self.explorer is not None and row.row and all(trial.key in done for trial in trials):
            self.explorer.tell_row(row.recipe, row.name, [done[trial.key] for trial in trials])

    # --- parts of the data

    @property
    def _probe(self) -> Trial | None:
        return self._part(self._base, Ladder.PROBE)

    @property
    def _untrained(self) -> Trial | None:
        """The row of the original encoder; None if that row does not run."""
        key = self.design.finals.untrained.hash if self.design.finals else ""
        return next((trial for trial in self.design.fixed if trial.recipe_hash == key), None)

    def _know_ladder(self) -> None:
        """Decide once on which part of the data recipes begin, by the number of trainings that a limit has room for."""
        if self.ladder is not None:
            return
        done = self.progress.done
        rooms, probe, untrained = self.progress.trainings([*done.values()]), self._probe, self._untrained
        if probe is None or probe.key in self.progress.failed or (rooms is None and probe.key in done):
            self.ladder = Ladder()
        elif rooms is not None and not (untrained and self.progress.awaits(untrained)):
            parts = [record for key, record in done.items() if record.seed == PART_SEED and key != probe.key]
            before = {record.recipe.get(SHARE) for record in parts}
            if parts and self.records(WHOLE).keys() - {self.design.base.hash}:
                before.add(self.design.base.flat()[SHARE])
            training = done[probe.key].training if probe.key in done else {}
            steps = training.get("planned_steps", training.get("steps"))
            trained, before_it = (self._score(done.get(trial.key)) if trial else None for trial in (probe, untrained))
            gains = None if trained is None or before_it is None else trained > before_it
            self.ladder = ladder_for(rooms, self.progress.budget.places, self.design.base, before, steps, gains)
        if self.ladder is not None:
            self._begin_ladder()

    def _begin_ladder(self) -> None:
        """Report all that is done to the explorer, and queue the recipes that earlier runs asked for."""
        assert self.ladder is not None
        if not self.ladder.shares:
            for _, trials in itertools.groupby(self.design.fixed, lambda trial: trial.recipe_hash):
                self._tell_row([*trials])
        for explored in self.explorer.proposed if self.explorer else ():
            self._enter(explored)

    def _parts_of(self, explored: Explored, shares: Iterable[float]) -> list[Trial]:
        return [part for share in shares if (part := self._part(explored, share))]

    def _part(self, explored: Explored, share: float) -> Trial | None:
        """Return the recipe's trial on that share of its data; None if it trains nothing, or if the data cannot be
        cut."""
        recipe = self._cut(explored.recipe, share)
        if recipe is None or not explored.recipe.trains:
            return None
        part = share < WHOLE
        name = part_name(share, explored.name) if part else explored.name
        trial = Trial(recipe, self._seed(share), name, part=part)
        self._wholes[trial.key] = explored
        return trial

    def _seed(self, share: float) -> int:
        """Return the seed of all trainings on that share of the data."""
        return PART_SEED if share < WHOLE else self.design.seeds[0]

    def _cut(self, recipe: Recipe, share: float) -> Recipe | None:
        if (recipe.hash, share) not in self._cuts:
            self._cuts[recipe.hash, share] = on_part(recipe, share)
        return self._cuts[recipe.hash, share]

    def _promoted(self) -> Iterator[Trial]:
        """Yield trials on the next larger part for the best third of the recipes on each part, the largest part first.
        Recipes are skipped if they do not beat the base settings there, or if a much shorter training is as good."""
        assert self.ladder is not None
        shares, parts = reversed(self.ladder.shares[1:]), self.by_parts()[1:]
        for larger, part in zip(shares, parts, strict=True):
            base = self.design.base.hash
            scores = {key: score for key, score in part.scores.items() if key != base}
            explored = PartScores(scores, part.seconds)
            best = part.above(base)[: len(scores) // RATIO]
            better = [self.recipes[key] for key in best if not explored.has_shorter_alternative(key)]
            for recipe in (self._base, *better) if better else ():
                yield from self._parts_of(recipe, [larger])

    def _score(self, record: Record | None) -> float | None:
        """Return the value of the first goal, the higher the better; None if the trial did not finish."""
        if record is None or record.status != "finished":
            return None
        values = upward_values(self.design.goals, record.scores, record.cost)
        return values[0] if values else None

    def _on_part(self, share: float) -> PartScores:
        scores: dict[str, float] = {}
        records = self.records(share)
        for key, record in records.items():
            score = self._score(record)
            if score is not None and not exceeded(self.design.limits, [record.cost]):
                scores[key] = score
        seconds = training_seconds(records.values())
        return PartScores(scores, {key: seconds.get(record.key, 0.0) for key, record in records.items()})
