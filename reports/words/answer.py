"""The words for an answer in the first lines of console, report, page and live page. A line is a head and words.

Only an answer of kind `use` has the head "Use". Every number has its error beside it, and no recipe is named by its
hash. A line is one sentence of at most 30 words with at most one bracket. Longer text gets more lines with the same
head.
"""

from __future__ import annotations

import shlex

from reports.facts.answer import Answer
from reports.facts.answer_parts import Finalist, RowsAnswer
from reports.facts.learning_curve import DataCurve
from reports.facts.recipe_names import BASE, plain
from reports.facts.soup import SHIPPED, Ship
from reports.ledger import StudyInfo
from reports.words.caveats import (
    RAISED_LIMIT,
    carried_over,
    larger_limit,
    largest_possible_gain,
    next_steps,
    noise,
    notes,
    sure,
    without_a_model,
)
from reports.words.commands import recipe_command, results_location, study_command
from reports.words.comparisons import GO_ON
from reports.words.gains import MAX_NAMED, REFERENCE_NAMES, gain_over, level_in_words, points
from reports.words.lines import Escape, Line, first_few, fits, in_lines
from reports.words.markdown import count, duration, signed

MAX_NAMED_SETTINGS = 6
"""Largest number of a recipe's settings that are named; more are only counted."""
CHECKED = {
    "test_knn_accuracy": "by the ten nearest neighbours, without a classifier",
    "test_ndcg@10": "as a search among all texts of the test (nDCG@10)",
}
"""Words for the second measure of a task (`TaskKind.checking_number`), by the measure's name."""
ENDED = "the limit ended the study before the base settings had run"


def lines(answer: Answer, info: StudyInfo, escape: Escape) -> list[Line]:
    """Return the lines that word this answer; if it has no test score, only why nothing can be told, and what next."""
    if answer.rows is not None:
        return _of_rows(answer, answer.rows, info, escape)
    if answer.kind == "unfinished":
        return _unfinished(answer, info)
    if answer.figure is None:
        why = "what the finals compare has no test score in common" if answer.finalists else ENDED
        more = (
            f"{larger} {RAISED_LIMIT} with what is done"
            if (larger := larger_limit(info)) and not answer.finalists
            else ""
        )
        return [Line("Open", f"nothing can be told: {why}"), *([Line("Next", more)] if more else [])]
    base, first = answer.base, answer.picked[0] if answer.picked else answer.references["base"]
    of_picked = answer.kind in ("use", "open") and not answer.base_leads
    """Whether the lines are about the picked recipe, not about the settings or encoder that are kept."""
    written = [*_verdict(answer, info, escape), *in_lines("Note", without_a_model(answer))]
    for index, finalist in enumerate(answer.picked if answer.kind == "use" else [first]):
        written += [Line("Or", _settings(finalist, escape))] * (index > 0)
        gains = in_lines("Gain", _gain(answer, finalist, escape)) if of_picked else _of_kept(answer, finalist, escape)
        written += gains
        besides = [f"{escape(task)} {gain_over(gain, 'base')}" for task, gain in finalist.beside.items()]
        written += in_lines("Beside", besides if of_picked else _elsewhere(answer, escape))
    written += [
        *in_lines("Check", _check(answer, escape)),
        *in_lines("Most", largest_possible_gain(answer)),
        *([Line("Base", _settings(base, escape))] if base and base.settings else []),
        *in_lines("Sure", sure(answer, first, escape)),
        *(Line("Note", words) for words in notes(answer, info, escape)),
        *in_lines("Note", carried_over(answer, first, escape)),
    ]
    if answer.kind == "open":
        written += in_lines("Next", next_steps(answer, info))
    if of_picked:
        written += in_lines("Worse", _worse(answer, escape))
    if answer.kind in ("use", "open"):
        shown = first if of_picked else base
        written += [Line("Cost", words) for words in [_cost(answer, shown) if shown else ""] if words]
    written += in_lines("Data", data_curve_in_words(answer.data, escape)) if answer.data else []
    to_train = answer.to_train
    written += in_lines("Ship", _ship(answer.ship, escape)) if answer.ship else []
    averaged = SHIPPED if answer.averaged else None
    written += [_model(averaged or to_train.name, info)] if to_train and (averaged or to_train.model) else []
    undecided = answer.undecided
    written += [_model(undecided.name, info, "Or")] if undecided and undecided.model else []
    return [*written, *([Line("Again", recipe_command(info), command=True)] if to_train else [])]


