"""Reads a results folder for the live page. Nothing is written, and files are read again only if they changed."""

from __future__ import annotations

import dataclasses
import datetime
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from reports.facts.best_model import ranking
from reports.facts.recipe_names import BASE, in_short, recipe_names
from reports.facts.results import Results, in_order
from reports.ledger import (
    FAILURES,
    LEDGER,
    STUDY,
    Curve,
    Curves,
    Failure,
    Ledger,
    Progress,
    Record,
    StudyInfo,
    read_failures,
)
from reports.ledger.finals import group_records, is_fresh
from reports.ledger.moments import seconds_since
from reports.ledger.progress import with_curve
from reports.statistics import Measured
from search_spaces.goals import Goal
from trainables.errors import UserError
from trainables.recipe import Recipe, Value

T = TypeVar("T")
Role = Literal["", "row", "base", "encoder"]
Signature = tuple[tuple[str, int, int], ...]
"""Names, times and sizes of the files that a report is made of. It differs if the ledger has changed."""
SILENT_SECONDS = 60.0
"""A running study writes every few seconds. If it has not for this long, its process is assumed to have ended."""


@dataclass(frozen=True)
class ScoredRecipe:
    """A recipe with its scores on the study's goals, means over its seeds."""

    name: str
    changes: str
    """Settings in which an explored recipe differs from the base recipe. Empty for a row, whose label names them."""
    scores: tuple[float, ...]
    """Means over seeds, in the order of the study's goals (`LedgerView.goals`)."""
    seeds: int
    end_seconds: float
    """End of the recipe's first trial, in seconds after the end of the study's first trial."""
    share: float = 1.0
    """Share of the data that the recipe trained on. Scores on different shares cannot be compared."""
    role: Role = ""
    """`row`, `base` (the base settings) or `encoder` (untrained); empty for a recipe that a search chose."""
    settings: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    """Values of the keys that the study searches, in the order of its space."""


@dataclass(frozen=True)
class LedgerView:
    """The part of the live page's content that changes only when a trial ends."""

    signature: Signature
    info: StudyInfo | None
    finished: int
    stopped: tuple[Failure, ...]
    """Trials that were stopped early on purpose."""
    failed: tuple[Failure, ...]
    set_aside: dict[str, str]
    """Maps the file names of invalid records to what is wrong with them."""
    goals: tuple[Goal, ...]
    """The study's goals that some trial has measured."""
    finals: tuple[ScoredRecipe, ...]
    """Recipes of the finals with the means over their fresh seeds, the best first."""
    best: tuple[ScoredRecipe, ...]
    """Recipes with their scores in all trials but the finals', sorted by share of the data, then by score."""
    objectives: dict[str, str]
    """Maps the keys of trials with a record to their objectives. A `View` adds running trials."""
    names: dict[str, str]
    """Maps the keys of trials with a record to their names. A `View` adds running and waiting trials."""
    problems: tuple[str, ...]


@dataclass(frozen=True)
class View(LedgerView):
    """All content of the live page except verdicts and answer, which a separate process computes."""

    folder: Path
    progress: Progress | None
    silent_seconds: float | None
    """Seconds since the study last wrote, if more than `SILENT_SECONDS`; otherwise None."""
    curves: dict[str, Curve]

    @property
    def runs(self) -> bool:
        """Whether a study is probably working on the folder now."""
        return self.progress is not None and not self.progress.ended and self.silent_seconds is None


