"""How an answer is said, in the first lines of console, report, page and live page: a word, and what there is of it.

Only `use` says "Use". Every number stands beside its error, and nothing is called by a hash. A line is one sentence of
at most 30 words with at most one bracket; what would be longer goes on in a line of the same head.
"""

from __future__ import annotations

import math
import shlex

from reports.answer import Answer
from reports.answer_lines import Line, Say, first_few, fits, in_lines
from reports.answer_parts import Ahead, Finalist, RowsAnswer
from reports.commands import recipe_command, results_place, study_command
from reports.gain import Gain
from reports.learning_curve import DataCurve
from reports.ledger import StudyInfo
from reports.ledger.finals import share_in_words
from reports.markdown import count, duration, number, signed, span
from reports.recipe_names import BASE, plain
from reports.soup import SHIPPED, Ship
from reports.statistics.finals import RECORDED
from reports.wording import GO_ON, interval, level
from search_spaces.limits import rounded_up
from search_spaces.own_data import TF_IDF

MOST_ADVISED = 100
"""Seeds of each recipe; what takes more is not advised."""
OVER = {"base": "the base settings", "encoder": "the untrained encoder", "baseline": "the baseline row"}
LISTED = 6
"""So many settings are named, more are counted."""
FEW = 3
"""The same of rows, and of tasks."""
IN_ALL = "in all goes on"
"""A study's limit counts what it has used."""
BY_NEIGHBOURS = "by the ten nearest neighbours, without a classifier"
ENDED = "the limit ended the study before the base settings had run"


def lines(answer: Answer, info: StudyInfo, say: Say) -> list[Line]:
    """The answer as a person reads it; empty where nothing at all can be said."""
    if answer.rows is not None:
        return _of_rows(answer, answer.rows, info, say)
    if answer.kind == "unfinished":
        return _unfinished(answer, info)
    if answer.figure is None:
        why = "what the finals compare has no test score in common" if answer.finalists else ENDED
        more = (
            f"{larger} {IN_ALL} with what is done" if (larger := _larger_limit(info)) and not answer.finalists else ""
        )
        return [Line("Open", f"nothing can be told: {why}"), *([Line("Next", more)] if more else [])]
    base, first = answer.base, answer.picked[0] if answer.picked else answer.references["base"]
    of_picked = answer.kind in ("use", "open") and not answer.base_leads
    """Whether it is about the picked recipe, and not about what is kept."""
    written = _verdict(answer, info, say)
    for place, finalist in enumerate(answer.picked if answer.kind == "use" else [first]):
        written += [Line("Or", _settings(finalist, say))] * (place > 0)
        gains = in_lines("Gain", _gain(answer, finalist, say)) if of_picked else _of_kept(answer, finalist, say)
        written += gains
        besides = [f"{say(task)} {_over(gain, 'base')}" for task, gain in finalist.beside.items()]
        written += in_lines("Beside", besides if of_picked else _elsewhere(answer, say))
    written += [
        *in_lines("Check", _check(answer, say)),
        *in_lines("Most", _most(answer, say)),
        *([Line("Base", _settings(base, say))] if base and base.settings else []),
        *in_lines("Sure", _sure(answer, first)),
        *(Line("Note", words) for words in _notes(answer, info, say)),
        *in_lines("Note", _carried_over(answer, first, say)),
    ]
    if answer.kind == "open":
        written += in_lines("Next", _next(answer, info))
    if of_picked:
        written += in_lines("Worse", _worse(answer, say))
    if answer.kind in ("use", "open"):
        shown = first if of_picked else base
        written += [Line("Cost", words) for words in [_cost(answer, shown) if shown else ""] if words]
    written += in_lines("Data", of_data(answer.data, say)) if answer.data else []
    to_train = answer.to_train
    written += in_lines("Ship", _ship(answer.ship, say)) if answer.ship else []
    averaged = SHIPPED if answer.averaged else None
    written += [_model(averaged or to_train.name, info)] if to_train and (averaged or to_train.model) else []
    return [*written, *([Line("Again", recipe_command(info), command=True)] if to_train else [])]


