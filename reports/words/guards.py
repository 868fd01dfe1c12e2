"""The sentences of all flags. Each guard has a function here, which words every kind of flag of that guard.

A flag's sentence is made when it is printed (`reports.facts.guards.sentence`). All words from outside are escaped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from reports.facts.guards import Flag
from reports.facts.recipe_names import name_of
from reports.facts.results import Results
from reports.words.markdown import count, number, text, verbatim

MAX_NAMED = 3
"""Largest number of rows that a flag's sentence names, and of values that it lists; more are only counted."""
MAX_NAMED_TASKS = 4
"""Largest number of tasks that a flag's sentence names; more are only counted."""

CONDITIONS = {
    "code": ("trials ran different code", "a difference may come from the code"),
    "senteval": ("trials were scored on different SentEval data", "their scores are of different tests"),
    "corpus": ("training data differ that the recipes call the same", "a difference may come from them"),
    "encoder": ("encoders differ that the recipes call the same", "a difference may come from them"),
    "steps": ("trained rows took different numbers of steps", "a difference may come from the budget"),
    "tokens": ("trained rows read different numbers of tokens", "a difference may come from the budget"),
    "hardware": ("trials ran on different machines", "rounding, and times, depend on the machine"),
    "training": ("trials trained in different precision", "a difference may come from rounding"),
    "evaluation": ("trials were evaluated in different precision", "a difference may come from rounding"),
    "streams": ("dropout was drawn by different numbers of workers", "another number of workers is like another seed"),
}
"""For each condition, which difference was found, and what the difference means."""


def condition(results: Results, flag: Flag) -> str:
    """Return the sentence of a flag on conditions, such as code or steps, that differ between trials."""
    if flag.kind == "vectors":
        return "training read vectors that were made before, one for each sentence, so no tokens were counted"
    if flag.kind == "asked":
        return (
            f"in {rows_in_words(results, flag.recipes)} training starts from another encoder than in the other rows, "
            "as the recipes ask: their differences to these are of the encoder, too"
        )
    name = flag.facts["condition"]
    what, meaning = CONDITIONS[name]
    if flag.kind == "unknown":
        return f"no record says, so nobody can tell whether {what}"
    details = dict.fromkeys("; ".join(_details(results, name, part)) for part in flag.parts)
    return f"{what} ({'; '.join(details)}): {meaning}"


def _details(results: Results, condition: str, part: Mapping[str, Any]) -> list[str]:
    """Return the values of a condition: `64 in A to 204 in B`, or `A: this value; all others: the usual one`. If values
    are not listed, return the rows that differ."""
    rows = {name: rows_in_words(results, part.get(name, ())) for name in ("seeds_differ", "differ", "unknown")}
    details = []
    if "ends" in part:
        details.append(" to ".join(f"{number(end, 0)} in {rows_in_words(results, own)}" for end, own in part["ends"]))
    elif "usual" in part and len(part["others"]) > MAX_NAMED:
        details.append(f"{len(part['others']) + 1} kinds among {count(part['recipes'], 'recipe')}")
    elif "usual" in part:
        details += [f"{rows_in_words(results, own)}: {text(_value(condition, value))}" for value, own in part["others"]]
        details.append(f"{'all others' if details else 'where known'}: {text(_value(condition, part['usual']))}")
    details += [f"from seed to seed in {rows['seeds_differ']}"] if rows["seeds_differ"] else []
    details += [f"others in {rows['differ']}"] if rows["differ"] else []
    return [*details, *([f"{rows['unknown']}: unknown"] if rows["unknown"] else [])]


def _value(condition: str, value: Any) -> str:
    """Return the value that a condition has under one recipe; if it differs between seeds, the value of each seed."""
    if isinstance(value, tuple):
        return ", ".join(f"seed {seed} {_value(condition, own)}" for seed, own in value)
    return count(int(value), "worker") if condition == "streams" and value else str(value)


def protocol(results: Results, flag: Flag) -> str:
    """Return the sentence on trials that count in no figure, because of the protocol or data of their evaluation."""
    rows, trials = rows_in_words(results, flag.recipes), flag.facts["trials"]
    if flag.kind == "data":
        return (
            f"{count(trials, 'trial')} of {rows} were scored on other SentEval data than the study's; they are in no "
            "figure"
        )
    under = listed([f"{verbatim(name)} ({count(number_of, 'trial')})" for name, number_of in trials.items()])
    return (
        f"some trials of {rows} were scored under the protocol {under}, not under the study's "
        f"{verbatim(flag.facts['study'])}; they are in no figure"
    )