def _verdict(answer: Answer, info: StudyInfo, escape: Escape) -> list[Line]:
    if answer.kind == "use":
        return [Line("Use", _settings(answer.picked[0], escape))]
    if answer.kind == "base":
        return [Line("Keep", f"{REFERENCE_NAMES['base']}, and train with them: {_none_better(answer, info)}")]
    if answer.kind == "as it came":
        trained = [*(finalist.gains.get("encoder") for finalist in answer.finalists), answer.base_over_encoder]
        worse = all(gain and gain.below for gain in trained)
        training = "every training of the finals is shown to be worse" if worse else "training is not shown to help"
        return [Line("Keep", f"{REFERENCE_NAMES['encoder']}: {training} on {escape(answer.figure or '')}")]
    why = "what the search picked measured no higher" if answer.picked else _none_better(answer, info)
    best = f"{REFERENCE_NAMES['base']}; {why}" if answer.base_leads else _settings(answer.picked[0], escape)
    return [Line("Open", _why_open(answer, escape)), Line("Best", f"so far: {best}")]


def _none_better(answer: Answer, info: StudyInfo) -> str:
    """Return why an answer keeps the base settings rather than a recipe of the search."""
    if answer.picked:
        judged, others = len(answer.finalists), answer.tried - 1
        were = "was judged, and is not" if judged == 1 else "were judged, and none is"
        return f"{judged} of {count(others, 'other recipe')} {were} shown to be better"
    if answer.tried <= 1:
        return "there was no time to try a recipe"
    several_goals = any(len(row.development) > 1 for row in answer.references.values())
    if answer.left_out or answer.failed or several_goals:
        return "no recipe of the search was judged"
    if answer.ahead:
        return "limits left out the recipes of the search"
    seeds = count(len(info.seeds), "seed") + " or more" * info.raced
    items = "" if answer.chosen_on is None else f" on {count(answer.chosen_on, 'item')}"
    return f"no recipe of the search scored above them in development ({seeds} each{items})"


def _why_open(answer: Answer, escape: Escape) -> str:
    if answer.flags:
        return f"no verdict, for the flag {' and '.join(map(escape, answer.flags))}"
    if not answer.fresh_items:
        return "nothing can be told of new sentences: these ones chose the settings"
    if answer.base_over_encoder is not None and answer.keeps_base:
        gain = gain_over(answer.base_over_encoder, "encoder")
        return f"keep {REFERENCE_NAMES['base']} for now ({gain}); whether the search gained more is not decided"
    if answer.picked and "encoder" in answer.picked[0].gains and answer.open == ("base",):
        shown = f"what was picked is shown to be better than {REFERENCE_NAMES['encoder']}"
        return f"{shown}; whether better than {REFERENCE_NAMES['base']} is not decided"
    over = answer.picked[0].gains.get("encoder") if answer.picked and answer.open == ("encoder",) else None
    if over:
        return f"whether training helps is not decided ({gain_over(over, 'encoder')})"
    return "nothing can be told yet"


def _settings(finalist: Finalist, escape: Escape) -> str:
    """Return a recipe's settings, `temperature 0.05, batch size 128, pooling cls`; for a row after its label."""
    if not finalist.settings:
        return escape(finalist.name)
    row = "" if finalist.name.startswith("#") or finalist.name == BASE else f"{escape(finalist.name)}: "
    return row + ", ".join(
        first_few([escape(plain(key, value)) for key, value in finalist.settings.items()], MAX_NAMED_SETTINGS, row)
    )


def _gain(answer: Answer, finalist: Finalist, escape: Escape) -> list[str]:
    over = [gain_over(gain, name, answer) for name, gain in finalist.gains.items()] or ["nothing to compare it with"]
    chosen_by = "" if answer.fresh_items or answer.flags else ", on the data it was chosen by"
    return [f"{escape(answer.figure or '')} {level_in_words(finalist.figure)}{chosen_by}: {over[0]}", *over[1:]]


def _check(answer: Answer, escape: Escape) -> list[str]:
    """Return gains by the tasks' second measure (`TaskKind.checking_number`): those of the recipe to use and of the
    best recipe of the search, and whether a gain over the encoder shows. Gains over TF-IDF are left out."""
    clauses = list[str]()
    roles = {
        answer.references[name].recipe: REFERENCE_NAMES[name]
        for name in ("base", "encoder")
        if name in answer.references
    }
    for index, check in enumerate(answer.checks):
        gains = {name: gain for name, gain in check.gains.items() if name != "baseline"}
        shown = [(name, gain) for name, gain in gains.items() if not index or name == "base" or gain.below]
        over = [gain_over(gain, name, answer) for name, gain in shown]
        own = None if index else gains.get("encoder")
        over += ["by this no gain is shown"] * bool(own and not own.above and not own.below)
        over += ["by this it is shown to be worse"] * bool(own and own.below)
        whose = roles.get(check.recipe, "the best of the search")
        clauses += [", ".join([f"{whose} {level_in_words(check.level)}", *over[:1]]), *over[1:]]
    readers = dict.fromkeys(CHECKED.get(number, number) for check in answer.checks for number in check.numbers)
    return [f"{', '.join(readers)}: {clauses[0]}", *clauses[1:]] if clauses else []