def _verdict(answer: Answer, info: StudyInfo, say: Say) -> list[Line]:
    if answer.kind == "use":
        return [Line("Use", _settings(answer.picked[0], say))]
    if answer.kind == "base":
        return [Line("Keep", f"{OVER['base']}, and train with them: {_none_better(answer, info)}")]
    if answer.kind == "as it came":
        trained = [*(finalist.gains.get("encoder") for finalist in answer.finalists), answer.base_over_encoder]
        worse = all(gain and gain.below for gain in trained)
        training = "every training of the finals is shown to be worse" if worse else "training is not shown to help"
        return [Line("Keep", f"{OVER['encoder']}: {training} on {say(answer.figure or '')}")]
    why = "what the search picked measured no higher" if answer.picked else _none_better(answer, info)
    best = f"{OVER['base']}; {why}" if answer.base_leads else _settings(answer.picked[0], say)
    return [Line("Open", _why_open(answer, say)), Line("Best", f"so far: {best}")]


def _none_better(answer: Answer, info: StudyInfo) -> str:
    """Why the base settings are kept."""
    if answer.picked:
        return "no recipe of the search is shown to be better"
    if answer.tried <= 1:
        return "there was no time to try a recipe"
    several_goals = any(len(row.development) > 1 for row in answer.references.values())
    if answer.left_out or answer.failed or several_goals:
        return "no recipe of the search was judged"
    if answer.ahead:
        return "no recipe of the search had room in the finals"
    seeds = count(len(info.seeds), "seed") + " or more" * info.raced
    items = "" if answer.chosen_on is None else f" on {count(answer.chosen_on, 'item')}"
    return f"no recipe of the search scored above them in development ({seeds} each{items})"


def _why_open(answer: Answer, say: Say) -> str:
    if answer.flags:
        return f"no verdict, for the flag {' and '.join(map(say, answer.flags))}"
    if not answer.fresh_items:
        return "nothing can be told of new sentences: these ones chose the settings"
    if answer.base_over_encoder is not None and answer.base_stands:
        gain = _over(answer.base_over_encoder, "encoder")
        return f"keep {OVER['base']} for now ({gain}); whether the search gained more is not decided"
    if answer.picked and "encoder" in answer.picked[0].gains and answer.open == ("base",):
        shown = f"what was picked is shown to be better than {OVER['encoder']}"
        return f"{shown}; whether better than {OVER['base']} is not decided"
    return "nothing can be told yet"


def _settings(finalist: Finalist, say: Say) -> str:
    """`temperature 0.05, batch size 128, pooling cls`; of a row its label."""
    if not finalist.settings:
        return say(finalist.name)
    row = "" if finalist.name.startswith("#") or finalist.name == BASE else f"{say(finalist.name)}: "
    return row + ", ".join(first_few([say(plain(key, value)) for key, value in finalist.settings.items()], LISTED, row))


def _gain(answer: Answer, finalist: Finalist, say: Say) -> list[str]:
    over = [_over(gain, name, answer) for name, gain in finalist.gains.items()] or ["nothing to compare it with"]
    chosen_by = "" if answer.fresh_items or answer.flags else ", on the data it was chosen by"
    return [f"{say(answer.figure or '')} {_level(finalist.figure)}{chosen_by}: {over[0]}", *over[1:]]


def _check(answer: Answer, say: Say) -> list[str]:
    """What the recipe to go on with gains by the second reader, and whether that shows a gain over the encoder; and the
    best of the search, where that is another. Not over TF-IDF, which nobody reads so."""
    clauses = list[str]()
    roles = {answer.references[name].recipe: OVER[name] for name in ("base", "encoder") if name in answer.references}
    for place, check in enumerate(answer.checks):
        gains = {name: gain for name, gain in check.gains.items() if name != "baseline"}
        shown = [(name, gain) for name, gain in gains.items() if not place or name == "base" or gain.below]
        over = [_over(gain, name, answer) for name, gain in shown]
        own = None if place else gains.get("encoder")
        over += ["by these no gain is shown"] * (own is not None and not own.above and not own.below)
        whose = roles.get(check.recipe, "the best of the search")
        clauses += [", ".join([f"{whose} {_level(check.level)}", *over[:1]]), *over[1:]]
    return [f"{BY_NEIGHBOURS}: {clauses[0]}", *clauses[1:]] if clauses else []


def _incumbent(answer: Answer) -> str:
    """The reference that is kept where no recipe of the search is to be used."""
    return "encoder" if answer.kind == "as it came" else "base"