class Folder:
    """Reads a results folder for the live page. Any thread may call it."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self._curves = Curves(results)
        self._ledger = Ledger(results / LEDGER)
        self._ledger_view: LedgerView | None = None
        self._lock = threading.Lock()

    def view(self) -> View:
        """Return the current content of the results folder. Errors of reading become entries of `problems`."""
        with self._lock:
            signature = signature_of(self.results)
            ledger_view = self._ledger_view
            # After a problem the ledger is read again, even if no file changed.
            if ledger_view is None or ledger_view.signature != signature or ledger_view.problems:
                ledger_view = self._ledger_view = _ledger_view(self.results, self._ledger, signature)
            problems = list(ledger_view.problems)
            progress = _or_none(lambda: Progress.load(self.results), problems)
            names, objectives, curves = ledger_view.names, ledger_view.objectives, self._curves.all()
            if progress:  # records and losses may be newer than the file
                going = [trial for trial in progress.running if trial.key not in ledger_view.names]
                running = [with_curve(trial, curves.get(trial.key)) for trial in going]
                counts = {**progress.counts, "running": len(running)}
                progress = dataclasses.replace(progress, running=running, counts=counts)
                names = names | {trial.key: trial.name for trial in (*progress.queued, *progress.running)}
                objectives = objectives | {trial.key: trial.objective for trial in progress.running}
            silence = seconds_since(progress.written_at) if progress and not progress.ended else 0.0
            renewed = {"names": names, "objectives": objectives, "problems": tuple(problems)}
            return View(
                **{**vars(ledger_view), **renewed},
                folder=self.results,
                progress=progress,
                silent_seconds=silence if silence > SILENT_SECONDS else None,
                curves=curves,
            )


def _ledger_view(results: Path, ledger: Ledger, signature: Signature) -> LedgerView:
    """Read what changes only when a trial ends. `signature` was made before, so later changes are read next time."""
    problems: list[str] = []
    info = _or_none(lambda: _info(results), problems)
    records, set_aside = ledger.sift()
    space = _or_none(lambda: info.load_space(results), problems) if info else None
    study = None
    if info and space:
        kinds = group_records(records, info.row_hashes.values(), info.finals)
        own = in_order(info, space, kinds.own)
        study = Results(results, info, space, own, kinds.finals, kinds.parts, kinds.soups, set_aside=set_aside)
    rows = reversed([*info.row_hashes.items()]) if info else ()
    called = recipe_names(study) if study else {recipe_hash: label for label, recipe_hash in rows}
    names = {record.key: called.get(record.recipe_hash, record.recipe_hash) for record in records}
    ended = [record for record in records if record.status == "pruned"]
    why = {record.key: str(record.training.get("stopped") or "stopped early") for record in ended}
    stopped = tuple(Failure(name=names[each.key], seed=each.seed, reason=why[each.key]) for each in ended)
    return LedgerView(
        signature=signature,
        info=info,
        finished=sum(record.status == "finished" for record in records),
        stopped=stopped,
        failed=tuple(failure for failure in read_failures(results) if failure.key not in names),
        set_aside=set_aside,
        goals=study.measured_goals if study else (),
        finals=tuple(_RecipeScores(study).finals()) if study else (),
        best=tuple(_RecipeScores(study).explored()) if study else (),
        objectives={record.key: str(record.recipe.get("objective.name", "")) for record in records},
        names=names,
        problems=tuple(problems),
    )


def _info(results: Path) -> StudyInfo:
    info = StudyInfo.load(results)
    info.check_names(results)  # the file may have changed since the page started, when its plugins ran
    return info


def signature_of(results: Path) -> Signature:
    """Return names, times and sizes of the files; they change whenever a trial ends."""
    paths = [results / STUDY, *(results / LEDGER).glob("*.json"), *(results / FAILURES).glob("*.json")]
    entries = []
    for path in sorted(paths):
        try:
            status = path.stat()
        except OSError:  # deleted after the listing
            continue
        entries.append((str(path.relative_to(results)), status.st_mtime_ns, status.st_size))
    return tuple(entries)


class _RecipeScores:
    """Computes the scores of a study's recipes for the live page."""

    def __init__(self, results: Results) -> None:
        self.results = results
        ended = [_ended(record) for record in results.of_all_trials if record.finished_at]
        self._began = min(ended, default=0.0)

    def explored(self) -> Iterator[ScoredRecipe]:
        """Yield rows and explored recipes on all of the data, then recipes on parts of the data."""
        for recipe in ranking(self.results):
            whole = Recipe.from_flat(recipe.records[0].recipe)
            yield self._of(recipe.records, recipe.values, 1.0, whole)
        parts = []
        for record in self.results.parts:
            share, whole = self.results.whole_recipes.get(record.recipe_hash, (1.0, self.results.base))
            if record.status == "finished" and (values := self.results.of_goals([record])):
                parts.append((share, self.results.merit(values), self._of([record], values, share, whole)))
        yield from _best_first(parts)

    def finals(self) -> Iterator[ScoredRecipe]:
        """Yield the recipes of the finals that have finished trials, the best first."""
        judged = []
        compared = self.results.info.finals.hashes if self.results.info.finals else set()
        for key, records in self.results.finals.items():
            if key not in compared:
                continue  # it belongs to a learning curve
            finished = [record for record in records if record.status == "finished" and is_fresh(record.seed)]
            if finished and (values := self.results.of_goals(finished)):
                whole = Recipe.from_flat(finished[0].recipe)
                judged.append((1.0, self.results.merit(values), self._of(finished, values, 1.0, whole)))
        yield from _best_first(judged)

    def _of(self, records: Sequence[Record], values: Sequence[Measured], share: float, whole: Recipe) -> ScoredRecipe:
        first, own, base = min(records, key=_ended), whole.flat(), self.results.base
        is_row = whole.hash in self.results.labels
        as_it_came = not whole.trains and whole.encoder.name == base.encoder.name
        role: Role = "base" if whole.hash == base.hash else "encoder" if as_it_came else "row" if is_row else ""
        return ScoredRecipe(
            recipe_names(self.results).get(whole.hash, BASE),
            "" if is_row else in_short(base.flat(), own),
            tuple(value.mean for value in values),
            max(value.seeds for value in values),
            max(0.0, _ended(first) - self._began),
            share,
            role,
            {domain.key: own[domain.key] for domain in self.results.space.domains if domain.key in own},
        )


def _best_first(triples: Sequence[tuple[float, tuple[float, ...], ScoredRecipe]]) -> list[ScoredRecipe]:
    """Return the recipes, sorted by share of the data and merit, the best first, of triples (share, merit, recipe)."""
    return [best for *_, best in sorted(triples, key=lambda triple: triple[:2], reverse=True)]


def _ended(record: Record) -> float:
    """Return when the trial ended, in seconds since 1970; infinity if unknown."""
    return datetime.datetime.fromisoformat(record.finished_at).timestamp() if record.finished_at else math.inf


def _or_none(read: Callable[[], T], problems: list[str]) -> T | None:
    """Return the result of `read`; if it fails, None, and the error is appended to `problems`."""
    try:
        return read()
    except (UserError, OSError) as error:
        problems.append(str(error))
        return None
