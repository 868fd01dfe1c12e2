"""Tasks of every kind for files of one's own, made of scenes: small, and the same on every machine.

    folder = ensure()       # scored_pairs-dev.csv, ..., search/corpus.jsonl, search/qrels/test.tsv

They stand beside the corpus `scenes`, not in it, so that it stays what it is.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from trainables.corpora import scenes
from trainables.corpora.cache import default_cache, write_folder
from trainables.corpora.scenes.pairs import FORUM, HEADLINE, SPREAD, PairMix, graded_pairs, nli_groups, paraphrase_pairs
from trainables.corpora.scenes.questions import CLASSES, question
from trainables.corpora.scenes.scene import Scene, changed, contradict, generalise, sample
from trainables.corpora.scenes.text import CAPTION, PLAIN, tell

ITEMS = {"dev": 80, "test": 120}
Rows = list[dict[str, Any]]


def ensure(folder: Path | None = None) -> Path:
    """The folder with the tasks, in the user's cache; written first where it is not there yet."""
    version = hashlib.sha256(Path(__file__).read_bytes() + scenes.version().encode()).hexdigest()[:12]
    place = (folder or default_cache()) / f"scenes-tasks-{version}"
    if not place.is_dir():
        write_folder(place, write)
    return place


def write(folder: Path) -> None:
    """Every task into a folder: a file for each part, and a folder as BEIR has them."""
    for split, count in ITEMS.items():
        for name, (rows, suffix) in _TABLES.items():
            _table(folder / f"{name}-{split}{suffix}", list(islice(rows(Random(f"{name}/{split}")), count)))
    _search(folder / "search", Random("search"))


def _scored(rng: Random) -> Iterator[dict[str, Any]]:
    for pair in graded_pairs(rng, PairMix(SPREAD, (PLAIN, CAPTION), 0.4)):
        yield {"sentence1": pair.texts[0], "sentence2": pair.texts[1], "score": f"{20 * pair.score:.0f}"}


def _labelled(rng: Random) -> Iterator[dict[str, Any]]:
    for pair, same in paraphrase_pairs(rng):
        yield {"sentence1": pair.texts[0], "sentence2": pair.texts[1], "label": int(same)}


def _triplets(rng: Random) -> Iterator[dict[str, Any]]:
    for group in nli_groups(rng):
        hypotheses = {pair.label: pair.texts[1] for pair in group}
        if {"entailment", "contradiction"} <= hypotheses.keys():
            yield {
                "anchor": group[0].texts[0],
                "positive": hypotheses["entailment"],
                "negative": hypotheses["contradiction"],
            }


def _classes(rng: Random, column: str = "label") -> Iterator[dict[str, Any]]:
    while True:
        kind = rng.choice(CLASSES)
        yield {"sentence": question(rng, kind), column: kind.split(":")[0]}


def _reranking(rng: Random) -> Iterator[dict[str, Any]]:
    while True:
        scene = sample(rng, 0.5)
        query, positives = tell(scene, rng, PLAIN), _retellings(scene, rng, 2)
        others = [tell(changed(scene, rng, contradict), rng, HEADLINE) for _ in range(2)]
        others += [tell(sample(rng, 0.5), rng, HEADLINE) for _ in range(4)]
        if not {*positives} & {*others}:
            yield {"query": query, "positive": positives, "negative": others}


def _retellings(scene: Scene, rng: Random, count: int) -> list[str]:
    """Tellings of it, each with something less."""
    return [tell(changed(scene, rng, generalise), rng, rng.choice((CAPTION, FORUM))) for _ in range(count)]


def _search(folder: Path, rng: Random) -> None:
    """Documents that tell a scene in other words are relevant to its query, those that tell all of it more so."""
    queries: Rows = []
    corpus: Rows = []
    for split, count in ITEMS.items():
        lines = ["query-id\tcorpus-id\tscore"]
        for number in range(count):
            scene, query = sample(rng, 0.5), f"{split}{number}"
            queries.append({"_id": query, "text": tell(scene, rng, PLAIN)})
            whole = tell(scene, rng, HEADLINE)
            for place, text in enumerate([whole, *_retellings(scene, rng, rng.randrange(1, 4))]):
                corpus.append({"_id": f"{query}-{place}", "title": "", "text": text})
                lines.append(f"{query}\t{query}-{place}\t{1 if place else 2}")
        (folder / "qrels").mkdir(parents=True, exist_ok=True)
        (folder / "qrels" / f"{split}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rng.shuffle(corpus)
    _table(folder / "queries.jsonl", queries)
    _table(folder / "corpus.jsonl", corpus)


_TABLES: dict[str, tuple[Callable[[Random], Iterator[dict[str, Any]]], str]] = {
    "scored_pairs": (_scored, ".csv"),
    "labelled_pairs": (_labelled, ".jsonl"),
    "triplets": (_triplets, ".csv"),
    "classes": (_classes, ".tsv"),
    "reranking": (_reranking, ".jsonl"),
    "clustering": (partial(_classes, column="cluster"), ".tsv"),
}
"""By the name of a task, its lines and how its files end."""


def _table(path: Path, rows: Rows) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".jsonl":
            file.writelines(json.dumps(row) + "\n" for row in rows)
            return
        writer = csv.DictWriter(file, [*rows[0]], delimiter="\t" if path.suffix == ".tsv" else ",", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
