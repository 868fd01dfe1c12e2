"""Sentences about scenes, as constituency trees: one of several sentence forms, and one word for each concept.

A tree is `(label, child, ...)` with words as leaves, so that the probing tasks can use depth and constituents.
`tell` returns the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from trainables.corpora.scenes.lexicon import (
    MANNER_WORDS,
    NOUN_TREE,
    NOUNS,
    NUMBERS,
    PLACE_TREE,
    TIME_TREE,
    TRAIT_WORDS,
    VERBS,
    Noun,
    Verb,
    listed,
    with_articles,
)
from trainables.corpora.scenes.scene import Entity, Scene

Constituent = tuple[Any, ...]
"""`(label, child, ...)`; a child is a constituent or a word."""

FUNCTION_WORDS = frozenset(listed("a an the some no is are was were being there it that who by . ,"))


@dataclass(frozen=True)
class Style:
    """Sentence forms, drawn as often as they are repeated, and the words around them."""

    forms: tuple[str, ...] = ("progressive", "progressive", "simple", "passive", "there", "fronted", "cleft")
    openings: tuple[str, ...] = ("",)
    stop: bool = True
    relative: float = 0.15
    """Probability that a relative clause expresses a trait."""
    counted: bool = True
    """Whether plurals have a numeral; else `the` or `some`."""
    bare: bool = False
    """Whether articles are left out, as in headlines."""


PLAIN = Style()
CAPTION = Style(forms=("progressive", "fragment", "fragment", "there"), relative=0.05)
HEADLINE = Style(forms=("simple", "simple", "passive"), stop=False, relative=0.0, bare=True)


def tell(scene: Scene, rng: Random, style: Style = PLAIN) -> str:
    """Return one sentence about the scene, with words and punctuation joined by single spaces."""
    opening = rng.choice(style.openings)
    body = " ".join(leaves(tree(scene, rng, style)))
    return f"{opening} {body}".strip()


def tree(scene: Scene, rng: Random, style: Style = PLAIN) -> Constituent:
    """Return the constituency tree of one sentence about the scene."""
    form = rng.choice(style.forms)
    if form in ("passive", "cleft") and (not scene.patient or scene.negated):
        form = "progressive"
    if form == "fronted" and not (scene.place or scene.time):
        form = "simple"
    if form == "fragment" and scene.negated:
        form = "there"
    telling = _Telling(rng, style)
    parts = {
        "progressive": telling.progressive,
        "simple": telling.simple,
        "passive": telling.passive,
        "there": telling.existential,
        "fronted": telling.fronted,
        "cleft": telling.cleft,
        "fragment": telling.fragment,
    }[form](scene)
    return ("S", *parts, (".", ".")) if style.stop else ("S", *parts)


def leaves(node: Constituent) -> list[str]:
    """Return the words of a tree."""
    return with_articles(list(_walk(node)))


def depth(node: Constituent) -> int:
    """Return the number of levels of constituents above the deepest word."""
    return 1 + max((depth(child) for child in node[1:] if isinstance(child, tuple)), default=0)


def top(node: Constituent) -> str:
    """Return the labels directly below the root, without commas, as the probing task writes them: `NP_VP_.`."""
    return "_".join(child[0] for child in node[1:] if child[0] != ",")


def _walk(node: Constituent) -> Iterator[str]:
    for child in node[1:]:
        if isinstance(child, str):
            yield child
        else:
            yield from _walk(child)


@dataclass
class _Telling:
    """Draws the words of one sentence, and builds its constituents."""

    rng: Random
    style: Style

    def progressive(self, scene: Scene) -> list[Constituent]:
        verb = self._verb(scene)
        return [
            self._np(scene.agent, scene.negated),
            ("VP", ("VB", _be(scene.agent, scene.past)), self._vp(("VBG", verb.ing), scene)),
        ]

    def simple(self, scene: Scene) -> list[Constituent]:
        verb = self._verb(scene)
        form = verb.past if scene.past else verb.base if scene.agent.count > 1 else verb.third
        tag = "VBD" if scene.past else "VBZ"
        return [self._np(scene.agent, scene.negated), self._vp((tag, form), scene)]

    def passive(self, scene: Scene) -> list[Constituent]:
        assert scene.patient
        by = ("PP", ("IN", "by"), self._np(scene.agent))
        inner = ("VP", ("VBN", self._verb(scene).participle), by, *self._adjuncts(scene))
        if self.style.bare:
            return [self._np(scene.patient), inner]
        be = ("VB", _be(scene.patient, scene.past))
        inner = inner if scene.past else ("VP", ("VBG", "being"), inner)
        return [self._np(scene.patient), ("VP", be, inner)]

    def existential(self, scene: Scene) -> list[Constituent]:
        inner = ("NP", self._np(scene.agent, scene.negated), self._vp(("VBG", self._verb(scene).ing), scene))
        return [("NP", ("EX", "there")), ("VP", ("VB", _be(scene.agent, scene.past)), inner)]

    def fronted(self, scene: Scene) -> list[Constituent]:
        first, *rest = self._pps(scene)
        clause = self.simple if self.rng.random() < 0.5 else self.progressive
        subject, predicate = clause(replace(scene, place=None, time=None))
        return [first, (",", ","), subject, (*predicate, *rest)]

    def cleft(self, scene: Scene) -> list[Constituent]:
        """Build a sentence such as "it is a dog that chases the cat"."""
        _, predicate = self.simple(scene)
        relative = ("SBAR", ("WHNP", _pronoun(scene.agent)), ("S", predicate))
        be = ("VB", "was" if scene.past else "is")
        return [("NP", ("PRP", "it")), ("VP", be, ("NP", self._np(scene.agent), relative))]

    def fragment(self, scene: Scene) -> list[Constituent]:
        return [self._np(scene.agent), self._vp(("VBG", self._verb(scene).ing), scene)]

    def _verb(self, scene: Scene) -> Verb:
        return self.rng.choice(VERBS[scene.action])

    def _vp(self, verb: Constituent, scene: Scene) -> Constituent:
        objects = [self._np(scene.patient)] if scene.patient else []
        return ("VP", verb, *objects, *self._adjuncts(scene))

    def _adjuncts(self, scene: Scene) -> list[Constituent]:
        manner = [("ADVP", ("RB", self.rng.choice(MANNER_WORDS[scene.manner])))] if scene.manner else []
        return [*manner, *self._pps(scene)]

    def _pps(self, scene: Scene) -> list[Constituent]:
        phrases: list[Constituent] = []
        if scene.place:
            preposition, *noun = self.rng.choice(PLACE_TREE.words[scene.place]).split()
            if not noun:
                phrases.append(("ADVP", ("RB", preposition)))
            else:
                article = () if self.style.bare else (("DT", "the"),)
                phrases.append(("PP", ("IN", preposition), ("NP", *article, ("NN", noun[0]))))
        if scene.time:
            preposition, *noun = self.rng.choice(TIME_TREE.words[scene.time]).split()
            phrases.append(("PP", ("IN", preposition), ("NP", *(("NN", word) for word in noun))))
        if len(phrases) == 2 and self.rng.random() < 0.3:
            phrases.reverse()
        return phrases

    def _np(self, entity: Entity, none: bool = False) -> Constituent:
        noun: Noun = self.rng.choice(NOUNS[entity.kind])
        traits = list(entity.traits)
        clause: list[Constituent] = []
        if traits and not none and self.rng.random() < self.style.relative:
            be = "are" if entity.count > 1 else "is"
            adjective = ("ADJP", ("JJ", self._trait(traits.pop())))
            clause = [("SBAR", ("WHNP", _pronoun(entity)), ("S", ("VP", ("VB", be), adjective)))]
        adjectives = [("JJ", self._trait(trait)) for trait in traits]
        head = ("NNS", noun.plural) if entity.count > 1 else ("NN", noun.singular)
        phrase = ("NP", *self._determiners(entity, none), *adjectives, head)
        return ("NP", phrase, *clause) if clause else phrase

    def _determiners(self, entity: Entity, none: bool) -> list[Constituent]:
        if none:
            return [("DT", "no")]
        if entity.count > 1:
            if self.style.counted:
                return [("CD", NUMBERS[entity.count - 1])]
            return [("DT", self.rng.choice(("the", "some")))]
        return [] if self.style.bare else [("DT", self.rng.choice(("a", "a", "the")))]

    def _trait(self, trait: str) -> str:
        return self.rng.choice(TRAIT_WORDS[trait])


def _be(entity: Entity, past: bool) -> str:
    return ("were" if past else "are") if entity.count > 1 else ("was" if past else "is")


def _pronoun(entity: Entity) -> str:
    return "who" if NOUN_TREE.is_a(entity.kind, "person") else "that"
