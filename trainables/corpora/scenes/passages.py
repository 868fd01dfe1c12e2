"""Documents: stories about a few participants, in chapters with one place and one time each."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from trainables.corpora.scenes.lexicon import PLACE_TREE, TIME_TREE, words_of
from trainables.corpora.scenes.scene import possible, sample
from trainables.corpora.scenes.text import Style, tell

_NARRATIVE = Style(
    forms=("simple", "simple", "progressive", "passive", "fronted"),
    openings=("", "", "then", "later", "meanwhile", "soon", "after that"),
)


def story(rng: Random, count: int) -> str:
    """Return a document of `count` sentences in a single line."""
    cast = [sample(rng, 0.4).agent for _ in range(3)]
    sentences: list[str] = []
    place = time = ""
    while len(sentences) < count:
        if len(sentences) % 8 == 0:
            place, time = rng.choice(list(PLACE_TREE.parent)), rng.choice(list(TIME_TREE.parent))
        agent = rng.choice(cast)
        scene = sample(rng, 0.3)
        scene = replace(scene, agent=agent, place=place if rng.random() < 0.4 else None, past=True)
        scene = replace(scene, time=time if rng.random() < 0.2 else None)
        others = [entity for entity in cast if entity != agent]
        if scene.patient and rng.random() < 0.5:
            scene = replace(scene, patient=rng.choice(others or cast))
        if possible(scene) and scene.patient != agent:
            sentences.append(tell(scene, rng, _NARRATIVE))
    return " ".join(sentences)


def story_words() -> set[str]:
    return words_of(*_NARRATIVE.openings)