def _of_kept(answer: Answer, first: Finalist, say: Say) -> list[Line]:
    """Where no recipe of the search is to be used: what is kept, and how far the best of the search is from it."""
    incumbent = _incumbent(answer)
    row, written = answer.references[incumbent], list[Line]()
    level = f"{say(answer.figure or '')} of {OVER[incumbent]} {_level(row.figure)}"
    over = [_over(gain, name, answer) for name, gain in row.gains.items()]
    if incumbent == "encoder" and answer.base_over_encoder:
        over.append(f"{OVER['base']} {_points(answer.base_over_encoder)} against it")
    written += in_lines("Gain" if incumbent == "base" else "Score", [": ".join([level, *over[:1]]), *over[1:]])
    if answer.picked:
        gain = first.gains[incumbent]
        chance = ["that may be chance"] * (not gain.above and not gain.below)
        best = f"its best, {say(first.name)}: {_points(gain)} against {OVER[incumbent]}"
        written += in_lines("Search", [best, *chance])
    return written


def _elsewhere(answer: Answer, say: Say) -> list[str]:
    """What the best of the search gains on other tasks over what is kept, the most first."""
    incumbent = _incumbent(answer)
    others = [other for other in answer.others if other.over == incumbent] if answer.picked else []
    over = sorted(others, key=lambda other: -other.gain.gain)
    clauses = [f"{say(other.task)} {_points(other.gain)}" for other in over[:FEW]]
    return [f"the best of the search against {OVER[incumbent]}: {clauses[0]}", *clauses[1:]] if clauses else []


def _misled(answer: Answer, first: Finalist) -> bool:
    """Whether the development scores chose what is shown to be worse than what is kept."""
    incumbent = _incumbent(answer)
    pairs = zip(first.development, answer.references[incumbent].development, strict=True)
    gain, better = first.gains[incumbent], [None not in pair and pair[0] > pair[1] for pair in pairs]  # type: ignore[operator]
    return gain.below and any(better)


def _sure(answer: Answer, first: Finalist) -> list[str]:
    more = f", {answer.base.seeds} of {OVER['base']}" if answer.base and answer.base.seeds != first.seeds else ""
    each = "each" if {finalist.seeds for finalist in answer.finalists} == {first.seeds} else "of it"
    seeds = f"{count(first.seeds, 'fresh seed')} {each}{more}"
    chose = "" if answer.chosen_on is None else f", {answer.chosen_on:,} to choose by"
    trained = "" if answer.trained_on is None else f", {answer.trained_on:,} {answer.unit} to train on"
    several = answer.items is not None and (answer.rows_of_items or 0) > answer.items
    rows = f" (of {answer.rows_of_items:,} rows: what shares a text is one item)" if several else ""
    items = [] if answer.items is None else [f"{count(answer.items, 'test item')}{rows}{chose}{trained}"]
    clauses = [seeds if answer.picked else f"{count(first.seeds, 'seed')} of {OVER['base']}", *items]
    parts = f", {answer.whole} of them on all of the data" if answer.whole < answer.tried else ""
    clauses.append(f"{count(answer.tried, 'recipe')} tried{parts}, {duration(answer.seconds)} of trials added up")
    return [*clauses, *noise(answer), *_lent(answer)]


def noise(answer: Answer) -> list[str]:
    """How far another seed moves a score, where that is known."""
    if not answer.noise:
        return []
    return [f"seeds move test scores by {span(answer.noise)} (standard deviation)"]


def _lent(answer: Answer) -> list[str]:
    """What intervals of few seeds take for known."""
    if answer.lent is None:
        return []
    by = "a guess from other data" if answer.lent <= math.sqrt(RECORDED.variance) else "by what ran twice"
    alone = any(each and each.seeds == 1 for each in (*answer.finalists, answer.base))
    points = f"{number(answer.lent)} points ({by})"
    if alone:
        return [f"intervals of one seed assume that another moves a score by {points}"]
    return [f"so few seeds cannot measure what a seed moves: intervals also count {points}"]


