"""The words of the scenes corpus as trees of concepts, read from `lexicon.txt`, which explains its form."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path

NUMBERS = ("one", "two", "three", "four", "five")
"""Words of the counts 1 to 5."""


@dataclass(frozen=True)
class Noun:
    singular: str
    plural: str


@dataclass(frozen=True)
class Verb:
    base: str
    third: str
    past: str
    participle: str
    ing: str


@dataclass(frozen=True)
class Frame:
    """Kinds of agents of an action, kinds of patients (none: intransitive), and whether the patient is optional."""

    agents: tuple[str, ...]
    patients: tuple[str, ...] = ()
    optional: bool = False


@dataclass(frozen=True, eq=False)
class Tree:
    """Concepts of one part of speech: parents, axes and words."""

    parent: dict[str, str | None] = field(default_factory=dict)
    axis: dict[str, str] = field(default_factory=dict)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def ancestors(self, concept: str) -> tuple[str, ...]:
        """Return the concept itself, then its parents up to the root."""
        return _ancestors(self, concept)

    def is_a(self, concept: str, general: str) -> bool:
        return general in _ancestors(self, concept)

    def children(self, concept: str | None) -> list[str]:
        return [name for name, parent in self.parent.items() if parent == concept]

    def excludes(self, a: str, b: str) -> bool:
        """Whether nothing can be both concepts: below their common ancestor they branch on the same axis."""
        return b in self.excluded(a)

    def excluded(self, concept: str) -> tuple[str, ...]:
        """Return all concepts that exclude this concept, in the lexicon's order."""
        return _excluded(self, concept)


@cache
def _ancestors(tree: Tree, concept: str) -> tuple[str, ...]:
    parent = tree.parent[concept]
    return (concept, *(_ancestors(tree, parent) if parent else ()))


@cache
def _excluded(tree: Tree, concept: str) -> tuple[str, ...]:
    return tuple(other for other in tree.parent if _part(tree, concept, other))


def _part(tree: Tree, a: str, b: str) -> bool:
    for x, y in zip(tree.ancestors(a)[::-1], tree.ancestors(b)[::-1], strict=False):
        if x != y:
            return tree.axis[x] == tree.axis[y]
    return False


def word_lists(name: str) -> dict[str, tuple[str, ...]]:
    """Return the lists of a file in this folder: the lines below each `# heading`; text above the first is skipped."""
    _, *parts = re.split(r"^# (.+)\n", Path(__file__).with_name(name).read_text(encoding="utf-8"), flags=re.M)
    return {
        heading: tuple(text.strip("\n").splitlines()) for heading, text in zip(parts[::2], parts[1::2], strict=True)
    }


def _tree(lines: tuple[str, ...]) -> tuple[Tree, dict[str, str]]:
    tree = Tree()
    frames: dict[str, str] = {}
    path: list[str] = []
    for line in lines:
        level = (len(line) - len(line.lstrip())) // 2
        match = re.fullmatch(r"(?:\[(\w+)\] )?(\w+)(?: \((.*)\))?: (.*)", line.strip())
        assert match, line
        axis, name, frame, words = match.groups()
        assert name not in tree.parent, name
        path[level:] = [name]
        tree.parent[name] = path[level - 1] if level else None
        tree.axis[name] = axis or ""
        tree.words[name] = tuple(word.strip() for word in words.split(","))
        frames[name] = frame or (frames[path[level - 1]] if level else "")
    return tree, frames


def _noun(text: str) -> Noun:
    singular, _, plural = text.partition("/")
    return Noun(singular, plural or _with_s(singular))


def _verb(text: str) -> Verb:
    base, *irregular = text.split()
    stem = base + base[-1] if re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", base) else base  # run, running
    soft = stem.removesuffix("e")
    ed = base[:-1] + "ied" if re.search(r"[^aeiou]y$", base) else soft + "ed"
    past, participle = irregular or (ed, ed)
    return Verb(base, _with_s(base), past, participle, soft + "ing")


