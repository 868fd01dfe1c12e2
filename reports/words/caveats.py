"""Words for how sure an answer is, for warnings, and for what would decide it: the lines Sure, Most, Note and Next."""

from __future__ import annotations

import math

from reports.facts.answer import Answer
from reports.facts.answer_parts import Finalist
from reports.facts.part_scores import Ahead
from reports.facts.recipe_names import BASE
from reports.ledger import StudyInfo
from reports.ledger.finals import share_in_words
from reports.statistics.finals import RECORDED_SPREAD
from reports.words.gains import MAX_NAMED, REFERENCE_NAMES, gain_over
from reports.words.lines import Escape, first_few
from reports.words.markdown import count, duration, number, signed, span
from search_spaces.limits import rounded_up
from search_spaces.own_data import TF_IDF

MAX_ADVISED_SEEDS = 100
"""Largest number of seeds of each recipe that a line advises to run."""
RAISED_LIMIT = "in all goes on"
"""Words after a raised limit on the study. The limit includes what the study has already used."""


def sure(answer: Answer, first: Finalist, escape: Escape) -> list[str]:
    """Return how many seeds, test items and recipes the answer is based on. `first`: the recipe that it is about."""
    more = (
        f", {answer.base.seeds} of {REFERENCE_NAMES['base']}"
        if answer.base and answer.base.seeds != first.seeds
        else ""
    )
    each = "each" if {finalist.seeds for finalist in answer.finalists} == {first.seeds} else "of it"
    seeds = f"{count(first.seeds, 'fresh seed')} {each}{more}"
    chose = "" if answer.chosen_on is None else f", {answer.chosen_on:,} to choose by"
    trained = "" if answer.trained_on is None else f", {answer.trained_on:,} {answer.unit} to train on"
    several = answer.items is not None and (answer.rows_of_items or 0) > answer.items
    rows = f" (of {answer.rows_of_items:,} rows: what shares a text is one item)" if several else ""
    items = [] if answer.items is None else [f"{count(answer.items, 'test item')}{rows}{chose}{trained}"]
    clauses = [seeds if answer.picked else f"{count(first.seeds, 'seed')} of {REFERENCE_NAMES['base']}", *items]
    others, whole = answer.tried - 1, answer.whole - 1
    tried = f"{count(others, 'recipe')} tried beside {REFERENCE_NAMES['base']}"
    if whole < others:
        tried += f", {max(0, whole) or 'none'} of them on all of the data"
    clauses.append(f"{tried if others > 0 else 'no other recipe tried'}, {duration(answer.seconds)} of trials added up")
    return [*clauses, *noise(answer, escape), *_borrowed(answer)]


def noise(answer: Answer, escape: Escape) -> list[str]:
    """Return by how much the figure differs between seeds, if known."""
    if not answer.noise:
        return []
    figure = answer.figure or (answer.rows and answer.rows.figure) or "scores"
    return [f"seeds move {escape(figure)} by {span(answer.noise)} (standard deviation)"]


def _borrowed(answer: Answer) -> list[str]:
    """Return the assumed spread over seeds, if recipes have too few seeds to measure it."""
    if answer.lent is None:
        return []
    by = "a guess from other data" if answer.lent <= math.sqrt(RECORDED_SPREAD.variance) else "by what ran twice"
    alone = any(each and each.seeds == 1 for each in (*answer.finalists, answer.base))
    points = f"{number(answer.lent)} points ({by})"
    if alone:
        return [f"intervals of one seed assume that another moves a score by {points}"]
    return [f"so few seeds cannot measure what a seed moves: intervals also count {points}"]


def largest_possible_gain(answer: Answer) -> list[str]:
    """Return the largest gain that the intervals still allow, if no gain is shown."""
    if answer.flags or not answer.fresh_items or answer.most is None or answer.most <= 0:
        return []
    over = answer.open[0] if answer.open else answer.incumbent
    judged = [REFERENCE_NAMES["base"]] if over == "encoder" and answer.base_over_encoder else []
    recipes = len(answer.finalists)
    judged += ["the recipe judged" if recipes == 1 else f"the {recipes} recipes judged"] if recipes else []
    gain = "gains" if judged == ["the recipe judged"] else "gain"
    return [
        f"{' and '.join(judged)} {gain} at most {signed(answer.most)} over {REFERENCE_NAMES[over]}, by the end "
        "of the interval"
    ]


