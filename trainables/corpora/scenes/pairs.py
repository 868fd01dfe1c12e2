"""Judged sentence pairs: NLI groups, graded similarity in many styles, paraphrases.

Labels and scores are computed from two scenes. Their sentences are chosen afterwards, with any word of each concept
and in any form. So a paraphrase may share no word, and a contradiction may share all words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

from trainables.corpora.scenes.lexicon import words_of
from trainables.corpora.scenes.scene import (
    Scene,
    changed,
    contradict,
    enrich,
    generalise,
    relation,
    sample,
    similarity,
    swap,
    with_part,
)
from trainables.corpora.scenes.text import CAPTION, HEADLINE, PLAIN, Style, tell
from trainables.labels import LABELS, Label


@dataclass(frozen=True)
class Pair:
    """Two scenes and a sentence about each."""

    first: Scene
    second: Scene
    texts: tuple[str, str]

    @property
    def label(self) -> Label:
        return relation(self.first, self.second)

    @property
    def score(self) -> float:
        return similarity(self.first, self.second)


def nli_groups(rng: Random, keep: Callable[[str], bool] = lambda premise: True) -> Iterator[list[Pair]]:
    """Yield groups of one premise with 3 to 6 hypotheses, without end; labels vary, some groups have no entailment.

    `keep` returns whether a premise is wanted; no hypotheses are made for other premises.
    """
    while True:
        premise = sample(rng, richness=0.6)
        text = tell(premise, rng)
        if not keep(text):
            continue
        labels = rng.sample(LABELS, 3) if rng.random() < 0.6 else [rng.choice(LABELS) for _ in range(3)]
        labels += [rng.choice(LABELS) for _ in range(rng.choice((0, 0, 0, 1, 2, 3)))]
        group: dict[str, Pair] = {}
        for label in labels:
            hypothesis = hypothesise(premise, label, rng)
            sentence = tell(hypothesis, rng) if hypothesis else text
            if hypothesis and sentence != text and sentence not in group:
                group[sentence] = Pair(premise, hypothesis, (text, sentence))
        if len(group) >= 3:
            yield list(group.values())


def hypothesise(premise: Scene, label: Label, rng: Random) -> Scene | None:
    """Return a scene with this relation to the premise; None if twenty draws give none."""
    for _ in range(20):
        scene = changed(premise, rng, *[generalise] * rng.choice((0, 1, 1, 2, 3)))
        if label == "neutral":
            scene = changed(scene, rng, *[enrich] * rng.choice((1, 1, 2)))
        elif label == "contradiction":
            scene = replace(scene, negated=True) if rng.random() < 0.2 else changed(scene, rng, contradict)
        if relation(premise, scene) == label:
            return scene
    return None


@dataclass(frozen=True)
class PairMix:
    """Options of graded pairs: weights of the kinds of edits, and the two styles."""

    weights: tuple[int, ...]
    """Same scene, one detail, two details, one contradiction, exchanged roles, two contradictions, topic, random."""
    styles: tuple[Style, Style]
    richness: float = 0.45


FORUM = Style(
    openings=("i think that", "i believe that", "i guess", "it seems that", ""), forms=("progressive", "simple")
)
TWEET = Style(openings=("breaking :", "watch :", "now :", "photo :", ""), forms=("simple", "fragment"), stop=False)
LONG = Style(forms=("passive", "cleft", "fronted", "there"), relative=0.5)
SHORT = Style(forms=("fragment",), relative=0.0)
STYLES = (PLAIN, CAPTION, HEADLINE, FORUM, TWEET, LONG, SHORT)

BROAD = (4, 4, 3, 4, 2, 3, 3, 4)
CLOSE = (4, 5, 4, 5, 3, 2, 0, 1)
SPREAD = (3, 2, 2, 3, 2, 3, 5, 8)


def graded_pairs(rng: Random, mix: PairMix) -> Iterator[Pair]:
    """Yield pairs with similarities from 0 to 5, without end."""
    edits = (
        lambda s, r: s,
        lambda s, r: changed(s, r, r.choice((generalise, enrich))),
        lambda s, r: changed(s, r, generalise, enrich),
        contradict,
        lambda s, r: swap(s),
        lambda s, r: changed(s, r, contradict, contradict),
        _same_topic,
        lambda s, r: sample(r, mix.richness),
    )
    while True:
        (edit,) = rng.choices(edits, mix.weights)
        first = sample(rng, mix.richness)
        second = edit(first, rng)
        if second is None:
            continue
        if rng.random() < 0.5:
            first, second = second, first
        yield told_apart(first, second, rng, mix.styles)


def paraphrase_pairs(rng: Random) -> Iterator[tuple[Pair, bool]]:
    """Yield pairs, half of them paraphrases, without end. Most other pairs are two events of the same action, as in
    MRPC; some differ in only two parts. So a small encoder can learn the task, and no encoder finds it easy."""
    while True:
        first = sample(rng, richness=0.5)
        positive = rng.random() < 0.5
        second: Scene | None
        if positive:
            second = first if rng.random() < 0.7 else _less_detail(first, rng)
        else:
            second = _same_topic(first, rng) if rng.random() < 0.75 else changed(first, rng, contradict, contradict)
        if second is None or (not positive and "entailment" in (relation(first, second), relation(second, first))):
            continue
        yield told_apart(first, second, rng, (PLAIN, PLAIN)), positive


def told_apart(first: Scene, second: Scene, rng: Random, styles: tuple[Style, Style]) -> Pair:
    """Return the pair with two sentences, which differ if five draws suffice."""
    sentence = tell(first, rng, styles[0])
    for _ in range(5):
        other = tell(second, rng, styles[1])
        if other != sentence:
            break
    return Pair(first, second, (sentence, other))


def _less_detail(scene: Scene, rng: Random) -> Scene | None:
    details = [name for name in ("place", "time", "manner") if getattr(scene, name)]
    return with_part(scene, rng.choice(details), None) if details else None


def _same_topic(scene: Scene, rng: Random) -> Scene:
    """Return another scene with the same action, and sometimes with the same agent."""
    other = sample(rng, 0.4, [scene.action])
    return replace(other, agent=scene.agent) if rng.random() < 0.3 and other.patient != scene.agent else other


def style_words() -> set[str]:
    """Return every word of the styles' openings."""
    return words_of(*(opening for style in STYLES for opening in style.openings))
