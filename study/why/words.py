"""Messages about causes: the evidence of each, from its facts, and the command that removes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reports.facts.recipe_names import plain
from reports.words.comparisons import difference
from reports.words.markdown import count, number
from study.cli.listing import written
from study.planned_power import FEW_ITEMS
from study.why.case import MOST_ROWS, Cause, StudyCase
from study.why.looks import RIGHT
from study.why.tries import JUDGING_SEEDS, Gained, Tries
from trainables.recipe import parse_assignment

Facts = Mapping[str, Any]
MENDED = "mended"
"""Suffix of the results folder in the command that removes a cause."""
MOST_OF = 0.8
"""If a single setting made at least this share of the gain, the gain is called nearly all due to it."""


def evidence(cause: Cause) -> str:
    """Return the evidence of a cause as a sentence."""
    if "changes" in cause.facts:
        return _change(cause.name, cause.facts)
    return SENTENCES[cause.name](cause.facts)


def _change(name: str, facts: Facts) -> str:
    gain = difference(facts["gain"], facts["low"], facts["high"])
    gain += "" if facts["share"] == 1 else f" on {facts['share']:.1%} of the rows"
    if "corpus.nli" in facts["changes"]:
        what = {"mislabelled": "mislabelled rows", "false_negatives": "rows with false negatives"}[name]
        return f"without the suspected {what} development gains {gain}"
    return f"with {settings(facts['changes'])} development gains {gain}"


def settings(changes: Facts) -> str:
    """Return changed settings in words: `learning rate 0.0001, batch size 64`."""
    return ", ".join(plain(key, value) for key, value in changes.items())


def _mislabelled(facts: Facts) -> str:
    named = (
        f"{count(facts['suspects'], 'row')} are named, up to {RIGHT:.0%} of which may be fine"
        if facts["suspects"]
        else "which ones this encoder cannot tell"
    )
    return (
        f"in about {facts['wrong']:.0%} of the {facts['of']:,} rows read the positive seems to belong to another row, "
        f"as it is no nearer to its anchor than a random one (in so many more than in the development part); {named}"
    )


def _false_negatives(facts: Facts) -> str:
    parts = []
    if facts["rows"]:
        parts.append(f"{count(facts['rows'], 'row')} of {facts['of']:,} have a negative that nearly copies a positive")
    if facts["met"] >= 0.005:
        parts.append(f"{facts['met']:.0%} of anchors meet a near copy of their positive in a batch, as a negative")
    return "; ".join(parts)


def _unlike(facts: Facts) -> str:
    return (
        f"of a training text and one of the test, a classifier knows which is which in {facts['area']:.0%} of pairs; "
        "half are chance"
    )


def _leaked(facts: Facts) -> str:
    return f"the training data hold {facts['dev']:.0%} of the development items and {facts['test']:.0%} of the test's"


def _few_items(facts: Facts) -> str:
    return (
        f"the test has {count(facts['items'], 'item')}, so no gain below {number(facts['half'])} points can be shown; "
        f"{facts['needed']:,} items would show 2 points, about"
    )


def _ceiling(facts: Facts) -> str:
    copies = f", and {count(facts['doubled'], 'query')} have answers with unjudged copies" if facts["doubled"] else ""
    return (
        f"the original encoder scores {number(facts['score'])}, which leaves {number(max(0.0, facts['room']))} "
        f"points{copies}; the test shows gains from {number(facts['half'])} on"
    )


def _configuration(facts: Facts) -> str:
    gain = difference(facts["gain"], facts["low"], facts["high"])
    return (
        f"the encoder's own configuration has {settings(facts['own'])}, the study {settings(facts['used'])}; before "
        f"training development gains {gain} with its own"
    )


def _unusual(facts: Facts) -> str:
    return f"{settings(facts['used'])}: outside the usual range (a hint, which no training has tested)"


SENTENCES: Mapping[str, Callable[[Facts], str]] = {
    "mislabelled": _mislabelled,
    "false_negatives": _false_negatives,
    "unlike": _unlike,
    "leaked": _leaked,
    "few_items": _few_items,
    "ceiling": _ceiling,
    "configuration": _configuration,
    "unusual": _unusual,
}
TITLES: Mapping[str, str] = {
    "mislabelled": "Wrong rows",
    "false_negatives": "False negatives",
    "unlike": "Training data unlike the test",
    "leaked": "Leaks",
    "few_items": "A small test",
    "ceiling": "No room",
    "configuration": "The encoder's own settings",
    "unusual": "Unusual settings",
    "rate": "Learning rate",
    "temperature": "Temperature",
    "batch": "Batch size",
    "epochs": "Epochs",
    "base": "The search's settings",
    "masked": "False negatives",
    "mined": "Negatives too easy",
}
UNGAINED = {"leaked", "few_items", "ceiling"}
"""Names of causes that hide the gain of a training; removing them raises no score."""
OTHERWISE: Mapping[str, str] = {
    "unlike": "give training data of the kind of the test",
    "few_items": "give more items by --test",
    "ceiling": "give a harder test, or keep the original encoder",
}
"""Advice for causes that no option of a command removes."""


def points(cause: Cause) -> str:
    """Return `, 4.2 points`, or `, perhaps 4 points` for an estimate; empty if no point can be gained."""
    if cause.name in UNGAINED:
        return ""
    return f", {number(cause.points, 1)} points" if cause.measured else f", perhaps {number(cause.points, 0)} points"


def command(cause: Cause, case: StudyCase) -> str:
    """Return the study's command with options that remove the cause, and other results; empty if no option does."""
    if not cause.mend or not case.request.train:
        return ""
    changes = dict(cause.mend)
    if "set" in changes:
        keys = [text for text in case.request.set if parse_assignment(text)[0] not in changes["set"]]
        changes["set"] = (*keys, *(f"{key}={written(value)}" for key, value in changes["set"].items()))
    if "train" in changes:
        changes |= {"columns": None, "labels": None, **case.held_out_files}
    path, query, rest = case.location.partition("?")
    own = f"{path.rstrip('/')}-{MENDED}-{cause.name}{query}{rest}"
    return dataclasses.replace(case.request, **changes, results=own).command


