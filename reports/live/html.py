"""The parts of the live page as HTML. Only this file escapes words from outside and makes HTML of them.

A section without content is not shown.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from reports.document.inline import as_html
from reports.ledger import Curve, Running, StageTime, Waiting, seed_in_words
from reports.ledger.finals import share_in_words
from reports.ledger.moments import seconds_since
from reports.live.folder import ScoredRecipe, View
from reports.live.picture import colours, loss_picture, score_picture
from reports.live.settings_picture import settings_picture
from reports.words.comparisons import GO_ON, STAGES_IN_WORDS, difference
from reports.words.markdown import DASH, count, duration, number, time_left
from search_spaces.goals import Goal
from search_spaces.limits import LIMITS

PAGE = Path(__file__).with_name("page.html")
"""The template of the page, with `$name` in place of each part."""
MAX_LISTED = 50
MAX_LISTED_RECIPES = 200
"""Largest number of recipes in the page's table of recipes."""
MAX_NAMED_TRIALS = 3
"""Largest number of trials that are named for each reason of failure; more are only counted."""
MAX_ENDED_CURVES = 40
"""Largest number of ended trials whose losses are drawn in grey, behind those of running trials."""
STAGE_WORDS = {
    "search": "recipes are tried on a development score",
    "finals": "the best again under new random seeds, which decides the answer",
    "further": "models of these seeds are averaged, where that helps",
}
"""What a study does in each of its stages."""
WITH_CURVE = "models of these seeds are averaged, where that helps; parts of the data say what more of it gives"
"""What a study does in the last stage, if it has a learning curve."""
WAITS = "The answer is being worked out, which takes some seconds. This page renews itself."
LEVELS = {"base": "broken line: the base settings", "encoder": "dotted: the original encoder"}


def page(view: View, judged: Mapping[str, str]) -> str:
    """Return the whole page with its current content. Without a script it can be read, but is not updated."""
    parts = {name.replace("-", "_"): content for name, content in parts_of(view, judged).items()}
    return Template(PAGE.read_text(encoding="utf-8")).substitute(parts, title=escape(title(view)))


def state(view: View, judged: Mapping[str, str]) -> str:
    """Return what the page's script requests: a JSON object with the title, and each part by the id of its element."""
    return json.dumps({"title": title(view), "parts": parts_of(view, judged)})


def title(view: View) -> str:
    """Return the title of the browser's tab."""
    name = view.info.space if view.info else "study"
    if view.progress is None:
        return name
    counts = view.progress.counts
    if _by_the_clock(view):
        return f"{view.finished} {name}"
    return f"{view.finished}/{view.finished + counts.get('running', 0) + counts.get('queued', 0)} {name}"


def _by_the_clock(view: View) -> bool:
    """Return whether a limit in minutes ends the search, so that its number of trials is unknown."""
    info, clocks = view.info, {name for name, limit in LIMITS.items() if limit.clock}
    return info is not None and info.search == "optuna" and not clocks.isdisjoint(info.limits)


def parts_of(view: View, judged: Mapping[str, str]) -> dict[str, str]:
    """Return the HTML of each part of the page by its id. `judged`: the parts made by the function `verdicts`."""
    of_colour = colours([trial.key for trial in view.progress.running]) if view.progress else {}
    queued = view.progress.counts.get("queued", 0) if view.progress else 0
    chosen = view.progress and any(stage.passed for stage in view.progress.stages if stage.name != "search")
    more = "as many as the limit has time for" if _by_the_clock(view) and not chosen else ""
    return {
        "name": _name(view),
        "problems": "".join(f'<p class="warning">{escape(problem)}</p>' for problem in view.problems),
        "state": _state(view),
        "counts": _counts(view),
        "running": _running(view, of_colour),
        "losses": _losses(view, of_colour),
        "course": _course(view),
        "best": _best(view),
        "settings": _settings(view),
        **judged,
        "failed": _failed(view),
        "queued-count": more or f"{count(queued, 'trial')} in the queue",
        "queued": _queued(view, queued),
        "foot": _foot(view),
    }


def _name(view: View) -> str:
    if view.info is None:
        return escape(f"A study in {view.folder}")
    own = bool(view.info.request.train)  # the scale is a word of papers
    scale = "" if own else f" <span class='soft'>at the scale {escape(view.info.scale)}</span>"
    return escape(view.info.space) + scale


def _state(view: View) -> str:
    starts = view.progress.failed_starts if view.progress else ""
    return _stand(view) + (f'<p class="warning">No trial could begin: {escape(starts)}</p>' if starts else "")


