"""Caption-image pairs: five captions of one scene, and made-up features of an image of the scene.

Each concept has a direction in feature space. An image is the sum of the directions of its scene's concepts and their
ancestors, separate for agent and patient, plus noise. Negative values become 0, as in a network's pooled features.
"""

from __future__ import annotations

from random import Random

import numpy as np

from trainables.corpora.scenes.lexicon import NOUN_TREE, PLACE_TREE, TRAIT_DIMENSION, VERB_TREE
from trainables.corpora.scenes.scene import Scene, changed, generalise, sample
from trainables.corpora.scenes.text import CAPTION, PLAIN, tell

DIM = 2048
CAPTIONS = 5
_NOISE = 0.5

_FEATURES = [
    *(f"agent {kind}" for kind in NOUN_TREE.parent),
    *(f"patient {kind}" for kind in NOUN_TREE.parent),
    *(f"action {action}" for action in VERB_TREE.parent),
    *(f"place {place}" for place in PLACE_TREE.parent),
    *(f"trait {trait}" for trait in TRAIT_DIMENSION),
]


def image_set(rng: Random, images: int, seed: int) -> dict[str, object]:
    """Return the content of a caption file as in the original: `features`, `image_to_caption_ids`, `captions`."""
    scenes = [sample(rng, 0.5) for _ in range(images)]
    captions: dict[int, dict[str, str]] = {}
    caption_ids: dict[int, list[int]] = {}
    for number, scene in enumerate(scenes):
        caption_ids[number] = list(range(len(captions), len(captions) + CAPTIONS))
        for i in caption_ids[number]:
            view = changed(scene, rng, *[generalise] * rng.choice((0, 1, 1, 2)))
            captions[i] = {"cleaned_caption": tell(view, rng, rng.choice((CAPTION, PLAIN))).removesuffix(" .")}
    return {
        "features": _features(scenes, rng, seed),
        "image_to_caption_ids": caption_ids,
        "captions": captions,
    }


def _features(scenes: list[Scene], rng: Random, seed: int) -> np.ndarray:
    directions = np.random.default_rng(seed).standard_normal((len(_FEATURES), DIM)).astype(np.float32)
    place = {name: row for row, name in enumerate(_FEATURES)}
    shown = np.zeros((len(scenes), len(_FEATURES)), dtype=np.float32)
    for row, scene in enumerate(scenes):
        for name in _feature_names(scene):
            shown[row, place[name]] = 1.0
    noise = np.random.default_rng(rng.getrandbits(32)).standard_normal((len(scenes), DIM)).astype(np.float32)
    weight = np.sqrt(shown.sum(axis=1, keepdims=True))  # (images, 1)
    return np.maximum(shown @ directions / weight + _NOISE * noise, 0.0)  # (images, DIM)


def _feature_names(scene: Scene) -> list[str]:
    parts = [f"action {action}" for action in VERB_TREE.ancestors(scene.action)]
    for role, entity in (("agent", scene.agent), ("patient", scene.patient)):
        if entity:
            parts += [f"{role} {kind}" for kind in NOUN_TREE.ancestors(entity.kind)]
            parts += [f"trait {trait}" for trait in entity.traits]
    parts += [f"place {place}" for place in (PLACE_TREE.ancestors(scene.place) if scene.place else ())]
    return parts
