"""`--recipe`: a study of one recipe, from a search's answer, a row, or a file of keys. The recipe becomes a space of
one row, written as a person's own space file is, so everything else runs as for any study.
"""

from __future__ import annotations

import dataclasses
import json
import pprint
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reports.facts.answer import Answer
from reports.facts.recipe_names import BASE
from reports.facts.results import Results
from reports.ledger import STUDY
from reports.ledger.finals import SHARE
from reports.ledger.location import open_location
from reports.ledger.request import Request
from reports.words.commands import study_command
from search_spaces.goals import kept_by
from search_spaces.paper import NEED_KEYS, Row
from search_spaces.space import Scale, Space
from study.rows import chosen_row
from study.subject import Subject, named_space, overrides
from study.trial import SourceFile
from trainables.errors import UserError, reason
from trainables.evaluation_config import parse_assignment, split
from trainables.files import check_plain, expanded
from trainables.plugins import run_source
from trainables.recipe import Recipe, Value
from trainables.sections import KEEP_BY_KEY, SENTEVAL_KEY

SUFFIXES = (".toml", ".json")
ELSEWHERE = "a row of a space is trained by --space SPACE --recipe ROW, other keys by --space SPACE --recipe KEYS.toml"
LONGEST = 60
"""Largest number of letters of a recipe's name in the name of its results folder."""
HEAD = '''"""A space of one recipe, made by --recipe."""

from search_spaces.space import Row, Space
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe

SPACE = '''


def read_recipe(request: Request) -> Subject:
    """Return the space of the recipe of `--recipe`. `UserError` for an unknown one, or results that recommend none."""
    assert request.recipe is not None
    is_file = request.recipe.endswith(SUFFIXES)
    if not request.space:
        if is_file:
            raise UserError(
                f"--recipe {request.recipe} changes the base recipe of a space; name the space with --space"
            )
        return _of_results(request)
    named = named_space(request.space)
    space, own = named.space, named.file
    if is_file:
        path = expanded(request.recipe)
        changes = dict(_keys(path))
        of_recipe, of_evaluation = split(changes)
        changed = dataclasses.replace(
            space,
            base=space.base.preferring(of_recipe),
            evaluation=space.evaluation.override(of_evaluation),
            laptop={**space.laptop, **changes},
        )
        return _alone(changed, Row(path.stem, {}), f"{space.name} with the keys of {path.name}", own)
    row = chosen_row(space, request.recipe)
    set_keys = overrides(request, dict(map(parse_assignment, request.set)), {}).keys()
    others = {key: value for key, value in row.overrides.items() if key not in set_keys}
    needs = None if row.needs and NEED_KEYS[row.needs] & set_keys else row.needs
    alone = Row(row.label, others, needs=needs, as_it_came=row.as_it_came)
    return _alone(space, alone, f"the row {row.label!r} of {space.name}", own)


def _alone(
    space: Space,
    row: Row,
    what: str,
    own: SourceFile | None,
    plugins: tuple[SourceFile, ...] = (),
    scale: Scale | None = None,
    number: str = "",
) -> Subject:
    """Return the space with this row as its only one. `what`: its title. `own`: the person's file of the space, run as
    a plugin, as it may add names. `number`: number of an explored recipe, which then names the folder."""
    called = number or re.sub(r"[^A-Za-z0-9.]+", "-", row.label)[:LONGEST].strip("-.")
    alone = dataclasses.replace(
        space,
        name=f"{space.name}-recipe-{called}".rstrip("-"),
        title=what,
        rows=(row,),
        domains=(),
        tables=(),
        claims=(),
        baseline=None,
        oddities=(),
        premise_counts=(),
        figures=(),
    )
    if own is not None:
        plugins = (*plugins, dataclasses.replace(own, what="plugin"))
    return Subject(*_written(alone), plugins, scale)


def with_notes(subject: Subject, notes: Sequence[str]) -> Subject:
    """Return the space of a recipe with these notes in place of the earlier study's."""
    space, file = _written(dataclasses.replace(subject.space, notes=tuple(notes)))
    return dataclasses.replace(subject, space=space, file=file)


