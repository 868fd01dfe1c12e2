"""The subject of a study: a space, and its source code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reports.ledger.request import Request
from search_spaces import space_and_file
from search_spaces.space import Scale, Space
from study.rows import absolute
from study.trial import SourceFile
from trainables.errors import UserError
from trainables.evaluation_config import all_keys, parse_assignment
from trainables.plugins import load_plugin
from trainables.recipe import Value

DATA_KEYS = ("corpus.nli", "corpus.columns", "corpus.labels", "corpus.documents", "evaluation.senteval")
"""Keys with an option of their own, which is named by the last part of the key, such as `--nli`."""


@dataclass(frozen=True)
class Subject:
    """A space, named by `--space` or made of `--train` or `--recipe`."""

    space: Space
    file: SourceFile | None = None
    """The text that makes the space, if it is not one of this repository's."""
    plugins: tuple[SourceFile, ...] = ()
    """Plugins that must run before the space, in addition to those of the command."""
    scale: Scale | None = None
    """The scale of the earlier study, if the space is made of its answer."""
    results: str | None = None
    """The results folder if the command names none."""
    options: Mapping[str, str | None] = field(default_factory=dict)
    """Data options by name, in place of the command's, which fit the person's files and not the prepared ones."""


def named_space(name: str) -> Subject:
    """Return the space that `--space` names."""
    space, file = space_and_file(name)
    return Subject(space, SourceFile("space", str(file[0].absolute()), file[1]) if file else None)


def plugin(path: Path) -> SourceFile:
    """Run a plugin, which may add names that the space uses, and return its source."""
    path = path.absolute()
    if path.suffix != ".py":  # nothing else in the study's results is code
        raise UserError(f"--plugin {path} is no Python file by its name; call it {path.stem}.py")
    return SourceFile("plugin", str(path), load_plugin(path))


def overrides(request: Request, fixed: Mapping[str, Value], instead: Mapping[str, str | None]) -> dict[str, Value]:
    """Return the settings that replace those of the base in every recipe: the request's options for data (or, by name,
    the values in `instead`), and `fixed`, the values of `--set`. Paths are absolute."""
    names = {key: key.partition(".")[2] for key in DATA_KEYS}
    texts = {key: instead.get(name, getattr(request, name)) for key, name in names.items()}
    values = dict(parse_assignment(f"{key}={text}") for key, text in texts.items() if text is not None)
    path_keys = {item.name for item in all_keys().values() if item.is_path}
    return {
        key: absolute(value) if key in path_keys and isinstance(value, str) else value
        for key, value in {**values, **fixed}.items()
    }