def worth(taken_back: Sequence[Gained], share: float) -> list[str]:
    """Return messages for an answer `use`: the gain of all changed settings together, and of each alone, in tries on
    this share of the rows."""
    whole, *single = taken_back
    gain = difference(whole.gain, whole.low, whole.high)
    where = "" if share == 1 else f" on {share:.0%} of the rows"
    sentences = [
        f"the answer stands; in tries{where} {settings(whole.changes)} gain {gain} over the base settings, on the "
        "development items that chose them"
    ]
    if single and single[0].low > 0 and single[0].gain >= MOST_OF * whole.gain:
        sentences.append(f"nearly all of it is the {settings(single[0].changes)}")
    each = [f"{settings(gained.changes)}: {difference(gained.gain, gained.low, gained.high)}" for gained in single]
    unsure = "; none of these alone is shown, so which one made the gain is open" * all(
        gained.low <= 0 for gained in single
    )
    return [*sentences, *([f"each alone: {'; '.join(each)}{unsure}"] if each else [])]


def begin(case: StudyCase, minutes: float | None) -> str:
    """Return the line that is printed before the looks begin."""
    tried = f"; then it trains for {number(minutes, 0)} min at most" if minutes else ""
    return (
        f"Look   at {min(MOST_ROWS, len(case.rows)):,} of {len(case.rows):,} rows, the test and the original encoder, "
        f"for what stands in the way{tried}; any answer above stands, and ctrl-C ends this"
    )


def nothing(case: StudyCase, tries: Tries | None) -> str:
    """Return the message that no causes were found, and which ones were looked for."""
    titles = {**TITLES, "few_items": f"a test of fewer than {FEW_ITEMS} items"}
    names = (titles[name].lower() for name in SENTENCES if name != "mislabelled" or not case.dev_is_held_out)
    looked = f"nothing is seen of: {', '.join(names)}"
    if tries is None:
        return f"{looked}; no change of settings was tried"
    if not tries.any_tried:
        return f"{looked}; no change of settings was tried{', for want of time' * bool(tries.left_out)}"
    return f"{looked}, nor do the changes of settings that were tried"


def how(case: StudyCase, tries: Tries | None) -> str:
    """Return sentences on how causes were measured, for the page."""
    looks = f"Looks read {min(MOST_ROWS, len(case.rows)):,} of {len(case.rows):,} rows, and the original encoder."
    if case.dev_is_held_out:
        looks += (
            " Wrong rows were not looked for: development rows come from the same file; --dev with checked pairs helps."
        )
    if tries is None:
        return f"{looks} Nothing was trained: --limit minutes=10 tries changes, each alone."
    names = ", ".join(dict.fromkeys(TITLES[name].lower() for name in tries.left_out))
    left = f" A larger --limit also tries changes of: {names}." if names else ""
    if not tries.any_tried:
        return f"{looks} Nothing was trained, for want of time, so points are guesses.{left}"
    return (
        f"{looks} Tries trained on {tries.share:.0%} of the rows, where fewer steps make fast rates look better than "
        f"on all. What gained was trained {len(JUDGING_SEEDS)} times more, which say how much; intervals count "
        f"development items, what seeds move, and how many changes were tried.{left} 'Perhaps' marks a guess."
    )
