"""Questions in TREC's classes of answers. The first word alone does not decide the class."""

from __future__ import annotations

from itertools import chain
from random import Random

from trainables.corpora.scenes.lexicon import (
    FRAMES,
    NOUN_TREE,
    NOUNS,
    PLACE_TREE,
    VERBS,
    Noun,
    kinds_of,
    listed,
    with_articles,
    word_lists,
    words_of,
)

_TEMPLATES = word_lists("questions.txt")
CLASSES = tuple(_TEMPLATES)
NAMES = listed("alder brent corvo delmar elwin fargo gorham hilda ivor jessop kelda lomax marlow nadia orson petra")
_LETTERS = listed("abk bnt cdr dfl epm fgs gtr hpw jkl mnq")


def question(rng: Random, kind: str) -> str:
    """Return a question of a class (`COARSE:fine`)."""
    slots = {
        "letters": lambda: rng.choice(_LETTERS),
        "name": lambda: rng.choice(NAMES),
        "thing": lambda: _noun(rng, _things()).singular,
        "things": lambda: _noun(rng, _things()).plural,
        "person": lambda: _noun(rng, kinds_of(("person",))).singular,
        "persons": lambda: _noun(rng, kinds_of(("person",))).plural,
        "animal": lambda: _noun(rng, kinds_of(("animal",))).singular,
        "animals": lambda: _noun(rng, kinds_of(("animal",))).plural,
        "place": lambda: rng.choice(_places()),
        "verb": lambda: rng.choice(VERBS[rng.choice([v for v, frame in FRAMES.items() if frame.patients])]).base,
    }
    words = [slots[w[1:-1]]() if w.startswith("{") else w for w in rng.choice(_TEMPLATES[kind]).split()]
    return " ".join(with_articles(words))


def question_words() -> set[str]:
    """Return every word of the questions that is not in the lexicon."""
    return words_of(*chain.from_iterable(_TEMPLATES.values()), *NAMES, *_LETTERS)


def _noun(rng: Random, kinds: tuple[str, ...]) -> Noun:
    return rng.choice(NOUNS[rng.choice(kinds)])


def _things() -> tuple[str, ...]:
    roots = tuple(root for root in NOUN_TREE.children(None) if root not in ("person", "animal"))
    return kinds_of(roots)


def _places() -> list[str]:
    return [word.split()[1] for words in PLACE_TREE.words.values() for word in words if " " in word]