def seeds(results: Results, flag: Flag) -> str:
    """Return the sentence of a flag on seeds that have equal scores, or on missing seeds."""
    rows, facts = rows_in_words(results, flag.recipes), flag.facts
    if flag.kind == "repeated":
        pairs = listed([f"{first} and {second}" for first, second in facts["seeds"]])
        return (
            f"seeds have the same scores to the last digit in {rows} (seeds {pairs}), though training follows the "
            "seed: they are copies, so the spread between seeds is too small"
        )
    have, of_seeds = "has" if len(flag.recipes) == 1 else "have", f"of the study's {count(facts['planned'], 'seed')}"
    if flag.kind == "single":
        return (
            f"{rows} {have} 1 {of_seeds}: how far a second seed would be is unknown, so these intervals are over test "
            "items alone and too narrow"
        )
    return (
        f"{rows} {have} {_ends(facts, 0)} {of_seeds}: their spread is known less well, and the intervals allow for that"
    )


def copies(results: Results, flag: Flag) -> str:
    """Return the sentence on recipes with the same scores."""
    rows = rows_in_words(results, flag.recipes)
    if flag.kind == "alike":
        return (
            f"{rows} have the same scores to the last digit under every seed: they are one recipe in effect, so what "
            "they differ in was not tested; they count once"
        )
    return (
        f"{rows} share all scores of a seed to the last digit, but not the training: one is a copy, or what they "
        "differ in did nothing there, so none of them is judged"
    )


def untrained(results: Results, flag: Flag) -> str:
    """Return the sentence on parameters that were not trained."""
    name, number_of = verbatim(flag.facts["name"]), flag.facts["parameters"]
    parameters = f"{count(number_of, 'parameter')} ({name}{', …' if number_of > 1 else ''})"
    why = {
        "no steps": "training took no step",
        "below adapter": f"{parameters} made fresh under an adapter, which freezes them",
        "adapter": f"the adapter {name} was never trained",
        "fresh": f"{parameters} made fresh and never trained",
    }[flag.kind]
    return f"{rows_in_words(results, flag.recipes)}: {why}, so the scores are those of chance weights"


def caps(results: Results, flag: Flag) -> str:
    """Return the sentence on limits on positives or negatives that made no difference."""
    rows, facts, key = rows_in_words(results, flag.recipes), flag.facts, verbatim(flag.facts["key"])
    if flag.kind == "not varied":
        limits = listed(["no limit" if limit is None else str(limit) for limit in facts["limits"]])
        return (
            f"{rows} set {key} to {limits}, but training measured the same in all of them ({_ends(facts)} an anchor): "
            "it was not varied in effect, so these rows say nothing about it"
        )
    return (
        f"the limit {key} = {facts['limit']} hardly bound in {rows} ({_ends(facts)} an anchor measured, so at most "
        f"{number(100 * facts['share'], 0)} % of the anchors reached it): a higher one would change little, so these "
        f"rows say nothing about more {facts['key'].removeprefix('objective.')}"
    )


def filters(results: Results, flag: Flag) -> str:
    """Return the sentence on filters of false negatives that leave too few negatives."""
    return (
        f"{verbatim('objective.false_negatives')} left {number(flag.facts['negatives'])} negatives an anchor in "
        f"{rows_in_words(results, flag.recipes)}: the loss had next to nothing to tell a positive from; raise "
        f"{verbatim('objective.filter_margin')}"
    )


def items(results: Results, flag: Flag) -> str:
    """Return the sentence on missing or wrong predictions, or on different test items."""
    rows, facts = rows_in_words(results, flag.recipes), flag.facts
    if flag.kind == "no predictions":
        which = f" on {_tasks(facts['tasks'])}" * bool(facts["tasks"])
        problem = f" ({text(facts['problem'])})" if facts["problem"] else ""
        return (
            f"no predictions{which} were kept for {rows}: how far these scores depend on the choice of test items is "
            f"unknown{problem}"
        )
    if flag.kind == "other scores":
        first = f"{number(facts['stored'])} in the ledger, {number(facts['computed'])} by the predictions"
        return (
            f"the ledger's scores are not those of the predictions that were kept, for {rows} on "
            f"{_tasks(facts['tasks'])} ({text(facts['task'])} {first}): one of the two was changed"
        )
    return (
        f"the test items of {_tasks(flag.tasks)} are others in {rows} than in the other rows: these scores are of "
        "different tests"
    )


def degenerate(results: Results, flag: Flag) -> str:
    """Return the sentence on scores that show no skill, such as those of equal predictions."""
    rows, facts = rows_in_words(results, flag.recipes), flag.facts
    if flag.kind == "collapsed":
        lowest = facts["cosine"]
        details = [] if lowest is None else [f"the mean cosine of two sentences is {number(lowest, 5)} or more"]
        details += ["not under every seed"] * facts["some_seeds"]
        detail = f" ({'; '.join(details)})" if details else ""
        return (
            f"collapsed: all sentences get nearly the same vector in {rows}{detail}, so these scores are made of "
            "rounding errors and show no skill"
        )
    what = {
        "one class": "one class is predicted for every item",
        "equal cosines": "every pair has nearly the same cosine",
        "constant cosines": "the correlation is exactly 0, as for constant cosines",
        "largest class": f"the accuracy is {number(facts.get('accuracy'))}, the share of the largest class (no "
        "predictions were kept),",
    }[flag.kind]
    return f"{what} in {rows} on {_tasks(flag.tasks)}: this score shows no skill"


