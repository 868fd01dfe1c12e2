"""Real data in the form of a user's own data, for `own_records`: CSV files of ten sets with a train, dev and test split
each, and the space that `--train` makes of them.

    own = prepared("trec", Path("../shared/data"), Path("scratch"), encoder)     # Prepared: base, domains, evaluation

Rows are chosen by a fixed seed, so the same data give the same files.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from search_spaces import load_space
from search_spaces.goals import Goal, searched
from search_spaces.space import Domain
from study.cli.options import parse
from study.own.space import SPACE, write_space
from trainables.errors import UserError, choices
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe

Rows = list[tuple[str, ...]]
Reader = Callable[[Path], Sequence[Rows]]
PARTS = ("train", "dev", "test")
SENTEVAL = "senteval/downstream"


@dataclass(frozen=True)
class OwnSet:
    """The source of a set, and the number of its rows."""

    name: str
    kind: str
    """The kind that `--train` detects from the columns."""
    columns: tuple[str, ...]
    read: Reader
    """Returns all rows of the three splits from the data folder. An empty split later gets rows of the split before."""
    sizes: tuple[int, int, int] = (3000, 600, 1000)


@dataclass(frozen=True)
class Prepared:
    """A set of real data, prepared for a study."""

    name: str
    kind: str
    base: Recipe
    domains: tuple[Domain, ...]
    evaluation: EvaluationConfig
    goal: Goal
    space: Path
    hash: str
    """Hash of the set's files."""


def prepared(name: str, data: Path, scratch: Path, encoder: str) -> Prepared:
    """Write the set's files into the scratch folder and return the prepared set. `UserError` if data are missing."""
    if name not in SETS:
        raise UserError(f"{name!r} is no set; {choices(SETS)} would work")
    return of_files(SETS[name].kind, name, write_files(SETS[name], data, scratch / name), encoder)


def write_files(chosen: OwnSet, data: Path, folder: Path) -> Path:
    """Write the set's three CSV files, and return their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        parts = drawn(chosen.read(data), chosen.sizes)
    except FileNotFoundError as error:
        raise UserError(f"the set {chosen.name} is made of {error.filename}, which is not there") from None
    for part, rows in zip(PARTS, parts, strict=True):
        write_table(folder / f"{part}.csv", chosen.columns, rows)
    return folder


def write_table(file: Path, columns: Sequence[str], rows: Rows) -> None:
    """Write a CSV file."""
    with file.open("w", encoding="utf-8", newline="") as lines:
        csv.writer(lines).writerows([columns, *rows])


def of_files(kind: str, name: str, folder: Path, encoder: str) -> Prepared:
    """Return the space that `--train` makes of the folder's CSV files, with its base recipe, domains and evaluation."""
    digits = hashlib.sha256(b"".join((folder / f"{part}.csv").read_bytes() for part in PARTS)).hexdigest()[:12]
    space = folder / f"{SPACE.removesuffix('.py')}_{digits}.py"
    if not space.exists():
        train, dev, test = (str(folder / f"{part}.csv") for part in PARTS)
        options = ["--train", train, "--dev", f"{name}={dev}", "--test", f"{name}={test}", "--encoder", encoder]
        with contextlib.redirect_stdout(io.StringIO()):
            write_space(parse([*options, "--write-space", str(space)]))
    read = load_space(space)
    (goal,) = searched(read.goals)
    return Prepared(name, kind, read.recipe("paper"), read.domains, read.scored("paper"), goal, space, digits)


def drawn(parts: Sequence[Rows], sizes: Sequence[int], *seeds: int) -> list[Rows]:
    """Return random rows of each split, at most as many as its size. Other `seeds` give other rows. A split without
    rows of its own takes rows that the split before left."""
    drawn_parts, others = list[Rows](), Rows()
    for rows, size in zip(parts, sizes, strict=True):
        shuffled = [*(rows or others)]
        np.random.default_rng([*seeds, len(shuffled)]).shuffle(shuffled)
        drawn_parts.append(shuffled[:size])
        others = shuffled[size:]
    return drawn_parts


def _files(rows_of: Callable[[Path], Rows], *files: str) -> Reader:
    """Return a reader of one file per split, below the data folder. An empty name means no rows."""
    return lambda data: [rows_of(data / file) if file else [] for file in files]


def csv_files(name: str) -> Reader:
    """Return a reader of `own/NAME_train.csv`, `_dev` and `_test`, whose first line is a header."""
    return _files(_csv_rows, *(f"own/{name}_{part}.csv" for part in PARTS))


def _csv_rows(file: Path) -> Rows:
    with file.open(encoding="utf-8", newline="") as lines:
        return [tuple(row) for row in csv.reader(lines)][1:]


_UNDERLINED = re.compile(r" (={5,}|-{5,}|~{5,}|'{5,}|\^{5,}) ")


