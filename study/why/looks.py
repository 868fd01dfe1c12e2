"""Looks: checks of rows, items and the original encoder, which train nothing.

A look returns a `Cause`, or None if it finds nothing. Points are estimates unless they were measured: a share of rows
that teach nothing right counts as that share of `ALL_WRONG`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from reports.size import sample_of
from reports.statistics import compare
from search_spaces.own_data import BATCH, EPOCHS, RATE, TEMPERATURE, USUAL_BATCH
from study.own.leaks import items_of
from study.planned_power import FEW_ITEMS, TestSize
from study.why.case import Cause, StudyCase
from trainables.corpora.leaks import NEAR_PERCENT, find_leaks, normalise
from trainables.corpora.own_rows import texts
from trainables.senteval.examples import JudgedDocuments
from trainables.senteval.tasks import TASKS

ALL_WRONG = 20.0
"""Rough number of points that a training may lose if all rows are wrong."""
LEVEL = 0.05
LEAST_WRONG, RIGHT = 0.05, 0.15
"""The smallest share of wrong rows that is reported; the largest expected share of right rows among suspects."""
ALIKE = 0.9
"""Texts with a lower cosine are not compared word by word."""
LEAST_FALSE, LEAST_MET, LEAST_LEAKED = 0.03, 0.1, 0.02
"""The smallest shares that are reported: of rows with a false negative, of anchors that meet one in a batch, and of
items in the training data."""
TOLD_APART = 0.85
"""If a classifier separates training texts from test items with at least this area under the ROC curve, they are of
different kinds. For splits of one data set the area is 0.5 to 0.75."""
TEXTS = 600
"""Largest number of texts of either side, training or test, for that classifier (`unlike`)."""
WARM_TEMPERATURE, COLD_TEMPERATURE, SMALL_BATCH, FAST_RATE, SLOW_RATE = 0.3, 0.005, 8, 5e-3, 1e-6
"""Ends of the usual ranges: highest and lowest temperature, smallest batch, highest and lowest learning rate."""
HINT = 2.0
"""Estimated points of a cause that is only an unusual setting."""


def mislabelled(case: StudyCase) -> Cause | None:
    """Look for wrong rows: rows whose positive is no nearer to its anchor than a random one.

    Half of the wrong rows are farther apart than the median of random positives (Storey 2002). How many right rows are
    so far apart is measured on the development split, whose pairs are assumed to be right.
    """
    pairs = case.pairs
    judged = [] if case.dev_is_held_out else [*_judged(case)]  # parts of one file have the same share of wrong pairs
    if min(len(pairs), len(judged)) < FEW_ITEMS:  # unknown how many right pairs look wrong to this encoder
        return None
    farther = _farther(case, [(pair.anchor, pair.positives[0]) for pair in pairs])
    usual = _farther(case, judged[: len(pairs)])
    halves = [float((own > 0.5).mean()) for own in (farther, usual)]
    wrong = 2 * (halves[0] - halves[1]) / max(1 - 2 * halves[1], 0.1)
    error = 2 * math.hypot(*(math.sqrt(half / len(own)) for half, own in zip(halves, (farther, usual), strict=True)))
    error /= max(1 - 2 * halves[1], 0.1)
    if wrong < max(LEAST_WRONG, 2 * error):
        return None
    rows = tuple(pairs[index].number for index in suspects(farther, usual, wrong))
    facts = {"wrong": wrong, "of": len(pairs), "suspects": len(rows)}
    return Cause("mislabelled", ALL_WRONG * wrong, facts=facts, rows=rows)


def suspects(farther: np.ndarray, usual: np.ndarray, wrong: float) -> list[int]:
    """Return the indices of suspect rows, the farthest first. Among them at most `RIGHT` are expected to be right, if
    right rows are distributed as `usual`. The share of `wrong` rows limits their number, too."""
    order = np.argsort(-farther, kind="stable")
    beyond = (usual[:, None] >= farther[order]).sum(axis=0)  # (rows,)
    expected = (1 - wrong) * len(farther) * (beyond + 1) / (len(usual) + 1)
    within = np.flatnonzero(expected <= RIGHT * np.arange(1, len(order) + 1))
    most = min(within.max(initial=-1) + 1, int(wrong * len(farther) / (1 - RIGHT)))
    return [int(index) for index in order[:most]]


def _farther(case: StudyCase, pairs: Sequence[tuple[str, str]]) -> np.ndarray:  # (pairs,)
    """Return, for each anchor, the share of other pairs' positives that are nearer to it than its own positive."""
    anchors = case.embedded([anchor for anchor, _ in pairs])
    scores = anchors @ case.embedded([positive for _, positive in pairs], documents=True).T
    own = scores.diagonal()[:, None]
    return np.asarray((scores > own + 1e-6).sum(axis=1) / max(1, len(scores) - 1))


