"""The answer of a study: which settings to use, their gain, how sure it is, and what got worse. Facts without words.

    answer = Answer.of(results)
    answer.kind, answer.picked[0].gains["base"]

A search ends in finals (`reports.ledger.finals`): `reports.statistics.finals` picks among the finalists by fresh
development scores, and judges the pick. `reports/words/answer.py` makes the sentences. Every report writes the answer
to `RESULTS/answer.json`; docs/answer.md describes the fields.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

from reports.facts.answer_parts import Check, Finalist, Remembered, RowsAnswer, TaskGain
from reports.facts.best_model import best_first, ranking
from reports.facts.cached import cached
from reports.facts.evidence import Evidence
from reports.facts.finals_evidence import VARIED, FinalsEvidence, noise
from reports.facts.findings import Findings
from reports.facts.gain import Gain
from reports.facts.guards import Flag, grouped
from reports.facts.learning_curve import DataCurve, data_curve, trained_on
from reports.facts.looks import level_share, look_number
from reports.facts.part_scores import Ahead, MisleadingPart, ahead, busy, misleading_part
from reports.facts.quantity import Quantity, goals_quantity
from reports.facts.question import kinds_of_tasks, plain_quantity
from reports.facts.recipe_names import farthest, name_of
from reports.facts.results import Results
from reports.facts.soup import GENERAL, Ship, shipped
from reports.facts.unfinished import Extent, finals_extent, finals_judged
from reports.ledger import plain, seconds_of
from reports.ledger.finals import SHARE
from reports.statistics.finals import (
    INCUMBENTS,
    Judgement,
    Reference,
    deciding_judgement,
    judge,
    least_shown,
    pick,
    seeds_wanted,
)
from trainables.senteval.tasks import TASKS

SCHEMA = 8
"""Version of `answer.json`. It changes if a field is removed or changes its meaning, not if a field is added."""
FILE = "answer.json"
DIGITS = 6
"""Decimals of the numbers in `answer.json`: further digits differ from machine to machine."""

Kind = Literal["use", "base", "as it came", "open", "unfinished", "rows"]
"""After a search with finals: `use` the picked settings; keep the `base` settings; keep the original encoder (`as it
came`); nothing can be decided yet (`open`); the search runs or was killed (`unfinished`). Without finals: `rows`."""
KINDS: Mapping[str, Kind] = {
    "use": "use",
    "keep the base": "base",
    "keep the encoder": "as it came",
    "nothing yet": "open",
}
"""Maps each answer of `reports.statistics.finals` to the kind of the study's answer."""


