"""What a reader in a hurry must know: what was learned, in sentences that hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import get_args

from reports.best_model import best_trial
from reports.claim_verdicts import Verdict, judged, settled_by_seeds
from reports.commands import study_command
from reports.costs import limits_in_words
from reports.evidence import Board, Evidence, Standing
from reports.guards.words import listed
from reports.ledger import Record
from reports.markdown import bullets, code, count, fence, number, signed, text
from reports.results import Results
from reports.sections.pareto import pareto_in_short
from reports.sections.stopping import stopping_in_short
from reports.sections.words import best_rows, collapses, interval, order, order_limits, order_sentence, reason
from reports.statistics import Sample
from reports.unfinished import extents, needs_seeds, total
from search_spaces.goals import Goal, merit

DECIDED = {"agrees": "agree with", "agrees in part": "agree in part with", "disagrees": "disagree with"}
"""What our figures do with a claim that was decided."""
OPEN = {"undecided": "undecided", "undecided: one seed": "undecided (one seed)"}
MOST = 5
"""So many rows of a best set are named, more are counted."""
NAMED = 2
"""So many decided claims are quoted, more are counted."""
FEW = 3
"""So many unfinished rows are named, more are counted."""


def write(results: Results, pictures: Path) -> str:
    """What is missing, what was run, three sentences, the rows that may be the best, what would settle the rest."""
    boards = Evidence.of(results).boards
    learned = [*conclusions(boards), *orders(boards)]
    learned += [claims(results)] if results.space.claims else []
    parts = [
        unfinished(results),
        " ".join(studied(results)),
        "\n".join(f"{place}. {said}" for place, said in enumerate(learned, 1)),
        bullets(filter(None, map(best_set, boards))),
        more_seeds(results, boards),
        bullets(filter(None, _facts(results, boards))),
    ]
    return "\n\n".join(filter(None, parts))


def unfinished(results: Results) -> str:
    """How many trials are missing, of which rows, and how to go on; empty where none is."""
    every = total(results)
    missing = {label: extent for label, extent in extents(results).items() if extent.there < extent.wanted}
    if not missing:
        return ""
    named = []
    for label, extent in list(missing.items())[:FEW]:
        why = results.why_missing(label)
        reason_why = f" ({reason(why)})" if not extent.there and why != "not finished" else ""
        named.append(f"{code(label)}: {extent.there or 'none'} of {count(extent.wanted, 'seed')}{reason_why}")
    named += [f"{count(len(missing) - FEW, 'more row')}"] if len(missing) > FEW else []
    of_rows = " of the rows" * bool(results.explored)
    return (
        f"**Unfinished: {every.there} of {every.wanted} trials{of_rows}.** {'; '.join(named)}. Continue with:\n\n"
        f"{fence(study_command(results.info))}"
    )


def studied(results: Results) -> list[str]:
    """Which rows were run under how many seeds, why others could not be, and what was trained, as sentences."""
    foreign = [label for label in results.asked_rows if results.is_foreign(label)]
    rows = [label for label in results.asked_rows if label not in foreign]
    said = []
    if rows:
        done = sum(results.is_complete(label) for label in rows)
        of_all = (
            f" (the space has {len(results.space.rows)})" if len(results.asked_rows) < len(results.space.rows) else ""
        )
        can_run = [label for label in rows if results.info.row_hashes[label]]
        some = len(results.info.seeds) > 1 and not all(needs_seeds(results, label) for label in can_run)
        seeds = count(len(results.info.seeds), "seed")
        if results.info.raced:
            seeds = f"{len(results.info.seeds)} to {count(results.info.most_seeds or 0, 'seed')}"
        each = f"{seeds} each{' (1 where no seed matters)' * some}"
        said.append(f"{done} of {count(len(rows), 'row')} finished{of_all}, {each}.{_cannot_run(results, rows)}")
    if foreign:
        evaluated = sum(bool(results.of_row(label)) for label in foreign)
        others = count(len(foreign), "row")
        said.append(f"{evaluated} of {others} of other people's models evaluated.{_cannot_run(results, foreign)}")
    return [*said, *_trained(results)]


def _cannot_run(results: Results, rows: Sequence[str]) -> str:
    """Why rows are missing that no further trial would bring."""
    found = extents(results)
    open_ones = {label for label, extent in found.items() if extent.there < extent.wanted}
    missing = [label for label in rows if not results.of_row(label) and label not in open_ones]
    reasons = Counter(results.why_missing(label) for label in missing)
    said = [f"{reason(why)} ({n})" for why, n in sorted(reasons.items())]
    return f" The others: {'; '.join(said)}." if said else ""


def _trained(results: Results) -> list[str]:
    """The encoder and the steps, where all trained rows share the encoder: rows are called as in the paper."""
    trained = [
        record
        for label in results.asked_rows
        for record in results.of_row(label)
        if record.recipe["optimisation.epochs"]
    ]
    encoders = {(str(r.recipe["encoder.name"]), r.recipe.get("encoder.layers")) for r in trained}
    if len(encoders) != 1:
        return []
    [(name, layers)] = encoders
    which = f"the first {layers} layers of " if layers else ""
    adapters = {record.recipe["encoder.adapter"] for record in trained}
    if not adapters & {None, "none"}:
        what = "low-rank matrices (LoRA) in" if adapters == {"lora"} else "an adapter on"
        which = f"{what} the frozen {which.removeprefix('the ')}"
    steps = sorted({int(found) for record in trained if (found := record.training.get("steps"))})
    took = f" for {' to '.join(dict.fromkeys(f'{end:,}' for end in (steps[0], steps[-1])))} steps" if steps else ""
    return [f"Trained here: {which}{code(Path(name).name if Path(name).is_absolute() else name)}{took}."]


def conclusions(boards: Sequence[Board]) -> list[str]:
    """What the boards prove, in one paragraph. Boards of which the same can be said share a sentence.

    A row is called the best only where it is alone in the best set and proven to be above the baseline.
    """
    said: dict[str, list[tuple[Board, str]]] = {}
    for board in boards:
        statement, detail = conclusion(board)
        said.setdefault(statement, []).append((board, detail))
    sentences = []
    for statement, those in said.items():
        names = " and ".join(_name(board) for board, _ in those)
        if len(those) == 1:
            sentences.append(f"On {names} {'; '.join(filter(None, [statement, those[0][1]]))}.")
            continue
        details = [f"{text(board.quantity.name)}: {detail}." for board, detail in those if detail]
        sentences.append(" ".join([f"On {names} {statement}.", *details]))
    sentences += [*_unjudged(boards), *_collapsed(boards)]
    return [" ".join(sentences) or "No row has a figure that sums the study up yet."]


def _collapsed(boards: Sequence[Board]) -> list[str]:
    """Which rows collapse under some seeds, and how often, as one sentence."""
    found = {
        item.name: collapses(item.sample.count if item.sample else 0, item.collapsed)
        for board in boards
        for item in board.standings
        if item.collapsed
    }
    rows = listed([f"{code(name)}, where {said}" for name, said in found.items()])
    return [f"All this is given no collapse: of {rows}, verdicts are about the other seeds."] if found else []


def conclusion(board: Board) -> tuple[str, str]:
    """What can be said of the board, and the figure behind it; neither begins with a capital or ends with a stop."""
    rows = [item for item in board.counted if item.gain is not None]
    alone = best_rows(board)
    if board.baseline is None or not rows:
        there = [item for item in board.counted if item.sample]
        if len(alone) == 1:
            return f"{code(alone[0].name)} is the best {_of_judged(board)}", f"its mean is {_mean(alone[0])}"
        top = f"the highest mean measured is {code(there[0].name)}'s, {_mean(there[0])}" if there else ""
        return "no best row can be told", top
    base = code(board.baseline)
    verdicts: Counter[str] = Counter(item.verdict for item in rows)
    decided = verdicts["above"] + verdicts["below"]
    can_be = [item for item in rows if item.verdict in ("above", "below", "undecided")] if decided else rows
    top_row = max(can_be, key=lambda item: item.gain.gain if item.gain else 0.0)
    among = "" if len(can_be) == len(rows) else " of a row that can be judged"
    largest = f"the largest gain{among or ' measured'} is {code(top_row.name)}'s, {_gain(top_row)}"
    if not decided:
        return f"no row is shown to be better or worse than {base}: {_why(rows)}", largest
    counted = [("below", "below it"), ("undecided", "undecided"), ("undecided: one seed", "with one seed")]
    others = [f"{verdicts[verdict]} {words}" for verdict, words in counted if verdicts[verdict]]
    others += [f"{verdicts['no verdict']} without a verdict for the {_guards(rows)}"] if verdicts["no verdict"] else []
    others += ["copies count once"] if len(board.counted) < len(board.standings) else []
    rest = f" ({', '.join(others)})" if others else ""
    are = "are" if verdicts["above"] > 1 else "is"
    statement = f"{verdicts['above'] or 'none'} of {count(len(rows), 'row')} {are} shown to be above {base}{rest}"
    if len(alone) == 1 and alone[0].verdict == "above":
        largest = (
            f"{code(alone[0].name)} is the best {_of_judged(board)}, {_gain(alone[0])} above {base}{_lost(alone[0])}"
        )
    return statement, largest


def _of_judged(board: Board) -> str:
    """`row`, where every row could be judged; else that it is the best of those."""
    measured = sum(item.sample is not None for item in board.counted)
    judged = sum(item.in_best_set is not None for item in board.counted)
    return "row" if judged == measured else "of the rows that can be judged"


def _lost(item: Standing) -> str:
    """On which tasks the best row is surely worse than the baseline."""
    named = [f"{text(task)} ({signed(change)})" for task, change in item.lost[:FEW]]
    named += [f"{len(item.lost) - FEW} more"] if len(item.lost) > FEW else []
    return f", but it loses on {', '.join(named)}" if named else ""


def _unjudged(boards: Sequence[Board]) -> list[str]:
    """A sentence for each row that lies above every row that could be judged: what keeps it from being judged."""
    found: dict[tuple[str, str], list[str]] = {}
    for board in boards:
        judged = [item.sample.mean for item in board.standings if item.sample and item.in_best_set is not None]
        for item in board.counted:
            if item.sample and item.in_best_set is None and judged and item.sample.mean > max(judged):
                why = _keeps(item, item.sample)
                by = f"{signed(item.gain.gain) if item.gain else _mean(item)} on {text(board.quantity.name)}"
                found.setdefault((item.name, why), []).append(by)
    said = [
        f"{code(name)} measured higher ({', '.join(by)}) but {why}: it may be better."
        for (name, why), by in list(found.items())[:FEW]
    ]
    more = len(found) - FEW
    return said + ([f"So {'does' if more == 1 else 'do'} {count(more, 'more row')}."] if more > 0 else [])


def _keeps(item: Standing, sample: Sample) -> str:
    """What keeps a measured row from being judged, after "but"."""
    if item.blocked_by:
        return f"is not judged for the {_guards([item])}"
    if sample.fixed:
        return "is not judged, since no predictions tell how far chance goes"
    if sample.count == 1:
        return "has one seed, so it is not judged"
    return "a flag (see below) forbids to set it against the other trained rows"


def _gain(item: Standing) -> str:
    """A gain with its interval and what limits that."""
    basis = item.gain.basis if item.gain and item.gain.low is not None else ""
    limit = {"items only": " (over test items only)", "seeds only": " (over seeds only)"}.get(basis, "")
    return f"{interval(item.gain)} points{limit}"


def _mean(item: Standing) -> str:
    return number(item.sample.mean if item.sample else None)


def _why(rows: Sequence[Standing]) -> str:
    """Why a board has no verdict at all."""
    verdicts = {item.verdict for item in rows}
    if verdicts == {"undecided: one seed"}:
        return "each recipe has one seed, and how far another would move it is unknown"
    said = []
    if "undecided" in verdicts:
        alike = [item for item in rows if item.verdict == "undecided"]
        whose = (
            "the differences are" if len(alike) == len(rows) else f"{_named(alike)} differ{'s' * (len(alike) == 1)} by"
        )
        said.append(
            f"{whose} no more than chance makes them differ"
            if whose.endswith("are")
            else f"{whose} no more than chance"
        )
    if "undecided: one seed" in verdicts:
        said.append("some recipes have one seed")
    if "no verdict" in verdicts:
        those = [item for item in rows if item.verdict == "no verdict"]
        said.append(f"{_named(those)} {'has' if len(those) == 1 else 'have'} no verdict for the {_guards(rows)}")
    return " and ".join(said)


def _named(rows: Sequence[Standing]) -> str:
    """`a` and `b`, or how many they are."""
    if len(rows) > FEW:
        return count(len(rows), "row")
    return " and ".join(code(item.name) for item in rows)


def _guards(rows: Sequence[Standing]) -> str:
    names = dict.fromkeys(flag.guard for item in rows for flag in item.blocked_by)
    return f"flag{'s' * (len(names) > 1)} {', '.join(map(code, names))}"


def orders(boards: Sequence[Board]) -> list[str]:
    """How our order of the rows compares with the paper's, in one paragraph; empty where the paper prints too few."""
    said: dict[str, list[Board]] = {}
    for board in boards:
        if (found := order(board)) is not None:
            said.setdefault(order_sentence(found), []).append(board)
    sentences = [f"On {' and '.join(map(_name, those))} {sentence}." for sentence, those in said.items()]
    limits = dict.fromkeys(order_limits(board) for those in said.values() for board in those)
    return [" ".join([*sentences, *limits])] if sentences else []