def without_a_model(answer: Answer) -> list[str]:
    """Return a warning if TF-IDF, which needs no model, is surely better than the recipe to use, or not shown to be
    worse."""
    used, plain = answer.to_use or answer.base, answer.references.get("baseline")
    if not (plain and plain.name == TF_IDF and used and used.figure and plain.figure):
        return []
    if plain.figure.low is not None and plain.figure.low > used.figure.gain:
        ahead = plain.figure.gain - used.figure.gain
        return [f"TF-IDF without any model scores {number(ahead)} higher: try another encoder"]
    gain = used.gains.get("baseline")
    if gain is None or gain.low is None or gain.above:
        return []
    return ["no gain over TF-IDF is shown, which needs no model: where this score is all that counts, it may do"]


def notes(answer: Answer, info: StudyInfo, escape: Escape) -> list[str]:
    """Return further facts on an answer that a reader must know, a sentence for each."""
    sentences = list[str]()
    if answer.share is not None:
        whole = "Again trains on all of them" if answer.to_train else "on all of them the answer may be another"
        sentences.append(f"the study trained on {100 * answer.share:.2g}% of the rows; {whole}")
    if collapsed := sum(finalist.collapsed for finalist in answer.finalists):
        sentences.append(f"training collapsed under {count(collapsed, 'seed')}, left out here")
    if left := len(answer.left_out):
        sentences.append(f"the limit ended the finals before {count(left, 'finalist')} had run")
    if failed := len(answer.failed):
        sentences.append(f"all trials of {count(failed, 'finalist')} in the finals failed")
    if part := answer.misleading:
        base, encoder = REFERENCE_NAMES["base"], REFERENCE_NAMES["encoder"]
        less = f"{base} scored {number(part.base)} in development, {encoder} {number(part.encoder)}"
        sentences.append(f"on {share_in_words(part.share)} {less}: there what trains least may look best")
    if answer.ahead and info.limited:
        sentences.append(f"{_scored_higher(answer.ahead, escape)}{_goes_on(answer, info)}")
    if answer.unrun > answer.tried and info.limited:
        sentences.append(f"{count(answer.unrun, 'more recipe')} were drawn and had no time{_goes_on(answer, info)}")
    if answer.remembered:
        items = count(answer.remembered.items, "test item")
        gain = gain_over(answer.remembered.gain, "encoder")
        subject = f"{REFERENCE_NAMES['base']} gain" if answer.to_train == answer.base else "it gains"
        sentences.append(f"training or the dev part holds a text of {items}; on the others {subject} {gain}")
    seeds, finals = max((finalist.seeds for finalist in answer.finalists), default=0), info.finals
    if finals is not None and 0 < seeds < finals.seeds and info.limited:
        had = f"the limit had time for {seeds} of {count(finals.seeds, 'fresh seed')}"
        sentences.append(f"{had}{_goes_on(answer, info, finals.seeds)}")
    elif finals is not None and finals.smaller and answer.finalists:
        sentences.append("the finals have fewer seeds or recipes than usual, to fit the limit")
    if answer.busy and info.limited:
        span_of = " and ".join(map(duration, answer.busy))
        sentences.append(f"the machine was busy: trainings of the same work took {span_of}")
    return sentences


def _scored_higher(ahead: Ahead, escape: Escape) -> str:
    where = "before the finals" if ahead.share == 1 else f"on {share_in_words(ahead.share)}"
    last = REFERENCE_NAMES["base"] if ahead.last == BASE else escape(ahead.last)
    scores = f"{escape(ahead.name)} scored {number(ahead.value)} in development, {last} {number(ahead.last_value)}"
    chance = "" if ahead.error is None else f" (chance: ±{number(2 * ahead.error)} or more)"
    return f"{where} {scores}{chance}: a limit left it out"