@dataclass(frozen=True)
class Answer:
    """The answer of a study."""

    kind: Kind
    figure: str | None = None
    """Name of the figure (test number) in which the finalists' gains are measured."""
    items: int | None = None
    """Number of test items; None if predictions were not kept, so that intervals count only seeds."""
    rows_of_items: int | None = None
    """Number of rows of these items: rows that share a text are one item. None if predictions were not kept."""
    chosen_on: int | None = None
    """Number of development items on which recipes were chosen; None if predictions were not kept."""
    fresh_items: bool = True
    """Whether the test items had no part in the choice of recipes. If they had, there is no verdict."""
    picked: tuple[Finalist, ...] = ()
    """The picked finalist: to use, or to consider if `kind` is not `use`. With several goals a front, best first."""
    finalists: tuple[Finalist, ...] = ()
    """All finalists, including the picked ones; the best by the search's scores first."""
    left_out: tuple[str, ...] = ()
    """Names of the finalists that ran under no fresh seed, because a limit ended the study."""
    failed: tuple[str, ...] = ()
    """Names of the finalists without a finished fresh seed, because their trials failed."""
    references: Mapping[str, Finalist] = field(default_factory=dict)
    """The recipes that finalists are compared with; the keys are `base`, `baseline` and `encoder`."""
    checks: tuple[Check, ...] = ()
    """Second scores, which need no fitted classifier, of the recipe to use and of the picked one; may be empty."""
    beside: tuple[TaskGain, ...] = ()
    """Gains of the picked recipe over the base in components of the goals that the figure lacks; fresh tasks only."""
    lost: tuple[TaskGain, ...] = ()
    """If `kind` is `base` or `as it came`: the figure's tasks on which the picked recipe is shown to be worse."""
    others: tuple[TaskGain, ...] = ()
    """Gains on tasks outside the figure, lowest first; not on tasks that chose the recipe or that a flag forbids."""
    general: TaskGain | None = None
    """The gain in `others` over the encoder on a check of general English; None if a goal uses such a check."""
    flags: tuple[str, ...] = ()
    """Names of guards whose flags forbid a verdict on the picked recipe: nothing can be decided then."""
    warnings: tuple[Flag, ...] = ()
    """Flags on the finals' trials, except flags on what a search varies on purpose."""
    remembered: Remembered | None = None
    """Gain of the recipe to use over the encoder on unseen test items; None without seen items or a shown gain."""
    open: tuple[str, ...] = ()
    """If `kind` is `open`: the references over which no gain is shown."""
    most: float | None = None
    """Unless `kind` is `use`: largest gain that the data allow a finalist over the first of `open` or what is kept."""
    seeds: int | None = None
    """If `kind` is `open`: number of seeds of each recipe that would settle the answer, for gains as measured."""
    never: bool = False
    """If `kind` is `open`: whether no number of seeds would settle the answer, because test items are too few."""
    shows: float | None = None
    """If `kind` is `open`: smallest gain that these test items show in 80 % of studies, with any number of seeds."""
    lent: float | None = None
    """Standard deviation over seeds that is assumed for recipes of at most three seeds; None if it is not needed."""
    noise: tuple[float, ...] = ()
    """Standard deviations of scores over seeds, one for each recipe with enough seeds to measure its own."""
    tried: int = 0
    """Number of recipes that were trained, rows and explored ones, including those on a part of the data only."""
    whole: int = 0
    """Number of the `tried` recipes that were trained on all of the data, so that they could be finalists."""
    unrun: int = 0
    """Number of recipes that the search chose and that no trial ran."""
    ahead: Ahead | None = None
    """The best of the recipes that a limit left out of the finals."""
    busy: tuple[float, float] | None = None
    """Seconds of two trainings of the same work that differ widely because the machine was busy. None without any."""
    misleading: MisleadingPart | None = None
    """The part of the data on which recipes began, if training the base settings on it gains nothing; else None."""
    seconds: float = 0.0
    """Seconds of all trials, including the finals."""
    trained_on: int | None = None
    """Number of pairs, texts or documents (see `unit`) that the base settings train on; None if no record stores it."""
    unit: str = ""
    share: float | None = None
    """Share of a person's own rows on which the study trained; None if it trained on all of them."""
    trials: Extent | None = None
    """Done and planned trials of the finals."""
    rows: RowsAnswer | None = None
    data: DataCurve | None = None
    """Scores of the recipe to use on parts of its data; None if nobody asked for them, or nothing is to be trained."""

    ship: Ship | None = None
    """Which model of the recipe to use is shipped; None if no models were averaged."""

    @property
    def base(self) -> Finalist | None:
        """The base settings; None if they have not run."""
        return self.references.get("base")

    @property
    def incumbent(self) -> Reference:
        """The reference that is kept if no recipe of the search is to be used."""
        return "encoder" if self.kind == "as it came" else "base"

    @property
    def base_over_encoder(self) -> Gain | None:
        """Gain of the base settings over the encoder; None if one of them has no figure."""
        return self.base.gains.get("encoder") if self.base else None

    @property
    def averaged(self) -> str | None:
        """Folder of the average to ship, within the results folder; None if one seed's model is shipped."""
        return self.ship.averaged if self.ship else None

    @property
    def keeps_base(self) -> bool:
        """Whether the base settings are to be used, at least for now: no recipe is shown to be better, and the base
        settings are shown to be better than the original encoder."""
        over = self.base_over_encoder
        return self.kind == "base" or (self.kind == "open" and over is not None and over.above)

    @property
    def base_leads(self) -> bool:
        """Whether the answer is `open` and no finalist measured higher than the base settings."""
        if self.kind != "open" or not self.picked:
            return self.kind == "open"
        over = self.picked[0].gains.get("base")
        return over is not None and over.gain <= 0

    @property
    def to_train(self) -> Finalist | None:
        """The recipe to train, also by `--recipe`: the picked recipe, or the base if `keeps_base` or `base_leads`.
        None if none is known yet, or if the original encoder is kept."""
        if self.keeps_base or self.base_leads:
            return self.base
        return self.picked[0] if self.kind in ("use", "open") and self.picked else None

    @property
    def undecided(self) -> Finalist | None:
        """The picked recipe if it measured higher than the base settings, which are kept as no gain is shown."""
        leads = self.kind == "open" and self.keeps_base and not self.base_leads
        return self.picked[0] if leads and not self.flags else None

    @property
    def to_use(self) -> Finalist | None:
        """The recipe to use: `to_train`, or the encoder if it is kept untrained."""
        return self.to_train or (self.references.get("encoder") if self.kind == "as it came" else None)

    @staticmethod
    @cached
    def of(results: Results) -> Answer:
        """Return the answer of these results; computed once."""
        return _answer(results)

    def as_json(self) -> dict[str, Any]:
        """Return the answer for `json.dumps`: points and seconds; unknown values are None."""
        fields = {**vars(self), "warnings": [flag.as_json() for flag in self.warnings]}
        return {"schema": SCHEMA, **rounded(fields)}


