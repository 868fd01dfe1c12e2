"""Studies from Python, run as from the command line: `from study import Outcome, Study`.

found = Study(train="pairs.csv", encoder="sentence-transformers/all-MiniLM-L6-v2", minutes=60).run()
found                  # the answer, in a notebook with its forest plot
found.model().encode(["a dog runs"])

Outcome("results/pairs")        # the answer of a finished study
"""

from __future__ import annotations

import dataclasses
import datetime
import html
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from reports.facts.answer import Answer
from reports.facts.findings import Findings
from reports.facts.gain import Gain
from reports.facts.results import Results
from reports.formats import FORMATS
from reports.ledger.folders import JOURNAL
from reports.ledger.request import Request
from reports.plots.forest import forest_figure
from reports.sections.glance import groups_of, of_base
from reports.statistics import Comparison
from reports.words.answer import lines
from reports.words.lines import as_text
from study.run import run
from trainables.errors import UserError, shown
from trainables.files import expanded, write_whole
from trainables.recipe import Recipe

if TYPE_CHECKING:
    import optuna
    import pandas as pd
    from sentence_transformers import SentenceTransformer

    from reports.plots.shown import ShownFigure

DATA = ("train", "dev", "test")
_COLUMNS = {
    (str,): ("sentence",),
    (str, str): ("anchor", "positive"),
    (str, str, str): ("anchor", "positive", "negative"),
    (str, str, float): ("sentence1", "sentence2", "score"),
}
"""Column names of rows that are tuples, by the types of their cells."""


class Study:
    """A study with the command line's options: `Study(space="scl_ablation", search="optuna", trials=50)`.

    `train`, `dev` and `test` are paths, or data in memory: a `datasets.Dataset`, a DataFrame, rows as mappings, or as
    tuples: (anchor, positive), (anchor, positive, negative), (sentence1, sentence2, score). Data in memory are written
    beside the results. Give several paths as a list, several named tests as a mapping, and `set` as a mapping.
    """

    def __init__(self, *, minutes: float | None = None, results: str | Path | None = None, **options: Any) -> None:
        """`minutes`: limit of the whole study. `results`: its folder; by default one in `results/` with the name of the
        space or of the training file."""
        self.minutes = minutes
        named = options.get("space") or _first_path(options.get("train")) or "own"
        self.results = expanded(
            results if results is not None else Path("results") / Path(named).name.partition(".")[0]
        )
        self.options = options

    def request(self, **more: Any) -> Request:
        """Return the request that the command line would make, and write data in memory to files. `UserError` for
        options that do not go together."""
        options = {name: self._values(name, value) for name, value in {**self.options, **more}.items()}
        request = Request.of({"results": str(self.results), **options})
        if self.minutes is not None:
            request = dataclasses.replace(request, limit=(*request.limit, f"minutes={self.minutes:g}"))
        request.check()
        return request

    def run(self, minutes: float | None = None, **more: Any) -> Outcome:
        """Run or continue the study, and return its outcome. `minutes` replaces the earlier limit. `UserError` for a
        mistake in the request, and if no trial finished."""
        self.minutes = self.minutes if minutes is None else minutes
        run(self.request(**more))
        return Outcome(self.results)

    def _values(self, name: str, value: Any) -> Any:
        if value is None:
            return None
        if name == "train" and isinstance(value, Mapping):
            raise UserError('train is a mapping, not one data set; give its training part, as in data["train"]')
        if name in DATA:
            paths = [*self._paths(name, value)]
            if name == "train" and not paths:
                raise UserError("train is empty; give data or a path, or leave it out")
            return paths
        return [f"{key}={part}" for key, part in value.items()] if isinstance(value, Mapping) else value

    def _paths(self, part: str, value: Any) -> Iterator[str]:
        if isinstance(value, str | Path):
            yield str(value)
        elif isinstance(value, Mapping):
            for name, item in value.items():
                yield from (f"{name}={path}" for path in self._paths(f"{part}_{name}", item))
        elif isinstance(value, list | tuple) and all(isinstance(item, str | Path) for item in value):
            if value and all(_is_sentence(item) for item in value):
                yield from self._paths(part, [{"sentence": item} for item in value])
                return
            yield from map(str, value)
        else:
            file = self.results.with_name(f"{self.results.name}-given") / f"{part}.jsonl"
            rows = (json.dumps(row, ensure_ascii=False, default=_cell) for row in _rows(part, value))
            write_whole(file, "".join(f"{row}\n" for row in rows))
            yield str(file)


