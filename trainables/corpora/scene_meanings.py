"""Meanings of the sentences of the built-in corpus, and entailment between them. A meaning is a `Scene`: who does what.

    meanings = meanings_of("scenes")
    meanings.entailed(batch.sentences, batch.premise)

Other texts have no grammar, so their meanings are unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import numpy as np

from trainables.corpora.scenes.files import nli_pairs
from trainables.corpora.scenes.lexicon import NOUN_TREE, VERB_TREE
from trainables.corpora.scenes.scene import Scene, relation
from trainables.recipe import SCENES


def meanings_of(source: object) -> Meanings | None:
    """Return the meanings of an NLI corpus (`corpus.nli`); None unless it is the built-in corpus."""
    return Meanings() if source == SCENES else None


def entails(scene: Scene, other: Scene) -> bool:
    """Whether `other` follows from `scene`: they are equal, or the grammar's label of the pair is entailment.

    `relation` ignores the negation of a premise, as no premise is negated. So a negated scene entails only itself.
    """
    return scene == other or (not scene.negated and relation(scene, other) == "entailment")


class Meanings:
    """The meaning of each sentence of the built-in corpus, and entailment between these sentences."""

    @property
    def scenes(self) -> Mapping[str, Scene]:
        """Maps each sentence of the built-in corpus to its meaning; made at first use."""
        return _built_in()

    def entailed(self, texts: Sequence[str], premises: Iterable[int]) -> np.ndarray | None:
        """Return (texts, texts) bool: entry (i, j) is whether text j follows from text i, for each i in `premises`;
        other rows are False. None if a text is unknown."""
        if not self.scenes.keys() >= set(texts):
            return None
        scenes = [self.scenes[text] for text in texts]
        matrix = np.zeros((len(texts), len(texts)), dtype=bool)
        by_action: dict[str, list[int]] = {}
        for index, scene in enumerate(scenes):
            by_action.setdefault(scene.action, []).append(index)
        for row in {*premises}:
            scene = scenes[row]
            for action in VERB_TREE.ancestors(scene.action):  # an entailed scene has no narrower action or agent
                for index in by_action.get(action, ()):
                    other = scenes[index]
                    if NOUN_TREE.is_a(scene.agent.kind, other.agent.kind):
                        matrix[row, index] = entails(scene, other)
        return matrix


@cache
def _built_in() -> Mapping[str, Scene]:
    """Map each sentence of the corpus that `trainables.corpora.scenes.ensure` writes to its meaning."""
    pairs = [pair for split in nli_pairs(seed=0, size=1.0).values() for pair in split]
    return {text: scene for p in pairs for text, scene in zip(p.texts, (p.first, p.second), strict=True)}