def _stand(view: View) -> str:
    progress = view.progress
    if progress is None:
        return "<p>No trial has begun yet, or an older version runs this study, which does not tell how far it is.</p>"
    if progress.ended:
        left = count(progress.counts.get("queued", 0), "trial")
        limited = view.info is not None and bool(view.info.limited)
        goes_on = "A larger --limit goes on." if limited else f"{left} are left; the same command goes on."
        more = f" {goes_on}" if progress.counts.get("queued") else ""
        ago = duration(seconds_since(progress.written_at))
        return f'<p><span class="badge">ended</span> The study\'s last run ended {ago} ago.{more}</p>'
    if view.silent_seconds is not None:
        return (
            f'<p class="warning">Nothing was heard of the study for {duration(view.silent_seconds)}. Its process has '
            "been stopped, or its machine is busy or away; what ran then is shown. The same command goes on.</p>"
        )
    counts = progress.counts
    passed = view.finished + len(view.stopped) + len(view.failed)
    total, what = passed + counts.get("running", 0) + counts.get("queued", 0), "trials that ended"
    if _by_the_clock(view):
        passed = round(seconds_since(progress.began_at))
        total, what = passed + round(progress.seconds_left or 0), "seconds that passed"
    left = "time left unknown" if progress.seconds_left is None else time_left(progress.seconds_left)
    return (
        f'<p><span class="badge">running</span> for {duration(seconds_since(progress.began_at))}, <b>{left}</b> '
        f'<span class="soft">({escape(progress.estimate)})</span></p>'
        f'<progress value="{passed}" max="{max(total, 1)}" aria-label="{what}">{passed} of {total}</progress>'
        + _stages(progress.stages, bool(view.info and view.info.request.learning_curve))
        + ("" if view.finals else so_far(view))
    )


def so_far(view: View) -> str:
    """Return the best explored recipe so far, beside base settings and encoder; empty for several goals."""
    best = next((each for each in view.best if not each.role), None)
    if best is None or len(view.goals) > 1:
        return ""
    beside = [
        f"{name} {number(each.scores[0])}"
        for role, name in (("base", "base settings"), ("encoder", "original encoder"))
        for each in view.best
        if each.role == role and (each.share == best.share or role == "encoder")
    ]
    where = "" if best.share == 1.0 else f" on {share_in_words(best.share)}"
    compared = f" ({', '.join(beside)})" if beside else ""
    upward = view.goals[0].upward
    base = [each for each in view.best if each.role == "base" and each.share == best.share]
    behind = any(upward(each.scores[0]) >= upward(best.scores[0]) for each in base)
    begin = f"No recipe is above the base settings{where} so far; the best" if behind else f"Best so far{where}"
    return (
        f"<p>{begin}: <b>{escape(best.name)}</b>, {escape(view.goals[0].short)} {number(best.scores[0])}{compared}, on "
        f"development items. {count(best.seeds, 'seed')}: it may be chance.</p>"
    )


def _stages(stages: Sequence[StageTime], curve: bool) -> str:
    """Return a progress bar for each stage, and what is done in it."""
    items, words = [], {**STAGE_WORDS, **({"further": WITH_CURVE} if curve else {})}
    for stage in stages:
        left = f", {time_left(stage.left)}" if stage.left else ""
        time = f"{duration(stage.passed)}{left}" if stage.passed else f"then, about {duration(stage.left)}"
        name, whole = STAGES_IN_WORDS[stage.name], max(stage.passed + stage.left, 1e-3)
        bar = f'<progress value="{stage.passed:.0f}" max="{whole:.0f}" aria-label="{name}"></progress>'
        items.append(f"<li><b>{name}</b>{bar}<span class='soft'>{time}: {words[stage.name]}</span></li>")
    return f'<ol class="stages">{"".join(items)}</ol>' if items else ""


def _counts(view: View) -> str:
    counts = view.progress.counts if view.progress else {}
    words = [f"{view.finished} finished"]
    open_ones = ("running",) if _by_the_clock(view) else ("running", "queued")
    words += [escape(f"{counts.get(name, 0)} {name}") for name in open_ones if view.progress]
    words += [f"{len(view.failed)} failed"]
    words += [f"{len(view.stopped)} stopped early"] if view.stopped else []
    return f"Trials: {', '.join(words)}."


