"""Broken data by the thousand: whatever training and scoring read is read right, or refused in one sentence.

Valid files come from the built-in corpus; `tests/fuzzing.py` breaks them. `make fuzz` makes hundreds of inputs for each
reader here, `make test` a few. A new entry of a registry is fuzzed by itself.
"""

from __future__ import annotations

import gzip
import io
import json
import pickle
import re
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.conftest import Words
from tests.fuzzing import (
    BYTES,
    INPUTS,
    JSON,
    JSON_LINES,
    ODD_VALUES,
    PLACES,
    TEXT,
    Mutation,
    inputs,
    mutate_json,
    pick,
    read_or_refuse,
)
from trainables.corpora import scenes, text_lines
from trainables.corpora.documents import SUFFIXES, load_documents
from trainables.corpora.nli import NLIPairs, load_nli
from trainables.corpora.stsb_pairs import load_similar
from trainables.corpora.tables import READERS as TABLES
from trainables.encoders import check_encoder, load_encoder
from trainables.encoders.presence import WORD_VECTORS
from trainables.errors import UserError
from trainables.recipe import EncoderConfig, PoolingConfig
from trainables.senteval.captions import read_captions
from trainables.senteval.data_files import MissingData, check_task
from trainables.senteval.examples import TaskData
from trainables.senteval.read import read_task
from trainables.senteval.readers import READERS
from trainables.senteval.scorers import SCORERS
from trainables.senteval.tasks import TASKS, Task

pytestmark = pytest.mark.fuzz


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built-in corpus, as small as it can be."""
    folder = tmp_path_factory.mktemp("scenes") / "corpus"
    scenes.write(folder, size=0.5)
    return folder


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import datasets

    import trainables.encoders.pretrained
    import trainables.encoders.word_vectors  # noqa: F401  libraries load before time and memory are counted

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets.disable_progress_bars()


def whole_or_named(outcome: object, pattern: str = r":\d+: |, (line|row|after row|after line) \d+:? ") -> bool:
    """Whether something was read, or a line is named in the refusal."""
    return not isinstance(outcome, UserError) or re.search(pattern, str(outcome)) is not None


# ---- labelled pairs ----

Records = list[dict[str, Any]]


def nli_rows(corpus: Path) -> Records:
    lines = (corpus / "nli" / "train.jsonl").read_text().splitlines()[:20]
    rows: Records = [json.loads(line) for line in lines]
    rows[3]["premise"] += ' "yes", he; said'
    return [*rows, {"premise": "n/a", "hypothesis": "2020-01-01", "label": "-"}]


def in_lines(rows: Records) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def delimited(rows: Records, delimiter: str) -> bytes:
    fields = [list(rows[0]), *(['"' + str(value).replace('"', '""') + '"' for value in row.values()] for row in rows)]
    return "".join(delimiter.join(line) + "\n" for line in fields).encode()


def in_parquet(rows: Records) -> bytes:
    import pyarrow
    import pyarrow.parquet

    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), sink)
    found: bytes = sink.getvalue().to_pybytes()
    return found


TABLE_WRITERS: dict[str, tuple[Callable[[Records], bytes], Mapping[str, Mutation]]] = {
    ".jsonl": (in_lines, TEXT | JSON_LINES | BYTES),
    ".json": (lambda rows: json.dumps(rows, indent=1).encode(), TEXT | JSON | BYTES),
    ".csv": (lambda rows: delimited(rows, ","), TEXT | BYTES),
    ".tsv": (lambda rows: delimited(rows, "\t"), TEXT | BYTES),
    ".parquet": (in_parquet, BYTES),
}
"""How a whole file of each form is written, and how it is broken."""


def table(suffix: str, rows: Records) -> tuple[bytes, Mapping[str, Mutation]]:
    """A whole file of that form, and how it may be broken; of a packed one also what is in it."""
    write, mutations = TABLE_WRITERS[suffix.removesuffix(".gz")]
    if not suffix.endswith(".gz"):
        return write(rows), mutations

    def within(mutate: Mutation) -> Mutation:
        return lambda content, rng: gzip.compress(mutate(gzip.decompress(content), rng), 1)

    inner = {f"within: {name}": within(mutate) for name, mutate in mutations.items()}
    return gzip.compress(write(rows)), inner | BYTES


def check_pairs(pairs: NLIPairs) -> None:
    """What must hold of all pairs that were read."""
    assert len(pairs) == len(pairs.premises) == len(pairs.hypotheses) == len(pairs.labels) == len(pairs.file) > 0
    assert pairs.labels.dtype == np.int8
    assert set(pairs.labels.tolist()) <= {0, 1, 2}
    for text in (*pairs.premises, *pairs.hypotheses):
        assert isinstance(text, str)
        assert text.strip() == text != ""
        text.encode()


@pytest.mark.parametrize("suffix", TABLES)
def test_tables_of_pairs(suffix: str, corpus: Path, tmp_path: Path) -> None:
    rows = nli_rows(corpus)
    whole, mutations = table(suffix, rows)
    file = tmp_path / f"train{suffix}"
    file.write_bytes(whole)
    assert len(load_nli(str(file))) == len(rows) - 1
    for number, rng in inputs(suffix):
        name, mutate = pick(mutations, number, suffix)
        file.write_bytes(mutate(whole, rng))
        outcome = read_or_refuse(lambda: load_nli(str(file)), [file])
        if isinstance(outcome, UserError):
            assert whole_or_named(outcome) or re.search(
                r"is empty|holds no rows|only rows without|not a JSON array|no columns|not a readable gzip",
                str(outcome),
            ), f"{name}: {outcome}"
        else:
            check_pairs(outcome)
            assert len(outcome) <= 3 * len(rows)
            assert "json" in suffix or suffix == ".parquet" or "\0" not in "".join(outcome.hypotheses), "read as UTF-8"


def test_values_of_tables(corpus: Path, tmp_path: Path) -> None:
    """Odd values in Parquet's typed columns."""
    file = tmp_path / "train.parquet"
    for _, rng in inputs("values", 3 * INPUTS):
        column = rng.choice(("premise", "hypothesis", "label"))
        kind = type(odd := rng.choice(ODD_VALUES))
        rows = nli_rows(corpus)
        for row in rows if rng.random() < 0.5 else rows[:1]:
            row[column] = odd if kind is not str else odd.encode(errors="surrogatepass")
        try:
            file.write_bytes(in_parquet(rows))
        except Exception:  # no column can have these values together
            continue
        outcome = read_or_refuse(lambda: load_nli(str(file)), [file])
        if not isinstance(outcome, UserError):
            check_pairs(outcome)


