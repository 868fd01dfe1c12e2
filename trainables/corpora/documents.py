"""Long documents for spans: from the hub, from local text, or from the scenes corpus; tokenized once.

    documents = load_documents("Skylion007/openwebtext", tokenizer, shortest=2048)   # a hub id, streamed
    documents = load_documents("my/folder", tokenizer, shortest=512)                 # .txt and .jsonl files below it
    documents = load_documents("scenes", tokenizer, shortest=256)                    # the built-in corpus

A document is a line of a text file, or of JSONL: {"text": ...}. White space becomes single blanks, as in DeCLUTR's
code. All tokens are in one memory-mapped array, so memory use does not grow with them. The array is made once for a
source, a tokenizer and a limit:

    <cache>/documents-<key>/tokens.npy    every document's tokens, end to end
                            ends.npy      where each document ends, with a 0 before the first
                            about.json    counts, and a fingerprint of the content
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from array import array
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from trainables.arrays import map_array
from trainables.corpora import scenes
from trainables.corpora.cache import default_cache, locked, write_folder
from trainables.corpora.hub import is_hub_id, open_hub
from trainables.corpora.request import check_batch_size
from trainables.errors import UserError, choices
from trainables.files import expanded
from trainables.hub_names import on_hub
from trainables.process_cache import file_states
from trainables.recipe import SCENES
from trainables.text_lines import json_object, numbered_lines

SUFFIXES = (".txt", ".jsonl")
CHECKED_DOCUMENTS = 10_000
"""Most documents of each local file that `check_documents` reads; the others are checked when tokenized."""

# A call of the tokenizer ends with the document that reaches one of these limits.
_CHARACTERS_AT_ONCE = 1 << 20
_DOCUMENTS_AT_ONCE = 512
_FORMAT = 1
"""Version of the cached files; change it if the same text would give other tokens."""


@dataclass(frozen=True)
class TokenizedDocuments:
    """Documents with enough tokens, in the order of their source; `documents[i]` is an array of tokens."""

    tokens: np.ndarray
    """Memory-mapped: all documents of the source end to end, including unused ones."""
    starts: np.ndarray
    """(documents,) int64, index into `tokens`."""
    lengths: np.ndarray
    """(documents,) int64, in tokens."""
    numbers: np.ndarray
    """(documents,) int64: positions in the source, where short documents count too."""
    read: int
    """Number of documents read from the source, up to the limit."""
    too_short: int
    """Number of documents read that were dropped because they have too few tokens."""
    fingerprint: str
    """Hash of all tokens that were read: twelve hexadecimal digits."""
    source: str

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: int) -> np.ndarray:  # (tokens,)
        return self.tokens[self.starts[index] : self.starts[index] + self.lengths[index]]


def load_documents(
    source: str,
    tokenizer: Any,
    shortest: int,
    *,
    limit: int | None = None,
    share: float = 1.0,
    cache: Path | None = None,
) -> TokenizedDocuments:
    """Return the documents of at least `shortest` tokens among the first `limit` documents of a source.

    `share`: share of these documents that is drawn, the same for every seed; a larger share contains a smaller one.
    `UserError` if no document can be read, or none is long enough.
    """
    folder = _tokenized(source, tokenizer, limit, cache or default_cache())
    tokens, ends, fingerprint = _cached(folder)
    lengths = np.diff(ends)
    numbers = np.flatnonzero(lengths >= shortest)
    read, enough = len(lengths), len(numbers)
    if not enough:
        raise UserError(
            f"all {read:,} documents of {source!r} are too short: the longest has {int(lengths.max()):,} tokens, and "
            f"the recipe needs {shortest:,}; lower spans.longest or spans.anchors (a document must hold 2 x "
            "spans.anchors x spans.longest tokens), or give longer documents"
        )
    if share < 1:
        count = round(share * enough)
        if not count:
            raise UserError(f"corpus.share {share:g} of {enough:,} documents is none; give a larger share")
        numbers = np.sort(np.random.Generator(np.random.Philox(key=0)).permutation(numbers)[:count])
    return TokenizedDocuments(
        tokens, ends[numbers], lengths[numbers], numbers, read, read - enough, fingerprint, source
    )


def check_documents(source: str, shortest: int = 1, batch_size: int = 1, share: float = 1.0) -> None:
    """Raise `UserError` if `source` cannot be read, or a `share` of it surely has too few documents for one batch.

    The first `CHECKED_DOCUMENTS` documents of each local file are read; of the hub's data set, only the existence is
    checked. A document needs `shortest` tokens. These are not counted, but one of fewer bytes is surely too short.
    """
    if source == SCENES:
        return
    files = _local_files(source)
    if files is None:
        name, revision = on_hub(source)
        with _open_hub(source) as (datasets, _):
            datasets.load_dataset_builder(name, revision=revision)
        return
    longest, enough, whole = 0, 0, True
    for file in files:
        sizes = [len(text.encode()) for text in islice(_read(file), CHECKED_DOCUMENTS)]
        if not sizes:
            raise UserError(f"{file} is empty; it needs documents, one a line")
        longest, whole = max(longest, *sizes), whole and len(sizes) < CHECKED_DOCUMENTS
        enough += sum(size >= shortest for size in sizes)
    if whole and longest < shortest:
        raise UserError(
            f"all documents of {source!r} are too short: the longest has {longest:,} bytes, and the recipe needs "
            f"{shortest:,} tokens; lower spans.longest, spans.anchors or spans.document, or give longer documents"
        )
    if whole:
        check_batch(source, round(share * enough), batch_size)


def check_batch(source: str, documents: int, batch_size: int) -> None:
    """Raise `UserError` if a source has fewer documents than one batch needs."""
    check_batch_size(
        batch_size,
        documents,
        repr(source),
        f"at most {documents:,} of its documents are long enough for the recipe",
        "take a smaller batch, or a larger corpus.share",
    )


def texts(source: str) -> Iterator[str]:
    """Yield the documents of a source as text; blank documents are skipped."""
    files = [scenes.ensure() / "docs" / "docs.jsonl"] if source == SCENES else _local_files(source)
    return _hub_texts(source) if files is None else chain.from_iterable(map(_read, files))


def _cached(folder: Path) -> tuple[np.ndarray, np.ndarray, str]:
    """Return tokens, ends of documents and fingerprint of a cached folder. `UserError` if its files are damaged."""
    try:
        fingerprint = str(json.loads((folder / "about.json").read_text())["fingerprint"])
        ends = map_array(folder / "ends.npy")
        # `asarray` drops numpy's memmap class, not the mapping: slices of the plain class are several times faster.
        tokens = np.asarray(map_array(folder / "tokens.npy"))
        whole = ends.dtype == np.int64 and ends[0] == 0 and ends[-1] == len(tokens) and (np.diff(ends) >= 0).all()
    except Exception:  # from JSON, NumPy, or an unexpected shape
        whole = False
    if not whole:
        raise UserError(f"{folder} in the cache is broken; remove it, and it will be made again")
    return tokens, ends, fingerprint


def _tokenized(source: str, tokenizer: Any, limit: int | None, cache: Path) -> Path:
    """Return the folder with the source's tokens. If it is missing, one process makes it and others wait."""
    identity = [_FORMAT, _identity(source), _tokenizer_identity(tokenizer), limit]
    key = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:12]
    tokens_folder = cache / f"documents-{key}"
    if tokens_folder.is_dir():
        return tokens_folder
    with locked(tokens_folder, f"the tokens of {source!r}"):
        if not tokens_folder.is_dir():
            for draft in cache.glob(f".{tokens_folder.name}-*"):  # left by a killed process
                shutil.rmtree(draft, ignore_errors=True)
            write_folder(tokens_folder, lambda folder: _write_tokens(folder, source, tokenizer, limit))
    return tokens_folder