def rounded(value: Any) -> Any:
    """Return data for JSON with rounded numbers, which are the same on every machine."""
    return plain(value, DIGITS)


def _answer(results: Results) -> Answer:
    parts = {results.counted_as(recipe.hash) for _, recipe in results.whole_recipes.values()}
    whole = {results.counted_as(key) for key in results.recipes if key in results.trained}
    whole |= parts & {results.counted_as(key) for key in results.finals}
    ran = {record.recipe_hash for record in results.of_all_trials} | {*results.failures, *results.failed_parts}
    ran |= {recipe.hash for _, recipe in results.whole_recipes.values()}
    sums = Answer(
        "rows",
        tried=len(whole | parts),
        unrun=len({*results.explored} - ran),
        ahead=ahead(results),
        busy=busy(results),
        misleading=misleading_part(results),
        whole=len(whole),
        seconds=math.fsum(seconds_of(record, "seconds") or 0.0 for record in results.trials_and_soups),
        share=_share(results),
        trials=finals_extent(results),
    )
    if sums.trials is None:
        return _of_rows(results, sums)
    ready = finals_judged(results)
    if not ready:
        return dataclasses.replace(sums, kind="open" if results.info.limited else "unfinished")
    return _Finals(results, ready).answer(sums)


def _share(results: Results) -> float | None:
    share = results.base.flat().get(SHARE, 1.0)
    return share if results.info.request.train and isinstance(share, float) and share < 1 else None


