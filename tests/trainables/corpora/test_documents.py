"""Documents: every source, one tokenization for all, flat memory, every bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainables.corpora import documents
from trainables.corpora.documents import TokenizedDocuments, check_documents, load_documents, texts
from trainables.errors import UserError

TEXTS = ["the dog runs", "a man sleeps in the park", "two", "a woman plays a piano near the river"]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from trainables.encoders.builtin import build

    return build()[1]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write(tmp_path / "in" / "docs.txt", TEXTS)


def write(path: Path, lines: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines))
    return path


def as_lists(loaded: TokenizedDocuments) -> list[list[int]]:
    return [loaded[i].tolist() for i in range(len(loaded))]


def tokens_of(tokenizer: Any, some: list[str]) -> list[list[int]]:
    return [tokenizer(text, add_special_tokens=False)["input_ids"] for text in some]


def test_tokens_are_the_tokenizers_without_special_tokens(source, tokenizer, tmp_path):
    loaded = load_documents(str(source), tokenizer, 1, cache=tmp_path)
    assert as_lists(loaded) == tokens_of(tokenizer, TEXTS)
    assert (loaded.read, loaded.too_short, loaded.source) == (4, 0, str(source))
    assert loaded.tokens.dtype == np.uint16
    assert not loaded.tokens.flags.writeable  # mapped, not read


def test_short_documents_are_dropped_and_counted_but_keep_their_numbers(source, tokenizer, tmp_path):
    loaded = load_documents(str(source), tokenizer, 6, cache=tmp_path)
    assert as_lists(loaded) == tokens_of(tokenizer, [TEXTS[1], TEXTS[3]])
    assert loaded.numbers.tolist() == [1, 3]
    assert (len(loaded), loaded.read, loaded.too_short) == (2, 4, 2)


def test_files_folders_json_and_blank_lines(tokenizer, tmp_path):
    folder = tmp_path / "in"
    write(folder / "b" / "more.jsonl", [json.dumps({"text": TEXTS[2], "url": "x"}), "", json.dumps({"text": " "})])
    (folder / "a.txt").write_bytes(b"\xef\xbb\xbf" + f"{TEXTS[0]}\n\n  {TEXTS[1]}  \r\n".encode())  # with a BOM
    write(folder / "notes.md", ["not a document"])
    assert list(texts(str(folder))) == [TEXTS[0], TEXTS[1], TEXTS[2]]
    assert list(texts(str(folder / "b" / "more.jsonl"))) == [TEXTS[2]]
    check_documents(str(folder))


@given(lines=st.lists(st.text(st.characters(exclude_categories=("Cs",))), min_size=1, max_size=8))
def test_json_keeps_any_text_but_for_its_white_space(lines, tmp_path_factory):
    path = write(tmp_path_factory.mktemp("json") / "d.jsonl", [json.dumps({"text": line}) for line in lines])
    assert list(texts(str(path))) == [" ".join(line.split()) for line in lines if line.strip()]


def test_limit_and_share(tokenizer, tmp_path):
    path = write(tmp_path / "docs.txt", [f"dog {'runs ' * (i % 7)}" for i in range(200)])

    def numbers(**how: Any) -> list[int]:
        return load_documents(str(path), tokenizer, 3, cache=tmp_path, **how).numbers.tolist()

    everything = numbers()
    assert numbers(limit=50) == [number for number in everything if number < 50]
    half, tenth = numbers(share=0.5), numbers(share=0.1)
    assert half == numbers(share=0.5) == sorted(half)
    assert set(tenth) < set(half) < set(everything)
    assert (len(half), len(tenth)) == (round(0.5 * len(everything)), round(0.1 * len(everything)))


def test_tokenized_once_for_all_recipes_and_again_when_something_changed(source, tokenizer, tmp_path, monkeypatch):
    calls: list[int] = []
    real = documents._token_lists
    monkeypatch.setattr(documents, "_token_lists", lambda *given: calls.append(1) or real(*given))

    def load(shortest: int = 1, **how: Any) -> TokenizedDocuments:
        return load_documents(str(source), tokenizer, shortest, cache=tmp_path / "cache", **how)

    first = load()
    assert load(6).fingerprint == load(share=0.5).fingerprint == first.fingerprint
    tokenizer(TEXTS, truncation=True, max_length=3, padding=True)  # leaves its mark on the tokenizer, not on its tokens
    assert load().fingerprint == first.fingerprint
    assert len(calls) == 1
    assert load(limit=2).fingerprint != first.fingerprint
    write(source, [*TEXTS, "one more"])
    assert load().fingerprint != first.fingerprint
    assert len(calls) == 3
    folders = [path.name for path in (tmp_path / "cache").iterdir() if path.is_dir()]
    assert len(folders) == 3
    assert all(name.startswith("documents-") for name in folders)  # and no draft


def test_a_failure_half_way_leaves_nothing(tokenizer, tmp_path):
    path = tmp_path / "docs.txt"
    path.write_bytes(b"the dog runs\n" * 1000 + b"\xff\xfe\n")
    with pytest.raises(UserError, match=r"docs\.txt, line 1001: not UTF-8"):
        load_documents(str(path), tokenizer, 1, cache=tmp_path / "cache")
    assert [path for path in (tmp_path / "cache").iterdir() if path.is_dir()] == []


def test_what_a_killed_process_left_is_cleared_away(source, tokenizer, tmp_path):
    load_documents(str(source), tokenizer, 1, cache=tmp_path)
    (made,) = (path for path in tmp_path.glob("documents-*"))
    left = made.rename(made.with_name(f".{made.name}-half"))
    load_documents(str(source), tokenizer, 1, cache=tmp_path)
    assert made.is_dir()
    assert not left.exists()


STAND_IN = """
import resource, sys
from pathlib import Path
from trainables.corpora import documents

