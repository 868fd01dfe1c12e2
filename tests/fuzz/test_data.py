"""Broken data by the thousand: whatever training and scoring read is read right, or refused in one sentence.

Valid files come from the built-in corpus; `tests/fuzzing.py` breaks them. `make fuzz` makes hundreds of inputs for each
reader here, `make test` a few. A new entry of a registry is fuzzed by itself.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.fuzzing import INPUTS, ODD_VALUES, PLACES, in_place, inputs, pick, read_broken, read_or_refuse, ways_of
from tests.whole_files import (
    OfLengths,
    Records,
    check_pairs,
    in_lines,
    in_parquet,
    load_pairs,
    nli_rows,
    table,
)
from trainables.corpora.documents import SUFFIXES, load_documents
from trainables.corpora.layouts.stsb_pairs import load_similar
from trainables.corpora.nli import load_nli
from trainables.corpora.tables import READERS as TABLES
from trainables.errors import UserError
from trainables.registry import load
from trainables.senteval.examples import TaskData
from trainables.senteval.file_layouts import FILE_LAYOUTS
from trainables.senteval.kinds import KINDS
from trainables.senteval.own_tasks import own_tasks as of_files
from trainables.senteval.read_task import MissingData, check_task, read_task
from trainables.senteval.tasks import TASKS, Task

pytestmark = [pytest.mark.fuzz, pytest.mark.usefixtures("own_cache")]


@pytest.mark.parametrize("suffix", TABLES)
def test_tables_of_pairs(suffix: str, small_corpus: Path, tmp_path: Path) -> None:
    rows = nli_rows(small_corpus)
    file = tmp_path / f"train{suffix}"
    file.write_bytes(table(suffix, rows))
    read = partial(load_nli, str(file))
    assert len(read()) == len(rows) - 1
    refused = "is empty|holds no rows|only rows without|not a JSON array|no columns|not a readable gzip"
    for pairs in read_broken(file, suffix, read, refused, ways=ways_of(suffix)):
        check_pairs(pairs)
        assert len(pairs) <= 3 * len(rows)
        assert "json" in suffix or suffix == ".parquet" or "\0" not in "".join(pairs.hypotheses), "read as UTF-8"


def test_values_of_tables(small_corpus: Path, tmp_path: Path) -> None:
    """Odd values in Parquet's typed columns."""
    file = tmp_path / "train.parquet"
    for _, rng in inputs("values", 3 * INPUTS):
        column = rng.choice(("premise", "hypothesis", "label"))
        kind = type(odd := rng.choice(ODD_VALUES))
        rows = nli_rows(small_corpus)
        for row in rows if rng.random() < 0.5 else rows[:1]:
            row[column] = odd if kind is not str else odd.encode(errors="surrogatepass")
        try:
            file.write_bytes(in_parquet(rows))
        except Exception:  # no column can have these values together
            continue
        outcome = read_or_refuse(lambda: load_nli(str(file)), [file])
        if not isinstance(outcome, UserError):
            check_pairs(outcome)