class _Finals(FinalsEvidence):
    """The finals of a study, and the study's answer that follows from the finals."""

    def answer(self, sums: Answer) -> Answer:
        if self.figure is None:
            finalists_only = tuple(self._of(key, None) for key in self.finalists)
            return dataclasses.replace(
                sums, kind="open", finalists=finalists_only, left_out=self.left_out, failed=self.failed
            )
        development = [self.development(key) for key in self.finalists]
        upward = [[value for value in values if value is not None] for values in development]
        whole = all(len(values) == len(self.results.measured_goals) > 0 for values in upward)
        order = pick(upward) if whole and upward else [0][: len(upward)]
        judged, chosen, figure = self._judged(order, self.figure)
        other_parts = self._judge_other_parts(figure)
        finalists = [self._of(key, figure, judged, index, other_parts) for index, key in enumerate(self.finalists)]
        more_seeds, shows = self._further(judged, figure)
        never = more_seeds == math.inf
        first = self.finalists[chosen[0]] if chosen else self.references["base"]
        parts = finalists[chosen[0]].beside.items() if chosen else ()
        about = [first] if judged.fresh else [first, self.references.get("base", first)]
        flags = [flag.guard for key in about for flag in self.forbidding(key, figure, gains_at_once=self._figures)]
        others = self._others(first, figure, [name for name in ("base", "encoder") if chosen or name == "encoder"])
        general = next((other for other in others if other.task in GENERAL and other.over == "encoder"), None)
        unjudged = not finalists and bool(sums.ahead or self.left_out or self.failed)
        answer = dataclasses.replace(
            sums,
            kind="open" if unjudged and judged.answer == "keep the base" else KINDS[judged.answer],
            figure=figure.name,
            items=self._items(first, figure),
            rows_of_items=self.results.predictions.items_and_rows(self.recipes[first][0], figure.parts)[1],
            chosen_on=self.chosen_on(first),
            fresh_items=judged.fresh,
            picked=tuple(finalists[index] for index in chosen),
            finalists=tuple(finalists),
            left_out=self.left_out,
            failed=self.failed,
            references=self._compared_with(figure, judged),
            beside=tuple(TaskGain(task, "base", gain) for task, gain in parts),
            lost=tuple(self._lost(first, figure, INCUMBENTS[judged.answer])) if judged.answer in INCUMBENTS else (),
            others=tuple(others),
            general=None if self.needs & {*GENERAL} else general,
            flags=tuple(dict.fromkeys(flags)),
            open=judged.open,
            most=judged.most,
            seeds=None if more_seeds is None or never else math.ceil(more_seeds),
            never=never,
            shows=shows,
            warnings=tuple(flag for flag in grouped(self.evidence.flags.all) if flag.guard not in VARIED),
            lent=self.borrowed_std(figure),
            noise=noise(self.samples(figure, self.recipes), measured_alone=True),
            data=data_curve(self.evidence, figure, self.p_factor_of_pick),
        )
        rows, unit = trained_on(self.recipes.get(self.references.get("base", ""), ()))
        used = answer.to_train
        ship = shipped(self, used.recipe, figure) if used else None
        of_use = {each.recipe: None for each in (answer.to_use, *answer.picked[:1]) if each}
        checks = tuple(check for key in of_use if (check := self.checked(key, figure)))
        seen = self.remembered(used.recipe, figure, self._figures) if used and not answer.flags else None
        return dataclasses.replace(answer, ship=ship, checks=checks, remembered=seen, trained_on=rows, unit=unit)

    def _compared_with(self, figure: Quantity, judged: Judgement) -> dict[str, Finalist]:
        """Return the references by name. The base contains its gains over the encoder and the baseline, and its values
        of the searched keys; the encoder contains its gain over the baseline."""
        base, encoder, baseline = (self.references.get(name, "") for name in ("base", "encoder", "baseline"))
        p_factor = self.p_factor * self._figures
        gains = {
            "base": {"encoder": judged.base_over_encoder, "baseline": self.gain(base, baseline, figure, p_factor)},
            "encoder": {"baseline": self.gain(encoder, baseline, figure, p_factor)},
        }
        flat, domains = self.results.base.flat(), self.results.space.domains
        searched = {domain.key: flat[domain.key] for domain in domains if domain.key in flat}
        compared = {}
        for name, key in self.references.items():
            row = self._of(key, figure)
            own = {other: Gain.of(gain) for other, gain in gains.get(name, {}).items() if gain}
            compared[name] = dataclasses.replace(row, gains=own, settings=searched if name == "base" else row.settings)
        return compared

    def _judged(self, order: Sequence[int], figure: Quantity) -> tuple[Judgement, Sequence[int], Quantity]:
        """Return the judgement, the indices of the picked finalists, and the figure that decides. One goal: at most one
        is picked. Several: the members of the front that any figure says to use; without any, the whole front."""
        if not self._several or not order:
            judged = self._judge(order, figure)
            return judged, [] if judged.picked is None else [judged.picked], figure
        figures = [figure, *self._parts]
        means = [sample.mean for sample in self.samples(figure, self.finalists)]
        ranked = sorted(order, key=lambda item: -means[item])
        front = [[self._judge([index], item, len(figures)) for item in figures] for index in ranked]
        member, deciding = deciding_judgement(front)
        used = [rank for rank, own in enumerate(front) if any(item.answer == "use" for item in own)]
        others = [rank for rank in used or range(len(front)) if rank != member]
        others.sort(key=lambda rank: front[rank][deciding].answer != "use")
        return front[member][deciding], [ranked[rank] for rank in (member, *others)], figures[deciding]

    @cached_property
    def _several(self) -> bool:
        """Whether the picked finalists are a front, because there are several goals."""
        return len(self.results.measured_goals) > 1

    @property
    def _figures(self) -> int:
        """Number of figures that are judged together."""
        return 1 + len(self._parts) if self._several else 1

    def _judge(self, order: Sequence[int], figure: Quantity, goals: int = 1) -> Judgement:
        above = self.evidence.results.above_limits
        within = [index for index in order if self.finalists[index] not in above] or order
        free = [index for index in within if not self.forbidding(self.finalists[index], figure, gains_at_once=goals)]
        base = self.references.get("base")
        flagged = base is not None and bool(self.forbidding(base, figure, gains_at_once=goals))
        sound = bool(free) if order else not flagged
        judged = partial(
            judge,
            self.samples(figure, self.finalists),
            free or order,
            self.compared(figure),
            borrowed=self.borrowed(figure),
            p_factor=self.p_factor,
            goals=goals,
        )
        whole = judged(fresh=sound and not self.chosen_by & figure.tasks)
        return judged(fresh=False) if flagged and whole.answer in ("keep the base", "nothing yet") else whole

    def _further(self, judged: Judgement, figure: Quantity) -> tuple[float | None, float | None]:
        """Return the number of seeds that settle an open answer, and the smallest gain that the items can show."""
        goals, later = self._figures, 1 / level_share(look_number(self.results, "finals") + 1)
        finalists, compared = self.samples(figure, self.finalists), self.compared(figure)
        seeds = seeds_wanted(judged, finalists, compared, borrowed=self.borrowed(figure), p_factor=later, goals=goals)
        if seeds == math.inf and any(each.count == 1 and not each.fixed for each in [*finalists, *compared.values()]):
            return None, None  # effects of one seed on single items look like effects of the items
        return seeds, least_shown(judged, finalists, compared, p_factor=later, goals=goals)

    def _items(self, recipe_hash: str, figure: Quantity) -> int | None:
        sample = self.evidence.sample(recipe_hash, figure)
        return None if sample is None or sample.effects is None else sample.effects.shape[1]

    def _of(
        self,
        recipe_hash: str,
        figure: Quantity | None,
        judged: Judgement | None = None,
        index: int = 0,
        other_parts: Sequence[tuple[Quantity, Judgement]] = (),
    ) -> Finalist:
        records, results = self.recipes[recipe_hash], self.results
        flat, base = records[0].recipe, results.base.flat()
        unlike = [key for key in flat if flat[key] != base.get(key, ...)]  # a row may change keys that are not searched
        saved = [record for record in best_first(results, records) if record.checkpoint]
        took = [seconds for record in records if (seconds := seconds_of(record, "train_seconds")) is not None]
        gained = judged.gains.items() if judged else ()
        gains: dict[str, Gain] = {name: Gain.of(by_finalist[index]) for name, by_finalist in gained}
        return Finalist(
            recipe_hash,
            name_of(results, recipe_hash),
            {key: flat[key] for key in dict.fromkeys([*farthest(flat, base, results.space.domains), *unlike])},
            self.level(recipe_hash, figure) if figure else None,
            self.development(recipe_hash),
            len(records),
            len(self.evidence.collapses.get(recipe_hash, ())) + len(self.ready[recipe_hash]) - len(records),
            math.fsum(took) / len(took) if took else None,
            gains,
            {
                part.name: Gain.of(own.gains["base"][index])
                for part, own in other_parts
                if not self.forbidding(recipe_hash, part, ["base"])
            },
            saved[0].checkpoint if saved else None,
        )

    @cached_property
    def _parts(self) -> list[Quantity]:
        """Components of the goals that the figure lacks, on fresh tasks that all finalists and the base have. If
        averages judge the goals: only components with other kinds of tasks than the figure."""
        figure = self.figure
        fresh, parts = self.first.scores.keys() - self.chosen_by, dict[str, Quantity]()
        for goal in (part for whole in self.results.goals for part in whole.parts or (whole,)):
            part = goals_quantity([goal], fresh)
            if part is None or figure is None or part == figure:
                continue
            if self.results.own_figure or not kinds_of_tasks(part.tasks) & kinds_of_tasks(figure.tasks):
                of = f" ({', '.join(sorted(part.tasks))})" if part.tasks != {goal.short} else ""
                parts[goal.short] = Quantity(f"{goal.short}{of}", part.weights)
        base = self.references.get("base")
        compared = [*self.finalists, base] if base else []
        return [
            quantity
            for quantity in parts.values()
            if compared and all(self.evidence.sample(key, quantity) for key in compared)
        ]

    def _judge_other_parts(self, figure: Quantity) -> list[tuple[Quantity, Judgement]]:
        """Judge `_parts`, and with several goals `self.figure`; without `figure`, which decides the answer."""
        figures = [self.figure, *self._parts] if self._several and self.figure else self._parts
        order = [0][: len(self.finalists)]
        return [(part, self._judge(order, part, len(figures))) for part in figures if part is not figure]

    def _others(self, recipe_hash: str, figure: Quantity, over: Sequence[str]) -> list[TaskGain]:
        """Gains on tasks outside the figure, without tasks that a flag forbids to compare."""
        scores = self.recipes[recipe_hash][0].scores
        names = [task for task in scores if task in TASKS and task not in figure.tasks | self.chosen_by]
        tasks = [plain_quantity(task, scores[task]) for task in names]
        return self.by_task(recipe_hash, tasks, [name for name in over if name in self.references])

    def _lost(self, recipe_hash: str, figure: Quantity, over: Reference) -> list[TaskGain]:
        others = self.by_task(recipe_hash, figure.by_task().values(), [over])
        return [other for other in others if other.gain.below]