def _notes(answer: Answer, info: StudyInfo, say: Say) -> list[str]:
    """What a reader must know besides, each a sentence."""
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
        less = f"{OVER['base']} scored {number(part.base)} in development, {OVER['encoder']} {number(part.encoder)}"
        sentences.append(f"on {share_in_words(part.share)} {less}: there what trains least may look best")
    if answer.ahead and info.limited:
        sentences.append(f"{_scored_higher(answer.ahead, say)}{_goes_on(answer, info)}")
    if answer.unrun > answer.tried and info.limited:
        sentences.append(f"{count(answer.unrun, 'more recipe')} were drawn and had no time{_goes_on(answer, info)}")
    used, plain = answer.to_use or answer.base, answer.references.get("baseline")
    if plain and plain.name == TF_IDF and used and used.figure and plain.figure:
        ahead = plain.figure.gain - used.figure.gain
        without = f"TF-IDF without any model scores {number(ahead)} higher: try another encoder"
        surely = plain.figure.low is not None and bool(plain.figure.low > used.figure.gain)
        sentences += [without] * surely
    if answer.remembered:
        items = count(answer.remembered, "test item")
        sentences.append(f"training saw a text of {items}; the gain would be shown without any of them")
    most, finals = max((finalist.seeds for finalist in answer.finalists), default=0), info.finals
    if finals is not None and 0 < most < finals.seeds and info.limited:
        had = f"the limit had time for {most} of {count(finals.seeds, 'fresh seed')}"
        sentences.append(f"{had}{_goes_on(answer, info, finals.seeds)}")
    elif finals is not None and finals.smaller and answer.finalists:
        sentences.append("the finals have fewer seeds or recipes than usual, to fit the limit")
    if answer.busy and info.limited:
        span_of = " and ".join(map(duration, answer.busy))
        sentences.append(f"the machine was busy: trainings of the same work took {span_of}")
    return sentences


def _scored_higher(ahead: Ahead, say: Say) -> str:
    where = "before the finals" if ahead.share == 1 else f"on {share_in_words(ahead.share)}"
    last = OVER["base"] if ahead.last == BASE else say(ahead.last)
    scores = f"{say(ahead.name)} scored {number(ahead.value)} in development, {last} {number(ahead.last_value)}"
    chance = "" if ahead.error is None else f" (chance: ±{number(ahead.error)})"
    return f"{where} {scores}{chance}: no room was left to judge it"


def _goes_on(answer: Answer, info: StudyInfo, seeds: int | None = None) -> str:
    """Under which limit, where `_next` does not say so."""
    named = answer.kind == "open" and not answer.flags and answer.fresh_items
    return "" if named else f"; {_larger_limit(info, seeds)} {IN_ALL}"


def _carried_over(answer: Answer, first: Finalist, say: Say) -> list[str]:
    """Where the development scores misled the search: on which tasks its best settings gain, and on which they lose."""
    if answer.kind not in ("base", "as it came") or not answer.picked or not _misled(answer, first):
        return []
    gained = [other for other in answer.others if other.gain.above]
    clauses = [f"the gain carried over to {say(other.task)}, {_over(other.gain, other.over)}" for other in gained[:FEW]]
    lost = first_few([say(other.task) for other in answer.lost], FEW) or [say(answer.figure or "")]
    worse = f"the best of the search is shown to be worse than {OVER[_incumbent(answer)]} on {', '.join(lost)}"
    return ["by the development scores the search had found better settings", *clauses, worse]


def _most(answer: Answer, say: Say) -> list[str]:
    """How large a gain may be at most that is not shown."""
    if answer.flags or not answer.fresh_items or answer.most is None or answer.most <= 0:
        return []
    over = answer.open[0] if answer.open else _incumbent(answer)
    judged = [OVER["base"]] if over == "encoder" and answer.base_over_encoder else []
    recipes = len(answer.finalists)
    judged += ["the recipe judged" if recipes == 1 else f"the {recipes} recipes judged"] if recipes else []
    gain = "gains" if judged == ["the recipe judged"] else "gain"
    return [
        f"{' and '.join(judged)} {gain} at most {signed(answer.most)} over {OVER[over]}, by the end of the interval"
    ]


def _larger_limit(info: StudyInfo, seeds: int | None = None) -> str:
    """`--limit minutes=80`: of the limit that ended the study twice as much, or as much more as so many seeds of the
    finals are, whose share of a limit is fixed, or what a search needs at least; empty where none has ended it."""
    if not info.limited:
        return ""
    times = max(2.0, seeds / info.finals.seeds if seeds and info.finals else 0.0)
    number = max(info.limited["number"] * times, info.limited.get("least") or 0.0)
    return f"--limit {info.limited['limit']}={rounded_up(number):g}"