def _of_kept(answer: Answer, first: Finalist, escape: Escape) -> list[Line]:
    """Return the lines of an answer to keep base settings or encoder: their score, and the gap of the search's best."""
    incumbent = answer.incumbent
    row, written = answer.references[incumbent], list[Line]()
    level = f"{escape(answer.figure or '')} of {REFERENCE_NAMES[incumbent]} {level_in_words(row.figure)}"
    over = [gain_over(gain, name, answer) for name, gain in row.gains.items()]
    if incumbent == "encoder" and answer.base_over_encoder:
        over.append(f"{REFERENCE_NAMES['base']} {points(answer.base_over_encoder)} against it")
    written += in_lines("Gain" if incumbent == "base" else "Score", [": ".join([level, *over[:1]]), *over[1:]])
    if answer.picked:
        gain = first.gains[incumbent]
        chance = ["that may be chance"] * (not gain.above and not gain.below)
        best = f"its best, {escape(first.name)}: {points(gain)} against {REFERENCE_NAMES[incumbent]}"
        written += in_lines("Search", [best, *chance])
    return written


def _elsewhere(answer: Answer, escape: Escape) -> list[str]:
    """Return the gains on other tasks of the search's best recipe over what the answer keeps, the largest first."""
    incumbent = answer.incumbent
    others = [other for other in answer.others if other.over == incumbent] if answer.picked else []
    over = sorted(others, key=lambda other: -other.gain.gain)
    clauses = [f"{escape(other.task)} {points(other.gain)}" for other in over[:MAX_NAMED]]
    return (
        [f"the best of the search against {REFERENCE_NAMES[incumbent]}: {clauses[0]}", *clauses[1:]] if clauses else []
    )


def _worse(answer: Answer, escape: Escape) -> list[str]:
    others = answer.others
    if not others:
        return ["not checked: no other task was evaluated (--senteval DIR, with STSBenchmark, checks one)"]
    below = [other for other in others if other.gain.below]
    shown = below[:MAX_NAMED] or others[:1]
    clauses = [f"{escape(item.task)} {points(item.gain)} against {REFERENCE_NAMES[item.over]}" for item in shown]
    if not below:
        clauses[0] = f"no loss is shown on another task; the lowest: {clauses[0]}"
    clauses += [count(len(below) - MAX_NAMED, "more task")] * (len(below) > MAX_NAMED)
    item = answer.general
    if item is not None and item not in shown:
        clauses.append(
            f"a general check, {escape(item.task)}: {points(item.gain)} against {REFERENCE_NAMES[item.over]}"
        )
    return clauses


def _ship(ship: Ship, escape: Escape) -> list[str]:
    """Return which model to ship, its gain over the model of one seed, and how much forgetting its average undoes."""
    if ship.share is None:
        best = "the model of one seed, the best by development scores"
        return [f"{best}: no average of {ship.seeds} is better by these"]
    if not ship.keeps and ship.over_seed:
        return [f"the model of one seed: the average of {ship.seeds} measured {points(ship.over_seed)} against it"]
    clauses = [f"the average of the models of {ship.seeds} trainings{mixture_in_words(ship.share)}"]
    over = {"base": f"one training with {REFERENCE_NAMES['base']}", "encoder": REFERENCE_NAMES["encoder"]}
    clauses += [f"{points(ship.gains[name])} over {what}" for name, what in over.items() if name in ship.gains]
    if ship.over_seed:
        shown = "" if ship.over_seed.above or ship.over_seed.below else ", which may be chance"
        shown += "" if ship.remade else "; widened by a guess of how much seeds differ"
        clauses.append(f"{points(ship.over_seed)} over one seed{shown}")
    soup = next(each for each in ship.soups if each.share == ship.share)
    before, after, seed = ship.untrained_general, soup.general, ship.one_seed.general
    if before is not None and after is not None and seed is not None:
        lost = f"{signed(after - before)} against {REFERENCE_NAMES['encoder']}, one seed {signed(seed - before)}"
        clauses.append(f"{escape(ship.general)} {lost}")
    return clauses


def mixture_in_words(share: float) -> str:
    """Return words for the weight of the original encoder, if any, in a soup with this `share` of trained models."""
    return "" if share == 1 else f", mixed with {1 - share:.0%} of {REFERENCE_NAMES['encoder']}"


