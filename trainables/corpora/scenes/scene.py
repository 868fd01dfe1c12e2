"""Scenes: who does what to whom, where, when, how and how many; entailment and similarity between scenes.

The corpus is a closed world: a scene has one action, a count means "at least", and the lexicon decides which concepts
exclude each other. So labels of sentence pairs are proved on the scenes, before any word is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any, Literal

from trainables.corpora.scenes.lexicon import (
    FRAMES,
    MANNER_DIMENSION,
    NOUN_TREE,
    PLACE_TREE,
    TIME_TREE,
    TRAIT_DIMENSION,
    VERB_TREE,
    Tree,
    kinds_of,
    traits_for,
)
from trainables.labels import Label

Slot = Literal["same", "wider", "narrower", "excluded", "open"]
"""A part of scene B seen from scene A: the same, a generalisation, a specialisation, excluded, or undecided."""


Step = tuple[str, Any]
"""Name of a part of a scene, and its new value."""


@dataclass(frozen=True)
class Entity:
    """`count` members of a kind, with traits in the lexicon's order."""

    kind: str
    count: int = 1
    traits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scene:
    """One event. `negated`: no such agent does this."""

    agent: Entity
    action: str
    patient: Entity | None = None
    place: str | None = None
    time: str | None = None
    manner: str | None = None
    past: bool = False
    negated: bool = False


def relation(premise: Scene, hypothesis: Scene) -> Label:
    """Return entailment if every part follows, contradiction if one part is excluded, neutral otherwise."""
    if hypothesis.negated:
        return "contradiction" if relation(premise, replace(hypothesis, negated=False)) == "entailment" else "neutral"
    slots = [slot for _, slot in _slots(premise, hypothesis)]
    if "excluded" in slots:
        return "contradiction"
    return "entailment" if set(slots) <= {"same", "wider"} else "neutral"


def similarity(a: Scene, b: Scene) -> float:
    """Return 0 to 5: the weighted overlap of the parts, lowered for each part that excludes the other scene's part."""
    gained = weight = 0.0
    penalty = 1.0
    for tree, x, y, importance in _parts(a, b):
        weight += importance
        gained += importance * _closeness(tree, x, y)
        if x and y and tree.excludes(x, y):
            penalty *= 0.75 if importance >= 3 else 0.85
    for x_entity, y_entity in ((a.agent, b.agent), (a.patient, b.patient)):
        if not x_entity or not y_entity:
            continue
        x_traits, y_traits = ({TRAIT_DIMENSION[t]: t for t in entity.traits} for entity in (x_entity, y_entity))
        for dimension in sorted({*x_traits, *y_traits}):
            weight += 1.0
            if dimension not in x_traits or dimension not in y_traits:
                gained += 0.5
            elif x_traits[dimension] == y_traits[dimension]:
                gained += 1.0
            else:
                penalty *= 0.85
        weight += 0.5 * (x_entity.count != y_entity.count)
    weight += 0.25 * (a.past != b.past)
    if a.negated != b.negated:
        penalty *= 0.5
    return 5.0 * penalty * gained / weight


def sample(rng: Random, richness: float = 0.5, actions: list[str] | None = None) -> Scene:
    """Return a random scene; `richness` is the probability of each detail, halved for time and manner."""
    action = rng.choice(actions or list(VERB_TREE.parent))
    frame = FRAMES[action]
    patient = None
    if frame.patients and not (frame.optional and rng.random() < 0.2):
        patient = _entity(rng, frame.patients, richness)
    agent = _entity(rng, frame.agents, richness)
    while patient and patient.kind == agent.kind:  # "the dog chases the dog" has no distinct roles
        agent = _entity(rng, frame.agents, richness)

    def maybe(values: object) -> str | None:
        return rng.choice(list(values)) if rng.random() < richness else None  # type: ignore[call-overload]

    return Scene(
        agent=agent,
        action=action,
        patient=patient,
        place=maybe([place for place, parent in PLACE_TREE.parent.items() if parent]),
        time=rng.choice(list(TIME_TREE.parent)) if rng.random() < richness / 2 else None,
        manner=rng.choice(list(MANNER_DIMENSION)) if rng.random() < richness / 2 else None,
        past=rng.random() < 0.4,
    )