def _next(answer: Answer, info: StudyInfo) -> list[str]:
    """What would settle it; where a limit has ended the study, under which larger one."""
    if answer.flags == ("overlap",) and info.request.train and not info.request.drop_leaks:
        return ["--drop-leaks, with other --results, leaves out the training rows that hold test items"]
    if answer.flags:
        return ["see the warnings of the report; what they name must be mended before anything can be told"]
    if not answer.fresh_items:
        return ["test sentences that did not choose the settings would settle it"]
    larger = f"{_larger_limit(info)} in all" if info.limited else "--trials"
    if not answer.finalists and answer.base_stands:
        return [f"{larger} may have time to judge a recipe beside {OVER['base']}"] if info.limited else []
    clauses, more = [], f"more recipes ({larger}) may find a larger one"
    if answer.never:
        measured = answer.picked[0].gains.get(answer.open[0]) if answer.open and answer.picked else None
        if measured is not None and measured.gain <= 0:
            clauses.append("as measured there is no gain, which more seeds would not change")
        else:
            clauses.append("more seeds would not settle it: the test items are too few for so small a gain")
        if answer.items and answer.shows:
            half = f"{count(4 * answer.items, 'item')} from {number(answer.shows / 2)} on"
            clauses.append(f"{count(answer.items, 'test item')} show gains from {number(answer.shows)} on, {half}")
        return [*clauses, more]
    seeds = answer.seeds if answer.seeds is not None else 5
    size = f"{max(1, len(answer.finalists))}x{seeds}"
    finals = f"--search {info.search} --finals {size} {_larger_limit(info, seeds)}".strip()
    if answer.seeds is not None and answer.seeds > MOST_ADVISED:
        clauses.append(f"to show so small a gain would take {answer.seeds} seeds each")
        clauses.append(more)
    elif answer.seeds is not None:
        clauses.append(f"{finals} would settle it in 4 of 5 cases, if the gain is as large as measured")
    else:
        clauses.append("how many seeds would settle it is unknown")
        clauses += [f"{larger} has time for more"] if (larger := _larger_limit(info)) else []
    return clauses


def _worse(answer: Answer, say: Say) -> list[str]:
    others = answer.others
    if not others:
        return ["not checked: no other task was evaluated (--senteval DIR, with STSBenchmark, checks one)"]
    below = [other for other in others if other.gain.below]
    shown = below[:FEW] or others[:1]
    clauses = [f"{say(item.task)} {_points(item.gain)} against {OVER[item.over]}" for item in shown]
    if not below:
        clauses[0] = f"no loss is shown on another task; the lowest: {clauses[0]}"
    clauses += [count(len(below) - FEW, "more task")] * (len(below) > FEW)
    item = answer.general
    if item is not None and item not in shown:
        clauses.append(f"a general check, {say(item.task)}: {_points(item.gain)} against {OVER[item.over]}")
    return clauses


def _ship(ship: Ship, say: Say) -> list[str]:
    """Which model, what it gains over one seed, and what it takes back of the forgetting."""
    if ship.share is None:
        best = "the model of one seed, the best by development scores"
        return [f"{best}: no average of {ship.seeds} is better by these"]
    if not ship.keeps and ship.over_seed:
        return [f"the model of one seed: the average of {ship.seeds} measured {_points(ship.over_seed)} against it"]
    clauses = [f"the average of the models of {ship.seeds} trainings{mixed(ship.share)}"]
    over = {"base": f"one training with {OVER['base']}", "encoder": OVER["encoder"]}
    clauses += [f"{_points(ship.gains[name])} over {what}" for name, what in over.items() if name in ship.gains]
    if ship.over_seed:
        shown = "" if ship.over_seed.above or ship.over_seed.below else ", not shown to be better"
        shown += "" if ship.remade else ", as a guess of what seeds move widens this"
        clauses.append(f"{_points(ship.over_seed)} over one seed{shown}")
    soup = next(each for each in ship.soups if each.share == ship.share)
    before, after, seed = ship.untrained_general, soup.general, ship.one_seed.general
    if before is not None and after is not None and seed is not None:
        lost = f"{signed(after - before)} against {OVER['encoder']}, one seed {signed(seed - before)}"
        clauses.append(f"{say(ship.general)} {lost}")
    return clauses


def mixed(share: float) -> str:
    """How much of an average is not trained."""
    return "" if share == 1 else f", mixed with {1 - share:.0%} of {OVER['encoder']}"


