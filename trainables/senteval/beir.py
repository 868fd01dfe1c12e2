"""Folders in BEIR's layout: `queries.jsonl` and `corpus.jsonl` with texts, `qrels/*.tsv` with relevance grades.

{"_id": "q1", "text": "who rode a pony?"}                               queries.jsonl
{"_id": "d7", "title": "Riders", "text": "A girl rode a pony."}         corpus.jsonl
query-id<TAB>corpus-id<TAB>score                                        qrels/test.tsv
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from trainables.errors import UserError, is_text, listed, shown
from trainables.senteval.examples import FileLimit, JudgedDocuments, Split, TaskData
from trainables.senteval.tasks import Task
from trainables.tabular import as_number, is_empty, no_number
from trainables.text_lines import json_object, numbered_lines, refusal

QUERIES, CORPUS, JUDGED = "queries.jsonl", "corpus.jsonl", "qrels"
_CALLED = {"dev": ("dev", "valid", "validation", "val"), "test": ("test",)}


def files(folder: Path, split: str) -> tuple[Path, Path, Path]:
    """Return the files of queries, documents and grades of a split. Raises `UserError` if one is missing, or if several
    files of grades could be the split's."""
    for name in (QUERIES, CORPUS):
        if not (folder / name).is_file():
            raise UserError(f"{folder} is no folder of a search task: it has no {name}")
    judgements = sorted((folder / JUDGED).glob("*.tsv"))
    if not judgements:
        raise UserError(f"{folder} is no folder of a search task: it has no {JUDGED}/*.tsv")
    called = [file for file in judgements if file.stem in _CALLED[split]]
    if len(called or judgements) > 1:
        names = listed([file.name for file in judgements])
        raise UserError(f"{folder / JUDGED} holds {names}, and none of them is {split}.tsv")
    return folder / QUERIES, folder / CORPUS, (called or judgements)[0]


def read_beir(task: Task, paths: Sequence[Path]) -> TaskData:
    """Read three files for each split. The items are the queries in the qrels, in the order of the queries' file."""
    splits, left_out = {}, []
    for split, *three in zip(task.splits, paths[::3], paths[1::3], paths[2::3], strict=True):
        splits[split], notes = _split(*three)
        left_out += notes
    return TaskData(splits, left_out=tuple(left_out))


def _split(queries: Path, corpus: Path, judged: Path) -> tuple[Split, list[str]]:
    """Return the queries of a split, and messages with counts of what was left out.

    Documents are sorted by falling id, the order in which trec_eval ranks equal cosines. A relevant document that is
    not in the corpus counts as not found; its number is negative.
    """
    (query_texts, no_query), (texts, no_text) = _texts(queries), _texts(corpus)
    ids = sorted(texts, key=str.encode, reverse=True)
    indices = {name: index for index, name in enumerate(ids)}
    grades: dict[str, dict[int, int]] = {}
    absent: dict[str, int] = {}
    unasked = Counter[str]()
    ungraded = 0
    for number, query, document, grade in _judgements(judged):
        if grade is None:
            ungraded += 1
            continue
        if query not in query_texts:
            unasked[query] += 1
            continue
        index = indices[document] if document in indices else absent.setdefault(document, -1 - len(absent))
        if grades.setdefault(query, {}).setdefault(index, grade) != grade:
            raise refusal(judged, number, f"{shown(document)} was judged for {shown(query)} before, and otherwise")
    if not grades and any(name in texts for name in unasked):
        raise UserError(f"{judged} names documents before queries; its columns are query-id, corpus-id and score")
    if unasked and not grades:
        raise UserError(f"{judged} names no query of {queries}, but {shown(next(iter(unasked)))} and the like")
    if not grades:
        raise UserError(f"{judged} holds no example")
    if absent and all(index < 0 for graded in grades.values() for index in graded):
        raise UserError(f"{judged} names no document of {corpus}, but {shown(next(iter(absent)))} and the like")
    named = [name for name in query_texts if name in grades]
    own = np.array([indices.get(name, -1) for name in named])
    documents = JudgedDocuments([texts[name] for name in ids], [grades[name] for name in named], own)
    count, none = len(query_texts), int((documents.relevant == 0).sum())
    if none == len(named):
        raise UserError(f"{judged} has no relevant document of any query; a grade of 1 or more makes one")
    notes = [
        f"{no_query:,} queries in {queries} have no text, and are left out",
        f"{no_text:,} documents in {corpus} have no text, and are left out",
        f"{ungraded:,} lines of {judged} have no score, and are left out",
        f"{unasked.total():,} lines of {judged} name queries that are not in {queries}, and are left out",
        f"{count - len(named):,} of {count:,} queries in {queries} are not in {judged}, and are not asked",
        f"{len(absent):,} documents in {judged} are not in {corpus}, so that no query finds them",
        f"{none:,} of {len(named):,} queries in {judged} have no relevant document, and count 0",
    ]
    return (
        Split([query_texts[name] for name in named], None, documents.relevant, documents=documents),
        [note for note in notes if not note.startswith("0 ")],
    )


def _texts(path: Path) -> tuple[dict[str, str], int]:
    """Return texts by id, a document's title before its text, and the number of ids without a text."""
    texts: dict[str, str] = {}
    empty = set[str]()
    held = FileLimit(path)
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        values = json_object(line, f"{path}, line {number}")
        name = values.get("_id", values.get("id"))
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise refusal(path, number, f"no '_id' or 'id'; the keys are {listed([*values])}")
        sides = [values.get(key) or "" for key in ("title", "text")]
        if not all(isinstance(side, str) and is_text(side) for side in (*sides, str(name))):
            raise refusal(path, number, f"title or text of {shown(name)} is no text")
        words = " ".join(map(str, sides)).split()
        if str(name) in texts or str(name) in empty:
            raise refusal(path, number, f"the id {shown(name)} comes twice")
        if is_empty(" ".join(words)):
            empty.add(str(name))
            continue
        texts[str(name)] = " ".join(words)
        held.add(len(texts[str(name)]))
    if not texts:
        raise UserError(f"{path} holds no text")
    return texts, len(empty)


def _judgements(path: Path) -> Iterator[tuple[int, str, str, int | None]]:
    """Yield line number, query id, document id, and relevance grade, None if it is missing. A line of column names may
    come first. Of four columns, as in TREC's own files, the second is ignored."""
    for number, line in numbered_lines(path):
        fields = line.rstrip("\r\n").split("\t") if "\t" in line else line.split()
        if not any(fields):
            continue
        if len(fields) not in (3, 4):
            raise refusal(path, number, f"expected query-id, corpus-id and score between tabs, found {shown(line)}")
        grade = as_number(fields[-1])
        if no_number(fields[-1]) or (grade is not None and grade.is_integer()):
            yield number, fields[0].strip(), fields[-2].strip(), None if grade is None else int(grade)
        elif number > 1 or grade is not None:
            raise refusal(path, number, f"score {shown(fields[-1])} is no whole number")
