"""The ten probing tasks: sentences with a label for a property of their form, known from the grammar.

Each generator yields `(label, sentence)` without end; `PROBES` names the file of each generator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from trainables.corpora.scenes.lexicon import FRAMES, NOUNS, VERBS, kinds_of, listed
from trainables.corpora.scenes.scene import Entity, Scene, sample, with_part
from trainables.corpora.scenes.text import PLAIN, Constituent, Style, depth, leaves, tell, top, tree

Labelled = Iterator[tuple[str, str]]

_CLAUSE = Style(forms=("progressive", "simple", "passive", "there", "fronted"), stop=False)
_UNCOUNTED = Style(counted=False, forms=("progressive", "simple"))
_BINS = ((5, 8), (9, 12), (13, 16), (17, 20), (21, 25), (26, 28))
_SAYERS = listed("says thinks knows hopes believes")
_JOINS = listed("and but while because")
_CONTENT = listed(
    "man woman child doctor teacher farmer dog cat horse bird guitar piano car truck apple carrot pizza cake book "
    "ball rope box shirt hat chair table phone camera tree flower"
)
# Two actions on one thing, in the order of events.
_SCRIPTS = (
    ("buy", "eat"),
    ("cook", "eat"),
    ("throw", "catch"),
    ("open", "close"),
    ("build", "destroy"),
    ("break", "repair"),
    ("notice", "chase"),
    ("find", "help"),
    ("lift", "drop"),
    ("plant", "trim"),
    ("buy", "wear"),
    ("buy", "sell"),
    ("slice", "fry"),
    ("push", "catch"),
    ("write", "copy"),
    ("find", "feed"),
)


def sentence_length(rng: Random) -> Labelled:
    """Label: one of six bins of the number of words, as in the original."""
    while True:
        low, high = rng.choice(_BINS)
        sentence = leaves(_sentence(rng, clauses=1 + (high > 14) + (high > 22), richness=rng.random()))
        if low <= len(sentence) <= high:
            yield str(_BINS.index((low, high))), " ".join(sentence)


def word_content(rng: Random) -> Labelled:
    """Label: the one of thirty mid-frequency words that the sentence contains."""
    while True:
        words = leaves(_sentence(rng, clauses=rng.choice((1, 1, 2))))
        content = [word for word in words if word in _CONTENT]
        if len(content) == 1:
            yield content[0], " ".join(words)


def tree_depth(rng: Random) -> Labelled:
    """Label: depth of the constituency tree, 5 to 10."""
    while True:
        node = _sentence(rng, clauses=rng.choice((1, 1, 2)), nested=rng.choice((0, 0, 1, 2)))
        if 5 <= depth(node) <= 10:
            yield str(depth(node)), " ".join(leaves(node))


def top_constituents(rng: Random) -> Labelled:
    """Label: the constituents directly below the root."""
    while True:
        node = _shaped(rng)
        yield top(node), " ".join(leaves(node))


def bigram_shift(rng: Random) -> Labelled:
    """Label: O if unchanged, I if two neighbouring words are exchanged."""
    while True:
        words = leaves(_sentence(rng, clauses=1))
        label = rng.choice("OI")
        if label == "I":
            at = rng.randrange(len(words) - 2)
            if words[at] == words[at + 1]:
                continue
            words[at], words[at + 1] = words[at + 1], words[at]
        yield label, " ".join(words)


def past_present(rng: Random) -> Labelled:
    """Label: tense of the main verb."""
    while True:
        scene = sample(rng, 0.4)
        scene = replace(scene, past=rng.random() < 0.5)
        yield "PAST" if scene.past else "PRES", tell(scene, rng)


def subj_number(rng: Random) -> Labelled:
    """Label: grammatical number of the main verb's subject, NN or NNS. Sentences have no numerals."""
    yield from _number(rng, "agent")


def obj_number(rng: Random) -> Labelled:
    """Label: grammatical number of the main verb's object, NN or NNS."""
    yield from _number(rng, "patient")


def odd_man_out(rng: Random) -> Labelled:
    """Label: O if unchanged, C if one participant is replaced by a kind that cannot have the role."""
    while True:
        scene = _transitive(rng)
        assert scene.patient
        label = rng.choice("OC")
        if label == "C":
            role = rng.choice(("agent", "patient"))
            entity: Entity = getattr(scene, role)
            fit = kinds_of(FRAMES[scene.action].agents if role == "agent" else FRAMES[scene.action].patients)
            kind = rng.choice([kind for kind in NOUNS if kind not in fit])
            scene = with_part(scene, role, Entity(kind, entity.count))
        yield label, tell(scene, rng)


