"""`report.md` from a results folder: what was run, the paper's tables beside ours, curves, the search, the claims.

It is made of `study.json` and the ledger alone, needs neither Ray nor torch, and is the same text for the same
ledger.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, get_args

from reports.claims import Judged, Verdict, claims_table, judge
from reports.data import data_section
from reports.figures import figures_section
from reports.heat_map import heat_map_section
from reports.ledger import write_whole
from reports.markdown import DASH, bullets, code, count, number, signed, table
from reports.pareto import pareto_in_short, pareto_section
from reports.plots import curve_picture, rows_picture
from reports.premises import premises_section
from reports.results import Difference, Results, topic_name
from reports.search import search_section
from reports.statistics import same_order
from reports.tables import measured_table, paper_table, plain_table
from reports.trials_csv import write_trials_csv
from trainables.recipe import SCENES

NAME = "report.md"
FEWEST_PAIRS = 3
"""The order of fewer pairs of rows says nothing."""


def write_report(results: Path) -> Path:
    """Write `report.md`, its pictures and `trials.csv` into the results folder; returns the report's path.

    Works on a study that is still running: what is not there yet is a dash. Raises `UserError` for a folder that
    is no study's, or where nothing is finished.
    """
    read = Results.load(results)
    pictures = results / "pictures"
    judged = [judge(read, claim) for claim in read.space.claims]
    sections = [
        f"# {read.space.title}",
        _scale(read),
        "## In short",
        _in_short(read, judged),
        "## What was run",
        _what_was_run(read),
    ]
    if read.space.premise_counts:
        sections += ["## Premises by entailments and contradictions", premises_section(read)]
    sections += ["## Tables", *_tables(read, pictures)]
    curves = _curves(read, pictures)
    if curves:
        sections += ["## Curves", *curves]
    if read.space.figures:
        sections += ["## Figures", figures_section(read, pictures)]
    heat_map = heat_map_section(read, pictures)
    if heat_map:
        sections += ["## Sentences before and after training", heat_map]
    if read.explored:
        sections += ["## What the search found", search_section(read, pictures)]
    if read.space.goals:
        sections += ["## Two goals at once", pareto_section(read, pictures)]
    if judged:
        sections += ["## The paper's claims", _claims(read, judged)]
    if read.space.oddities:
        sections += ["## Oddities of the published figures", bullets(read.space.oddities)]
    path = results / NAME
    write_whole(path, "\n\n".join(sections) + "\n")
    write_trials_csv(results / "trials.csv", read.records, read.labels)
    return path


def _scale(read: Results) -> str:
    """The first lines: which scale and why, and what may be compared with the paper."""
    reason = f" ({read.info.scale_reason})" if read.info.scale_reason else ""
    said = [f"**Scale: {read.info.scale}**{reason}."]
    if not read.has_paper:
        return "\n\n".join([*said, *([bullets(read.info.notes)] if read.info.notes else [])])
    if read.comparable:
        levels = ", so levels may be compared with the published ones" * read.has_published
        said.append(f"Encoder, data and training are the paper's{levels}.")
    else:
        base = read.space.baseline
        other = f"differences to the `{base}` row" if base and read.of_row(base) else "rows with each other"
        said.append("This study does not repeat the paper's setting:")
        said.append(bullets([*(_in_words(item, read) for item in read.differences), *read.info.notes]))
        said.append(f"**So compare {other}, not levels.**")
    return "\n\n".join(said)


def _in_words(item: Difference, read: Results) -> str:
    ours, paper = code(item.ours), code(item.paper)
    if item.key == "encoder.name":
        return f"the encoder is {ours}, the paper's is {paper}"
    if item.key == "corpus.nli":
        seen = max((int(record.training.get("pairs") or 0) for record in read.records), default=0)
        papers = (read.space.training_pairs or 0) * read.space.base.optimisation.epochs
        steps = f" ({seen:,} pairs seen" + (f", the paper's models saw {papers:,})" if papers else ")")
        what = "the built-in scenes corpus" if item.ours == SCENES else ours
        return f"training pairs come from {what} instead of {paper}{steps if seen else ''}"
    if item.key == "corpus.documents":
        counts = [int(found) for r in read.records if (found := r.data.get("corpus", {}).get("documents"))]
        what = "the built-in scenes corpus" if item.ours == SCENES else ours
        number_of = f" ({max(counts):,} documents)" if counts else ""
        return f"training documents come from {what} instead of {paper}{number_of}"
    if item.key == "evaluation.senteval":
        return "the SentEval tasks are the built-in scenes ones, not the real data"
    if item.key == "evaluation.protocol":
        return f"SentEval's protocol is {ours}, the paper's is {paper}"
    if item.key == "optimisation.max_steps":
        return f"training stops after {item.ours} steps" if item.ours else "training is not cut short"
    return f"`{item.key}` is {ours}, the paper's is {paper}"


def _in_short(read: Results, judged: list[Judged]) -> str:
    foreign = [label for label in read.asked_rows if read.is_foreign(label)]
    rows = [label for label in read.asked_rows if label not in foreign]
    done = [label for label in rows if read.is_complete(label)]
    seeds = count(len(read.info.seeds), "seed")
    said = (
        [f"{len(done)} of {count(len(rows), 'row')} finished, {seeds} each.{_unfinished(read, rows)}"] if rows else []
    )
    if foreign:
        evaluated = sum(bool(read.of_row(label)) for label in foreign)
        others = count(len(foreign), "row")
        said.append(f"{evaluated} of {others} of other people's models evaluated.{_unfinished(read, foreign)}")
    if 0 < len(read.asked_rows) < len(read.space.rows):
        asked = len(read.asked_rows)
        said.append(f"The space has {len(read.space.rows)} rows; this study was asked for {asked} of them.")
    for paper, column in read.topics:
        cells = {label: cell for _, label in paper.rows if (cell := read.cell(paper, label, column.name))}
        name = topic_name(paper, column)
        if len(cells) < 2:
            said.append(f"{name}: fewer than two rows have it yet.")
            continue
        best = max(cells, key=lambda label: cells[label].mean)
        text = f"{name}: the best row is `{best}` with {number(cells[best].mean)}"
        base = read.cell(paper, read.space.baseline, column.name) if read.space.baseline else None
        if base is not None and best != read.space.baseline:
            gain = cells[best].mean - base.mean
            text += f", {signed(gain)} points against `{read.space.baseline}` ({number(base.mean)})"
        printed = {label: value for label in cells if (value := read.published(paper, label, column.name))}
        if len(printed.keys() - {read.space.baseline}) > 1:
            top = max(printed, key=lambda label: printed[label])
            relative = top != read.space.baseline and bool(read.of_row(read.space.baseline or ""))  # as ours is
            lead = read.published_gain(paper, top, column.name) if relative else None
            of_these = "" if len(printed) == len(paper.rows) else " of these"
            text += f"; in the paper it is `{top}`{of_these} ({number(printed[top]) if lead is None else signed(lead)})"
            same, total = same_order([(cells[label].mean, printed[label]) for label in cells if label in printed])
            if total >= FEWEST_PAIRS:
                text += f". {same} of {total} pairs of rows stand in the paper's order (by chance about half)"
        said.append(text + ".")
    if read.space.goals:
        said.append(pareto_in_short(read))
    if read.comparable and read.has_published:
        said.append(_within_tolerance(read))
    if judged:
        counts = Counter(item.verdict for item in judged)
        verdicts = ", ".join(
            f"{name} {counts[name]}" for name in get_args(Verdict) if counts[name] or name != "agrees in part"
        )
        own = sum(bool(item.claim.contradicted) for item in judged)
        doubt = f" (the paper's own figures contradict {own} of them)" if own else ""
        said.append(f"The paper's {count(len(judged), 'claim')}{doubt}: {verdicts}.")
    if len(read.info.seeds) == 1:
        said.append(
            "There is one seed, so the noise between seeds is unknown: every comparison here is by sign only, and "
            "small differences mean nothing. More `--seeds` extend this study."
        )
    return bullets(said)


def _unfinished(read: Results, rows: list[str]) -> str:
    """Why the others are missing."""
    reasons = Counter(read.why_missing(label) for label in rows if not read.of_row(label))
    partly = sum(bool(read.of_row(label)) and not read.is_complete(label) for label in rows)
    said = [f"{why} ({n})" for why, n in sorted(reasons.items())] + (
        [f"without some of their seeds ({partly})"] if partly else []
    )
    return f" The others: {'; '.join(said)}." if said else ""


def _within_tolerance(read: Results) -> str:
    gaps = {
        (label, paper.topic or paper.number, column.name): abs(cell.mean - printed)
        for paper in read.space.tables
        for _, label in paper.rows
        for column in paper.columns
        if (cell := read.cell(paper, label, column.name)) is not None
        and (printed := read.published(paper, label, column.name)) is not None
    }
    close = sum(gap <= read.space.tolerance for gap in gaps.values())
    return f"{close} of {count(len(gaps), 'cell')} lie within {read.space.tolerance:g} point of the published figure."


def _what_was_run(read: Results) -> str:
    info = read.info
    finished = [record for record in read.records if record.status == "finished"]
    pruned = len(read.records) - len(finished)
    facts = [
        f"Paper: {read.space.paper}",
        f"Space: `{info.space}`" + (f", from `{info.space_file}`" if info.space_file else ""),
        f"Search: {info.search}" + (f", {count(info.trials, 'trial')} asked for" if info.trials else ""),
        f"Seeds: {', '.join(map(str, info.seeds))}",
        *(f"Command: `{command}`" for command in info.commands),
        f"Started: {info.created_at}" if info.created_at else "",
        f"Trials: {len(finished)} finished, {pruned} stopped early"
        + "".join(
            f", {n} {name}" for name, n in sorted(info.status_counts.items()) if name not in ("finished", "pruned")
        ),
        f"Cost: {_cost(finished + [r for r in read.records if r.status == 'pruned'])}",
        f"Hardware: {'; '.join(_distinct([info.hardware, *(r.hardware for r in read.records)]))}",
        f"Versions: {', '.join(f'{name} {version}' for name, version in sorted(info.versions.items()))}",
    ]
    said = bullets(fact for fact in facts if fact and not fact.endswith(": "))
    parts = [said, _mixed_versions(read), data_section(read), _recipe(read)]
    training = _training_time(read)
    return "\n\n".join(part for part in [*parts, training] if part)


def _mixed_versions(read: Results) -> str:
    """A warning where trials of one study ran different code."""
    found: dict[str, set[str]] = {}
    for record in read.records:
        for name, version in record.versions.items():
            found.setdefault(name, set()).add(version)
    mixed = [f"{name} {' and '.join(sorted(those))}" for name, those in sorted(found.items()) if len(those) > 1]
    if not mixed:
        return ""
    return (
        f"**Trials of this study ran different code ({'; '.join(mixed)}). That can change scores: compare those trials "
        "with care, or repeat the study in a new folder.**"
    )


def _cost(records: list[Any]) -> str:
    def total(name: str) -> float:
        return sum(float(record.cost.get(name) or 0) for record in records) / 3600

    peak = max((float(record.cost.get("peak_memory_mb") or 0) for record in records), default=0)
    text = (
        f"{number(total('seconds'))} trial hours ({number(total('train_seconds'))} training, "
        f"{number(total('evaluation_seconds'))} evaluation), {number(total('gpu_seconds'))} GPU hours"
    )
    return text + (f", at most {number(peak, 0)} MB of memory" if peak else "")


def _distinct(names: list[str]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name))


def _recipe(read: Results) -> str:
    paper, ours = read.space.base.flat(), {**read.space.base.flat(), **read.info.base}
    lines = [[f"`{key}`", code(paper[key]), code(ours[key]) if ours[key] != paper[key] else "same"] for key in paper]
    head = ["Base recipe", "The paper" if read.has_paper else "The space", "This study"]
    changed = [line for line in lines if line[2] != "same"]
    whole = f"<details><summary>The whole base recipe</summary>\n\n{table(head, lines, left=3)}\n\n</details>"
    said = "Rows differ from the base recipe only in what they name. "
    if not changed:
        return f"{said}It is unchanged in this study.\n\n{whole}"
    return f"{said}This study changes it in:\n\n{table(head, changed, left=3)}\n\n{whole}"


def _training_time(read: Results) -> str:
    """Rows whose training time the paper prints, beside ours, as multiples of the baseline's."""

    def seconds(label: str) -> float | None:
        values = [float(value) for r in read.of_row(label) if (value := r.cost.get("train_seconds"))]
        return sum(values) / len(values) if values else None

    base = next((row for row in read.space.rows if row.label == read.space.baseline), None)
    if base is None or base.minutes is None:
        return ""
    lines = []
    for row in read.space.rows:
        if row.minutes is not None:
            ours, reference = seconds(row.label), seconds(base.label)
            ratio = ours / reference if ours and reference else None
            printed = f"{number(row.minutes, 0)} min ({number(row.minutes / base.minutes)})"
            lines.append([row.label, f"{number(ours / 60)} min ({number(ratio)})" if ours else DASH, printed])
    head = ["Training time (multiple of the baseline's)", "ours", "published"]
    return table(head, lines)