def _cost(answer: Answer, first: Finalist) -> str:
    base = answer.base
    if first.seconds is None or base is None or base.seconds is None:
        return ""
    used, average, again, base_again = answer.to_train, "", "", ""
    if answer.averaged and answer.ship and used and used.seconds:
        average = f"; all {answer.ship.seeds} of the average {duration(answer.ship.seeds * used.seconds)}"
        again, base_again = (" (Again)", "") if used.recipe == first.recipe else ("", " (Again)")
    beside = "" if first.recipe == base.recipe else f", with {OVER['base']}{base_again} {duration(base.seconds)}"
    return f"one training{again} takes {duration(first.seconds)}{beside}{average}"


def of_data(data: DataCurve, say: Say) -> list[str]:
    """What the last doubling of the data brought: no promise of a further one."""
    *_, half, whole = data.parts
    if whole.gain is None:
        if data.trials.done < data.trials.planned:
            return [f"{data.trials.done} of {count(data.trials.planned, 'trial')} of the learning curve are done"]
        return ["half of the data are too few for the recipe, so what more would bring is unknown"]
    sizes = "" if half.rows is None or whole.rows is None else f", from {half.rows:,} to {whole.rows:,} {data.unit},"
    flagged = [f"no verdict, for the flag {' and '.join(map(say, whole.flags))}"] if whole.flags else []
    brought = f"the last doubling of the data{sizes} brought {_points(whole.gain)}"
    return [brought, *flagged, "what another one would bring was not measured"]


def _unfinished(answer: Answer, info: StudyInfo) -> list[Line]:
    if answer.trials is None or not answer.trials.planned:
        words = "the answer comes with the finals"
    else:
        words = f"{answer.trials.done} of {count(answer.trials.planned, 'trial')} of the finals are done"
    return [Line("Wait", words), Line(GO_ON, study_command(info), command=True)]


def _of_rows(answer: Answer, rows: RowsAnswer, info: StudyInfo, say: Say) -> list[Line]:
    """Which are better than the baseline, by how much, how many claims hold."""
    written = []
    if rows.figure and rows.baseline and rows.compared:
        be = "is" if len(rows.better) == 1 else "are"
        which = f"{len(rows.better) or 'none'} of {count(rows.compared, 'row')}" if rows.compared > 1 else "no row"
        no_verdict = f", {rows.unjudged} {'has' if rows.unjudged == 1 else 'have'} no verdict" * bool(rows.unjudged)
        words = f"{which} {be if rows.better else 'is'} shown to be better than {say(rows.baseline)}{no_verdict}"
        named = first_few([say(name) for name in rows.better], FEW)
        whole = f"{words}: {'; '.join(named)}" if named else words
        written += [Line("Better", whole)] if fits(whole) else [Line("Better", words), *in_lines("These", named)]
    if rows.gain and rows.best and rows.gain.low is not None:
        largest = f"the largest{' with a verdict' * bool(rows.unjudged)}"
        words = f"{largest} is {_points(rows.gain)} in {say(rows.figure)}: {say(rows.best)}"
        written += in_lines("Gain", [words, *["with one seed that may be chance"] * rows.one_seed])
    elif rows.gain:
        written.append(
            Line("Gain", "unknown: one seed cannot tell how far another one would be" if rows.one_seed else "unknown")
        )
    written += in_lines("Sure", noise(answer))
    if rows.claims:
        written.append(Line("Claims", _claims(rows)))
    if rows.explored:
        clauses = [f"the best so far is {say(rows.explored)}", "its own seeds chose it, so its gain is unknown"]
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


def _model(name: str, info: StudyInfo) -> Line:
    """The command that brings a recipe's model."""
    named = name.partition(" ")[0] if name.startswith("#") else name
    return Line("Model", shlex.join(["python", "-m", "reports", "export", results_place(info), named]), command=True)


def _level(figure: Gain | None) -> str:
    """`74.20 [73.91, 74.49]`."""
    if figure is None:
        return "unknown"
    return level(figure) + " [unknown]" * (figure.low is None)


def _points(gain: Gain) -> str:
    return interval(gain) + " [unknown]" * (gain.low is None)


def _over(gain: Gain, name: str, answer: Answer | None = None) -> str:
    return f"{_points(gain)} over {reference(answer, name) if answer else OVER[name]}"


def reference(answer: Answer, name: str) -> str:
    """What finalists are compared with; the baseline, a row of the space, by its own name."""
    row = answer.references.get(name) if name == "baseline" else None
    return row.name if row else OVER[name]