def _cost(answer: Answer, first: Finalist) -> str:
    base = answer.base
    if first.seconds is None or base is None or base.seconds is None:
        return ""
    used, average = answer.to_train, ""
    if answer.averaged and answer.ship and used and used.seconds:
        average = f"; all {answer.ship.seeds} of the average {duration(answer.ship.seeds * used.seconds)}"
    marks = {used.recipe: " (Again)"} if used and (average or used.recipe != first.recipe) else {}
    again, base_again = marks.get(first.recipe, ""), marks.get(base.recipe, "")
    beside = (
        "" if first.recipe == base.recipe else f", with {REFERENCE_NAMES['base']}{base_again} {duration(base.seconds)}"
    )
    return f"one training{again} takes {duration(first.seconds)}{beside}{average}"


def data_curve_in_words(data: DataCurve, escape: Escape) -> list[str]:
    """Return the gain from the last doubling of the data, without a promise for another doubling."""
    *_, half, whole = data.parts
    if whole.gain is None:
        if data.trials.done < data.trials.planned:
            return [f"{data.trials.done} of {count(data.trials.planned, 'trial')} of the learning curve are done"]
        return ["half of the data are too few for the recipe, so what more would bring is unknown"]
    sizes = "" if half.rows is None or whole.rows is None else f", from {half.rows:,} to {whole.rows:,} {data.unit},"
    flagged = [f"no verdict, for the flag {' and '.join(map(escape, whole.flags))}"] if whole.flags else []
    brought = f"the last doubling of the data{sizes} brought {points(whole.gain)}"
    return [brought, *flagged, "what another one would bring was not measured"]


def _unfinished(answer: Answer, info: StudyInfo) -> list[Line]:
    if answer.trials is None or not answer.trials.planned:
        words = "the answer comes with the finals"
    else:
        words = f"{answer.trials.done} of {count(answer.trials.planned, 'trial')} of the finals are done"
    return [Line("Wait", words), Line(GO_ON, study_command(info), command=True)]


def _of_rows(answer: Answer, rows: RowsAnswer, info: StudyInfo, escape: Escape) -> list[Line]:
    """Return the lines of a study of rows: which are better than the baseline, the largest gain, and the claims."""
    written = []
    if rows.figure and rows.baseline and rows.compared:
        be = "is" if len(rows.better) == 1 else "are"
        which = f"{len(rows.better) or 'none'} of {count(rows.compared, 'row')}" if rows.compared > 1 else "no row"
        no_verdict = f", {rows.unjudged} {'has' if rows.unjudged == 1 else 'have'} no verdict" * bool(rows.unjudged)
        words = f"{which} {be if rows.better else 'is'} shown to be better than {escape(rows.baseline)}{no_verdict}"
        named = first_few([escape(name) for name in rows.better], MAX_NAMED)
        whole = f"{words}: {'; '.join(named)}" if named else words
        written += [Line("Better", whole)] if fits(whole) else [Line("Better", words), *in_lines("These", named)]
    if rows.gain and rows.best and rows.gain.low is not None:
        largest = f"the largest{' with a verdict' * bool(rows.unjudged)}"
        words = f"{largest} is {points(rows.gain)} in {escape(rows.figure)}: {escape(rows.best)}"
        written += in_lines("Gain", [words, *["with one seed that may be chance"] * rows.one_seed])
    elif rows.gain:
        written.append(
            Line("Gain", "unknown: one seed cannot tell how far another one would be" if rows.one_seed else "unknown")
        )
    written += in_lines("Sure", noise(answer, escape))
    if rows.claims:
        written.append(Line("Claims", _claims(rows)))
    if rows.explored:
        clauses = [f"the best so far is {escape(rows.explored)}", "its own seeds chose it, so its gain is unknown"]
        written += in_lines("Search", clauses)
    return [*written, *([_model(rows.model, info)] if rows.model else [])]


def _claims(rows: RowsAnswer) -> str:
    every = sum(rows.claims.values())
    held, part, refuted = (rows.claims.get(verdict, 0) for verdict in ("agrees", "agrees in part", "disagrees"))
    rest = every - held - part - refuted
    if rest == every:
        return f"of the paper's {count(every, 'claim')} none is decided"
    words = (f"{held} {'holds' if held == 1 else 'hold'}", f"{part} in part", f"{refuted} not")
    counted = [word for number, word in zip((held, part, refuted), words, strict=True) if number]
    decided = f"{every - rest} {'is' if every - rest == 1 else 'are'} decided"
    return f"of the paper's {count(every, 'claim')} {decided}: {', '.join(counted)}"


def _model(name: str, info: StudyInfo, head: str = "Model") -> Line:
    """Return the line with the command that exports the model of a recipe or soup."""
    named = name.partition(" ")[0] if name.startswith("#") else name
    return Line(head, shlex.join(["python", "-m", "reports", "export", results_location(info), named]), command=True)