def _name(board: Board) -> str:
    return f"**{text(board.quantity.name)}**"


def best_set(board: Board) -> str:
    """Which rows may be the best, on one line, with their gains where there are several; empty where none is known."""
    inside = best_rows(board)
    if not inside:
        return ""
    judged = sum(item.in_best_set is not None for item in board.counted)
    which = count(judged, "row") if _of_judged(board) == "row" else f"the {judged} rows that can be judged"
    if len(inside) == judged:
        return f"Best set on {_name(board)}: any of {which} may be the best."
    if len(inside) == 1:
        return f"Best set on {_name(board)}, at 95 %: {code(inside[0].name)} alone, of {which}."
    named = [f"{code(item.name)} ({_standing(board, item)})" for item in inside[:MOST]]
    named += [f"{count(len(inside) - MOST, 'more row')} (see Rows)"] if len(inside) > MOST else []
    return f"Best set on {_name(board)}, at 95 %: {', '.join(named)}; {len(inside)} of {which} may be the best."


def _standing(board: Board, item: Standing) -> str:
    if item.name == board.baseline:
        return "the baseline"
    return interval(item.gain) if item.gain else _mean(item)


def more_seeds(results: Results, boards: Sequence[Board]) -> str:
    """How many more seeds of which rows would settle what is open, with the command; why none would."""
    found = judged(results)
    seeds, words, texts = settled_by_seeds(found)
    said = {words: ["The paper's claims"]} if words else {}
    wanted = [seeds or 0]
    rows = {label for item in found if item.claim.text in texts for label in item.claim.labels}
    for board in boards:
        if board.settles:
            said.setdefault(board.settles, []).append(text(board.quantity.name))
            wanted.append(board.seeds_needed or 0)
            rows |= {*board.settled, *([board.baseline] if board.settled and board.baseline else [])}
    lines = [f"{' and '.join(names)}: {what[0].lower()}{what[1:]}" for what, names in reversed(said.items())]
    if not lines:
        return ""
    lines = [f"More seeds: {'; '.join(line.rstrip('.') for line in lines)}."]
    if not max(wanted):
        return lines[0]
    movable = [label for label in results.asked_rows if results.info.row_hashes[label] not in {None, *results.fixed}]
    rows &= {*movable}
    whole = len(rows) in (0, len(movable)) and not results.explored
    chosen = () if whole else [label for label in movable if label in rows or not rows]
    command = study_command(results.info, chosen, len(results.info.seeds) + max(wanted))
    return f"{lines[0]} To add {count(max(wanted), 'seed')}:\n\n{fence(command)}"