def _running(view: View, of_colour: dict[str, str]) -> str:
    if not view.progress or not view.progress.running:
        return "<p>No trial runs now.</p>"
    rungs = any(trial.rung for trial in view.progress.running)
    head = ["trial", "#seed", "for", "step", "#loss", *(["#dev score at rung"] if rungs else [])]
    rows = []
    for trial in view.progress.running:
        dot = f'<span class="dot {of_colour[trial.key]}"></span>'
        score = [_rung(trial)] if rungs else []
        rows.append(
            [
                f"{dot}{_words(trial)}",
                _seed(trial.seed),
                duration(seconds_since(trial.since)) if trial.since else DASH,
                _step(trial),
                number(trial.loss, 4),
                *score,
            ]
        )
    at_once = escape(str(view.progress.at_once))
    caption = f"Up to {at_once} at once. The loss is that of one step."
    return table(head, rows, caption)


def _step(trial: Running) -> str:
    again = f", again ({trial.attempt})" if trial.attempt > 1 else ""
    if not trial.step or not trial.steps:
        return f"starting{again}"
    bar = f'<progress value="{trial.step}" max="{trial.steps}" aria-label="steps"></progress>'
    scoring = " (scoring)" if trial.step >= trial.steps else ""
    return f"{bar} {trial.step:,} of {trial.steps:,}{scoring}{again}"


def _losses(view: View, of_colour: dict[str, str]) -> str:
    """Draw the losses of trials, a picture for each objective: losses of different objectives cannot be compared."""
    by_objective: dict[str, dict[str, Curve]] = {}
    for key, curve in view.curves.items():
        by_objective.setdefault(view.objectives.get(key, ""), {})[key] = curve
    pictures = []
    for name, curves in sorted(by_objective.items(), key=lambda item: not item[1].keys() & of_colour.keys()):
        running = {key: curves[key] for key in of_colour if key in curves}
        others = [curve for key, curve in curves.items() if key not in running][-MAX_ENDED_CURVES:]
        picture = loss_picture(running, others, of_colour)
        if not picture:
            continue
        keys = [
            f'<span class="dot {of_colour[key]}"></span>'
            + escape(f"{view.names.get(key, key)}, {seed_in_words(int(key.rpartition('-')[2]))}")
            for key in running
        ]
        words = "; ".join([*keys, *([f"{count(len(others), 'ended trial')} in grey"] if others else [])])
        loss = f"Loss {escape(name)}: " if name else "Loss: "
        pictures.append(f'<figure>{picture}<figcaption class="soft">{loss}{words}.</figcaption></figure>')
    return "".join(pictures)


def _course(view: View) -> str:
    """Draw recipes' scores on the first goal over time, for one share of the data, with base settings and encoder."""
    share, searched = _comparable(view)
    if not searched:
        return ""
    tried = [(best.end_seconds / 60, best.scores[0]) for best in searched if math.isfinite(best.end_seconds)]
    levels: dict[str, float] = {
        best.role: best.scores[0]
        for best in reversed(view.best)
        if best.role == "encoder" or (best.role == "base" and best.share == share)
    }
    picture = score_picture(tried, levels, view.goals[0].lower_is_better)
    part = "" if share == 1.0 else f" on {share_in_words(share)}"
    lines = [f"{words} {number(levels[role])}" for role, words in LEVELS.items() if role in levels]
    words = "; ".join([f"{escape(view.goals[0].short)}{part}: each dot a recipe, the line the best so far", *lines])
    return f'<figure>{picture}<figcaption class="soft">{words}.</figcaption></figure>'


def _comparable(view: View) -> tuple[float, list[ScoredRecipe]]:
    """Return the share of the data on which most recipes of the search trained, and the recipes trained on it."""
    shares = Counter(best.share for best in view.best if not best.role)
    share = shares.most_common(1)[0][0] if shares else 1.0
    return share, [best for best in view.best if not best.role and best.share == share]


