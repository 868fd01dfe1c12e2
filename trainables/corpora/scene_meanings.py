"""What the sentences of the built-in corpus mean, and which follow from which.

    meanings = meanings_of("scenes")
    meanings.entailed(batch.sentences, batch.premise)

Of texts that no grammar made nobody knows that.
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
    """Of the texts of an NLI corpus (`corpus.nli`); None where it has no grammar."""
    return Meanings() if source == SCENES else None


def follows(scene: Scene, other: Scene) -> bool:
    """Whether the other means the same, or the grammar's label of the pair is entailment.

    `relation` reads no negation of a premise, as none is negated: from a negated scene follows itself alone.
    """
    return scene == other or (not scene.negated and relation(scene, other) == "entailment")


class Meanings:
    """Scenes by their text."""

    @property
    def scenes(self) -> Mapping[str, Scene]:
        """Made at first use."""
        return _built_in()

    def entailed(self, texts: Sequence[str], of: Iterable[int]) -> np.ndarray | None:
        """(texts, texts), boolean: which texts follow from each, for those at the places `of`; others' rows are False.
        None where a text is not known."""
        if not self.scenes.keys() >= set(texts):
            return None
        scenes = [self.scenes[text] for text in texts]
        matrix = np.zeros((len(texts), len(texts)), dtype=bool)
        by_action: dict[str, list[int]] = {}
        for place, scene in enumerate(scenes):
            by_action.setdefault(scene.action, []).append(place)
        for row in {*of}:
            scene = scenes[row]
            for action in VERB_TREE.ancestors(scene.action):  # what follows has no narrower action, nor agent
                for place in by_action.get(action, ()):
                    other = scenes[place]
                    if NOUN_TREE.is_a(scene.agent.kind, other.agent.kind):
                        matrix[row, place] = follows(scene, other)
        return matrix


@cache
def _built_in() -> Mapping[str, Scene]:
    """Of the corpus that `trainables.corpora.scenes.ensure` writes."""
    pairs = [pair for split in nli_pairs(seed=0, size=1.0).values() for pair in split]
    return {text: scene for p in pairs for text, scene in zip(p.texts, (p.first, p.second), strict=True)}