def _tables(read: Results, pictures: Path) -> list[str]:
    if not read.space.tables:
        return [plain_table(read)]
    parts = [paper_table(read, paper) for paper in read.space.tables]
    picture = rows_picture(read, pictures / "rows.png")
    if picture:
        shown = ", ours and published" if read.has_published else ""
        parts.insert(0, f"![Rows against the baseline{shown}]({pictures.name}/{picture.name})")
        parts.insert(1, f"Points above or below the `{read.space.baseline}` row, trained rows only{_bars(read)}.")
    if read.has_published and not read.comparable:
        parts.insert(
            0,
            "`difference` is ours minus published. In this setting (see the top) it says nothing about reproduction; "
            "the second table of each pair does, which compares differences to the baseline.",
        )
    notes = [f"`{row.label}`: {row.note}." for row in read.space.rows if row.note and row.label in read.asked_rows]
    measured = [
        "### Positives and negatives per anchor, as measured",
        "N+ and N- as measured are what the loss compares an anchor with: N- counts every candidate of the batch, "
        "other anchors' too, and of a memory bank. A cap is on an anchor's own: an upper bound, of which it takes what "
        "its batch offers; in the layout `groups` it is exact, and what is missing is filled in. Counts are of the "
        "whole training, means over seeds; a recipe hash names its files in the ledger.",
        measured_table(read),
    ]
    return [*parts, *measured, *([bullets(notes)] if notes else [])]