def test_folders_that_datasets_saved(corpus: Path, tmp_path: Path) -> None:
    import datasets

    saved = tmp_path / "saved"
    datasets.Dataset.from_list(nli_rows(corpus)).save_to_disk(str(saved))
    for number, rng in inputs("saved"):
        folder = tmp_path / f"broken{number}"
        shutil.copytree(saved, folder)
        file = rng.choice(sorted(folder.iterdir()))
        if number % 4 == 0:
            pick(PLACES, number // 4, "saved")[1](file, rng)
        else:
            mutations = JSON | BYTES if file.suffix == ".json" else BYTES
            file.write_bytes(pick(mutations, number, "saved")[1](file.read_bytes(), rng))
        outcome = read_or_refuse(partial(load_nli, str(folder)), [folder])
        if not isinstance(outcome, UserError):
            check_pairs(outcome)


@pytest.mark.parametrize("place", PLACES)
def test_what_stands_where_a_table_should(place: str, corpus: Path, tmp_path: Path) -> None:
    file = tmp_path / "data" / "train.jsonl"
    for source in (file, file.parent):
        shutil.rmtree(file.parent, ignore_errors=True)
        file.parent.mkdir()
        file.write_bytes(in_lines(nli_rows(corpus)))
        next(PLACES[place](file, rng) for _, rng in inputs(place, 1))
        outcome = read_or_refuse(partial(load_nli, str(source)), [source])
        assert isinstance(outcome, UserError) == (place != "linked away")


# ---- SentEval ----


def own_tasks(folder: Path) -> dict[str, Task]:
    """Tables of one's own, in each form and with each kind of label."""
    found = {}
    for suffix in ("tsv", "csv", "jsonl"):
        for kind, column in (("split", "label"), ("relatedness", "score")):
            files = []
            for split in ("train", "dev", "test"):
                rows: Records = [
                    {"sentence1": f"a man {i}", "sentence2": f"a dog {split}", column: i % 3} for i in range(12)
                ]
                content = in_lines(rows) if suffix == "jsonl" else delimited(rows, "," if suffix == "csv" else "\t")
                if suffix == "tsv":
                    content = content.replace(b'"', b"")
                file = folder / f"{kind}-{split}.{suffix}"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
                files.append(file.name)
            found[f"{kind}-{suffix}"] = Task(f"mine-{kind}-{suffix}", kind, "table", tuple(files))
    return found


OWN = [f"{kind}-{suffix}" for kind in ("split", "relatedness") for suffix in ("tsv", "csv", "jsonl")]


def check_task_data(task: Task, content: TaskData) -> None:
    """What must hold of every task that was read."""
    scorer = SCORERS[task.kind]
    assert not scorer.splits or tuple(content.splits) == scorer.splits
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
    r"is empty|holds no|lines, but|have one label|is no caption file|image \d+|must be a pair|missing|no example"
)


