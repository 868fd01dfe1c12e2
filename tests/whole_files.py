"""Whole files of data in each form, and how they are read; `tests/fuzzing.py` breaks them."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.conftest import Words
from tests.fuzzing import BYTES, JSON, JSON_LINES, TEXT, Mutation
from trainables.corpora.nli import NLIPairs, load_nli
from trainables.encoders import load_encoder
from trainables.errors import UserError
from trainables.recipe import EncoderConfig


def whole_or_named(outcome: object, pattern: str = r":\d+: |, (line|row|after row|after line) \d+:? ") -> bool:
    """Whether something was read, or a line is named in the refusal."""
    return not isinstance(outcome, UserError) or re.search(pattern, str(outcome)) is not None


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
    content: bytes = sink.getvalue().to_pybytes()
    return content


TABLE_WRITERS: dict[str, tuple[Callable[[Records], bytes], Mapping[str, Mutation]]] = {
    ".jsonl": (in_lines, TEXT | JSON_LINES | BYTES),
    ".json": (lambda rows: json.dumps(rows, indent=1).encode(), TEXT | JSON | BYTES),
    ".csv": (lambda rows: delimited(rows, ","), TEXT | BYTES),
    **dict.fromkeys((".tsv", ".txt"), (lambda rows: delimited(rows, "\t"), TEXT | BYTES)),
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


def load_pairs(file: Path) -> NLIPairs:
    return load_nli(str(file))


class OfLengths(Words):
    """A tokenizer whose tokens are within its vocabulary, however long a word is."""

    def __call__(self, texts: list[str], **_: Any) -> dict[str, list[list[int]]]:
        return {"input_ids": [[len(word) % len(self) for word in text.split()] for text in texts]}


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def read_vectors(file: Path) -> Any:
    encoder = load_encoder(EncoderConfig("word_vectors", str(file)))
    return encoder, encoder.encode(["the dog", "nobody knows me", "caf\u00e9"])
