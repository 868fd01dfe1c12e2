"""Ways to make the positives that an anchor lacks from its entailments (SupMPN, Table A1); one class for each way.

    change = Synonyms().change(seed, texts)     # texts: all texts that may be changed
    change("a man plays a guitar", random.Random(1))

The paper deletes 10 % of each entailment's words, or replaces 20 % of them by synonyms from WordNet, or paraphrases
about half of the entailments. It states neither which words nor how shares are rounded. Here, as in the library that
the paper names, a share is rounded down and at least one word changes.
"""

from __future__ import annotations

import functools
import random
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from trainables.corpora.paraphrase import check_paraphraser, paraphrase
from trainables.errors import UserError
from trainables.keys import Options, key
from trainables.registry import Registry

Change = Callable[[str, random.Random], "str | None"]
"""Returns a changed text, given the text and a random generator. None: a copy of the anchor is used instead."""

DELETED_SHARE = 0.1
REPLACED_SHARE = 0.2
PARAPHRASED_SHARE = 0.5
FETCH_WORDNET = "python -m trainables.corpora fetch wordnet"

# WordNet lists these as nouns or other content words (`in` as inch, `he` as helium).
_FUNCTION_WORDS = frozenset(
    """
    a about above after all also am an and any are as at away be been before being below beside between both but
    by can could did do does down during each every for from had has have he her here hers him his how i if in
    inside into is it its just may me might more most must my near no nor not of off on one onto or other our
    out outside over own shall she should so some such than that the their them then there these they this those
    through to too under until up us very was we were what when where which while who whom whose why will with
    within without would yet you your
    """.split()  # noqa: SIM905
)
_WORD = re.compile(r"(\W*)([^\W\d_]+)(\W*)")


@dataclass(frozen=True)
class Augmentation(Options):
    """A way to change texts; an entry of `AUGMENTATIONS`. The fields are recipe keys. This base changes nothing."""

    section = "corpus"

    name: ClassVar[str] = "none"
    meaning: ClassVar[str] = "copies of the anchor"

    def change(self, seed: int, texts: Sequence[str]) -> Change | None:
        """Return the function that changes a text; `texts` are all texts to change. None: always copy the anchor."""
        return None

    def check(self) -> None:
        """Raise the `UserError` that `change` would raise, but quickly."""


NONE = Augmentation()


def delete_words(text: str, draws: random.Random) -> str | None:
    """Return the text without a tenth of its words, at least one; None for a text of fewer than two words."""
    words = text.split()
    if len(words) < 2:
        return None
    deleted = set(draws.sample(range(len(words)), _share(DELETED_SHARE, len(words))))
    return " ".join(word for index, word in enumerate(words) if index not in deleted)


def synonym_replacer(synonyms: Callable[[str], Sequence[str]]) -> Change:
    """Return a change that replaces a fifth of a text's words, at least one, drawn among words with synonyms."""

    def change(text: str, draws: random.Random) -> str | None:
        words = text.split()
        parts = [_WORD.fullmatch(word) for word in words]
        replaceable = [index for index, part in enumerate(parts) if part and synonyms(part[2])]
        if not replaceable:
            return None
        for index in draws.sample(replaceable, min(_share(REPLACED_SHARE, len(words)), len(replaceable))):
            before, word, after = parts[index].groups()  # type: ignore[union-attr]
            new = draws.choice(synonyms(word))
            words[index] = before + (new[0].upper() + new[1:] if word[0].isupper() else new) + after
        return " ".join(words)

    return change


@functools.cache
def wordnet_synonyms() -> Callable[[str], tuple[str, ...]]:
    """Return a function that maps a word to the other lemmas of all its senses, sorted; function words have none."""
    try:
        from nltk.corpus.reader.wordnet import WordNetCorpusReader
        from nltk.corpus.util import LazyCorpusLoader
    except ImportError:
        raise UserError(
            "corpus.augmentation=synonyms needs the package nltk; install it with pip install nltk"
        ) from None
    reader: Any = LazyCorpusLoader("wordnet", WordNetCorpusReader, None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings that wordnets of other languages are missing
            reader.ensure_loaded()
    except (LookupError, OSError):
        raise UserError(
            f"corpus.augmentation=synonyms needs WordNet, which is in none of NLTK's folders; run {FETCH_WORDNET}"
        ) from None

    @functools.lru_cache(maxsize=200_000)
    def synonyms(word: str) -> tuple[str, ...]:
        word = word.lower()
        if word in _FUNCTION_WORDS:
            return ()
        lemmas = {lemma.replace("_", " ") for sense in reader.synsets(word) for lemma in sense.lemma_names()}
        return tuple(sorted(lemma for lemma in lemmas if lemma.lower() not in (word, reader.morphy(word))))

    return synonyms


def _share(share: float, words: int) -> int:
    return max(1, int(share * words))


@dataclass(frozen=True)
class Deletion(Augmentation):
    """Augmentation that deletes a tenth of the words of a text."""

    name = "deletion"
    meaning = "entailments without a tenth of their words"

    def change(self, seed: int, texts: Sequence[str]) -> Change:
        return delete_words


@dataclass(frozen=True)
class Synonyms(Augmentation):
    """Augmentation that replaces a fifth of the words of a text by synonyms from WordNet."""

    name = "synonyms"
    meaning = "entailments with a fifth of their words replaced, by WordNet"

    def change(self, seed: int, texts: Sequence[str]) -> Change:
        return synonym_replacer(wordnet_synonyms())

    def check(self) -> None:
        wordnet_synonyms()


@dataclass(frozen=True)
class Paraphrase(Augmentation):
    """Augmentation that paraphrases half of the texts, drawn by the seed. For the other half the anchor is copied."""

    name = "paraphrase"
    meaning = "half of the entailments paraphrased by corpus.paraphraser"

    paraphraser: str | None = key(None, "Hub id or folder of a sequence-to-sequence model.", is_path=True)

    def change(self, seed: int, texts: Sequence[str]) -> Change:
        self.check()
        draws = random.Random(seed)
        chosen = [text for text in texts if draws.random() < PARAPHRASED_SHARE]
        table = dict(zip(chosen, paraphrase(chosen, str(self.paraphraser)), strict=True))
        return lambda text, _: table.get(text) or None

    def check(self) -> None:
        check_paraphraser(self.paraphraser)


AUGMENTATIONS: Registry[type[Augmentation]] = Registry("augmentation", Augmentation, Deletion, Synonyms, Paraphrase)
"""The values of `corpus.augmentation`."""
