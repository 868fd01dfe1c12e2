"""Each check of the readers by an input that it surely meets, whatever chance brings; and bounds of memory."""

from __future__ import annotations

import gzip
import pickle
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.fuzzing import read_or_refuse
from tests.whole_files import OfLengths, load_pairs, npy, read_vectors
from trainables import text_lines
from trainables.corpora.documents import SUFFIXES, load_documents
from trainables.corpora.layouts.stsb_pairs import load_similar
from trainables.senteval.captions import read_captions
from trainables.senteval.examples import TaskData
from trainables.senteval.read_task import read_task
from trainables.senteval.tasks import TASKS, Task

pytestmark = [pytest.mark.fuzz, pytest.mark.usefixtures("own_cache")]


@pytest.mark.slow
def test_a_line_without_an_end_is_refused_in_bounded_memory(small_corpus: Path, tmp_path: Path) -> None:
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        for _ in range(100):
            file.write(b"word " * 200_000)
    senteval = tmp_path / "senteval"
    shutil.copytree(small_corpus / "senteval", senteval)
    readers: list[tuple[Path, Callable[[Path], object]]] = [
        *((tmp_path / f"train{suffix}", load_pairs) for suffix in (".jsonl", ".json", ".csv", ".tsv")),
        *((tmp_path / f"docs{suffix}", lambda file: load_documents(str(file), OfLengths(), 1)) for suffix in SUFFIXES),
        *((tmp_path / f"glove{suffix}", read_vectors) for suffix in (".txt", ".vec")),
        *((senteval / TASKS[name].files[0], partial(read_task_of, name, senteval)) for name in ONE_OF_EACH_LAYOUT),
        (senteval / TASKS["STSBenchmark"].files[0], lambda file: load_similar(senteval)),
    ]
    for file, read in readers:
        file.unlink(missing_ok=True)
        file.hardlink_to(huge)
        outcome = read_or_refuse(partial(read, file), [file], megabytes=64)
        assert re.search(r"1: longer than 16 MiB", str(outcome)), f"{file}: {outcome}"
        file.unlink()


ONE_OF_EACH_LAYOUT = [*{task.layout: name for name, task in TASKS.items() if task.layout != "coco"}.values()]


def read_task_of(name: str, data: Path, file: Path) -> TaskData:
    return read_task(TASKS[name], data)


def test_a_packed_file_that_unpacks_without_an_end_is_refused_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow
    import pyarrow.parquet

    monkeypatch.setattr(text_lines, "LONGEST_ARRAY", 8 << 20)
    blank = tmp_path / "train.jsonl.gz"
    blank.write_bytes(gzip.compress((b" " * 999 + b"\n") * 100_000, 9))
    array = tmp_path / "train.json.gz"
    array.write_bytes(gzip.compress(b"[" + b" " * (9 << 20), 1))
    rows = pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(10**6, np.int32)), pyarrow.array(["x" * 3000]))
    repeated = tmp_path / "train.parquet"
    table = pyarrow.table({"premise": rows, "hypothesis": rows, "label": ["neutral"] * len(rows)})
    pyarrow.parquet.write_table(table, repeated)
    for file, sentence in (
        (blank, "unpacks to more than 200 times its size"),
        (array, "a JSON array of more than 8 MiB"),
        (repeated, "unpacks to more than 200 times its size"),
    ):
        assert file.stat().st_size < 2 << 20
        outcome = read_or_refuse(partial(load_pairs, file), [file], megabytes=400)
        assert sentence in str(outcome), f"{file}: {outcome}"


def load_docs(file: Path) -> object:
    return load_documents(str(file), OfLengths(), 1, cache=file.parent / "cache")


def load_own(kind: str, file: Path) -> TaskData:
    return read_task(Task("mine", kind, "table", (file.name, "dev.tsv", "test.tsv")), file.parent)


def load_stsb(file: Path) -> object:
    return load_similar(file.parents[3])