class Tokenizer:  # transformers alone would take seconds and hundreds of MiB
    def __len__(self): return 60000
    def get_vocab(self): return {}
    def __call__(self, texts, **_): return {"input_ids": [list(range(len(text))) for text in texts]}

place, count = Path(sys.argv[1]), int(sys.argv[2])
documents.texts = lambda source: ("word " * 400 for _ in range(count))
documents._identity = lambda source: source
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # MiB
before = peak()
loaded = documents.load_documents("many", Tokenizer(), 10, cache=place)
assert len(loaded) == count and loaded.lengths.sum() == 2000 * count
print(peak() - before, loaded.fingerprint)
"""


def stand_in(place: Path, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", STAND_IN, str(place), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_several_processes_at_once_make_one_token_file(tmp_path):
    running = [stand_in(tmp_path, 1000) for _ in range(2)]
    answers = [process.communicate()[0].split()[-1] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert len(set(answers)) == 1
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 1


@pytest.mark.slow
def test_many_documents_need_no_more_memory_than_few(tmp_path):
    def growth(count: int) -> float:
        return float(stand_in(tmp_path / str(count), count).communicate()[0].split()[0])

    few, many = growth(512), growth(20_000)  # 2 MB and 80 MB of tokens
    assert many < few + 8, (few, many)


# ---- bad input


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("missing.txt", None, "no such file or folder"),
        ("empty.txt", b"", "is empty"),
        ("blank.jsonl", b"\n \n", "is empty"),
        ("latin.txt", b"fine\ncaf\xe9\n", "line 2: not UTF-8"),
        ("list.jsonl", b'{"text": "a"}\n[1]\n', "line 2: not a JSON object but list"),
        ("broken.jsonl", b'{"text": "a"}\n{"text"\n', r"line 2: not a JSON object \("),
        ("other.jsonl", b'{"body": "a"}\n', "line 1: no document; write it as"),
        ("number.jsonl", b'{"text": 3}\n', "line 1: no document"),
        ("table.csv", b"text\na\n", "is no .txt or .jsonl file"),
    ],
)
def test_bad_files_are_one_sentence_with_the_place(name, content, says, tmp_path, tokenizer):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=says) as caught:
        check_documents(str(path))
    assert "\n" not in str(caught.value)
    with pytest.raises(UserError):
        load_documents(str(path), tokenizer, 1, cache=tmp_path / "cache")


def test_no_source_and_a_folder_without_documents_are_refused(tmp_path):
    for source, says in ((" ", r"corpus\.documents is empty"), (str(tmp_path), "holds no documents")):
        with pytest.raises(UserError, match=says):
            check_documents(source)


def test_a_cache_that_cannot_be_written_is_one_sentence(source, tokenizer, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot keep the tokens of .* XDG_CACHE_HOME"):
        load_documents(str(source), tokenizer, 1, cache=tmp_path / "file" / "below")


# ---- the hub


@pytest.fixture
def hub(monkeypatch) -> dict[str, Any]:
    """Whether the hub answers, what `load_dataset` gives, and its last call."""
    import datasets

    from trainables.corpora import hub

    state: dict[str, Any] = {"answers": True, "rows": [{"text": text} for text in TEXTS]}

    def load(source: str, **options: Any) -> Any:
        state["call"] = (source, options)
        if isinstance(state["rows"], Exception):
            raise state["rows"]
        return iter(state["rows"])

    monkeypatch.setattr(hub, "reachable", lambda: state["answers"])
    monkeypatch.setattr(datasets, "load_dataset", load)
    monkeypatch.setattr(datasets, "load_dataset_builder", load)
    return state


def test_the_hub_is_streamed(hub, tokenizer, tmp_path):
    check_documents("someone/documents")
    loaded = load_documents("someone/documents", tokenizer, 1, limit=3, cache=tmp_path)
    assert as_lists(loaded) == tokens_of(tokenizer, TEXTS[:3])
    assert hub["call"] == ("someone/documents", {"split": "train", "streaming": True, "revision": None})
    hub["rows"] = ConnectionError("gone")  # once tokenized, the hub is not asked
    assert len(load_documents("someone/documents", tokenizer, 1, limit=3, cache=tmp_path)) == 3


@pytest.mark.parametrize(
    ("answers", "rows", "says"),
    [
        (False, ConnectionError("no network"), "the hub cannot be reached; give a folder or a file"),
        (True, ValueError("no such thing\nat all"), "cannot be loaded: no such thing at all$"),
        (True, [{"body": "a"}], "row 1: no column 'text'"),
    ],
)
def test_what_the_hub_cannot_give_is_one_sentence(answers, rows, says, hub, tokenizer, tmp_path):
    hub |= {"answers": answers, "rows": rows}
    with pytest.raises(UserError, match=says):
        load_documents("someone/documents", tokenizer, 1, cache=tmp_path)
    if isinstance(rows, Exception):
        with pytest.raises(UserError, match=says):
            check_documents("someone/documents")