def _written(space: Space) -> tuple[Space, SourceFile]:
    """Return the space of a recipe as its file makes it, and the file."""
    file = SourceFile("space", "space.py", f"{HEAD}{pprint.pformat(space, width=110, sort_dicts=False)}\n")
    return run_source(file.text, file.path, file.what).SPACE, file


def _of_results(request: Request) -> Subject:
    """Return the space of the recipe that a study's answer recommends, with that study's scale and evaluation."""
    assert request.recipe is not None
    location = open_location(request.recipe, Path())
    location.pull()
    folder, where = location.folder, location.shown
    if not (folder / STUDY).is_file():
        raise UserError(
            f"--recipe {where} is neither a study's results nor a file that ends in {' or '.join(SUFFIXES)}; "
            "for a row's name add --space"
        )
    results = Results.load(folder)
    info = results.info
    if request.scale not in ("auto", info.scale):
        raise UserError(f"--recipe {where} is of the scale {info.scale}, not {request.scale}; leave --scale out")
    flat, name, number, what = _answered(results, where)
    scored = results.evaluation
    # Keys that the new study sets by itself, as the earlier study did.
    followed = ((SENTEVAL_KEY, scored.senteval), (KEEP_BY_KEY, kept_by(results.goals)))
    settings = {key: value for key, value in flat.items() if (key, value) not in followed}
    if request.train and SHARE in settings:  # the search may have had time only for a part
        settings[SHARE] = 1.0
    space = dataclasses.replace(results.space, base=Recipe(settings), evaluation=scored, laptop={})
    code = info.code(folder)
    own = SourceFile("space", str(folder / info.space_file), code.pop(info.space_file)) if info.space_file else None
    plugins = tuple(SourceFile("plugin", str(folder / file), text) for file, text in code.items())
    return _alone(space, Row(name, {}), what, own, plugins, info.scale, number)


def _answered(results: Results, where: str) -> tuple[Mapping[str, Value], str, str, str]:
    """Return the recipe to use, its name, its number if it was explored (else empty), and a description in words."""
    answer = Answer.of(results)
    if answer.keeps_base:
        return results.base.flat(), BASE, "", f"the {BASE}, which the search in {where} keeps"
    if answer.kind == "as it came":
        raise UserError(
            f"the answer of {where} is to keep the original encoder, {results.base.encoder.name}, so there is "
            f"nothing to train; {ELSEWHERE}"
        )
    if answer.kind == "rows":
        raise UserError(
            f"{where} has no finals, so no recipe of it is known to be the one to use; end a search with --finals "
            f"3x5; {ELSEWHERE}"
        )
    first = answer.to_train
    if first is None:
        command = study_command(results.info)
        raise UserError(f"{where} names no recipe to use yet; its own command goes on with it: {command}")
    if answer.base_leads:
        return results.base.flat(), BASE, "", f"the {BASE}, as what the search in {where} picked measured no higher"
    number, name = "", first.name
    if name.startswith("#"):
        number, _, settings = name.removeprefix("#").partition(" ")
        name = settings or BASE
    best = "which" if answer.kind == "use" else f"not shown to be better than the {BASE}, but the best that"
    return results.finals[first.recipe][0].recipe, name, number, f"{name}, {best} the search in {where} found"


def _keys(path: Path) -> Iterator[tuple[str, Value]]:
    """Yield the keys and values of a file; nested tables are keys with dots."""
    try:
        check_plain(path)
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"--recipe {path} cannot be read: {reason(error)}") from None
    if not isinstance(content, dict):
        raise UserError(f"--recipe {path} must hold keys with their values, as --set takes them")
    for key, value in _flat(content):
        try:
            yield parse_assignment(f"{key}={_as_text(value)}")
        except UserError as error:
            raise UserError(f"--recipe {path}: {error}") from None


def _flat(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _as_text(value: Any) -> str:
    """Return a value as a person types it after `--set KEY=`."""
    if isinstance(value, list):
        return ",".join(map(_as_text, value))
    return "none" if value is None else str(value)