def test_folders_that_datasets_saved(small_corpus: Path, tmp_path: Path) -> None:
    import datasets

    saved = tmp_path / "saved"
    datasets.Dataset.from_list(nli_rows(small_corpus)).save_to_disk(str(saved))
    for number, rng in inputs("saved"):
        folder = tmp_path / f"broken{number}"
        shutil.copytree(saved, folder)
        file = rng.choice(sorted(folder.iterdir()))
        if number % 4 == 0:
            pick(PLACES, number // 4, "saved")[1](file)
        else:
            file.write_bytes(pick(ways_of(file.suffix), number, "saved")[1](file.read_bytes(), rng))
        outcome = read_or_refuse(partial(load_nli, str(folder)), [folder])
        if not isinstance(outcome, UserError):
            check_pairs(outcome)


def test_what_stands_where_a_table_should(small_corpus: Path, tmp_path: Path) -> None:
    file = tmp_path / "data" / "train.jsonl"
    file.parent.mkdir()
    file.write_bytes(in_lines(nli_rows(small_corpus)))
    for source in (file, file.parent):
        assert in_place(file, partial(load_nli, str(source)), [source]) == ["linked away"]


# ---- SentEval ----


def own_tasks(folder: Path) -> dict[str, Task]:
    """Tables of one's own, in each form and with each kind of label."""
    tasks = {}
    for suffix in ("tsv", "csv", "jsonl"):
        for kind, column in (("split", "label"), ("relatedness", "score")):
            files = []
            for split in ("train", "dev", "test"):
                rows: Records = [
                    {"sentence1": f"a man {i}", "sentence2": f"a dog {split}", column: i % 3} for i in range(12)
                ]
                content = table(f".{suffix}", rows)
                if suffix == "tsv":
                    content = content.replace(b'"', b"")
                file = folder / f"{kind}-{split}.{suffix}"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
                files.append(file.name)
            tasks[f"{kind}-{suffix}"] = Task(f"mine-{kind}-{suffix}", kind, "table", tuple(files))
    return tasks


def built_in_task(folder: Path, name: str) -> Task:
    """That of a kind for files of one's own, in files that are relative to the folder."""
    load(BUILT_IN[name])(folder, name)
    parts = [next(path for path in folder.iterdir() if path.stem in (name, f"{name}-{split}")) for split in PARTS]
    (task,) = of_files([str(parts[0])], [str(parts[1])])
    return dataclasses.replace(task, files=tuple(str(Path(file).relative_to(folder)) for file in task.files))


PARTS = ("dev", "test")
BUILT_IN = {kind.name: kind.scenes for kind in KINDS.values() if kind.scenes and kind.name != "classes"}
TABLES_OF_TASKS = [name for name in BUILT_IN if name != "search"]
OWN = [
    *(f"{kind}-{suffix}" for kind in ("split", "relatedness") for suffix in ("tsv", "csv", "jsonl")),
    *BUILT_IN,
]


def check_task_data(task: Task, content: TaskData) -> None:
    """What must hold of every task that was read."""
    needed = KINDS[task.kind].splits
    assert not needed or tuple(content.splits) == needed
    for split in content.splits.values():
        assert len(split.left) == len(split.labels) > 0
        assert split.right is None or len(split.right) == len(split.left)
        assert np.isfinite(split.labels).all()
        if content.classes:
            assert 0 <= split.labels.min() <= split.labels.max() < content.classes
        if split.images is not None:
            assert np.isfinite(split.images).all()
            assert split.images.dtype == np.float32
            assert len(split.labels) == 5 * len(split.images)
    for text in content.sentences():
        assert text.split()
        text.encode()


def read_checked(task: Task, data: Path) -> TaskData | None:
    """As evaluation reads a task; None where none of its files is there."""
    try:
        check_task(task, data)
    except MissingData:
        return None
    return read_task(task, data)


_OF_FILES = (
    r"is empty|holds no|lines, but|have one label|is no caption file|image \d+|must be a pair|missing|no example|"
    r"must hold|needs a text|positives and|names no document"
)


def copied_files(task: Task, data: Path, folder: Path) -> list[Path]:
    """Copies of a task's files."""
    for file in task.files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(data / file, folder / file)
    return [folder / file for file in task.files]


@pytest.mark.parametrize("name", [*TASKS, *OWN])
def test_senteval_tasks(name: str, small_corpus: Path, tmp_path: Path) -> None:
    data, task = small_corpus / "senteval", TASKS.get(name) if name in TASKS else None
    if task is None:
        data = tmp_path / "own"
        data.mkdir()
        task = built_in_task(data, name) if name in BUILT_IN else own_tasks(data)[name]
    files = copied_files(task, data, tmp_path / "copy")
    check_task_data(task, read_task(task, tmp_path / "copy"))
    in_utf_8 = not {file.suffix for file in files} & {".jsonl", ".pkl"}
    for content in read_broken(files, name, partial(read_checked, task, tmp_path / "copy"), _OF_FILES):
        assert content is not None
        check_task_data(task, content)
        assert not in_utf_8 or "\0" not in "".join(content.sentences()), "read as UTF-8"


@pytest.mark.parametrize("name", TABLES_OF_TASKS)
def test_the_kind_of_a_broken_table(name: str, tmp_path: Path) -> None:
    file = tmp_path / built_in_task(tmp_path, name).files[0]
    for tasks in read_broken(file, f"kind/{name}", lambda: of_files([str(file)], []), _OF_FILES):
        assert tasks


HOSTILE = {
    "calls a command": b"cos\nsystem\n(S'true'\ntR.",
    "keeps note number 2**32": b"\x80\x02Nr\xff\xff\xff\xff.",
    "claims 2**40 bytes": b"\x80\x05\x96" + (2**40).to_bytes(8, "little") + b".",
    "claims an array of 2**40 numbers": (
        b"cnumpy._core.numeric\n_frombuffer\n(C\x01xcnumpy\ndtype\n(S'f4'\ntR(L1099511627776L\ntS'C'\ntR."
    ),
    "has a key that takes for ever to hash": b"\x80\x02}K\x01K\x01\x86" + b"2\x86" * 60 + b"Ns.",
    "has no end": b"\x80\x02" + b"(" * 100_000,
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_pickle(what: str, small_corpus: Path, tmp_path: Path) -> None:
    task = TASKS["ImageCaptionRetrieval"]
    file = copied_files(task, small_corpus / "senteval", tmp_path)[0]
    file.write_bytes(HOSTILE[what])
    outcome = read_or_refuse(partial(read_task, task, tmp_path), [file])
    assert "is no caption file" in str(outcome)


def test_what_stands_where_a_task_file_should(small_corpus: Path, tmp_path: Path) -> None:
    for layout in FILE_LAYOUTS:
        shipped = (task for task in TASKS.values() if not Path(task.files[0]).is_absolute())  # no person's own
        task = next((task for task in shipped if task.layout == layout), None)
        if task is not None:
            data = tmp_path / layout
            file = copied_files(task, small_corpus / "senteval", data)[-1]
            assert in_place(file, partial(read_checked, task, data), [file, task.name]) == ["linked away"]


def test_similar_pairs(small_corpus: Path, tmp_path: Path) -> None:
    data = tmp_path / "senteval"
    folder = data / "downstream" / "STS" / "STSBenchmark"
    shutil.copytree(small_corpus / "senteval" / "downstream" / "STS" / "STSBenchmark", folder)
    load_similar(data)
    files = sorted(folder.iterdir())
    for pairs in read_broken(files, "similar", lambda: load_similar(data), "is empty|holds no pair", named=[folder]):
        assert any(pairs.values())
        for text in (text for split in pairs.values() for pair in split for text in pair):
            assert text.strip() == text != ""
            text.encode()


# ---- documents ----

DOCUMENT_WRITERS: dict[str, Callable[[list[str]], bytes]] = {
    ".txt": lambda texts: "".join(f"{text}\n" for text in texts).encode(),
    ".jsonl": lambda texts: in_lines([{"text": text} for text in texts]),
}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_documents(suffix: str, small_corpus: Path, tmp_path: Path) -> None:
    lines = (small_corpus / "docs" / "docs.jsonl").read_text().splitlines()[:8]
    file = tmp_path / f"docs{suffix}"
    file.write_bytes(DOCUMENT_WRITERS[suffix]([json.loads(line)["text"] for line in lines]))
    caches = (tmp_path / "cache" / str(number) for number in itertools.count())
    read = lambda: load_documents(str(file), OfLengths(), 1, cache=next(caches))  # noqa: E731
    for documents in read_broken(file, suffix, read, "is empty|holds no text"):
        assert len(documents) == documents.read - documents.too_short > 0
        assert sum(len(documents[i]) for i in range(len(documents))) == len(documents.tokens)


def test_tokens_in_the_cache(tmp_path: Path) -> None:
    (tmp_path / "docs.txt").write_text("one two\nthree four five\n")
    load = partial(load_documents, str(tmp_path / "docs.txt"), OfLengths(), 1, cache=tmp_path / "cache")
    load()
    folder = next((tmp_path / "cache").glob("documents-*"))
    for documents in read_broken(sorted(folder.iterdir()), "tokens", load, named=[folder]):
        assert [len(documents[i]) for i in range(len(documents))] == documents.lengths.tolist()


def test_linked_folders_are_not_searched(small_corpus: Path, tmp_path: Path) -> None:
    """A folder of data may be a link, and so may its files; a link below it to a folder could lead in a circle."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "train.jsonl").write_bytes(in_lines(nli_rows(small_corpus)))
    (tmp_path / "data").symlink_to(tmp_path / "disk")
    assert len(load_pairs(tmp_path / "data")) == 20
    (tmp_path / "outer").mkdir()
    (tmp_path / "outer" / "inner").symlink_to(tmp_path / "disk")
    (tmp_path / "outer" / "circle").symlink_to(tmp_path / "outer")
    outcome = read_or_refuse(partial(load_pairs, tmp_path / "outer"), [tmp_path / "outer"])
    assert "holds no train file" in str(outcome)