PAIR = b"premise\thypothesis\tlabel\n"
REFUSED: dict[str, tuple[str, bytes, Callable[[Path], object], str]] = {
    "half a character": (
        "a.jsonl",
        b'{"premise": "a \\ud800", "hypothesis": "b", "label": 0}',
        load_pairs,
        "line 1: premise holds half of a character",
    ),
    "UTF-16 pairs": (
        "a.tsv",
        (PAIR + b"a\tb\tneutral\n").decode().encode("utf-16-le"),
        load_pairs,
        "line 1: a NUL byte",
    ),
    "brackets": ("a.jsonl", b"[" * 100_000, load_pairs, "a.jsonl: not a JSON array (it is nested more than 50 deep)"),
    "long label": ("a.tsv", PAIR + b"a\tb\t" + b"x" * 10_000, load_pairs, "line 2: unknown label 'xxx"),
    "UTF-16 that says so": (
        "a.txt",
        "one two\n".encode("utf-16"),
        load_docs,
        "line 1: text of UTF-16; `iconv -f UTF-16",
    ),
    "packed under another name": (
        "a.tsv",
        gzip.compress(PAIR + b"a\tb\tneutral\n", mtime=0),
        load_pairs,
        "line 1: packed by gzip; then its name must end in .gz",
    ),
    "UTF-16 documents": ("a.txt", "one two\n".encode("utf-16-le"), load_docs, "line 1: a NUL byte"),
    "NaN in vectors": ("a.txt", b"a 1 2\nb 1 nan\n", read_vectors, "line 2: NaN or infinity after the word 'b'"),
    "too large a number": ("a.txt", b"a 1 1e39\n", read_vectors, "line 1: NaN or infinity after the word 'a'"),
    "NaN in a matrix": ("a.npy", npy(np.array([[1.0], [np.nan]])), read_vectors, "row 2: NaN or infinity"),
    "wrong counts": ("a.vec", b"3 1\na 1\nb 2\n", read_vectors, "line 1: it says"),
    "NaN as a score": (
        "a.tsv",
        b"sentence1\tsentence2\tscore\na\tb\tnan\n",
        partial(load_own, "relatedness"),
        "1 of 1 rows",
    ),
    "NaN as a score of similar pairs": (
        "a/downstream/STS/STSBenchmark/sts-train.csv",
        b"a\tb\tc\td\tnan\tx\ty\n",
        load_stsb,
        "line 1: score 'nan'",
    ),
    "an empty one of similar pairs": (
        "a/downstream/STS/STSBenchmark/sts-train.csv",
        b"a\tb\tc\td\t5\t \ty\n",
        load_stsb,
        "line 1: one of its two",
    ),
    "half a character in a task": (
        "a.jsonl",
        b'{"sentence": "\\udfff", "label": "x"}',
        partial(load_own, "split"),
        "a.jsonl, line 1: 'sentence' holds half of a character",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_always_refused(what: str, tmp_path: Path) -> None:
    name, content, read, sentence = REFUSED[what]
    (tmp_path / "dev.tsv").write_text("sentence1\tsentence2\tscore\na\tb\t1\n")
    (tmp_path / "test.tsv").write_text("sentence1\tsentence2\tscore\na\tb\t1\n")
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(content)
    assert sentence in str(read_or_refuse(partial(read, tmp_path / name), [tmp_path / name]))


def test_features_that_are_no_numbers(small_corpus: Path, tmp_path: Path) -> None:
    content = pickle.loads((small_corpus / "senteval" / "downstream" / "COCO" / "test.pkl").read_bytes())
    content["features"][3, 5] = np.nan
    (tmp_path / "test.pkl").write_bytes(pickle.dumps(content))
    outcome = read_or_refuse(partial(read_captions, tmp_path / "test.pkl"), [tmp_path / "test.pkl"])
    assert "image 3 has no vector of 2048 finite numbers" in str(outcome)