def _judged(case: StudyCase) -> Iterator[tuple[str, str]]:
    """Yield each query of the development split with one relevant document."""
    for split in case.splits("dev"):
        if split.documents is not None:
            for query, judged in zip(split.left, split.documents.judged, strict=True):
                relevant = [number for number, grade in judged.items() if grade > 0]
                yield from ((query, split.documents.texts[number]) for number in relevant[:1])


def false_negatives(case: StudyCase) -> Cause | None:
    """Look for negatives that are near copies of a positive of the same anchor, and for near copies among positives of
    different anchors, which meet as negatives in a batch."""
    pairs = case.pairs
    with_negatives = [pair for pair in pairs if pair.negatives]
    if with_negatives:  # all at once: the store of embeddings writes a file for each call
        case.embedded([text for pair in with_negatives for text in (*pair.positives, *pair.negatives)], documents=True)
    copies = tuple(
        pair.number for pair in with_negatives if any(_alike(case, text, pair.positives) for text in pair.negatives)
    )
    named = len(copies) / max(1, len(with_negatives))
    met = _met_in_a_batch(case)
    if named < LEAST_FALSE and met < LEAST_MET:
        return None
    mend = {"set": {"objective.false_negatives": "self"}} if "objective.false_negatives" in case.recipe.flat() else {}
    facts = {"rows": len(copies), "of": len(with_negatives), "met": met}
    return Cause("false_negatives", ALL_WRONG * max(named, met), facts=facts, mend=mend, rows=copies)


def _alike(case: StudyCase, text: str, others: tuple[str, ...]) -> bool:
    first, *vectors = case.embedded([text, *others], documents=True)
    near = [other for other, vector in zip(others, vectors, strict=True) if first @ vector >= ALIKE]
    return any(near_copies(text, other) for other in near)


def near_copies(first: str, second: str) -> bool:
    """Whether two texts are equal except for a few words: near duplicates as in `find_leaks`."""
    ours, theirs = _shingles(first), _shingles(second)
    return 100 * len(ours & theirs) >= NEAR_PERCENT * len(ours | theirs)


@functools.lru_cache(maxsize=20_000)
def _shingles(text: str) -> frozenset[object]:
    words = normalise(text).split(" ")
    return frozenset((*words, *pairwise(words)))


def _met_in_a_batch(case: StudyCase) -> float:
    """Return the mean share of anchors that meet a near, but not equal, copy of their positive in a batch."""
    pairs, batch = case.pairs, int(str(case.recipe.flat().get(BATCH, 0)))
    own = [pair.positives[0] for pair in pairs]
    vectors = case.embedded(own, documents=True)
    index_pairs = zip(*np.nonzero(np.triu(vectors @ vectors.T >= ALIKE, 1)), strict=True)
    copies = sum(own[i] != own[j] and near_copies(own[i], own[j]) for i, j in index_pairs)
    return min(1.0, 2 * copies / max(1, len(pairs)) * (batch - 1) / max(1, len(pairs) - 1))