def coordination_inversion(rng: Random) -> Labelled:
    """Label: O in the order of events, I if the two clauses are exchanged."""
    while True:
        first, second = rng.choice(_SCRIPTS)
        shared = [kind for kind in kinds_of(FRAMES[first].patients) if kind in kinds_of(FRAMES[second].patients)]
        patient, past = rng.choice(NOUNS[rng.choice(shared)]).singular, rng.random() < 0.5
        clauses = []
        for action, article in ((first, "a"), (second, rng.choice(("the", "a")))):
            agent = rng.choice(NOUNS[rng.choice(kinds_of(FRAMES[action].agents))]).singular
            verb = rng.choice(VERBS[action])
            subject = ("NP", ("DT", rng.choice(("a", "the"))), ("NN", agent))
            predicate = ("VB", verb.past if past else verb.third), ("NP", ("DT", article), ("NN", patient))
            clauses.append(("S", subject, ("VP", *predicate)))
        label = rng.choice("OI")
        first_clause, second_clause = clauses if label == "O" else clauses[::-1]
        yield label, " ".join(leaves(("S", first_clause, ("CC", "and"), second_clause, (".", "."))))


PROBES: dict[str, Callable[[Random], Labelled]] = {
    "sentence_length": sentence_length,
    "word_content": word_content,
    "tree_depth": tree_depth,
    "top_constituents": top_constituents,
    "bigram_shift": bigram_shift,
    "past_present": past_present,
    "subj_number": subj_number,
    "obj_number": obj_number,
    "odd_man_out": odd_man_out,
    "coordination_inversion": coordination_inversion,
}
"""Maps a file name (without `.txt`) to its generator."""


def probing_words() -> set[str]:
    """Return every word of this module's sentences that other sentences about scenes do not have."""
    return {*_SAYERS, *_JOINS, "that", "yes", "no", "well", "today", "then", "suddenly", "however"}


def _number(rng: Random, role: str) -> Labelled:
    while True:
        scene = _transitive(rng)
        entity: Entity = replace(getattr(scene, role), count=rng.choice((1, 2)))
        scene = with_part(scene, role, entity)
        yield "NN" if entity.count == 1 else "NNS", tell(scene, rng, _UNCOUNTED)


def _transitive(rng: Random) -> Scene:
    while True:
        scene = sample(rng, 0.4)
        if scene.patient:
            return scene


def _sentence(rng: Random, clauses: int, richness: float = 0.5, nested: int = 0) -> Constituent:
    """Return a sentence of joined or nested clauses, ended by a full stop."""
    trees = [_nest(rng, tree(sample(rng, richness), rng, _CLAUSE), nested) for _ in range(clauses)]
    joined = [part for clause in trees for part in (("CC", rng.choice(_JOINS)), clause)][1:]
    if clauses == 1:
        return ("S", *trees[0][1:], (".", "."))
    return ("S", *joined, (".", "."))


def _nest(rng: Random, clause: Constituent, levels: int) -> Constituent:
    """Put "the man says that ..." around a clause, `levels` times."""
    for _ in range(levels):
        speaker = ("NP", ("DT", "the"), ("NN", rng.choice(NOUNS[rng.choice(kinds_of(("person",)))]).singular))
        inner = ("SBAR", ("IN", "that"), clause)
        clause = ("S", speaker, ("VP", ("VBZ", rng.choice(_SAYERS)), inner))
    return clause


def _shaped(rng: Random) -> Constituent:
    """Return a sentence of one of ten shapes."""
    scene = sample(rng, 0.4)
    plain = replace(PLAIN, stop=False)
    subject_first = replace(plain, forms=("progressive", "simple", "passive"))
    clause = tree(scene, rng, subject_first)
    parts = clause[1:]
    comma, stop = (",", ","), (".", ".")
    shapes: tuple[tuple[Constituent, ...], ...] = (
        (*parts, stop),
        (*tree(scene, rng, replace(plain, forms=("fronted",)))[1:], stop),
        (("CC", rng.choice(_JOINS[:2])), *parts, stop),
        (("ADVP", ("RB", rng.choice(("today", "then", "suddenly", "however")))), comma, *parts, stop),
        (("INTJ", ("UH", rng.choice(("yes", "no", "well")))), comma, *parts, stop),
        (clause, ("CC", rng.choice(_JOINS[:2])), tree(sample(rng, 0.2), rng, subject_first), stop),
        (("SBAR", ("IN", rng.choice(_JOINS[2:])), tree(sample(rng, 0.2), rng, subject_first)), comma, *parts, stop),
        (parts[1], stop),
        (parts[0], stop),
        (*tree(scene, rng, replace(plain, forms=("there",)))[1:], stop),
    )
    return ("S", *rng.choice(shapes))
