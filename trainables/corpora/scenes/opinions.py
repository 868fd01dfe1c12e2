"""Opinions about films and goods, which negation and `but` may reverse, for MR, CR, MPQA and SST; sentences for SUBJ.

A bag of words finds most opinions. Only word order shows which clause comes last, and which word `not` negates.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from random import Random

from trainables.corpora.scenes.lexicon import with_articles, word_lists, words_of
from trainables.corpora.scenes.scene import sample
from trainables.corpora.scenes.text import PLAIN, Style, tell

_LISTS = word_lists("opinions.txt")
_PLOT_OPENINGS = ("in this film ,", "the film begins when", "meanwhile ,", "one day ,", "years later ,", "")
_PLOT = Style(forms=("simple", "simple", "progressive"), openings=_PLOT_OPENINGS)
_FILM_WORDS = {"it": _LISTS["film"], True: _LISTS["good"], False: _LISTS["bad"]}
_GOODS_WORDS = {
    "it": _LISTS["goods"],
    True: _LISTS["good"][:4] + _LISTS["good goods"],
    False: _LISTS["bad"][:4] + _LISTS["bad goods"],
}


def film_opinion(rng: Random, good: bool) -> str:
    """Return an opinion about a film, sometimes with a scene of the film."""
    text = _sentence(rng, good, _FILM_WORDS)
    if rng.random() < 0.15:
        text = f"when {tell(sample(rng, 0.2), rng, Style(forms=('simple',), stop=False))} , {text}"
    return text


def goods_opinion(rng: Random, good: bool) -> str:
    """Return an opinion about a product."""
    return _sentence(rng, good, _GOODS_WORDS)


def phrase_opinion(rng: Random, good: bool) -> str:
    """Return an opinion of a few words, as in MPQA."""
    return _fill(rng.choice(_LISTS["phrases"]), rng, good, _FILM_WORDS)


def graded_opinion(rng: Random, grade: int) -> str:
    """Return an opinion about a film with a grade of 0 (very bad) to 4 (very good)."""
    if grade == 2:
        return _fill(rng.choice(_LISTS["neutral"]), rng, True, _FILM_WORDS)
    good = grade > 2
    if rng.random() < 0.25:
        return _fill("{it} is {word} and {word} .", rng, good, _FILM_WORDS)
    if grade in (0, 4):
        first = _fill("{it} is {strong} {word}", rng, good, _FILM_WORDS)
        second = _fill(rng.choice(("and {feel} {it}", "and {word}", "and {strong} {word}")), rng, good, _FILM_WORDS)
        return f"{first} {second} ." if rng.random() < 0.7 else f"{first} ."
    template = rng.choice(
        (
            "{it} is {faint} {word} .",
            "{it} is not {other} .",
            "{it} is {other} , but {faint} {word} .",
            "{it} is {word} .",
        )
    )
    return _fill(template, rng, good, _FILM_WORDS)


def subjective(rng: Random) -> str:
    """Return an opinion about a film."""
    return film_opinion(rng, rng.random() < 0.5)


def objective(rng: Random) -> str:
    """Return a sentence of a film's plot, or a report on what someone said about the film."""
    if rng.random() < 0.15:
        return _fill(rng.choice(_LISTS["reports"]), rng, rng.random() < 0.5, _FILM_WORDS)
    return tell(sample(rng, 0.4), rng, _PLOT if rng.random() < 0.7 else PLAIN)


def opinion_words() -> set[str]:
    """Return every word of this module's sentences."""
    return words_of(*_PLOT_OPENINGS, *chain.from_iterable(_LISTS.values()), "but although and even though when an")


def _sentence(rng: Random, good: bool, words: dict[object, tuple[str, ...]]) -> str:
    def clause(polarity: bool) -> str:
        return _fill(rng.choice(_LISTS["clauses"]), rng, polarity, words)

    kind = rng.random()
    if kind < 0.6:
        return f"{clause(good)} ."
    if kind < 0.68:
        return f"{clause(not good)} , but {clause(good)} ."
    if kind < 0.75:
        return f"although {clause(not good)} , {clause(good)} ."
    return f"{clause(good)} and {clause(good)} ."


def _fill(template: str, rng: Random, good: bool, words: dict[object, tuple[str, ...]]) -> str:
    """Fill each `{slot}` of a template at random; `word` has the wanted polarity, `other` the opposite polarity."""
    slots = {
        "it": words["it"],
        "word": words[good],
        "other": words[not good],
        "good": words[True],
        "bad": words[False],
        "strong": _LISTS["strong"],
        "faint": _LISTS["faint"],
        "feel": _LISTS["like"] if good else _LISTS["hate"],
    }
    return " ".join(with_articles(list(_draw(template, rng, slots))))


def _draw(template: str, rng: Random, slots: dict[str, tuple[str, ...]]) -> Iterator[str]:
    for word in template.split():
        yield from (rng.choice(slots[word[1:-1]]) if word.startswith("{") else word).split()