def carried_over(answer: Answer, first: Finalist, escape: Escape) -> list[str]:
    """Return on which tasks the search's best settings gain and lose, if development scores misled the search."""
    if answer.kind not in ("base", "as it came") or not answer.picked or not _misled(answer, first):
        return []
    gained = [other for other in answer.others if other.gain.above]
    clauses = [
        f"the gain carried over to {escape(other.task)}, {gain_over(other.gain, other.over)}"
        for other in gained[:MAX_NAMED]
    ]
    lost = first_few([escape(other.task) for other in answer.lost], MAX_NAMED) or [escape(answer.figure or "")]
    worse = f"the best of the search is shown to be worse than {REFERENCE_NAMES[answer.incumbent]} on {', '.join(lost)}"
    return ["by the development scores the search had found better settings", *clauses, worse]


def _misled(answer: Answer, first: Finalist) -> bool:
    """Return whether development scores chose a recipe that is shown to be worse than what is kept."""
    incumbent = answer.incumbent
    pairs = zip(first.development, answer.references[incumbent].development, strict=True)
    gain, better = first.gains[incumbent], [None not in pair and pair[0] > pair[1] for pair in pairs]  # type: ignore[operator]
    return gain.below and any(better)


def next_steps(answer: Answer, info: StudyInfo) -> list[str]:
    """Return what would decide an open answer: for example more seeds, more items, or a larger limit."""
    if answer.flags == ("overlap",) and any(flag.kind == "mostly held" for flag in answer.warnings):
        return ["a test of other items than those of training and dev would settle it"]
    if answer.flags == ("overlap",) and info.request.train and not info.request.drop_leaks:
        return ["--drop-leaks, with other --results, leaves out the training rows that hold test items"]
    if answer.flags:
        return ["see the warnings of the report; what they name must be mended before anything can be told"]
    if not answer.fresh_items:
        return ["test sentences that did not choose the settings would settle it"]
    larger = f"{larger_limit(info)} in all" if info.limited else "--trials"
    if not answer.finalists and answer.keeps_base:
        return [f"the same command with {larger} goes on, and may have time to judge a recipe"] if info.limited else []
    clauses, more = [], f"more recipes ({larger}) may find a larger one"
    if answer.never:
        measured = answer.picked[0].gains.get(answer.open[0]) if answer.open and answer.picked else None
        if measured is not None and measured.gain <= 0:
            clauses.append("as measured there is no gain, which more seeds would not change")
        else:
            clauses.append("more seeds would not settle it: the test items are too few for so small a gain")
        if answer.items and answer.shows:
            rows = answer.rows_of_items or answer.items
            more_items = count(4 * rows, "such row" if rows > answer.items else "item")
            shown = f"{count(answer.items, 'test item')} show gains from {number(answer.shows)} on"
            clauses.append(f"{shown}, {more_items} from {number(answer.shows / 2)} on")
        return [*clauses, more]
    seeds = answer.seeds if answer.seeds is not None else 5
    size = f"{max(1, len(answer.finalists))}x{seeds}"
    finals = f"--search {info.search} --finals {size} {larger_limit(info, seeds)}".strip()
    if answer.seeds is not None and answer.seeds > MAX_ADVISED_SEEDS:
        clauses.append(f"to show so small a gain would take {answer.seeds} seeds each")
        clauses.append(more)
    elif answer.seeds is not None:
        clauses.append(f"{finals} would settle it in 4 of 5 cases, if the gain and the spread of seeds are as measured")
    else:
        clauses.append("how many seeds would settle it is unknown")
        clauses += [f"{larger} has time for more"] if (larger := larger_limit(info)) else []
    return clauses


def _goes_on(answer: Answer, info: StudyInfo, seeds: int | None = None) -> str:
    """Return with which larger limit the study would continue; empty if `next_steps` returns this already."""
    named = answer.kind == "open" and not answer.flags and answer.fresh_items
    return "" if named else f"; {larger_limit(info, seeds)} {RAISED_LIMIT}"


def larger_limit(info: StudyInfo, seeds: int | None = None) -> str:
    """Return `--limit minutes=80`: a larger value of the limit that ended the study; empty if no limit did.

    It is at least twice the old one, grows in proportion to `seeds` of the finals, and suffices for a search.
    """
    if not info.limited:
        return ""
    times = max(2.0, seeds / info.finals.seeds if seeds and info.finals else 0.0)
    number = max(info.limited["number"] * times, info.limited.get("least") or 0.0)
    return f"--limit {info.limited['limit']}={rounded_up(number):g}"