def _best_explored(results: Results) -> str | None:
    """Name of the best recipe by development scores, rows included; None without a search."""
    ranked = ranking(results) if results.explored else []
    return name_of(results, ranked[0].recipe_hash) if ranked else None


def _of_rows(results: Results, answer: Answer) -> Answer:
    findings, evidence = Findings.of(results), Evidence.of(results)
    board = next(iter(findings.boards), None)
    gains = [item for item in board.counted if item.gain] if board else []
    judged = [item for item in gains if item.verdict != "no verdict"]
    first = max(judged, key=lambda item: item.gain.gain if item.gain else 0.0, default=None)
    verdicts = [item.verdict for item in findings.claims]
    sound = [key for key in results.recipes if board and not evidence.flags.doubtful(key, board.quantity.parts)]
    samples = [evidence.sample(key, board.quantity) for key in sound] if board else []
    rows = RowsAnswer(
        board.quantity.name if board else None,
        board.baseline if board else None,
        len(gains),
        len(gains) - len(judged),
        tuple(item.name for item in gains if item.verdict == "above"),
        first.name if first else None,
        Gain.of(first.gain) if first and first.gain else None,
        bool(first and first.gain and first.gain.one_seed),
        {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)},
        _best_explored(results),
        name_of(results, findings.best.recipe_hash) if findings.best else None,
    )
    return dataclasses.replace(answer, rows=rows, noise=noise(filter(None, samples)))