def generalise(scene: Scene, rng: Random) -> Scene | None:
    """Return the scene with one generalisation: a wider concept, one detail less, or a smaller count. None: no step."""
    steps: list[Step] = [
        (name, parent)
        for name, tree in (("action", VERB_TREE), ("place", PLACE_TREE))
        if (value := getattr(scene, name)) and (parent := tree.parent[value])
    ]
    steps += [(name, None) for name in ("place", "time", "manner") if getattr(scene, name)]
    for role, entity in _entities(scene):
        if parent := NOUN_TREE.parent[entity.kind]:
            fit = tuple(trait for trait in entity.traits if trait in traits_for(parent))
            steps.append((role, Entity(parent, entity.count, fit)))
        steps += [(role, _without(entity, trait)) for trait in entity.traits]
        if entity.count > 1:
            steps.append((role, Entity(entity.kind, rng.randint(1, entity.count - 1), entity.traits)))
    if scene.patient and FRAMES[scene.action].optional:
        steps.append(("patient", None))
    return _pick(scene, steps, rng)


def enrich(scene: Scene, rng: Random) -> Scene | None:
    """Return the scene with one specialisation: a narrower concept or one detail more. None: no step."""
    steps: list[Step] = []
    for name, tree in (("action", VERB_TREE), ("place", PLACE_TREE)):
        value = getattr(scene, name)
        if value and (narrower := tree.children(value)):
            steps.append((name, rng.choice(narrower)))
    for name, values in (("place", PLACE_TREE.parent), ("time", TIME_TREE.parent), ("manner", MANNER_DIMENSION)):
        if not getattr(scene, name):
            steps.append((name, rng.choice(list(values))))
    for role, entity in _entities(scene):
        if narrower := NOUN_TREE.children(entity.kind):
            steps.append((role, Entity(rng.choice(narrower), entity.count, entity.traits)))
        dimensions = {TRAIT_DIMENSION[trait] for trait in entity.traits}
        if free := [trait for trait in traits_for(entity.kind) if TRAIT_DIMENSION[trait] not in dimensions]:
            steps.append((role, _with(entity, rng.choice(free))))
    frame = FRAMES[scene.action]
    if frame.optional and not scene.patient:
        steps.append(("patient", Entity(rng.choice(kinds_of(frame.patients)))))
    return _pick(scene, steps, rng)


def contradict(scene: Scene, rng: Random) -> Scene | None:
    """Return the scene with one contradiction: another action, agent, patient, place, time, trait, or roles swapped."""
    steps: list[Step] = []
    for name, tree in (("action", VERB_TREE), ("place", PLACE_TREE), ("time", TIME_TREE)):
        if value := getattr(scene, name):
            weight = 3 if name == "action" else 1
            steps += [(name, other) for other in rng.sample(_rivals(tree, value), weight)]
    for role, entity in _entities(scene):
        for kind in rng.sample(_rivals(NOUN_TREE, entity.kind), 2):
            fit = tuple(trait for trait in entity.traits if trait in traits_for(kind))
            steps.append((role, Entity(kind, entity.count, fit)))
        for trait in entity.traits:
            opposites = [t for t, d in TRAIT_DIMENSION.items() if d == TRAIT_DIMENSION[trait] and t != trait]
            steps.append((role, _with(_without(entity, trait), rng.choice(opposites))))
    swapped = swap(scene)
    if swapped and rng.random() < 4 / (len(steps) + 4):
        return swapped
    return _pick(scene, steps, rng)


def swap(scene: Scene) -> Scene | None:
    """Return the scene with agent and patient exchanged; None if one cannot have the other's role."""
    if not scene.patient:
        return None
    swapped = replace(scene, agent=scene.patient, patient=scene.agent)
    return swapped if possible(swapped) else None


def possible(scene: Scene) -> bool:
    """Whether the action takes this agent and this patient, and the traits fit."""
    frame = FRAMES[scene.action]
    if not any(NOUN_TREE.is_a(scene.agent.kind, root) for root in frame.agents):
        return False
    if scene.patient is None:
        if frame.patients and not frame.optional:
            return False
    elif not any(NOUN_TREE.is_a(scene.patient.kind, root) for root in frame.patients):
        return False
    return all(set(entity.traits) <= set(traits_for(entity.kind)) for _, entity in _entities(scene))


def changed(scene: Scene, rng: Random, *edits: Callable[[Scene, Random], Scene | None]) -> Scene:
    """Apply the edits in order; skip an edit that finds nothing to change."""
    for edit in edits:
        scene = edit(scene, rng) or scene
    return scene


def with_part(scene: Scene, part: str, value: Any) -> Scene:
    """Return the scene with the part of this name replaced."""
    return replace(scene, **{part: value})


def _entities(scene: Scene) -> Iterator[tuple[str, Entity]]:
    yield "agent", scene.agent
    if scene.patient:
        yield "patient", scene.patient


