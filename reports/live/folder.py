"""A results folder as the live page shows it. It is only read, and nothing that did not change is read again."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from reports.best_model import ranking
from reports.ledger import (
    FAILURES,
    LEDGER,
    STUDY,
    Curve,
    Curves,
    Ledger,
    Progress,
    Record,
    StudyInfo,
    read_failures,
)
from reports.ledger.finals import PART, apart, part_name, whole_of
from reports.ledger.moments import seconds_since
from reports.ledger.progress import with_curve
from reports.recipe_names import BASE, explored_numbers, recipe_name
from reports.results import Results, in_order
from search_spaces.space import Space
from trainables.errors import UserError
from trainables.recipe import Value, changed

T = TypeVar("T")
Signature = tuple[tuple[str, int, int], ...]
"""What tells whether the ledger changed: names, times and sizes of the files that a report is made of."""
SILENT_SECONDS = 60.0
"""A study that runs writes every few seconds; after so long a silence its process is thought to be gone."""


@dataclass(frozen=True)
class EndedTrial:
    """A trial that left no score."""

    name: str
    changes: str
    seed: int
    reason: str


@dataclass(frozen=True)
class Best:
    """A recipe by what the study looks for, the means over its seeds."""

    name: str
    changes: str
    """What an explored recipe changes of the base recipe; empty for a row, whose label says it."""
    scores: tuple[float, ...]
    """By the study's goals (`Settled.goals`)."""
    seeds: int


@dataclass(frozen=True)
class Settled:
    """The part of a view that changes only when a trial ends."""

    signature: Signature
    info: StudyInfo | None
    finished: int
    stopped: tuple[EndedTrial, ...]
    failed: tuple[EndedTrial, ...]
    set_aside: dict[str, str]
    """Records that cannot be right, by file name, with what is wrong."""
    goals: tuple[str, ...]
    """What the study looks for and has found, as a table's head says it."""
    best: tuple[Best, ...]
    """Best first."""
    names: dict[str, str]
    """What people call a trial with a record, by its key; in a view those that run and wait, too."""
    problems: tuple[str, ...]
    """What could not be read."""


@dataclass(frozen=True)
class View(Settled):
    """All that the page shows, but for what is reckoned from the whole ledger."""

    folder: Path
    progress: Progress | None
    silent: float | None
    """Seconds since the study was heard of, where that is too long ago."""
    curves: dict[str, Curve]

    @property
    def runs(self) -> bool:
        """Whether a study works on the folder now, as far as one can tell."""
        return self.progress is not None and not self.progress.ended and self.silent is None