def _write_tokens(folder: Path, source: str, tokenizer: Any, limit: int | None) -> None:
    kind = np.dtype(np.uint16 if len(tokenizer) <= 1 << 16 else np.int32)
    ends = array("q", [0])
    with (folder / "tokens.npy").open("wb") as stream:
        first = _write_header(stream, kind, 0)
        for ids in _token_lists(islice(texts(source), limit), tokenizer):
            stream.write(np.asarray(ids, dtype=kind).tobytes())
            ends.append(ends[-1] + len(ids))
        stream.seek(0)
        begin = _write_header(stream, kind, ends[-1])  # numpy pads the header for any length
        assert begin == first
    np.save(folder / "ends.npy", np.frombuffer(ends, np.int64))
    documents = len(ends) - 1
    if not documents:
        raise UserError(f"no document in {source!r}: it holds no text")
    about = {
        "source": source,
        "documents": documents,
        "tokens": ends[-1],
        "fingerprint": _fingerprint(folder / "tokens.npy", folder / "ends.npy"),
    }
    (folder / "about.json").write_text(json.dumps(about, indent=1) + "\n")


def _write_header(stream: BinaryIO, kind: np.dtype[Any], length: int) -> int:
    """Write the header of a one-dimensional `.npy` file; return the offset of its values."""
    described = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(stream, described)
    return stream.tell()