def _with_s(word: str) -> str:
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    if re.search(r"(s|x|z|ch|sh)$", word) or word in ("potato", "tomato"):
        return word + "es"
    return word + "s"


def _frame(text: str) -> Frame:
    agents, _, patients = text.partition("->")
    return Frame(tuple(agents.split()), tuple(patients.replace("?", "").split()), "?" in patients)


_LISTS = word_lists("lexicon.txt")
NOUN_TREE = _tree(_LISTS["nouns"])[0]
VERB_TREE, _frames = _tree(_LISTS["verbs"])
PLACE_TREE = _tree(_LISTS["places"])[0]
TIME_TREE = _tree(_LISTS["times"])[0]

NOUNS = {name: tuple(map(_noun, words)) for name, words in NOUN_TREE.words.items()}
VERBS = {name: tuple(map(_verb, words)) for name, words in VERB_TREE.words.items()}
FRAMES = {name: _frame(text) for name, text in _frames.items()}

for _name, _own in FRAMES.items():  # so a transitive and an intransitive action do not exclude each other
    VERB_TREE.axis[_name] = "deed" if _own.patients else "act"


def _dimensions(
    lines: tuple[str, ...],
) -> tuple[dict[str, str], dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Return maps from value to dimension, from value to words, and from dimension to the kinds that it fits."""
    dimension_of: dict[str, str] = {}
    words: dict[str, tuple[str, ...]] = {}
    fits: dict[str, tuple[str, ...]] = {}
    for line in lines:
        head, _, values = line.partition(": ")
        dimension, _, kinds = head.partition(" (")
        fits[dimension] = tuple(kinds.rstrip(")").split())
        for value in values.split("|"):
            synonyms = tuple(value.split())
            dimension_of[synonyms[0]], words[synonyms[0]] = dimension, synonyms
    return dimension_of, words, fits


TRAIT_DIMENSION, TRAIT_WORDS, TRAIT_FITS = _dimensions(_LISTS["traits"])
MANNER_DIMENSION, MANNER_WORDS = _dimensions(_LISTS["manners"])[:2]


def listed(text: str) -> tuple[str, ...]:
    """Split a text into words, for word lists in code that need no quotes around each word."""
    return tuple(text.split())


@cache
def kinds_of(roots: tuple[str, ...]) -> tuple[str, ...]:
    """Return all noun concepts among `roots` or below them, in the lexicon's order."""
    return tuple(name for name in NOUN_TREE.parent if any(NOUN_TREE.is_a(name, root) for root in roots))


@cache
def traits_for(kind: str) -> tuple[str, ...]:
    """Return the trait values that fit a noun concept."""
    return tuple(
        value
        for value, dimension in TRAIT_DIMENSION.items()
        if any(NOUN_TREE.is_a(kind, root) for root in TRAIT_FITS[dimension])
    )


def words_of(*texts: str) -> set[str]:
    """Return the words of texts and templates, without the slots in braces."""
    return {word for text in texts for word in text.split() if not word.startswith("{")}


def with_articles(words: list[str]) -> list[str]:
    """Replace `a` by `an` before a vowel."""
    pairs = zip(words, [*words[1:], "."], strict=True)
    return ["an" if word == "a" and following[0] in "aeiou" else word for word, following in pairs]


def lexicon_words() -> set[str]:
    """Return every word form of sentences about scenes, except function words."""
    forms = {form for nouns in NOUNS.values() for noun in nouns for form in (noun.singular, noun.plural)}
    forms |= {f for verbs in VERBS.values() for v in verbs for f in (v.base, v.third, v.past, v.participle, v.ing)}
    lists = [*PLACE_TREE.words.values(), *TIME_TREE.words.values(), *TRAIT_WORDS.values(), *MANNER_WORDS.values()]
    return forms | words_of(*NUMBERS, *chain.from_iterable(lists))
