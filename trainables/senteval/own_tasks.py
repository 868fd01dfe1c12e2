"""Tasks from files of one's own: which kind each is, its columns tell.

    own_tasks(dev=["sts_dev.csv"], test=["sts_test.csv", "faq=queries_test/"])

A table (`table.py`), in any form that training data may have, with `sentence1`, `sentence2` and `score` holds scored
pairs, with labels 0 and 1 labelled pairs, with other labels classes of pairs; `sentence` and `label` are classes,
`sentence` and `cluster` clusters; `anchor`, `positive` and `negative` triplets, with more than one of these a reranking
task. Pairs without label or negative are a search for the second text among all of the file. A folder with
`queries.jsonl`, `corpus.jsonl` and `qrels/` is a search task, too (`beir.py`). `scenes:triplets` and the like are
built-in ones.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from trainables.errors import UserError, choices, listed, shown
from trainables.senteval import beir
from trainables.senteval.kinds import KINDS
from trainables.senteval.table import Table, open_table
from trainables.senteval.tasks import TASKS, Task, groups
from trainables.tabular import is_graded, unclear

_MARKERS = "dev|development|val|valid|validation|eval|test"
_MARKER = re.compile(rf"^({_MARKERS})([._-]+|$)|[._-]+({_MARKERS})$", re.IGNORECASE)
_SCENES = "scenes:"
_BINARY = ({"0", "1"}, {"False", "True"}, {"false", "true"})


@dataclass(frozen=True)
class _Part:
    """A path that was given for a part."""

    name: str
    """As it was given, or that of the path without what says which part it is, which may leave nothing."""
    path: Path
    split: str
    kind: str
    labels: tuple[str, ...] = ()

    @property
    def form(self) -> tuple[str, bool]:
        """Parts of one task have the same."""
        return self.kind, self.path.is_dir()

    @property
    def files(self) -> tuple[str, ...]:
        found = beir.files(self.path, self.split) if self.path.is_dir() else (self.path,)
        return tuple(map(str, found))


def own_tasks(dev: Sequence[str], test: Sequence[str]) -> tuple[Task, ...]:
    """The tasks that these files and folders hold, each `PATH` or `NAME=PATH`, in the order in which they are given.

    A dev and a test path are one task where they have one name, which of a path is without `dev`, `test` and the like
    at its ends, or where there is exactly one of each of one kind. `UserError` where a path holds no task, or two have
    one name.
    """
    parts = [_part(given, split) for split, those in (("dev", dev), ("test", test)) for given in those]
    joined: list[list[_Part]] = []
    for part in parts:
        other = next((found for found in joined if len(found) == 1 and _together(found[0], part, parts)), None)
        if other is None:
            joined.append([part])
        else:
            other.append(part)
    tasks = [_task(found) for found in joined]
    for name, same in groupby(sorted(tasks, key=lambda task: task.name), key=lambda task: task.name):
        places = [task.files[0] for task in same]
        if len(places) > 1:
            raise UserError(f"{choices(places)}: which of them is {name!r}? Give each a name, as in NAME={places[0]}")
    return tuple(tasks)


def fitted_to(task: Task, file: Path, labels: Collection[str]) -> Task:
    """A task of classes with a file of texts of these labels to fit to, where it asks for some of the labels, and any
    other task as it is."""
    if task.kind != "classes":
        return task
    asked = open_table(Path(task.files[0]))
    if asked.has("sentence2") or not {*asked.labels()} & {*labels}:
        return task
    parts = ("train", *task.splits)
    return replace(task, files=(str(file), *task.files), parts=() if parts == KINDS[task.kind].splits else parts)


def _together(one: _Part, other: _Part, parts: Sequence[_Part]) -> bool:
    if one.split == other.split or one.form != other.form:
        return False
    alone = [part.split for part in parts if part.form == one.form]
    return one.name == other.name or sorted(alone) == ["dev", "test"]


def _task(parts: Sequence[_Part]) -> Task:
    """The task of a part, or of two."""
    last = parts[-1]
    splits = tuple(part.split for part in parts)
    there = () if splits == KINDS[last.kind].splits else splits
    name = last.name or parts[0].name or last.kind
    if name in TASKS or name in groups():
        name = f"own_{name}"
    files = tuple(file for part in parts for file in part.files)
    return Task(name, last.kind, "beir" if last.path.is_dir() else "table", files, labels=parts[0].labels, parts=there)


def named(given: str) -> tuple[str, str]:
    """Name and path of `NAME=PATH`; of a `PATH` the name is empty."""
    name, equals, place = given.partition("=")
    return (name, place) if equals and re.fullmatch(r"[\w-]+", name) and not Path(given).exists() else ("", given)


def _part(given: str, split: str) -> _Part:
    name, place = named(given)
    path = _built_in(place, split) if place.startswith(_SCENES) else Path(place).expanduser().absolute()
    if not path.exists():
        raise UserError(f"--{split} {given}: {path} does not exist")
    name = name or _MARKER.sub("", path.name.removesuffix("".join(path.suffixes) if path.is_file() else ""))
    return _Part(re.sub(r"[^\w-]+", "_", name).strip("_"), path, split, *_kind(path, split))


def _built_in(place: str, split: str) -> Path:
    """The file or folder of a built-in task."""
    from trainables.corpora.scenes_tasks import ensure

    folder, name = ensure(), place.removeprefix(_SCENES)
    found = [path for path in folder.iterdir() if path.stem in (name, f"{name}-{split}")]
    if not found:
        names = sorted({path.stem.removesuffix("-dev").removesuffix("-test") for path in folder.iterdir()})
        raise UserError(f"--{split} {place}: the built-in tasks are {choices(_SCENES + name for name in names)}")
    return found[0]


def _kind(path: Path, split: str) -> tuple[str, tuple[str, ...]]:
    """The kind of task that a path holds, and the names of its two labels where it is about these."""
    if path.is_dir():
        beir.files(path, split)
        return "search", ()
    table = open_table(path)
    if table.has("anchor", "positive"):
        whole, _ = table.whole("documents")
        most = [whole.most(role) for role in ("positive", "negative")]
        if not most[1] and (judged := table.roles.get("label") or table.roles.get("score")):
            (anchor,), positive = table.roles["anchor"], table.roles["positive"]
            raise UserError(
                f"{path}: beside {anchor!r} and {positive[0]!r} stands {judged[0]!r}, which may say that some are "
                f"wrong; call them sentence1, sentence2 and label or score, or leave {judged[0]!r} out"
            )
        return ("search" if not most[1] else "triplets" if most == [1, 1] else "reranking"), ()
    if table.has("sentence1", "sentence2"):
        return _of_pairs(table)
    if table.has("sentence", "label"):
        return ("clustering" if table.roles["label"][0].lower() == "cluster" else "classes"), ()
    raise UserError(
        f"{table.lines[0][0]}: the columns are {listed(table.columns)}; a task needs sentence1, sentence2 and score "
        "or label, sentence and label or cluster, or anchor and positive, with negative or without"
    )


def _of_pairs(table: Table) -> tuple[str, tuple[str, ...]]:
    if table.has("score"):
        return "scored_pairs", ()
    if not table.has("label"):
        return "search", ()
    labels = table.whole("classes")[0].labels()
    if {*labels} in _BINARY:
        return "labelled_pairs", labels
    if is_graded(labels):
        return "scored_pairs", ()
    if len(labels) == 1:
        count = len(table.lines)
        raise UserError(f"all {count:,} pairs in {table.path} have one label, {shown(labels[0])}; it needs two")
    if unclear(table.roles, labels) and table.roles["label"][0].lower() != "class":
        raise UserError(
            f"{table.path}: {table.roles['label'][0]!r} holds {choices(labels)}, which may be classes, those of NLI "
            "among them, or say how alike the two texts are; call it class or score, or the texts premise and "
            "hypothesis"
        )
    return "classes", ()