def _token_lists(documents: Iterable[str], tokenizer: Any) -> Iterator[list[int]]:
    """Yield the token ids of each document, without special tokens or truncation."""
    for some in _portions(documents):
        yield from tokenizer(
            some, add_special_tokens=False, truncation=False, return_attention_mask=False, verbose=False
        )["input_ids"]


def _portions(documents: Iterable[str]) -> Iterator[list[str]]:
    portion: list[str] = []
    characters = 0
    for text in documents:
        portion.append(text)
        characters += len(text)
        if characters >= _CHARACTERS_AT_ONCE or len(portion) == _DOCUMENTS_AT_ONCE:
            yield portion
            portion, characters = [], 0
    if portion:
        yield portion


def _fingerprint(*files: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            hashlib.file_digest(stream, lambda: digest)
    return digest.hexdigest()[:12]


def _identity(source: str) -> Any:
    """Return the state of a source without reading it: names, sizes and modification times."""
    if source == SCENES:
        return [SCENES, scenes.version()]
    files = _local_files(source)
    if files is None:
        return ["hub", source]
    return [*chain.from_iterable(map(file_states, files))]


def _tokenizer_identity(tokenizer: Any) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        content: Any = [type(tokenizer).__name__, sorted(tokenizer.get_vocab().items())]
    else:
        content = json.loads(backend.to_str())
        # Settings of the tokenizer's last call; the tokens here do not depend on them.
        content |= {"truncation": None, "padding": None}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _local_files(source: str) -> list[Path] | None:
    """Return the files that `source` names; None if it is a hub id. `UserError` if it names no readable file."""
    if not source.strip():
        raise UserError("corpus.documents is empty; give a hub id, a folder, a .txt or .jsonl file, or 'scenes'")
    path = expanded(source)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and file.suffix.lower() in SUFFIXES)
        if not files:
            raise UserError(f"{path} holds no documents: no {choices(SUFFIXES)} file")
    elif path.is_file():
        if path.suffix.lower() not in SUFFIXES:
            raise UserError(f"{path} is no {choices(SUFFIXES)} file, so it cannot be read as documents")
        files = [path]
    elif is_hub_id(source):
        return None
    else:
        raise UserError(f"no such file or folder: {source!r}; give a hub id, a folder, a .txt or .jsonl file")
    for file in files:
        if not os.access(file, os.R_OK):
            raise UserError(f"{file} may not be read by this user")
    return files


def _read(file: Path) -> Iterator[str]:
    """Yield the documents of a `.txt` or `.jsonl` file, one per line."""
    as_json = file.suffix.lower() == ".jsonl"
    for number, line in numbered_lines(file):
        text: Any = line.strip()
        if text and as_json:
            text = json_object(text, f"{file}, line {number}").get("text")
            if not isinstance(text, str):
                raise UserError(f'{file}, line {number}: no document; write it as {{"text": "..."}}')
        if text := " ".join(text.split()):
            yield text


def _open_hub(source: str) -> AbstractContextManager[tuple[Any, bool]]:
    return open_hub(source, f"the documents {source!r} are", "a folder or a file (.txt, .jsonl)")


def _hub_texts(source: str) -> Iterator[str]:
    name, revision = on_hub(source)
    with _open_hub(source) as (datasets, answers):
        # If the hub does not answer, the data come from its local cache, which is memory-mapped: no streaming.
        data = datasets.load_dataset(name, split="train", streaming=answers, revision=revision)
        for number, record in enumerate(data, 1):
            text = record.get("text")
            if not isinstance(text, str):
                raise UserError(f"hub data set {source!r}, row {number}: no column 'text' with a document in it")
            if text := " ".join(text.split()):
                yield text