def claims(results: Results) -> str:
    """How many of the paper's claims were tested, and what became of them; few that were decided are quoted."""
    found = judged(results)
    counts = Counter(item.verdict for item in found)
    tested = sum(counts[verdict] for verdict in get_args(Verdict) if verdict in {*DECIDED, *OPEN})
    if not tested:
        if len(found) == 1:
            return "The paper's one claim could not be tested."
        return f"Of the paper's {count(len(found), 'claim')} not one could be tested."
    decided = [item for item in found if item.verdict in DECIDED]
    ours = []
    for verdict, words in DECIDED.items():
        texts = [f"“{text(item.claim.text.rstrip('.'))}”" for item in decided if item.verdict == verdict]
        if texts:
            ours.append(f"{words} {' and '.join(texts) if len(decided) <= NAMED else len(texts)}")
    said = [f"our figures {listed(ours)}"] if ours else []
    said += [
        f"{n} {'is' if n == 1 else 'are'} {words}" for verdict, words in OPEN.items() if (n := _count(counts, verdict))
    ]
    setting = "" if results.comparable else " This is about this study's models: the setting is not the paper's."
    was = "was" if tested == 1 else "were"
    every = f"{tested} of the paper's {len(found)} claims {was}" if len(found) > 1 else "The paper's one claim was"
    return f"{every} tested: {'; '.join(said)}.{setting}"


