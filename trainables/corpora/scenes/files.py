"""The scenes corpus on disk, in exactly the layouts of the real data.

    senteval/downstream/{MR,CR,...}   senteval/probing/*.txt   nli/{train,dev}.jsonl   docs/docs.jsonl

Each writer draws from its own random stream (`<seed>/<name>`), so a change to one writer does not change other files.
The hash of a sentence (in a pair task, of a pair) decides its split, so no sentence is in two splits, at any size.
"""

from __future__ import annotations

import json
import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle
from pathlib import Path
from random import Random
from typing import TypeVar

from trainables.corpora.scenes.images import image_set
from trainables.corpora.scenes.opinions import (
    film_opinion,
    goods_opinion,
    graded_opinion,
    objective,
    phrase_opinion,
    subjective,
)
from trainables.corpora.scenes.pairs import (
    BROAD,
    CLOSE,
    FORUM,
    LONG,
    SHORT,
    SPREAD,
    TWEET,
    Pair,
    PairMix,
    graded_pairs,
    nli_groups,
    paraphrase_pairs,
)
from trainables.corpora.scenes.passages import story
from trainables.corpora.scenes.probing import PROBES
from trainables.corpora.scenes.questions import CLASSES, question
from trainables.corpora.scenes.text import CAPTION, HEADLINE, PLAIN

T = TypeVar("T")

# Range of hashes of each split, as shares of all hashes.
_SHARES = {"train": (0.0, 0.6), "dev": (0.6, 0.75), "test": (0.75, 1.0), "all": (0.0, 1.0)}
_PATIENCE = 1000

Writer = Callable[[Path, Random, "_Counts"], None]

# Year: sub-corpus -> number of scored pairs at size 1, mix of pairs. Years 15 and 16 also have unscored pairs.
STS: dict[str, dict[str, tuple[int, PairMix]]] = {
    "STS12": {
        "MSRpar": (50, PairMix(CLOSE, (LONG, PLAIN), 0.6)),
        "MSRvid": (50, PairMix(SPREAD, (CAPTION, CAPTION), 0.3)),
        "SMTeuroparl": (30, PairMix(CLOSE, (LONG, LONG), 0.6)),
        "surprise.OnWN": (50, PairMix(BROAD, (SHORT, SHORT), 0.4)),
        "surprise.SMTnews": (20, PairMix(CLOSE, (PLAIN, LONG), 0.5)),
    },
    "STS13": {
        "FNWN": (25, PairMix(BROAD, (LONG, SHORT), 0.5)),
        "headlines": (90, PairMix(BROAD, (HEADLINE, HEADLINE), 0.4)),
        "OnWN": (65, PairMix(SPREAD, (SHORT, SHORT), 0.4)),
    },
    "STS14": {
        "deft-forum": (30, PairMix(BROAD, (FORUM, FORUM), 0.4)),
        "deft-news": (20, PairMix(CLOSE, (HEADLINE, PLAIN), 0.5)),
        "headlines": (40, PairMix(BROAD, (HEADLINE, HEADLINE), 0.4)),
        "images": (40, PairMix(SPREAD, (CAPTION, CAPTION), 0.4)),
        "OnWN": (40, PairMix(SPREAD, (SHORT, SHORT), 0.4)),
        "tweet-news": (40, PairMix(BROAD, (TWEET, HEADLINE), 0.4)),
    },
    "STS15": {
        "answers-forums": (25, PairMix(BROAD, (FORUM, FORUM), 0.5)),
        "answers-students": (45, PairMix(CLOSE, (PLAIN, PLAIN), 0.4)),
        "belief": (25, PairMix(BROAD, (FORUM, PLAIN), 0.5)),
        "headlines": (45, PairMix(BROAD, (HEADLINE, HEADLINE), 0.4)),
        "images": (45, PairMix(SPREAD, (CAPTION, CAPTION), 0.4)),
    },
    "STS16": {
        "answer-answer": (35, PairMix(BROAD, (FORUM, FORUM), 0.4)),
        "headlines": (40, PairMix(BROAD, (HEADLINE, HEADLINE), 0.4)),
        "plagiarism": (35, PairMix(CLOSE, (PLAIN, LONG), 0.5)),
        "postediting": (35, PairMix(CLOSE, (LONG, LONG), 0.5)),
        "question-question": (30, PairMix(SPREAD, (SHORT, PLAIN), 0.4)),
    },
}


