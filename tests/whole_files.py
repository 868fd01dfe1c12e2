"""Whole files of data in each form, and how they are read; `tests/fuzzing.py` breaks them."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.conftest import Words
from trainables.corpora.nli import NLIPairs, load_nli
from trainables.encoders import load_encoder
from trainables.recipe import EncoderConfig

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
    return sink.getvalue().to_pybytes()


TABLE_WRITERS: dict[str, Callable[[Records], bytes]] = {
    ".jsonl": in_lines,
    ".json": lambda rows: json.dumps(rows, indent=1).encode(),
    ".csv": lambda rows: delimited(rows, ","),
    **dict.fromkeys((".tsv", ".txt"), lambda rows: delimited(rows, "\t")),
    ".parquet": in_parquet,
}
"""How a whole file of each form is written."""


def table(suffix: str, rows: Records) -> bytes:
    """A whole file of that form."""
    content = TABLE_WRITERS[suffix.removesuffix(".gz")](rows)
    return gzip.compress(content) if suffix.endswith(".gz") else content


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