def _count(counts: Mapping[Verdict, int], verdict: str) -> int:
    return next((n for name, n in counts.items() if name == verdict), 0)


def _facts(results: Results, boards: Sequence[Board]) -> list[str]:
    """What limits did, the goals, what stopping early could have cost, what lies close to the paper, the best model."""
    said = limits_in_words(results)
    if len(results.goals) > 1:
        said.append(pareto_in_short(results))
    said.append(stopping_in_short(results))
    if results.comparable and results.has_published:
        said.append(_within_tolerance(results))
    best = best_trial(results)
    if best is not None:
        said.append(best_model(results, boards, best))
    return said


def best_model(results: Results, boards: Sequence[Board], best: Record) -> str:
    """Which model was saved and by what it was chosen, and where that is not what the boards rank by."""
    row = results.labels.get(best.recipe_hash)
    whose = f"row {code(row)}" if row else f"the explored recipe {code(best.recipe_hash)}"
    by = _chosen_by(results.measured_goals, best)
    said = f"Saved to {code(best.checkpoint)}: {whose}, seed {best.seed}, for its {by}.{_over_seeds(results, best)}"
    sets = [board for board in boards if best_rows(board)]
    outside = [
        board for board in sets if any(item.name == row and item.in_best_set is False for item in board.standings)
    ]
    if not row:
        said += " The search chose it by this score, which is likely too high, and so are its test scores."
    if row and outside:
        said += f" It is not in the best set on {' and '.join(map(_name, outside))}: it was chosen by another figure."
    if any(name.startswith("dev_") for board in boards for _, name in board.quantity.weights):
        said += " It was chosen by data that this report ranks rows by, so its own figure is likely too high."
    return said