def sizes(results: Results, flag: Flag) -> str:
    """Return the sentence on wrong numbers of test items."""
    rows, stored, computed = rows_in_words(results, flag.recipes), flag.facts["stored"], flag.facts["computed"]
    first = f"{text(flag.facts['task'])} {stored:,}, not {computed:,}"
    return (
        f"the ledger counts other test items than there are predictions, for {rows} ({first}): they are of different "
        "data"
    )


def overlap(results: Results, flag: Flag) -> str:
    """Return the sentence on test items that training saw."""
    if flag.kind == "unknown":
        return "no record says whether test sentences stand among the training sentences"
    if flag.kind == "development":
        return "the figures above are of test items; training sentences may stand among the development items, too"
    if flag.kind == "unequal":
        tasks = [
            f"{text(part['task'])} ({number(100 * part['least'], 1)} to {number(100 * part['most'], 1)} %"
            f"{'; unknown for some' * part['unknown']})"
            for part in flag.parts
        ]
        return (
            f"rows saw different shares of the test items in training, of {'; '.join(tasks)}: a difference may be "
            "memory"
        )
    shares = [f"{text(task)} {_percent(100 * least, 100 * most)}" for task, least, most in flag.facts["shares"]]
    more = f" and {count(len(shares) - MAX_NAMED_TASKS, 'more task')}" if len(shares) > MAX_NAMED_TASKS else ""
    largest = ", ".join(shares[:MAX_NAMED_TASKS]) + more if more else listed(shares)
    if flag.kind == "mostly held":
        return (
            "training and the development part, by which recipes were chosen, hold most test items "
            f"({largest}): a gain may be memory"
        )
    meaning = {
        "seen": "these scores may be too high",
        "seen little": "these scores may be slightly too high, equally in all of these rows; gains between them are "
        "hardly touched",
    }[flag.kind]
    return (
        "test sentences, or near copies, stand among the training sentences of "
        f"{rows_in_words(results, flag.recipes)} ({largest} of the test items): {meaning}"
    )


def follows(flag: Flag) -> str:
    """Return what a flag that forbids no verdict means for the verdicts."""
    if (flag.guard, flag.kind) == ("seeds", "single"):
        return f"No verdict on {'this row' if len(flag.recipes) == 1 else 'these rows'} until there are more seeds."
    return "Verdicts stand."


def rows_in_words(results: Results, recipes: Collection[str]) -> str:
    """Return the recipes as `A`, `B` and 2 explored recipes. Only the first few rows of the space are named."""
    order = {recipe_hash: index for index, recipe_hash in enumerate(results.labels)}
    rows = [results.labels[recipe] for recipe in sorted(recipes & order.keys(), key=lambda recipe: order[recipe])]
    explored = sorted(set(recipes) - order.keys())
    named = [verbatim(label) for label in rows[:MAX_NAMED]]
    if len(rows) > MAX_NAMED:
        named.append(count(len(rows) - MAX_NAMED, "more row"))
    if len(explored) == 1 and not rows:
        named.append(f"the recipe {verbatim(name_of(results, explored[0]))}")
    elif explored:
        named.append(f"{count(len(explored), 'explored recipe')}")
    return listed(named)


def listed(items: Sequence[str]) -> str:
    """Join items as `a, b and c`."""
    return " and ".join([*([", ".join(items[:-1])] if len(items) > 1 else []), *items[-1:]])


def _tasks(tasks: Iterable[str]) -> str:
    """Return the tasks' names, `MR and CR`; of many tasks only the number."""
    names = sorted(tasks)
    return listed([text(name) for name in names]) if len(names) <= MAX_NAMED_TASKS else count(len(names), "task")


def _ends(facts: Mapping[str, Any], digits: int = 2) -> str:
    """Return the facts `least` and `most` of a flag as `1.08 to 1.09`, or as one number if both look equal."""
    return " to ".join(dict.fromkeys(number(facts[end], digits) for end in ("least", "most")))


def _percent(*ends: float) -> str:
    """Return shares in percent, `3.1 %`, or the range of both ends; `below 0.1 %` for smaller shares."""
    return " to ".join(dict.fromkeys(f"{number(end, 1)} %" if end >= 0.1 else "below 0.1 %" for end in ends))