@pytest.mark.parametrize("name", [*TASKS, *OWN])
def test_senteval_tasks(name: str, corpus: Path, tmp_path: Path) -> None:
    data, task = corpus / "senteval", TASKS.get(name) if name in TASKS else None
    if task is None:
        data = tmp_path / "own"
        task = own_tasks(data)[name]
    copied = tmp_path / "copy"
    for file in task.files:
        (copied / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(data / file, copied / file)
    check_task_data(task, read_task(task, copied))
    for number, rng in inputs(name):
        file = rng.choice(task.files)
        mutations = BYTES if file.endswith(".pkl") else TEXT | BYTES
        if file.endswith(".jsonl"):
            mutations = mutations | JSON_LINES
        how, mutate = pick(mutations, number, name)
        whole = (data / file).read_bytes()
        (copied / file).write_bytes(mutate(whole, rng))
        outcome = read_or_refuse(lambda: read_checked(task, copied), [copied / one for one in task.files])
        if isinstance(outcome, UserError):
            assert whole_or_named(outcome) or re.search(_OF_FILES, str(outcome)), f"{how}: {outcome}"
        else:
            assert outcome is not None
            check_task_data(task, outcome)
            assert file.endswith((".jsonl", ".pkl")) or "\0" not in "".join(outcome.sentences()), "read as UTF-8"
        (copied / file).write_bytes(whole)


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
def test_a_hostile_pickle(what: str, corpus: Path, tmp_path: Path) -> None:
    task = TASKS["ImageCaptionRetrieval"]
    for file in task.files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(corpus / "senteval" / file, tmp_path / file)
    (tmp_path / task.files[0]).write_bytes(HOSTILE[what])
    outcome = read_or_refuse(partial(read_task, task, tmp_path), [tmp_path / task.files[0]])
    assert "is no caption file" in str(outcome)


@pytest.mark.parametrize("place", PLACES)
def test_what_stands_where_a_task_file_should(place: str, corpus: Path, tmp_path: Path) -> None:
    for layout in READERS:
        task = next((task for task in TASKS.values() if task.layout == layout), None)
        if task is None:
            continue
        data = tmp_path / layout
        for file in task.files:
            (data / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(corpus / "senteval" / file, data / file)
        next(PLACES[place](data / task.files[-1], rng) for _, rng in inputs(f"{layout}/{place}", 1))
        outcome = read_or_refuse(partial(read_checked, task, data), [data / task.files[-1], task.name])
        assert (place == "linked away") == isinstance(outcome, TaskData)


def test_similar_pairs(corpus: Path, tmp_path: Path) -> None:
    data = tmp_path / "senteval"
    folder = data / "downstream" / "STS" / "STSBenchmark"
    shutil.copytree(corpus / "senteval" / "downstream" / "STS" / "STSBenchmark", folder)
    load_similar(data)
    for number, rng in inputs("similar"):
        file = folder / f"sts-{rng.choice(('train', 'dev', 'test'))}.csv"
        whole = file.read_bytes()
        how, mutate = pick(TEXT | BYTES, number, "similar")
        file.write_bytes(mutate(whole, rng))
        outcome = read_or_refuse(lambda: load_similar(data), [file, folder])
        if isinstance(outcome, UserError):
            assert whole_or_named(outcome) or re.search(r"is empty|holds no pair", str(outcome)), f"{how}: {outcome}"
        else:
            for text in (*outcome.first, *outcome.second):
                assert text.strip() == text != ""
                text.encode()
            assert len(outcome.first) == len(outcome.second) == sum(outcome.splits.values()) > 0
        file.write_bytes(whole)


# ---- documents ----

DOCUMENT_WRITERS: dict[str, tuple[Callable[[list[str]], bytes], Mapping[str, Mutation]]] = {
    ".txt": (lambda texts: "".join(f"{text}\n" for text in texts).encode(), TEXT | BYTES),
    ".jsonl": (lambda texts: in_lines([{"text": text} for text in texts]), TEXT | JSON_LINES | BYTES),
}


class OfLengths(Words):
    """A tokenizer whose tokens are within its vocabulary, however long a word is."""

    def __call__(self, texts: list[str], **_: Any) -> dict[str, list[list[int]]]:
        return {"input_ids": [[len(word) % len(self) for word in text.split()] for text in texts]}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_documents(suffix: str, corpus: Path, tmp_path: Path) -> None:
    lines = (corpus / "docs" / "docs.jsonl").read_text().splitlines()[:8]
    write, mutations = DOCUMENT_WRITERS[suffix]
    whole = write([json.loads(line)["text"] for line in lines])
    file = tmp_path / f"docs{suffix}"
    for number, rng in inputs(suffix):
        how, mutate = pick(mutations, number, suffix)
        file.write_bytes(mutate(whole, rng))
        cache = tmp_path / "cache" / str(number)
        outcome = read_or_refuse(partial(load_documents, str(file), OfLengths(), 1, cache=cache), [file])
        if isinstance(outcome, UserError):
            assert whole_or_named(outcome) or re.search(r"is empty|holds no text", str(outcome)), f"{how}: {outcome}"
        else:
            assert len(outcome) == outcome.read - outcome.too_short > 0
            assert sum(len(outcome[i]) for i in range(len(outcome))) == len(outcome.tokens)


# ---- word vectors ----

WORDS = ["the", "a", "man", "dog", ". . .", "caf\u00e9"]
ROWS = np.linspace(-1, 1, 18, dtype=np.float32).reshape(6, 3)


def in_text(header: bool) -> bytes:
    lines = [f"{len(WORDS)} {ROWS.shape[1]}"] if header else []
    lines += [" ".join([word, *map(str, row.tolist())]) for word, row in zip(WORDS, ROWS, strict=True)]
    return "".join(line + "\n" for line in lines).encode()


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


VECTOR_WRITERS: dict[str, tuple[bytes, Mapping[str, Mutation]]] = {
    ".txt": (in_text(False), TEXT | BYTES),
    ".vec": (in_text(True), TEXT | BYTES),
    ".npy": (npy(ROWS), BYTES),
}
BESIDE: dict[str, bytes] = {
    ".txt": "".join(word + "\n" for word in WORDS).encode(),
    ".json": json.dumps(WORDS).encode(),
    ".parquet": in_parquet([{"word": word, "row": row} for row, word in enumerate(WORDS)]),
}
"""Lists of words that stand beside a matrix."""


def read_vectors(file: Path) -> Any:
    encoder = load_encoder(EncoderConfig("word_vectors", str(file)))
    return encoder, encoder.encode(["the dog", "nobody knows me", "caf\u00e9"])


def check_vectors(outcome: Any) -> None:
    encoder, embeddings = outcome
    assert embeddings.dtype == np.float32
    assert np.isfinite(embeddings).all()
    assert np.isfinite(encoder.vectors).all()
    assert encoder.vectors.shape == (len(encoder.vectors), encoder.dim)
    assert max(encoder.index.values()) < len(encoder.vectors)
    for word in encoder.index:
        word.encode()


@pytest.mark.parametrize("suffix", WORD_VECTORS)
def test_word_vectors(suffix: str, tmp_path: Path) -> None:
    whole, mutations = VECTOR_WRITERS[suffix]
    file = tmp_path / f"glove{suffix}"
    if suffix == ".npy":
        (tmp_path / "words.json").write_bytes(BESIDE[".json"])
    file.write_bytes(whole)
    check_vectors(read_vectors(file))
    for number, rng in inputs(suffix):
        how, mutate = pick(mutations, number, suffix)
        file.write_bytes(mutate(whole, rng))
        outcome = read_or_refuse(lambda: read_vectors(file), [file])
        if isinstance(outcome, UserError):
            of_file = r"is empty|is no matrix|holds|rows, but no"
            assert whole_or_named(outcome) or re.search(of_file, str(outcome)), f"{how}: {outcome}"
        else:
            check_vectors(outcome)


@pytest.mark.parametrize("suffix", BESIDE)
def test_words_beside_a_matrix(suffix: str, tmp_path: Path) -> None:
    matrix, beside = tmp_path / "glove.npy", tmp_path / f"words{suffix}"
    matrix.write_bytes(npy(ROWS))
    beside.write_bytes(BESIDE[suffix])
    check_vectors(read_vectors(matrix))
    mutations = BYTES if suffix == ".parquet" else TEXT | BYTES | (JSON if suffix == ".json" else {})
    for number, rng in inputs(f"beside{suffix}"):
        beside.write_bytes(pick(mutations, number, suffix)[1](BESIDE[suffix], rng))
        outcome = read_or_refuse(lambda: read_vectors(matrix), [matrix, beside])
        if not isinstance(outcome, UserError):
            check_vectors(outcome)


@pytest.mark.parametrize("place", PLACES)
def test_what_stands_where_words_should(place: str, tmp_path: Path) -> None:
    matrix, beside = tmp_path / "in" / "glove.npy", tmp_path / "in" / "words.json"
    for broken in (matrix, beside):
        shutil.rmtree(matrix.parent, ignore_errors=True)
        matrix.parent.mkdir()
        matrix.write_bytes(npy(ROWS))
        beside.write_bytes(BESIDE[".json"])
        next(PLACES[place](broken, rng) for _, rng in inputs(place, 1))
        outcome = read_or_refuse(lambda: read_vectors(matrix), [matrix, beside])
        assert isinstance(outcome, UserError) == (place != "linked away"), str(outcome)


# ---- too much ----


def test_a_line_without_an_end_is_refused_in_bounded_memory(corpus: Path, tmp_path: Path) -> None:
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        for _ in range(100):
            file.write(b"word " * 200_000)
    senteval = tmp_path / "senteval"
    shutil.copytree(corpus / "senteval", senteval)
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


def load_pairs(file: Path) -> NLIPairs:
    return load_nli(str(file))


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


def test_tokens_in_the_cache(tmp_path: Path) -> None:
    (tmp_path / "docs.txt").write_text("one two\nthree four five\n")
    load = partial(load_documents, str(tmp_path / "docs.txt"), OfLengths(), 1, cache=tmp_path / "cache")
    load()
    folder = next((tmp_path / "cache").glob("documents-*"))
    for number, rng in inputs("tokens"):
        file = rng.choice(sorted(folder.iterdir()))
        whole = file.read_bytes()
        file.write_bytes(pick(JSON | BYTES if file.suffix == ".json" else BYTES, number, "tokens")[1](whole, rng))
        outcome = read_or_refuse(load, [folder])
        if not isinstance(outcome, UserError):
            assert [len(outcome[i]) for i in range(len(outcome))] == outcome.lengths.tolist()
        file.write_bytes(whole)


# ---- one of each check, whatever chance brings ----


def load_docs(file: Path) -> object:
    return load_documents(str(file), OfLengths(), 1, cache=file.parent / "cache")


def load_own(kind: str, file: Path) -> TaskData:
    return read_task(Task("mine", kind, "table", (file.name, "dev.tsv", "test.tsv")), file.parent)


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
    "Latin-1 pairs": ("a.tsv", PAIR + b"caf\xe9\tb\tneutral\n", load_pairs, "line 2: not UTF-8"),
    "brackets": ("a.jsonl", b"[" * 100_000, load_pairs, "line 1: not a JSON object (brackets within"),
    "long label": ("a.tsv", PAIR + b"a\tb\t" + b"x" * 10_000, load_pairs, "line 2: unknown label 'xxx"),
    "empty text": ("a.tsv", PAIR + b" \tb\tneutral\n", load_pairs, "line 2: premise is empty"),
    "UTF-16 documents": ("a.txt", "one two\n".encode("utf-16-le"), load_docs, "line 1: a NUL byte"),
    "NaN in vectors": ("a.txt", b"a 1 2\nb 1 nan\n", read_vectors, "line 2: NaN or infinity after the word 'b'"),
    "too large a number": ("a.txt", b"a 1 1e39\n", read_vectors, "line 1: NaN or infinity after the word 'a'"),
    "NaN in a matrix": ("a.npy", npy(np.array([[1.0], [np.nan]])), read_vectors, "row 2: NaN or infinity"),
    "a matrix of texts": ("a.npy", npy(np.array([["1.0"]])), read_vectors, "is no matrix of numbers"),
    "wrong counts": ("a.vec", b"3 1\na 1\nb 2\n", read_vectors, "line 1: it says"),
    "NaN as a score": (
        "a.tsv",
        b"sentence1\tsentence2\tscore\na\tb\tnan\n",
        partial(load_own, "relatedness"),
        "a.tsv:2: score nan",
    ),
    "half a character in a task": (
        "a.jsonl",
        b'{"sentence": "\\udfff", "label": "x"}',
        partial(load_own, "split"),
        "a.jsonl:1: 'sentence' holds half of a character",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_always_refused(what: str, tmp_path: Path) -> None:
    name, content, read, sentence = REFUSED[what]
    (tmp_path / "dev.tsv").write_text("sentence1\tsentence2\tscore\na\tb\t1\n")
    (tmp_path / "test.tsv").write_text("sentence1\tsentence2\tscore\na\tb\t1\n")
    (tmp_path / name).write_bytes(content)
    assert sentence in str(read_or_refuse(partial(read, tmp_path / name), [tmp_path / name]))


def test_features_that_are_no_numbers(corpus: Path, tmp_path: Path) -> None:
    content = pickle.loads((corpus / "senteval" / "downstream" / "COCO" / "test.pkl").read_bytes())
    content["features"][3, 5] = np.nan
    (tmp_path / "test.pkl").write_bytes(pickle.dumps(content))
    outcome = read_or_refuse(partial(read_captions, tmp_path / "test.pkl"), [tmp_path / "test.pkl"])
    assert "image 3 has no vector of 2048 finite numbers" in str(outcome)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda weights, config: weights["encoder.layer.0.output.dense.bias"].fill_(float("nan")), "among its weights"),
        (lambda weights, config: config.update(layer_norm_eps="small"), "cannot be loaded"),
        (lambda weights, config: weights.update({EMBEDDINGS: weights[EMBEDDINGS][:50].clone()}), "cannot be loaded"),
    ],
)
def test_a_model_that_embeds_nothing(change: Any, sentence: str, transformer: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "model"
    shutil.copytree(transformer, folder)
    weights, config = load_file(folder / "model.safetensors"), json.loads((folder / "config.json").read_text())
    change(weights, config)
    config["vocab_size"] = len(weights[EMBEDDINGS])
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    assert sentence in str(read_or_refuse(partial(load_transformer, folder), [folder]))


EMBEDDINGS = "embeddings.word_embeddings.weight"


# ---- transformers ----


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as transformers saves it."""
    from trainables.encoders.builtin import build

    folder = tmp_path_factory.mktemp("transformer") / "model"
    backbone, tokenizer = build()
    backbone.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def other_header(content: bytes, rng: Random) -> bytes:
    """Safetensors with something else in its header: names, types, shapes, places."""
    size = int.from_bytes(content[:8], "little")
    header = json.dumps(mutate_json(json.loads(content[8 : 8 + size]), rng)).encode()
    return len(header).to_bytes(8, "little") + header + content[8 + size :]


def odd_weight(content: bytes, rng: Random) -> bytes:
    """One weight that is NaN or infinite."""
    size = int.from_bytes(content[:8], "little")
    place = 8 + size + 4 * rng.randrange((len(content) - 8 - size) // 4)
    return content[:place] + rng.choice((b"\0\0\xc0\x7f", b"\0\0\x80\x7f")) + content[place + 4 :]


WEIGHTS: dict[str, Mutation] = {"header": other_header, "header again": other_header, "odd weight": odd_weight, **BYTES}


def load_transformer(folder: Path) -> Any:
    config = EncoderConfig(name=str(folder))
    check_encoder(config)
    encoder: Any = load_encoder(config, PoolingConfig("mean"))
    return encoder, encoder.encode(["a man is sleeping", "two dogs run"])


def test_transformers(transformer: Path, tmp_path: Path, nothing_kept: None) -> None:
    load_transformer(transformer)
    names = sorted(file.name for file in transformer.iterdir())
    for number, rng in inputs("transformers"):
        folder = tmp_path / f"broken{number}"
        shutil.copytree(transformer, folder)
        file = folder / names[number % len(names)]
        if number % 5 == 0:
            name, place = pick(PLACES, number // 5, "transformers")
            place(file, rng)
        else:
            name, mutate = pick(WEIGHTS if file.suffix == ".safetensors" else JSON | TEXT | BYTES, number, file.name)
            file.write_bytes(mutate(file.read_bytes(), rng))
        outcome = read_or_refuse(partial(load_transformer, folder), [folder])
        if not isinstance(outcome, UserError):
            encoder, embeddings = outcome
            assert embeddings.shape == (2, encoder.dim)
            assert np.isfinite(embeddings).all(), f"{file.name}, {name}"
        shutil.rmtree(folder)
