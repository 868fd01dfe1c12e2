"""Small built-in tasks, made by the generator of the scenes corpus, for kinds of tasks that take a user's files.

The tasks are the same on every machine.

    triplets(folder, "triplets")      # writes triplets-dev.csv and triplets-test.csv

A kind of task names one of these writers, or its own, in `TaskKind.scenes`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from trainables.corpora.scenes.pairs import FORUM, HEADLINE, SPREAD, PairMix, graded_pairs, nli_groups, paraphrase_pairs
from trainables.corpora.scenes.questions import CLASSES, question
from trainables.corpora.scenes.scene import Scene, changed, contradict, generalise, sample
from trainables.corpora.scenes.text import CAPTION, PLAIN, tell

ITEMS = {"dev": 80, "test": 120}
Row = dict[str, Any]
Rows = Callable[[Random], Iterator[Row]]
Write = Callable[[Path, str], None]


def tables(suffix: str, rows: Rows) -> Write:
    """Return a function that writes the files `NAME-dev` and `NAME-test` with this suffix; `rows` yields their rows."""

    def write(folder: Path, name: str) -> None:
        for part, count in ITEMS.items():
            _table(folder / f"{name}-{part}{suffix}", list(islice(rows(Random(f"{name}/{part}")), count)))

    return write


@partial(tables, ".csv")
def scored_pairs(rng: Random) -> Iterator[Row]:
    for pair in graded_pairs(rng, PairMix(SPREAD, (PLAIN, CAPTION), 0.4)):
        yield {"sentence1": pair.texts[0], "sentence2": pair.texts[1], "score": f"{20 * pair.score:.0f}"}


@partial(tables, ".jsonl")
def labelled_pairs(rng: Random) -> Iterator[Row]:
    for pair, same in paraphrase_pairs(rng):
        yield {"sentence1": pair.texts[0], "sentence2": pair.texts[1], "label": int(same)}


@partial(tables, ".csv")
def triplets(rng: Random) -> Iterator[Row]:
    for group in nli_groups(rng):
        hypotheses = {pair.label: pair.texts[1] for pair in group}
        if {"entailment", "contradiction"} <= hypotheses.keys():
            yield {
                "anchor": group[0].texts[0],
                "positive": hypotheses["entailment"],
                "negative": hypotheses["contradiction"],
            }


def _questions(column: str, rng: Random) -> Iterator[Row]:
    while True:
        kind = rng.choice(CLASSES)
        yield {"sentence": question(rng, kind), column: kind.split(":")[0]}


classes = tables(".tsv", partial(_questions, "label"))
clusters = tables(".tsv", partial(_questions, "cluster"))


@partial(tables, ".jsonl")
def reranking(rng: Random) -> Iterator[Row]:
    while True:
        scene = sample(rng, 0.5)
        query, positives = tell(scene, rng, PLAIN), _retellings(scene, rng, 2)
        others = [tell(changed(scene, rng, contradict), rng, HEADLINE) for _ in range(2)]
        others += [tell(sample(rng, 0.5), rng, HEADLINE) for _ in range(4)]
        if not {*positives} & {*others}:
            yield {"query": query, "positive": positives, "negative": others}


def _retellings(scene: Scene, rng: Random, count: int) -> list[str]:
    """Return `count` sentences, each of them one step more general than the scene."""
    return [tell(changed(scene, rng, generalise), rng, rng.choice((CAPTION, FORUM))) for _ in range(count)]


def search(folder: Path, name: str) -> None:
    """Write a search task. A query's relevant documents are one with the same meaning (score 2) and more general ones
    (score 1)."""
    folder, rng = folder / name, Random(name)
    queries: list[Row] = []
    corpus: list[Row] = []
    for split, count in ITEMS.items():
        lines = ["query-id\tcorpus-id\tscore"]
        for number in range(count):
            scene, query = sample(rng, 0.5), f"{split}{number}"
            queries.append({"_id": query, "text": tell(scene, rng, PLAIN)})
            whole = tell(scene, rng, HEADLINE)
            for index, text in enumerate([whole, *_retellings(scene, rng, rng.randrange(1, 4))]):
                corpus.append({"_id": f"{query}-{index}", "title": "", "text": text})
                lines.append(f"{query}\t{query}-{index}\t{1 if index else 2}")
        (folder / "qrels").mkdir(parents=True, exist_ok=True)
        (folder / "qrels" / f"{split}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rng.shuffle(corpus)
    _table(folder / "queries.jsonl", queries)
    _table(folder / "corpus.jsonl", corpus)


def _table(path: Path, rows: list[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".jsonl":
            file.writelines(json.dumps(row) + "\n" for row in rows)
            return
        writer = csv.DictWriter(file, [*rows[0]], delimiter="\t" if path.suffix == ".tsv" else ",", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