def write_all(folder: Path, seed: int, size: float) -> None:
    """Write every file of the corpus, with `size` times the default number of examples."""
    downstream = folder / "senteval" / "downstream"
    for name, writer in _WRITERS.items():
        writer(downstream / name, Random(f"{seed}/{name}"), _Counts(size))
    for name, generator in PROBES.items():
        _write_probe(folder / "senteval" / "probing" / f"{name}.txt", generator, seed, _Counts(size))
    _write_images(downstream / "COCO", seed, _Counts(size))
    _write_nli(folder / "nli", seed, size)
    _write_documents(folder / "docs", Random(f"{seed}/docs"), _Counts(size))


class _Counts:
    """Number of examples at a size, given the number at size 1; always enough for ten folds."""

    def __init__(self, size: float) -> None:
        self.size = size

    def __call__(self, default: int, least: int = 20) -> int:
        return max(min(default, least), round(default * self.size))


def _polarity(positive: str, negative: str, share: float, draw: Callable[[Random, bool], str]) -> Writer:
    """Return a writer of two files, one per class; `share` of the 400 sentences are positive."""

    def write(folder: Path, rng: Random, count: _Counts) -> None:
        total = count(400)
        many = round(total * share)
        for name, label, n in ((positive, True, many), (negative, False, total - many)):
            _lines(folder / name, _draw((draw(rng, label) for _ in cycle([None])), n, "all", key=str))

    return write


def _write_sst_binary(folder: Path, rng: Random, count: _Counts) -> None:
    def draw(phrases: bool) -> Iterator[tuple[str, int]]:
        for good in cycle((True, False)):
            form = phrase_opinion if phrases and rng.random() < 0.3 else film_opinion
            yield form(rng, good), int(good)

    for split, n in (("train", 400), ("dev", 100), ("test", 200)):
        rows = _draw(draw(split == "train"), count(n), split, key=lambda row: row[0])
        _lines(folder / f"sentiment-{split}", [f"{text}\t{label}" for text, label in rows])


def _write_sst_fine(folder: Path, rng: Random, count: _Counts) -> None:
    for split, n in (("train", 400), ("dev", 100), ("test", 200)):
        drawn = ((grade, graded_opinion(rng, grade)) for grade in cycle((1, 3, 0, 4, 1, 2, 3)))
        rows = _draw(drawn, count(n), split, key=lambda row: row[1])
        _lines(folder / f"sentiment-{split}", [f"{grade} {text}" for grade, text in rows])


def _write_sst(folder: Path, rng: Random, count: _Counts) -> None:
    _write_sst_binary(folder / "binary", rng, count)
    _write_sst_fine(folder / "fine", rng, count)


def _write_trec(folder: Path, rng: Random, count: _Counts) -> None:
    for name, split, n in (("train_5500.label", "train", 400), ("TREC_10.label", "test", 120)):
        drawn = ((kind, question(rng, kind)) for kind in cycle(CLASSES))
        rows = _draw(drawn, count(n), split, key=lambda row: row[1])
        rng.shuffle(rows)
        _lines(folder / name, [f"{kind} {text}" for kind, text in rows])