def _cell(value: object) -> object:
    """Return a cell that JSON lacks: a number of numpy as a number, a date as text. `UserError` for other values."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, datetime.date | datetime.time | Decimal | UUID | Path):
        return str(value)
    raise UserError(f"a cell of the data is {shown(value)}, which is neither text nor number; leave its column out")


class Outcome:
    """The outcome of a study, read from its results folder."""

    def __init__(self, results: str | Path) -> None:
        self.results = expanded(results)

    @property
    def _read(self) -> Results:
        """The results. The study's own space is loaded first: another study may have replaced the names that it
        adds."""
        self._loaded.info.load_space(self.results)
        return self._loaded

    @cached_property
    def _loaded(self) -> Results:
        return Results.load(self.results)

    @property
    def trials(self) -> pd.DataFrame:
        """A row for each finished trial: settings, scores, costs."""
        import pandas as pd

        return pd.read_csv(self.results / "trials.csv")

    @property
    def answer(self) -> Answer:
        """The settings to use, their gain, and its uncertainty."""
        return Answer.of(self._read)

    @property
    def best_recipe(self) -> Recipe:
        """The recipe that the answer recommends; if there is none, the best by the searched goals. `UserError` if no
        recipe has finished."""
        choice = self.answer.to_use
        best = choice.recipe if choice else Findings.of(self._read).recommended
        if best is None:
            raise UserError(f"{self.results} holds no finished recipe; let the study run on")
        return Recipe.from_flat(
            next(record.recipe for record in self._read.of_all_trials if record.recipe_hash == best)
        )

    @property
    def report(self) -> Path:
        """The report, as markdown."""
        return self.results / FORMATS["md"].file

    @property
    def optuna(self) -> optuna.Study:
        """The search as an Optuna study. `UserError` if the study has no search by Optuna."""
        import optuna

        if not (self.results / JOURNAL).is_file():
            raise UserError(f"{self.results} holds no search by Optuna")
        backend = optuna.storages.journal.JournalFileBackend(str(self.results / JOURNAL))
        return optuna.load_study(study_name=self._read.info.space, storage=optuna.storages.JournalStorage(backend))

    def model(self) -> SentenceTransformer:
        """Return the averaged model if the answer has one, else the model of `best_recipe`. `UserError` if this model
        was not kept, or if the answer is to keep the original encoder."""
        answer, best = self.answer, Findings.of(self._read).best
        if answer.to_use and not answer.to_train:
            raise UserError(f"{self.results}: the answer is to keep the original encoder, so no model was made")
        own = answer.to_use.model if answer.to_use else best.checkpoint if best else None
        folder = answer.averaged or own
        if answer.kind in ("open", "unfinished") and not answer.whole:
            raise UserError(
                f"{self.results} holds no model, as nothing was trained on all of the data yet; {self._run_on}"
            )
        if folder is None or not (self.results / folder).is_dir():
            raise UserError(f"{self.results} holds no model of its best recipe; run the study with keep_models='all'")
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(str(self.results / folder), trust_remote_code=False)

    def table(self) -> pd.DataFrame:
        """Return one row per compared recipe, the best first, in points: the recipes of the finals, the base settings
        and the original encoder. Without finals, the space's rows are compared. Intervals are as in the report."""
        import pandas as pd

        answer, boards = self.answer, Findings.of(self._read).boards
        finals = {each.recipe: each for each in (*answer.picked, *answer.finalists, *answer.references.values())}
        rows: list[dict[str, Any]] = [
            {"recipe": each.name, "seeds": each.seeds, "seconds": each.seconds, **_ends("score", each.figure)}
            | {key: value for name, gain in each.gains.items() for key, value in _ends(f"over {name}", gain).items()}
            for each in finals.values()
        ]
        rows = rows or [
            {"recipe": item.name, "seeds": item.sample.count, "score": item.sample.mean, **_ends("gain", item.gain)}
            for item in (boards[0].standings if boards else ())
            if item.sample
        ]
        return pd.DataFrame(rows)

    def figure(self) -> ShownFigure:
        """Return a figure of the gains with their intervals; it has a method `savefig`. Without finalists the gains are
        those of the base settings. `UserError` without gains."""
        figure = self._figure
        if figure is None:
            raise UserError(f"{self.results} holds no gain yet; {self._run_on}")
        return figure

    @property
    def _figure(self) -> ShownFigure | None:
        return forest_figure(groups_of(self._read)) or forest_figure(of_base(self.answer))

    @property
    def _run_on(self) -> str:
        return "let the study run on" + " with a larger limit" * bool(self._read.info.limited)

    def __repr__(self) -> str:
        return "\n".join(as_text(lines(self.answer, self._read.info, str)))

    def _repr_html_(self) -> str:
        """The answer, and its forest plot if there is one."""
        figure = self._figure
        picture = figure.as_svg().decode().partition("<svg")[1:] if figure else ()
        return f"<pre>{html.escape(repr(self))}</pre>{''.join(picture)}"


def _ends(name: str, gain: Gain | Comparison | None) -> dict[str, float | None]:
    """Return columns of a table: `name` with the gain, and both ends of its interval; empty without a gain."""
    return {} if gain is None else {name: gain.gain, f"{name}, low": gain.low, f"{name}, high": gain.high}


def _first_path(value: Any) -> str | Path | None:
    first = value[0] if isinstance(value, list | tuple) and value else value
    return first if isinstance(first, str | Path) else None


def _rows(part: str, value: Any) -> Iterator[dict[str, Any]]:
    """Yield rows as mappings from column to cell. `UserError` for an item that is no row."""
    records = value.to_dict("records") if hasattr(value, "columns") and hasattr(value, "to_dict") else value
    for number, row in enumerate(records, start=1):
        names = None if isinstance(row, Mapping) else _columns(row)
        if names is None and not isinstance(row, Mapping):
            raise UserError(
                f"{part}, row {number:,}: {type(row).__name__} is no row; give a mapping, or a tuple such as "
                "(anchor, positive), (anchor, positive, negative) or (sentence1, sentence2, score)"
            )
        cells = dict(row) if names is None else dict(zip(names, row, strict=True))
        yield {name: _plain(cell) for name, cell in cells.items()}


def _plain(value: Any) -> Any:
    """Return a cell as a JSON value: an array as a list, a missing value as None."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return None if value != value else value


def _is_sentence(text: str | Path) -> bool:
    """Whether an item of a list is a sentence, not a path: it has spaces, and no file of that name exists."""
    return isinstance(text, str) and " " in text and not os.path.exists(os.path.expanduser(text))


def _columns(row: Any) -> Sequence[str] | None:
    if not isinstance(row, list | tuple):
        return None
    return _COLUMNS.get(tuple(str if isinstance(cell, str) else float for cell in row))