def _settings(view: View) -> str:
    """Draw recipes of the search as lines over their settings, to show which settings go with high scores."""
    share, searched = _comparable(view)
    drawn = searched[:: -(-len(searched) // MAX_LISTED_RECIPES) or 1]  # if there are many, evenly spaced by rank
    picture = settings_picture(drawn, view.goals[0].lower_is_better) if len(drawn) > 1 else ""
    if not picture:
        return ""
    part = "" if share == 1.0 else f" on {share_in_words(share)}"
    words = (
        f"Settings of {len(drawn)} of {count(len(searched), 'recipe')}{part}: each line is one, the best fifth boldest"
    )
    words += f"; {DASH} where a recipe has no such setting" * (len({frozenset(best.settings) for best in drawn}) > 1)
    words += "; click a line to see its row"
    return f'<figure>{picture}<figcaption class="soft">{words}.</figcaption></figure>'


def _best(view: View) -> str:
    if not view.best:
        return "<p>No trial with a score that the study looks for is finished yet.</p>"
    parts = bool(view.finals) or any(best.share < 1 for best in view.best)
    searched = {best.share for best in view.best if not best.role}
    alone = [best for best in view.best if best.role == "base" and searched and best.share not in searched]
    listed = [best for best in view.best if best not in alone]  # `alone` compares with no recipe of the search
    data = [("finals", best) for best in view.finals] + [(_data(best), best) for best in listed[:MAX_LISTED_RECIPES]]
    rows = [
        [_words(best), *([trained] if parts else []), str(best.seeds), *map(number, best.scores)]
        for trained, best in data
    ]
    shown = (
        f"The first {MAX_LISTED_RECIPES} of {len(listed)} recipes" if len(listed) > MAX_LISTED_RECIPES else "Recipes"
    )
    several = ", of several scores by their mean" * (len(view.goals) > 1)
    by = f"by what the study looks for, mean over seeds{several}"
    alike = " Scores on different shares of the data cannot be compared." * parts
    alike += " Finals: on all of the data, under new random seeds." * bool(view.finals)
    caption = f"{shown} {by}.{alike} Who is first now may be so by chance."
    head = ["recipe", *(["data"] if parts else []), "#seeds", *(f"#{_development(goal)}" for goal in view.goals)]
    return table(head, rows, caption, sortable=len(rows) > 1)


def _development(goal: Goal) -> str:
    return escape(goal.short if goal.cost else f"{goal.short} (development)")


def _data(best: ScoredRecipe) -> str:
    """Return the share of the data that the recipe trained on; a dash for the original encoder."""
    whole = DASH if best.role == "encoder" else "all"
    return whole if best.share == 1.0 else share_in_words(best.share).partition(" ")[0]


def verdicts(findings: str | None, problem: str, finished: int, runs: bool) -> dict[str, str]:
    """Return the answer and the verdicts as HTML, by the ids of their elements on the page.

    `findings`: what `reports.live.slow_parts` printed. `problem`: its error. `finished`: the number of finished trials
    now.
    """
    answer = json.loads(findings).get("answer", []) if findings and finished else []
    if runs:  # the command is running already
        answer = [part for part in answer if part[0] != GO_ON]
    waits = "" if runs or findings or problem or not finished else f"<p class='soft'>{WAITS}</p>"
    return {"answer": _answer(answer) or waits, "verdicts": _verdicts(findings, problem, finished, runs)}


def _answer(parts: Sequence[tuple[str, str, bool]]) -> str:
    lines = (
        f"<dt>{escape(head)}</dt><dd>{f'<code>{escape(words)}</code>' if command else escape(words)}</dd>"
        for head, words, command in parts
    )
    return f"<dl>{''.join(lines)}</dl>" if parts else ""


def _verdicts(findings: str | None, problem: str, finished: int, runs: bool) -> str:
    if not finished:
        return ""
    trouble = f'<p class="warning">They cannot be computed: {escape(problem)}</p>' if problem else ""
    content = json.loads(findings) if findings else {"boards": [], "claims": []}
    boards = [board for board in content["boards"] if board["baseline"]]
    if not (boards or content["claims"]):  # a search has its answer at the top
        return trouble
    state = f"From {count(content['finished'], 'finished trial')}."
    if content["finished"] != finished and not problem:
        state += f" There are {finished} by now, and they are being computed."
    if runs:
        state += (
            " <b>Provisional:</b> they change as trials finish. Do not end a study because they look good now: that is "
            "wrong more often than one time in twenty."
        )
    counted = Counter(claim["verdict"] for claim in content["claims"])
    claims = ", ".join(f"{escape(verdict)} {how_many}" for verdict, how_many in counted.most_common())
    claims_so_far = f"<p>The paper's claims so far: {claims}.</p>" if claims else ""
    return f"<p>{state}</p>{trouble}{''.join(map(_board, boards))}{claims_so_far}"


def _board(board: dict[str, Any]) -> str:
    rows = []
    for row in board["rows"]:
        gain = difference(row["gain"], row["low"], row["high"])
        flags = f" ⚠ {escape(', '.join(row['flags']))}" if row["flags"] else ""
        rows.append(
            [escape(row["name"]), str(len(row["seeds"])), number(row["mean"]), gain, escape(row["verdict"]) + flags]
        )
    against = f"gains against {escape(board['baseline'])} in points with their 95 % intervals"
    caption = f"{escape(board['figure'])}, {against}."
    sentences = [f"{escape(flag['guard'])}: {as_html(flag['sentence'])}" for flag in board["flags"]]
    flags = "".join(f"<li>⚠ {sentence}</li>" for sentence in sentences)
    head = ["row", "#seeds", "#mean", "#gain", "verdict so far"]
    return table(head, rows, caption) + (f"<ul>{flags}</ul>" if flags else "")


def _failed(view: View) -> str:
    """Return a table of trials that failed, stopped early or did not run: a line for each reason."""
    missing = view.info.missing if view.info else {}
    ends = [(f"failed: {trial.reason}", f"{trial.name}, {seed_in_words(trial.seed)}") for trial in view.failed]
    ends += [(f"set aside: {why}", name) for name, why in view.set_aside.items()]
    ends += [(f"not run: {why}", label) for label, why in missing.items()]
    ends += [(trial.reason, f"{trial.name}, {seed_in_words(trial.seed)}") for trial in view.stopped]
    if not ends:
        return ""
    trials: dict[str, list[str]] = {}
    for reason, name in ends:
        trials.setdefault(reason, []).append(escape(name))
    rows = [[count(len(names), "trial"), escape(reason), _first_few(names)] for reason, names in trials.items()]
    caption = "The same command tries failed trials again."
    caption += f" {len(rows) - MAX_LISTED:,} more reasons are not listed." if len(rows) > MAX_LISTED else ""
    return table(["trials", "reason", "which"], rows[:MAX_LISTED], caption)


def _first_few(names: Sequence[str]) -> str:
    more = [f"and {len(names) - MAX_NAMED_TRIALS:,} more"] if len(names) > MAX_NAMED_TRIALS else []
    return "<br>".join([*names[:MAX_NAMED_TRIALS], *more])


def _queued(view: View, total: int) -> str:
    if _by_the_clock(view) and not view.runs:
        return ""
    waiting = view.progress.queued[:MAX_LISTED] if view.progress else []
    rows = [[_words(trial), _seed(trial.seed)] for trial in waiting]
    if not rows:
        return "<p>The search has yet to choose them.</p>" if total else ""
    more = 0 if _by_the_clock(view) else total - len(rows)
    caption = "They wait for a free place, and run in this order."
    caption += f" {more:,} more are not listed, or the search has yet to choose them." if more > 0 else ""
    return table(["trial", "#seed"], rows, caption)


def _seed(seed: int) -> str:
    """Return a seed in few words: `0`, `fresh 0`, or `average, 25% original` for a soup."""
    return escape(seed_in_words(seed).replace("seed ", ""))


def _rung(trial: Running) -> str:
    """Return a trial's scores at its last rung, the third: `61.5 at 3`; for two goals `61.5, 80.1 at 3`."""
    if trial.rung is None:
        return DASH
    return f"{', '.join(map(number, trial.scores.values()))} at {escape(str(trial.rung))}"


def _foot(view: View) -> str:
    commands = view.info.commands if view.info else []
    command = f"<p>Command: <code>{escape(commands[-1])}</code></p>" if commands else ""
    return f"<p>Results: <code>{escape(str(view.folder))}</code></p>{command}"


def _words(trial: Waiting | ScoredRecipe) -> str:
    """Return the name of a trial or recipe and, below it, its changes to the base recipe."""
    changes = f'<span class="changes">{escape(trial.changes)}</span>' if trial.changes else ""
    return f"{escape(trial.name)}{changes}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str, sortable: bool = False) -> str:
    """Return a table of these HTML cells. A leading `#` in `head` marks a column of numbers; first cells head their
    rows.

    On a phone the style puts a row's cells below each other, each with its column's name. Roles keep it a table for
    screen readers.
    """
    kinds = [' class="number"' if name.startswith("#") else "" for name in head]
    names = [name.lstrip("#") for name in head]
    columns = zip(names, kinds, strict=True)
    button = '<button type="button">{}</button>' if sortable else "{}"
    heads = "".join(f'<th scope="col" role="columnheader"{kind}>{button.format(name)}</th>' for name, kind in columns)
    lines = []
    for first, *others in rows:
        cells = "".join(
            f'<td role="cell" data-name="{name}"{kind}><span>{cell}</span></td>'
            for cell, name, kind in zip(others, names[1:], kinds[1:], strict=True)
        )
        lines.append(f'<tr role="row"><th scope="row" role="rowheader">{first}</th>{cells}</tr>')
    return (
        f'<table role="table"><caption>{caption}</caption><thead role="rowgroup"><tr role="row">{heads}</tr></thead>'
        f'<tbody role="rowgroup">{"".join(lines)}</tbody></table>'
    )