def _peps(data: Path) -> Sequence[Rows]:
    """Return pairs of a heading that only one document has, and its section's start. No document is in two splits."""
    documents = (data / "docs/peps.txt").read_text(encoding="utf-8").splitlines()
    headed = [section for number, text in enumerate(documents) for section in sections(number, text)]
    times = Counter(heading.lower() for _, heading, _ in headed)
    parts: tuple[Rows, Rows, Rows] = ([], [], [])
    for number, heading, begins in headed:
        if times[heading.lower()] == 1:
            parts[{8: 1, 9: 2, 7: 2}.get(number % 10, 0)].append((heading, begins))
    return parts


def sections(number: int, text: str) -> Iterable[tuple[int, str, str]]:
    """Yield document number, heading, and the section's first words. A heading is underlined at its full length."""
    marks = [(mark.start() - len(mark[1]), mark) for mark in _UNDERLINED.finditer(text)]
    heads = [(start, mark) for start, mark in marks if start > 0 and text[start - 1] == " " and text[start].isalnum()]
    ends = [*(start for start, _ in heads[1:]), len(text)]
    for (start, mark), end in zip(heads, ends, strict=True):
        words = text[mark.end() : end].split()
        if len(words) >= 25:
            yield number, text[start : mark.start()], " ".join(words[:30])


def _triplets(file: Path) -> Rows:
    """Return triplets of a premise, an entailed and a contradicted sentence."""
    by_premise: dict[str, dict[str, str]] = defaultdict(dict)
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        by_premise[row["premise"]].setdefault(row["label"], row["hypothesis"])
    return [
        (premise, of["entailment"], of["contradiction"])
        for premise, of in by_premise.items()
        if {"entailment", "contradiction"} <= of.keys()
    ]


def _columns(*columns: int, header: int = 0) -> Callable[[Path], Rows]:
    """Return a reader of these columns of a SentEval table, without its first `header` lines."""

    def rows_of(file: Path) -> Rows:
        rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()[header:] if line]
        return [tuple(row[column] for column in columns) for row in rows]

    return rows_of


def _labelled(file: Path) -> Rows:
    """Return text and label of each line; the label ends at the first space or colon."""
    rows = [line.partition(" ")[::2] for line in file.read_text(encoding="latin-1").splitlines() if line]
    return [(text.strip(), label.partition(":")[0]) for label, text in rows]


def _a_file_each(folder: str, **files: str) -> Reader:
    """Return a reader of one text file per label. The rows of all splits are taken from the same lines."""

    def read(data: Path) -> Sequence[Rows]:
        rows: Rows = []
        for label, file in files.items():
            lines = (data / SENTEVAL / folder / file).read_text(encoding="latin-1").splitlines()
            rows += [(line.strip(), label) for line in dict.fromkeys(lines) if line.strip()]
        return rows, [], []

    return read


_PAIR, _TRIPLET = ("question", "answer"), ("anchor", "positive", "negative")
SCORED, LABELLED = ("sentence1", "sentence2", "score"), ("text", "label")
STSB_COLUMNS = _columns(5, 6, 4)
FEW = (1200, 300, 500)
"""Number of rows per split of a labelled set: few, since fitting its classifier takes longer than all else."""
_NLI = ("nli/snli_dev.jsonl", "nli/snli_test.jsonl", "")
_STSB = [f"{SENTEVAL}/STS/STSBenchmark/sts-{part}.csv" for part in PARTS]
_SICK = [f"{SENTEVAL}/SICK/SICK_{part}.txt" for part in ("train", "trial", "test_annotated")]
_TREC = (f"{SENTEVAL}/TREC/train_5500.label", "", f"{SENTEVAL}/TREC/TREC_10.label")
_SST = [f"{SENTEVAL}/SST/fine/sentiment-{part}" for part in PARTS]
SETS: Mapping[str, OwnSet] = {
    own.name: own
    for own in (
        OwnSet("packages", "pairs", _PAIR, csv_files("packages")),
        OwnSet("glosses", "pairs", _PAIR, csv_files("glosses")),
        OwnSet("peps", "pairs", _PAIR, _peps),
        OwnSet("snli", "triplets", _TRIPLET, _files(_triplets, *_NLI)),
        OwnSet("stsb", "scored", SCORED, _files(STSB_COLUMNS, *_STSB)),
        OwnSet("sick", "scored", SCORED, _files(_columns(1, 2, 3, header=1), *_SICK)),
        OwnSet("trec", "labelled", LABELLED, _files(_labelled, *_TREC), FEW),
        OwnSet("sst", "labelled", LABELLED, _files(_labelled, *_SST), FEW),
        OwnSet("mr", "labelled", LABELLED, _a_file_each("MR", pos="rt-polarity.pos", neg="rt-polarity.neg"), FEW),
        OwnSet(
            "subj",
            "labelled",
            LABELLED,
            _a_file_each("SUBJ", objective="subj.objective", subjective="subj.subjective"),
            FEW,
        ),
    )
}