class Folder:
    """Reads a results folder, from any thread."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self._curves = Curves(results)
        self._ledger = Ledger(results / LEDGER)
        self._settled: Settled | None = None
        self._lock = threading.Lock()

    def view(self) -> View:
        """The folder as it is now. What cannot be read becomes a problem, not an error."""
        with self._lock:
            signature = signature_of(self.results)
            settled = self._settled
            if settled is None or settled.signature != signature or settled.problems:  # what failed is tried again
                settled = self._settled = _settled(self.results, self._ledger, signature)
            problems = list(settled.problems)
            progress = _or_none(lambda: Progress.load(self.results), problems)
            names, curves = settled.names, self._curves.all()
            if progress:  # records and losses may be newer than the file
                going = [trial for trial in progress.running if trial.key not in settled.names]
                running = [with_curve(trial, curves.get(trial.key)) for trial in going]
                counts = {**progress.counts, "running": len(running)}
                progress = dataclasses.replace(progress, running=running, counts=counts)
                names = names | {trial.key: trial.name for trial in (*progress.queued, *progress.running)}
            silence = seconds_since(progress.written_at) if progress and not progress.ended else 0.0
            renewed = {"names": names, "problems": tuple(problems)}
            return View(
                **{**vars(settled), **renewed},
                folder=self.results,
                progress=progress,
                silent=silence if silence > SILENT_SECONDS else None,
                curves=curves,
            )


def _settled(results: Path, ledger: Ledger, signature: Signature) -> Settled:
    """`signature` was taken before: what changes meanwhile is read the next time."""
    problems: list[str] = []
    info = _or_none(lambda: _info(results), problems)
    records, set_aside = ledger.sift()
    space = _or_none(lambda: info.load_space(results), problems) if info else None
    called = _Names(info, space)
    study = None
    if info and space:
        own = apart(records, info.row_hashes.values(), info.finals).own
        study = Results(results, info, space, in_order(info, space, own), set_aside=set_aside)
    names = {record.key: called.name(record) for record in records}
    stopped = tuple(
        EndedTrial(
            names[record.key],
            called.changes(record),
            record.seed,
            str(record.training.get("stopped") or "stopped early"),
        )
        for record in records
        if record.status == "pruned"
    )
    return Settled(
        signature=signature,
        info=info,
        finished=sum(record.status == "finished" for record in records),
        stopped=stopped,
        failed=tuple(_failures(results, names.keys())),
        set_aside=set_aside,
        goals=tuple(goal.short for goal in study.measured_goals) if study else (),
        best=tuple(_best(study, called)) if study else (),
        names=names,
        problems=tuple(problems),
    )


def _info(results: Path) -> StudyInfo:
    info = StudyInfo.load(results)
    info.check_names(results)  # the file may have changed since the page began, and its plugins ran then
    return info


def signature_of(results: Path) -> Signature:
    """Changes whenever a trial ends."""
    paths = [results / STUDY, *(results / LEDGER).glob("*.json"), *(results / FAILURES).glob("*.json")]
    entries = []
    for path in sorted(paths):
        try:
            status = path.stat()
        except OSError:  # gone since the folder was listed
            continue
        entries.append((str(path.relative_to(results)), status.st_mtime_ns, status.st_size))
    return tuple(entries)


def _failures(results: Path, done: Set[str]) -> list[EndedTrial]:
    return [
        EndedTrial(failure.name, "", failure.seed, failure.reason)
        for failure in read_failures(results)
        if failure.key not in done
    ]


def _best(results: Results, called: _Names) -> Iterator[Best]:
    for recipe in ranking(results):
        record, means = recipe.records[0], tuple(value.mean for value in recipe.values)
        yield Best(called.name(record), called.changes(record), means, max(value.seeds for value in recipe.values))


class _Names:
    """What people call the recipes of a study."""

    def __init__(self, info: StudyInfo | None, space: Space | None) -> None:
        self._base = info.base if info else None
        self._domains = space.domains if space else ()
        self._numbers = explored_numbers(info.explored) if info else {}
        rows = info.row_hashes.items() if info else ()
        self._labels = {recipe_hash: label for label, recipe_hash in reversed([*rows])}  # of two rows the first

    def name(self, record: Record) -> str:
        """Its row, or what the search calls it; its hash where it is neither."""
        part = whole_of(record.recipe, self._base or {}) if record.seed == PART else None
        if part is None:
            return self._of(record.recipe_hash, record.recipe) or record.recipe_hash
        return part_name(part[0], self._of(part[1].hash, part[1].flat()) or BASE)

    def _of(self, recipe_hash: str, flat: Mapping[str, Value]) -> str | None:
        number = self._numbers.get(recipe_hash)
        named = recipe_name(number, flat, self._base or {}, self._domains) if number else None
        return self._labels.get(recipe_hash) or named

    def changes(self, record: Record) -> str:
        """What it changes of the base recipe; empty for a row."""
        if self._base is None or record.recipe_hash in self._labels:
            return ""
        return " ".join(f"{key}={value}" for key, value in changed(self._base, record.recipe).items())


def _or_none(read: Callable[[], T], problems: list[str]) -> T | None:
    """What it returns; where it cannot be read None, and the reason among the problems."""
    try:
        return read()
    except (UserError, OSError) as error:
        problems.append(str(error))
        return None
