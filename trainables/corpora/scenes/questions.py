"""Questions by what they ask for, in TREC's classes. The first word alone does not tell the class."""

from __future__ import annotations

from random import Random

from trainables.corpora.scenes.lexicon import FRAMES, NOUN_TREE, NOUNS, PLACE_TREE, VERBS, Noun, kinds_of, listed

_TEMPLATES = {
    "ABBR:exp": (
        "what does {letters} stand for ?",
        "what is the full form of {letters} ?",
        "what does {letters} mean ?",
    ),
    "ABBR:abb": ("what is the abbreviation of {name} {thing} ?", "how do people shorten {name} {thing} ?"),
    "DESC:def": ("what is a {thing} ?", "what does the word {thing} mean ?", "what are {things} ?"),
    "DESC:manner": (
        "how do you {verb} a {thing} ?",
        "how does a {person} {verb} {things} ?",
        "in what way do {animals} move ?",
    ),
    "DESC:reason": (
        "what does the {thing} of {name} do ?",
        "why do {persons} {verb} {things} ?",
        "what makes {animals} run ?",
        "for what reason do {animals} sleep ?",
    ),
    "ENTY:animal": (
        "what animal chases {animals} ?",
        "which creature lives in {name} ?",
        "what kind of {animal} is the largest ?",
    ),
    "ENTY:food": (
        "what fruit do {persons} eat in {name} ?",
        "which dish does {name} like ?",
        "what do {persons} drink in {name} ?",
    ),
    "ENTY:other": (
        "what {thing} did the {person} of {name} {verb} ?",
        "what {thing} is named after {name} ?",
        "what do {persons} {verb} in the {place} ?",
        "which {thing} did {name} {verb} ?",
        "what {thing} is the heaviest ?",
    ),
    "HUM:ind": (
        "what {person} did {verb} the {thing} of {name} ?",
        "what {person} is named after {name} ?",
        "who is the {person} of {name} ?",
        "who did {verb} the first {thing} ?",
        "what {person} lives in {name} ?",
    ),
    "HUM:gr": (
        "what company makes the {thing} ?",
        "which team of {persons} is from {name} ?",
        "what group of {persons} did {verb} it ?",
    ),
    "LOC:city": (
        "what city has the oldest {place} ?",
        "in what city is the {name} {place} ?",
        "which town did {name} come from ?",
    ),
    "LOC:other": (
        "what {place} did the {person} of {name} come from ?",
        "what {place} is named after {name} ?",
        "where is the {place} of {name} ?",
        "where do {persons} {verb} {things} ?",
        "on which river is {name} ?",
    ),
    "NUM:count": (
        "what does the {thing} of {name} weigh ?",
        "how many {things} are in the {place} ?",
        "how many {persons} live in {name} ?",
        "what number of {animals} is in {name} ?",
    ),
    "NUM:date": (
        "when did {name} {verb} the {thing} ?",
        "what year was the {thing} made ?",
        "in what year did {name} die ?",
    ),
    "NUM:dist": (
        "how far is it to {name} ?",
        "how long is the {thing} ?",
        "what is the distance to the {place} of {name} ?",
    ),
}
CLASSES = tuple(_TEMPLATES)
NAMES = listed("alder brent corvo delmar elwin fargo gorham hilda ivor jessop kelda lomax marlow nadia orson petra")
_LETTERS = listed("abk bnt cdr dfl epm fgs gtr hpw jkl mnq")


def question(rng: Random, kind: str) -> str:
    """A question of this class (`COARSE:fine`)."""
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
    return " ".join("an" if w == "a" and n[0] in "aeiou" else w for w, n in zip(words, [*words[1:], "."], strict=True))


def question_words() -> set[str]:
    """Every word of the questions that is not in the lexicon."""
    texts = [template for templates in _TEMPLATES.values() for template in templates]
    return {w for text in (*texts, *NAMES, *_LETTERS) for w in text.split() if not w.startswith("{")}


def _noun(rng: Random, kinds: tuple[str, ...]) -> Noun:
    return rng.choice(NOUNS[rng.choice(kinds)])


def _things() -> tuple[str, ...]:
    roots = tuple(root for root in NOUN_TREE.children(None) if root not in ("person", "animal"))
    return kinds_of(roots)


def _places() -> list[str]:
    return [word.split()[1] for words in PLACE_TREE.words.values() for word in words if " " in word]