def _curves(read: Results, pictures: Path) -> list[str]:
    parts = []
    for key in dict.fromkeys(paper.curve for paper in read.space.tables if paper.curve):
        picture = curve_picture(read, key, pictures / f"curve-{key}.png")
        if picture:
            parts.append(f"![Scores over {key}, ours and published]({pictures.name}/{picture.name})")
            parts.append(f"Over `{key}`{_bars(read)}.")
        else:
            missing = "its rows" if read.comparable else f"its rows and the `{read.space.baseline}` row"
            parts.append(f"The curve over `{key}` needs {missing}, which have not finished.")
    return parts


def _bars(read: Results) -> str:
    return "; bars are a row's own standard deviation over seeds" if len(read.info.seeds) > 1 else ", one seed"


def _claims(read: Results, judged: list[Judged]) -> str:
    how = (
        "Figures are differences in points between the rows that a claim compares; of several comparisons, how many "
        "have the claimed sign, and the range. "
    )
    if any(item.noise_known for item in judged):
        how += (
            "A difference counts only if it is larger than the noise between seeds (two-sided t interval at 95 %, "
            "spread pooled over recipes, not corrected for the number of claims). One comparison against a claim "
            "refutes it, if it is larger than what noise makes of as many comparisons as the claim has (Bonferroni); "
            'of a claim that says "tends to" or "majority" more than half must be against it.'
        )
    else:
        how += "With one seed the noise is unknown: a verdict is by sign only and may be chance."
    if not read.comparable:
        how += " The setting is not the paper's (see the top): a verdict is about this study's models, not the paper's."
    return f"{how}\n\n{claims_table(judged)}"