def _write_mrpc(folder: Path, rng: Random, count: _Counts) -> None:
    pairs = paraphrase_pairs(rng)
    for split, n in (("train", 600), ("test", 200)):
        rows = _draw(pairs, count(n), split, key=lambda row: _pair_key(row[0].texts))
        lines = ["\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
        for i, (pair, same) in enumerate(rows):
            lines.append("\t".join((str(int(same)), str(100000 + 2 * i), str(100001 + 2 * i), *pair.texts)))
        _lines(folder / f"msr_paraphrase_{split}.txt", lines)


def _write_sick(folder: Path, rng: Random, count: _Counts) -> None:
    """Write graded pairs and NLI pairs in turn, so that both labels of the task vary."""
    graded = graded_pairs(rng, PairMix(SPREAD, (PLAIN, CAPTION), 0.4))
    judged = (pair for group in nli_groups(rng) for pair in group[:2])
    pairs = (next(source) for source in cycle((graded, judged)))
    number = 0
    for name, split, n in (("train", "train", 400), ("trial", "dev", 100), ("test_annotated", "test", 300)):
        lines = ["pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"]
        for pair in _draw(pairs, count(n), split, key=lambda p: _pair_key(p.texts)):
            number += 1
            relatedness = f"{1 + pair.score * 0.8:.1f}".removesuffix(".0")
            lines.append("\t".join((str(number), *pair.texts, relatedness, pair.label.upper())))
        _lines(folder / f"SICK_{name}.txt", lines, end="\r\n" if split == "test" else "\n")


def _write_snli(folder: Path, rng: Random, count: _Counts) -> None:
    for split, n in (("train", 1200), ("dev", 200), ("test", 300)):
        rows = _draw_pairs(rng, count(n), split)
        _lines(folder / f"s1.{split}", [pair.texts[0] for pair in rows])
        _lines(folder / f"s2.{split}", [pair.texts[1] for pair in rows])
        _lines(folder / f"labels.{split}", [pair.label for pair in rows])


def _write_sts(folder: Path, rng: Random, count: _Counts) -> None:
    for year, parts in STS.items():
        with_gaps = year in ("STS15", "STS16")
        for part, (n, mix) in parts.items():
            pairs = count(n, least=10) * (2 if with_gaps else 1)
            rows = _draw(graded_pairs(rng, mix), pairs, "all", key=lambda p: _pair_key(p.texts))
            gold = [f"{pair.score:.1f}" for pair in rows]
            if with_gaps:  # only every second pair was scored
                gold = [score if i % 2 else "" for i, score in enumerate(gold)]
            place = folder / f"{year}-en-test"
            _lines(place / f"STS.input.{part}.txt", ["\t".join(pair.texts) for pair in rows])
            _lines(place / f"STS.gs.{part}.txt", gold)
    _write_sts_benchmark(folder / "STSBenchmark", rng, count)


def _write_sts_benchmark(folder: Path, rng: Random, count: _Counts) -> None:
    genres = (
        ("main-captions", "images", graded_pairs(rng, PairMix(SPREAD, (CAPTION, PLAIN), 0.4))),
        ("main-news", "headlines", graded_pairs(rng, PairMix(BROAD, (HEADLINE, HEADLINE), 0.4))),
        ("main-forums", "deft-forum", graded_pairs(rng, PairMix(BROAD, (FORUM, PLAIN), 0.4))),
    )

    def draw() -> Iterator[tuple[str, str, Pair]]:
        for genre, file, pairs in cycle(genres):
            yield genre, file, next(pairs)

    for split, n in (("train", 400), ("dev", 150), ("test", 150)):
        rows = _draw(draw(), count(n), split, key=lambda row: _pair_key(row[2].texts))
        lines = [
            "\t".join((genre, file, "scenes", f"{i:04d}", f"{pair.score:.3f}", *pair.texts))
            for i, (genre, file, pair) in enumerate(rows)
        ]
        _lines(folder / f"sts-{split}.csv", lines)


def _write_probe(
    file: Path, generator: Callable[[Random], Iterator[tuple[str, str]]], seed: int, count: _Counts
) -> None:
    rng = Random(f"{seed}/{file.stem}")
    drawn = _balanced(generator(rng))
    lines = []
    for mark, split, n in (("tr", "train", 400), ("va", "dev", 100), ("te", "test", 200)):
        rows = _draw(drawn, count(n), split, key=lambda row: row[1])
        rng.shuffle(rows)
        lines += [f"{mark}\t{label}\t{text}" for label, text in rows]
    _lines(file, lines)


def _write_images(folder: Path, seed: int, count: _Counts) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for split, n in (("train", 200), ("valid", 50), ("test", 100)):
        content = image_set(Random(f"{seed}/COCO/{split}"), -(-count(n) // 5) * 5, seed)
        (folder / f"{split}.pkl").write_bytes(pickle.dumps(content, protocol=2))


def nli_pairs(seed: int, size: float) -> dict[str, list[Pair]]:
    """Return the pairs of the files in `nli/` by split, with their scenes."""
    rng, count = Random(f"{seed}/nli"), _Counts(size)
    return {split: _draw_pairs(rng, count(n), split) for split, n in (("train", 6000), ("dev", 600))}


def _write_nli(folder: Path, seed: int, size: float) -> None:
    for split, rows in nli_pairs(seed, size).items():
        records = [{"premise": p.texts[0], "hypothesis": p.texts[1], "label": p.label} for p in rows]
        _lines(folder / f"{split}.jsonl", [json.dumps(record) for record in records])


def _write_documents(folder: Path, rng: Random, count: _Counts) -> None:
    stories = [story(rng, rng.randint(25, 60)) for _ in range(count(200))]
    _lines(folder / "docs.jsonl", [json.dumps({"text": text}) for text in stories])


_WRITERS: dict[str, Writer] = {
    "MR": _polarity("rt-polarity.pos", "rt-polarity.neg", 0.5, film_opinion),
    "CR": _polarity("custrev.pos", "custrev.neg", 0.64, goods_opinion),
    "MPQA": _polarity("mpqa.pos", "mpqa.neg", 0.32, phrase_opinion),
    "SUBJ": _polarity(
        "subj.subjective", "subj.objective", 0.5, lambda rng, own: (subjective if own else objective)(rng)
    ),
    "SST": _write_sst,
    "TREC": _write_trec,
    "MRPC": _write_mrpc,
    "SICK": _write_sick,
    "SNLI": _write_snli,
    "STS": _write_sts,
}


def _balanced(drawn: Iterator[tuple[str, str]], ahead: float = 1.5) -> Iterator[tuple[str, str]]:
    """Skip an example if its label is already `ahead` times as frequent as the mean label."""
    counts: dict[str, int] = {}
    for label, text in drawn:
        if counts.get(label, 0) <= ahead * (sum(counts.values()) / max(len(counts), 1)) + 3:
            counts[label] = counts.get(label, 0) + 1
            yield label, text


def _belongs(text: str, split: str) -> bool:
    low, high = _SHARES[split]
    return low <= zlib.crc32(text.encode()) / 2**32 < high


def _draw(items: Iterable[T], count: int, split: str, key: Callable[[T], str]) -> list[T]:
    """Return the next `count` items of this split; an item repeats only after `_PATIENCE` repeats without a new one."""
    drawn: list[T] = []
    names: set[str] = set()
    repeats = 0
    for item in items:
        name = key(item)
        if not _belongs(name, split):
            continue
        if name in names and repeats < _PATIENCE:
            repeats += 1
            continue
        if name not in names:
            repeats = 0
        names.add(name)
        drawn.append(item)
        if len(drawn) == count:
            break
    return drawn


def _draw_pairs(rng: Random, count: int, split: str) -> list[Pair]:
    """Return the next `count` NLI pairs; each premise is used once, in one split."""
    premises: set[str] = set()
    groups = nli_groups(rng, lambda premise: _belongs(premise, split) and premise not in premises)
    drawn: list[Pair] = []
    for group in groups:
        premises.add(group[0].texts[0])
        drawn += group
        if len(drawn) >= count:
            break
    return drawn[:count]


def _pair_key(texts: tuple[str, str]) -> str:
    return "\t".join(sorted(texts))


def _lines(file: Path, lines: Iterable[str], end: str = "\n") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes("".join(line + end for line in lines).encode())