def _entity(rng: Random, roots: tuple[str, ...], richness: float) -> Entity:
    kind = rng.choice(kinds_of(roots))
    count = rng.choice((2, 2, 3, 4, 5)) if rng.random() < 0.3 else 1
    entity = Entity(kind, count)
    for chance in (richness * 0.7, richness * 0.2):
        dimensions = {TRAIT_DIMENSION[trait] for trait in entity.traits}
        free = [trait for trait in traits_for(kind) if TRAIT_DIMENSION[trait] not in dimensions]
        if free and rng.random() < chance:
            entity = _with(entity, rng.choice(free))
    return entity


def _with(entity: Entity, trait: str) -> Entity:
    order = list(TRAIT_DIMENSION)
    return Entity(entity.kind, entity.count, tuple(sorted((*entity.traits, trait), key=order.index)))


def _without(entity: Entity, trait: str) -> Entity:
    return Entity(entity.kind, entity.count, tuple(t for t in entity.traits if t != trait))


@cache
def _rivals(tree: Tree, concept: str) -> tuple[str, ...]:
    """Return the concepts that exclude this concept; those of the same root nine times, to draw them more often."""
    root = tree.ancestors(concept)[-1]
    return tuple(
        other for other in tree.excluded(concept) for _ in range(9 if tree.ancestors(other)[-1] == root else 1)
    )


def _pick(scene: Scene, steps: list[Step], rng: Random) -> Scene | None:
    """Return the scene after a random step that leaves it possible; None if there is no such step."""
    while steps:
        edited = with_part(scene, *steps.pop(rng.randrange(len(steps))))
        if possible(edited):
            return edited
    return None


def _slots(a: Scene, b: Scene) -> Iterator[tuple[str, Slot]]:
    for name, tree in (("action", VERB_TREE), ("place", PLACE_TREE), ("time", TIME_TREE)):
        yield name, _slot(tree, getattr(a, name), getattr(b, name))
    yield "manner", _traits((a.manner,) if a.manner else (), (b.manner,) if b.manner else (), MANNER_DIMENSION)
    yield "tense", "same" if a.past == b.past else "open"
    for role in ("agent", "patient"):
        x, y = getattr(a, role), getattr(b, role)
        yield role, _slot(NOUN_TREE, x and x.kind, y and y.kind)
        if x and y:
            yield f"{role} count", "same" if x.count == y.count else "wider" if y.count < x.count else "narrower"
            yield f"{role} traits", _traits(x.traits, y.traits, TRAIT_DIMENSION)


def _slot(tree: Tree, a: str | None, b: str | None) -> Slot:
    if a == b:
        return "same"
    if b is None:
        return "wider"
    if a is None:
        return "narrower"
    if tree.is_a(a, b):
        return "wider"
    if tree.is_a(b, a):
        return "narrower"
    return "excluded" if tree.excludes(a, b) else "open"


def _traits(a: tuple[str, ...], b: tuple[str, ...], dimension: dict[str, str]) -> Slot:
    by_dimension = {dimension[value]: value for value in a}
    if any(by_dimension.get(dimension[value], value) != value for value in b):
        return "excluded"
    if set(b) - set(a):
        return "narrower"
    return "same" if set(a) == set(b) else "wider"


def _parts(a: Scene, b: Scene) -> Iterator[tuple[Tree, str | None, str | None, float]]:
    yield VERB_TREE, a.action, b.action, 3.0
    yield NOUN_TREE, a.agent.kind, b.agent.kind, 3.0
    if a.patient or b.patient:
        x, y = (scene.patient.kind if scene.patient else None for scene in (a, b))
        yield NOUN_TREE, x, y, 3.0
    if a.place or b.place:
        yield PLACE_TREE, a.place, b.place, 1.5
    if a.time or b.time:
        yield TIME_TREE, a.time, b.time, 0.75
    if a.manner or b.manner:
        yield _MANNERS_FLAT, a.manner, b.manner, 0.75


# Manners have no generalisations, so their tree has only roots.
_MANNERS_FLAT = Tree(dict.fromkeys(MANNER_DIMENSION), dict.fromkeys(MANNER_DIMENSION, ""))


def _closeness(tree: Tree, a: str | None, b: str | None) -> float:
    if a == b:
        return 1.0
    if a is None or b is None:
        return 0.5
    up_a, up_b = tree.ancestors(a), tree.ancestors(b)
    if a in up_b or b in up_a:
        return 0.75 ** abs(len(up_a) - len(up_b))
    return 0.2 if up_a[-1] == up_b[-1] else 0.0
