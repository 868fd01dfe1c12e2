"""`study.json` and the sources of a study, written before its first trial, and updated while it runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reports.ledger import FAILURES, PLUGINS, Finals, StudyInfo
from reports.ledger.location import as_user_error
from reports.ledger.moments import now
from reports.ledger.names import writable_path
from reports.ledger.own_code import trust
from study.check import recipes_of
from study.cli.terminal import say
from study.engine.cluster import inside_copy
from study.plan import Plan
from study.results_folder.redact import redacted
from study.results_folder.versions import versions
from trainables.errors import UserError
from trainables.files import write_whole
from trainables.record_parts import Trained


def prepare_results(plan: Plan, machine: str) -> StudyInfo:
    """Create the results folder, or continue an existing one, and write all that is known before the first trial.

    `UserError` if the folder cannot be written.
    """
    info = _described(plan, machine)
    if before := plan.earlier_study:
        info = _joined(before, info)
    try:
        plan.results.mkdir(parents=True, exist_ok=True)
        if plan.draft.subject.file is not None:
            write_whole(plan.results / "space.py", plan.draft.subject.file.text)
        for plugin in plan.draft.plugins:
            write_whole(writable_path(plan.results, f"{PLUGINS}/{Path(plugin.path).name}"), plugin.text)
        info.save(plan.results)
        _remember(plan)
        plan.location.sweep()
        plan.location.push_changed()
    except OSError as error:
        raise as_user_error(error, plan.location.shown) from None
    return info


def _described(plan: Plan, machine: str) -> StudyInfo:
    """Return the facts of a study as this command describes it, without earlier runs."""
    return StudyInfo(
        space=plan.space.name,
        space_file="space.py" if plan.draft.subject.file else None,
        scale=plan.scale,
        scale_reason=plan.reason,
        search=plan.request.strategy,
        trials=plan.explored or None,
        seeds=list(plan.seeds),
        most_seeds=plan.most_seeds if plan.races else None,
        base=plan.base.flat(),
        evaluation=plan.evaluation.flat(),
        evaluated_on=sorted(plan.scoring.data),
        places={path: digits for recipe in recipes_of(plan) for path, digits in recipe.places.items()},
        row_hashes={label: recipe.hash if recipe else None for label, recipe in plan.rows.items()},
        missing=dict(plan.missing),
        searched=[domain.key for domain in plan.space.domains],
        goals=list(plan.space.goals),
        limits=dict(plan.limits),
        explored=[recipe.hash for recipe in plan.grid],
        finals=plan.finals.facts() if plan.finals else None,
        versions=versions(plan.draft.plugins),
        hardware=machine,
        notes=_notes(plan),
        requests=[_request(plan)],
        plugins=[Path(plugin.path).name for plugin in plan.draft.plugins],
        stopping={"scheduler": plan.scheduler.name, "rungs": str(plan.rungs)} if plan.rungs else {},
        created_at=now(),
    )


def _joined(before: StudyInfo, info: StudyInfo) -> StudyInfo:
    """Return the facts of this command's study, joined with those of the `before` run."""
    rows = {**info.row_hashes, **before.row_hashes}
    rows |= {label: value for label, value in info.row_hashes.items() if value}
    missing = {**before.missing, **info.missing}
    return dataclasses.replace(
        info,
        created_at=before.created_at,
        row_hashes=rows,
        missing={label: why for label, why in missing.items() if rows[label] is None},
        explored=_united(before.explored, info.explored),
        finals=info.finals or before.finals,
        seeds=sorted({*before.seeds, *info.seeds}),
        most_seeds=max(before.most_seeds or 0, info.most_seeds or 0) or None,
        search=info.search if info.search != "paper" else before.search,
        trials=max(before.trials or 0, info.trials or 0) or None,
        notes=_united(before.notes, info.notes),
        stopping=info.stopping or before.stopping,
        requests=[*(request for request in before.requests if request not in info.requests), *info.requests],
        plugins=_united(before.plugins, info.plugins),
        places={**info.places, **before.places},
        status_counts=before.status_counts,
        data=before.data,
    )


def _united(first: Sequence[str], second: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*first, *second]))


def _remember(plan: Plan) -> None:
    """Mark the study's code as trusted: reports of other processes run it. The study itself does not need the mark."""
    try:
        trust(source.text for source in plan.draft.sources)
    except UserError as error:
        say(f"note: {error}; until then reports of other processes need --trust")


def _request(plan: Plan) -> dict[str, Any]:
    """Return the request's values without secrets. In a Ray job's copy of a working directory they contain the real
    location of the results, so that the study can continue from elsewhere."""
    request = plan.request
    if inside_copy():
        request = dataclasses.replace(request, results=plan.location.shown)
    return {name: _redacted(value) for name, value in request.values.items()}


def _redacted(value: Any) -> Any:
    if isinstance(value, list):
        return [redacted(text) for text in value]
    return redacted(value) if isinstance(value, str) else value


def save_info(plan: Plan, info: StudyInfo, explored: list[str], finals: Finals | None = None) -> None:
    """Write `study.json` at the end of a study."""
    records, _ = plan.ledger.sift()
    counts = {
        "finished": sum(record.status == "finished" for record in records),
        "pruned": sum(record.status == "pruned" for record in records),
        "failed": len(list((plan.results / FAILURES).glob("*.json"))),
    }
    data = next((record.data for record in records if record.data.get("corpus")), Trained())
    dataclasses.replace(with_search(info, explored, finals), status_counts=counts, data=data).save(plan.results)


def with_search(info: StudyInfo, explored: list[str], finals: Finals | None) -> StudyInfo:
    """Return the facts of the study with the recipes that were explored since, and with the finals."""
    return dataclasses.replace(info, explored=_united(info.explored, explored), finals=finals or info.finals)


def _notes(plan: Plan) -> list[str]:
    """Return the notes of the space, and a note on an encoder that was already tuned on sentence pairs."""
    notes = [*plan.space.notes]
    name = plan.base.encoder.name
    if (Path(name) / "modules.json").is_file() or name.startswith("sentence-transformers/"):
        notes.append(
            "the encoder is a finished sentence-transformers model, already tuned on sentence pairs (NLI may be among "
            "them), so rows differ less than they would from a plain language model"
        )
    return notes