def _over_seeds(results: Results, best: Record) -> str:
    """A recipe is chosen by its mean over seeds, then the best of its seeds."""
    scores = results.of_goals(results.recipes[best.recipe_hash])
    if not scores or scores[0].seeds < 2:
        return ""
    first = next((goal for goal in results.measured_goals if not goal.cost), results.measured_goals[0])
    value = first.upward(merit(results.measured_goals, [score.mean for score in scores])[0])
    return f" Over its {scores[0].seeds} seeds the recipe has {number(value)}."


def _chosen_by(goals: Sequence[Goal], record: Record) -> str:
    """`development score 63.00: the mean of STS (...) and transfer (...)`; a cost with its unit."""
    values = {goal: goal.of(record.scores, record.cost) for goal in goals}
    parts = [part for goal in goals if not goal.cost for part in goal.parts or (goal,)]
    labels = [part.label for part in parts if part.of(record.scores, record.cost) is not None]
    scores = [value for goal, value in values.items() if not goal.cost and value is not None]
    mean = "the mean of " * (len(labels) > 1)
    said = [f"development score {number(fmean(scores))}: {mean}{' and '.join(labels)}"] if scores else []
    said += [f"{goal.label} {number(value)} {goal.unit}" for goal, value in values.items() if goal.cost]
    return ", then ".join(said)


def _within_tolerance(results: Results) -> str:
    gaps = {
        (label, paper.topic or paper.number, column.name): abs(cell.mean - printed)
        for paper in results.space.tables
        for _, label in paper.rows
        for column in paper.columns
        if (cell := results.cell(paper, label, column.name)) is not None
        and (printed := results.published(paper, label, column.name)) is not None
    }
    close = sum(gap <= results.space.tolerance for gap in gaps.values())
    return (
        f"{close} of {count(len(gaps), 'cell')} lie within {results.space.tolerance:g} point of the published figure."
    )