def unlike(case: StudyCase) -> Cause | None:
    """Look for training texts that differ from the test's texts so much that a classifier can distinguish them."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import cross_val_predict

    random = np.random.default_rng(0)
    sides = [
        dict.fromkeys([pair.anchor for pair in case.pairs] or [texts(row)[0] for row in case.rows]),
        dict.fromkeys(item[0] for split in case.splits("test") for item in split.items()),
    ]
    size = min(TEXTS, *map(len, sides))
    if size < 10:
        return None
    drawn = [[[*side][index] for index in random.permutation(len(side))[:size]] for side in sides]
    vectors, labels = case.embedded([*drawn[0], *drawn[1]]), np.repeat([0, 1], size)
    # Features of unit length hardly move weights at the usual penalty.
    scores = cross_val_predict(LogisticRegression(C=10.0, max_iter=1000), vectors, labels, cv=5, method="predict_proba")
    area, chance = float(roc_auc_score(labels, scores[:, 1])), float(np.sqrt((2 * size + 1) / (12 * size * size)))
    if area - 2 * chance < TOLD_APART:
        return None
    return Cause("unlike", ALL_WRONG * (area - 0.5), facts={"area": area})


def leaked(case: StudyCase) -> Cause | None:
    """Look for development and test items in the training data."""
    parts = {part: [item for name in case.tasks for item in items_of(TASKS[name], part)] for part in ("dev", "test")}
    counts = find_leaks((texts(row) for row in case.rows), parts).parts
    shares = {part: counts[part].items.all / max(1, counts[part].item_count) for part in parts}
    if max(shares.values()) < LEAST_LEAKED:
        return None
    return Cause("leaked", ALL_WRONG * max(shares.values()), facts=shares, mend={"drop_leaks": True})


def few_items(case: StudyCase) -> Cause | None:
    """Look for a test with too few items to show any but large gains."""
    items = sum(len(split) for split in case.splits("test"))
    if not 1 < items < FEW_ITEMS:
        return None
    test = TestSize(items, case.items_vary)
    half = test.half_interval(LEVEL)
    return Cause("few_items", half, facts={"items": items, "half": half, "needed": test.needed(2.0, LEVEL)})


def ceiling(case: StudyCase) -> Cause | None:
    """Look for a test on which hardly any gain over the original encoder is possible: because its score is high, or
    because relevant documents have copies that are not judged relevant."""
    score = case.untrained_score
    splits = case.splits("test")
    items = sum(len(split) for split in splits)
    if score is None or items < 2:
        return None
    doubled = [own for split in splits if split.documents is not None for own in _doubled(split.documents)]
    lost = 100 * float(np.mean([copies / (1 + copies) for copies in doubled])) if doubled else 0.0
    room, half = 100 - lost - score, TestSize(items, case.items_vary).half_interval(LEVEL)
    if room > half:
        return None
    facts = {"score": score, "lost": lost, "room": room, "half": half, "doubled": sum(map(bool, doubled))}
    return Cause("ceiling", half - max(0.0, room), facts=facts)


def _doubled(documents: JudgedDocuments) -> Iterator[int]:
    """Yield, for each query, the number of documents that equal a relevant document but are not judged relevant."""
    numbers: dict[str, list[int]] = {}
    for number, text in enumerate(documents.texts):
        numbers.setdefault(normalise(text), []).append(number)
    for judged, own in zip(documents.judged, documents.own, strict=True):
        right = {number for number, grade in judged.items() if grade > 0}
        alike = {other for number in right for other in numbers[normalise(documents.texts[number])]}
        yield len(alike - right - {int(own)})


def configuration(case: StudyCase) -> Cause | None:
    """Look for settings that differ from the encoder's own, and score worse on development items before training."""
    flat, differing = case.recipe.flat(), case.not_as_configured
    if not differing:
        return None
    used = case.recipe.preferring({EPOCHS: 0, "encoder.adapter": "none"})
    own, other = (
        sample_of(case.scored(recipe), case.development_quantity) for recipe in (used.preferring(differing), used)
    )
    if own is None or other is None:
        return None
    gain = compare(own, other)
    if gain.low is None or gain.low <= 0:
        return None
    facts = {"gain": gain.gain, "low": gain.low, "high": gain.high, "used": {key: flat[key] for key in differing}}
    return Cause("configuration", gain.gain, True, {**facts, "own": differing}, {"set": differing})


def unusual(case: StudyCase) -> Cause | None:
    """Look for settings outside the usual range. This cause is a hint; only trainings can prove it."""
    flat = case.recipe.flat()
    odd = {
        TEMPERATURE: lambda value: value > WARM_TEMPERATURE or value < COLD_TEMPERATURE,
        BATCH: lambda value: value < SMALL_BATCH,
        RATE: lambda value: value > FAST_RATE or value < SLOW_RATE,
    }
    usual = {TEMPERATURE: 0.05, BATCH: min(USUAL_BATCH, max(2, len(case.rows) // 4)), RATE: 1e-4}
    beyond = {key: flat[key] for key, outside in odd.items() if flat.get(key) is not None and outside(flat[key])}
    if not beyond:
        return None
    return Cause("unusual", HINT, facts={"used": beyond}, mend={"set": {key: usual[key] for key in beyond}})


LOOKS = (mislabelled, false_negatives, unlike, leaked, few_items, ceiling, configuration, unusual)


def look_for_causes(case: StudyCase) -> list[Cause]:
    """Return the causes that all looks find, the one that costs the most points first."""
    return order_causes(cause for look in LOOKS if (cause := look(case)) is not None)


def order_causes(causes: Iterable[Cause]) -> list[Cause]:
    """Return the causes in order, the one that costs the most points first."""
    return sorted(causes, key=lambda cause: -cause.points)
