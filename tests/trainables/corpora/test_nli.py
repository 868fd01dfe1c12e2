"""NLI pairs: grouping, counts, every source, every bad input; and shares of a corpus."""

import dataclasses
import gzip
import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import lend_scenes
from tests.json_lines import write_rows
from trainables.corpora import hub
from trainables.corpora.layouts import LAYOUTS, SamplerRequest, all_sentences, make_sampler
from trainables.corpora.nli import NLIPairs, check_nli, count_premises, drawn_share, load_nli
from trainables.errors import UserError
from trainables.labels import LABELS

TEXT = st.sampled_from([f"sentence {letter}" for letter in "abcdefg"])
ROWS = st.lists(st.tuples(TEXT, TEXT, st.integers(0, 2)), min_size=1, max_size=40)


def write_jsonl(path: Path, rows: list[tuple[object, object, object]]) -> str:
    return write_rows(path, (dict(zip(("premise", "hypothesis", "label"), row, strict=True)) for row in rows))


def named(rows: list[tuple[str, str, int]]) -> list[tuple[str, str, str]]:
    return [(premise, hypothesis, LABELS[label]) for premise, hypothesis, label in rows]


def as_rows(pairs: NLIPairs) -> list[tuple[str, str, int]]:
    return list(zip(pairs.premises, pairs.hypotheses, pairs.labels.tolist(), strict=True))


@given(rows=ROWS)
def test_grouping_keeps_rows_and_orders_premises_by_first_appearance(tmp_path_factory, rows):
    source = write_jsonl(tmp_path_factory.mktemp("nli") / "train.jsonl", named(rows))
    pairs = load_nli(source)
    assert Counter(as_rows(pairs)) == Counter(rows)
    order = list(dict.fromkeys(premise for premise, _, _ in rows))
    assert as_rows(pairs) == [row for premise in order for row in rows if row[0] == premise]
    alone = [row for i, row in enumerate(rows) if row[0] not in {p for p, _, _ in rows[:i]}]
    runs = [i for i, row in enumerate(rows) if i == 0 or rows[i - 1][0] != row[0]]
    assert (pairs.moved == 0) == (len(runs) == len(alone))
    assert pairs.moved <= len(rows) - len(order)
    assert pairs.labels.dtype == np.int8


@given(parts=st.lists(ROWS, min_size=1, max_size=2))
def test_premises_are_counted_as_table_1_counts_them(tmp_path_factory, parts):
    folder = tmp_path_factory.mktemp("nli")
    files = [write_jsonl(folder / f"{number}.jsonl", named(rows)) for number, rows in enumerate(parts)]
    pairs = load_nli(",".join(files))
    assert [pairs.files[code] for code in pairs.file] == [
        files[number] for premise in dict.fromkeys(pairs.premises) for number, rows in enumerate(parts)
        for row in rows if row[0] == premise
    ]  # fmt: skip
    naive = {}
    for file, rows in zip(files, parts, strict=True):
        shapes = [
            tuple(min(5, sum(row[0] == premise and row[2] == label for row in rows)) for label in (0, 2))
            for premise in {row[0] for row in rows}
        ]
        naive[file] = sorted([*shape, count] for shape, count in Counter(shapes).items())
    assert count_premises(pairs) == naive


@pytest.mark.parametrize(
    ("raw", "code"),
    [("entailment", 0), ("NEUTRAL", 1), ("contradiction", 2), (0, 0), ("1", 1), (2.0, 2), ("1.0", 1)]
    + [(missing, None) for missing in ("-", -1, "-1", "", None, float("nan"))],
)
def test_labels(tmp_path, raw, code):
    pairs = load_nli(write_jsonl(tmp_path / "a.jsonl", [("p", "h", "neutral"), ("p", "k", raw)]))
    assert pairs.labels.tolist() == ([1] if code is None else [1, code])
    assert pairs.dropped == (code is None)


def test_limit_counts_labelled_pairs_and_changes_the_fingerprint(tmp_path):
    rows = [("p", "h1", 0), ("p", "h2", "-"), ("q", "h3", 1), ("p", "h4", 2)]
    source = write_jsonl(tmp_path / "a.jsonl", rows)
    assert as_rows(load_nli(source, limit=2)) == [("p", "h1", 0), ("q", "h3", 1)]
    whole = load_nli(source)
    assert (len(whole), whole.dropped, whole.moved) == (3, 1, 1)
    assert whole.fingerprint == load_nli(source).fingerprint != load_nli(source, limit=2).fingerprint


def test_the_original_files_a_folder_and_several_files(tmp_path):
    rows = [("a, b", "the \u00e9nd", 0), ("c", 'say "no"', 2), ("c", "no", 1)]
    train = write_jsonl(tmp_path / "train.jsonl", rows)
    original = [{"gold_label": LABELS[label], "sentence1": p, "sentence2": h, "x": []} for p, h, label in rows]
    sources = [train, write_rows(tmp_path / "original.jsonl", original), str(tmp_path)]
    assert len({load_nli(source).fingerprint for source in sources}) == 1
    assert len(load_nli(",".join(sources[:2]))) == 6


BAD_FILES: dict[str, tuple[str | bytes, str]] = {
    "json.jsonl": ('{"premise": "a", "hypothesis": "b", "label": 0}\n{"premise": \n', "line 2: not a JSON object"),
    "twice.jsonl": ('{"label": 0, "label": 1}\n', r"line 1: not a JSON object \(it says 'label' twice\)"),
    "column.jsonl": (
        '{"premise": "a", "label": 0}\n',
        r"line 1: no columns premise, hypothesis and label, and none of triplets \(found: premise, label\)",
    ),
    "later.jsonl": (
        '{"premise": "a", "hypothesis": "b", "label": 0}\n\n{"premise": "a", "hypothesis": "b"}\n',
        "line 3: column 'label' is missing",
    ),
    "label.jsonl": ('{"premise": "a", "hypothesis": "b", "label": "no"}\n', "line 1: unknown label 'no'; known: "),
    "number.jsonl": ('{"premise": "a", "hypothesis": "b", "label": 3}\n', "line 1: unknown label 3"),
    "truth.jsonl": ('{"premise": "a", "hypothesis": "b", "label": true}\n', "line 1: unknown label True"),
    "text.jsonl": ('{"premise": 7, "hypothesis": "b", "label": 0}\n', "line 1: premise is not text but 7"),
    "blank.jsonl": ('{"premise": "a", "hypothesis": " ", "label": 0}\n', "line 1: hypothesis is empty"),
    "anchor.jsonl": ('{"anchor": "a", "positive": "b"}\n{"positive": "b"}\n', "line 2: column 'anchor' is missing"),
    "marks.jsonl": ("\ufeff\ufeff{}\n", r"line 1: not a JSON object \(Unexpected UTF-8 BOM"),
    "null.jsonl": ('{"premise": null, "hypothesis": "b", "label": 0}\n', "line 1: premise is empty"),
    "several.jsonl": (
        '{"anchor": ["a", "b"], "positive": "c"}\n',
        "line 1: anchor holds several texts, and it needs one",
    ),
    "bytes.jsonl": (b'{"premise": "\xff"}\n', "line 1: not UTF-8"),
    "header.csv": ("one,two\na,b\n", "line 2: no columns premise"),
    "broken.parquet": ("PAR1 nonsense", "not a readable Parquet file"),
    "empty.jsonl": ("", "is empty"),
    "unlabelled.jsonl": ('{"premise": "a", "hypothesis": "b", "label": "-"}\n', "only rows without a gold label .1."),
    "header-only.csv": ("premise,hypothesis,label\n", "it holds no rows"),
    "array.json": ('[{"premise": "a"}, {}]', "array.json, row 1: no columns premise, hypothesis and label, "),
    "number.json": ('[{"premise": "a", "hypothesis": "b", "label": 0}, 3]', "row 2: not a JSON object but int"),
    "cut.json": ('[{"premise": "a"', "cut.json: not a JSON array"),
    "cut.jsonl.gz": (gzip.compress(b"no record" * 99)[:-9], "cut.jsonl.gz: not a readable gzip file"),
    "no.csv.gz": ("premise", "no.csv.gz, after line 0: not a readable gzip file"),
    "short.tsv": ("premise\thypothesis\tlabel\na\tb\n", "line 2: 2 columns where the header has 3"),
    "semi.csv": ("premise;hypothesis;label\na;b;0\na;b\n", "line 3: 2 columns where the header has 3"),
    "positive.jsonl": ('{"anchor": "a", "negative": "b"}', "line 1: no columns premise"),
    "nothing.jsonl": ('{"query": "a", "pos": [], "neg": ["b"]}', "line 1: no positive in pos"),
    "inner.jsonl": ('{"query": "a", "pos": ["b", 3]}', "line 1: pos is not text but 3"),
    "second.jsonl": ('{"anchor": "a", "positive": "b"}\n{"anchor": "a"}', "line 2: no positive in positive"),
    "twice.csv": ("premise,hypothesis,label,label\na,b,0,1\n", "line 1: two columns are named 'label'; rename one"),
    "twice.tsv": ("\npremise\tpremise \thypothesis\tlabel\na\tb\tc\t0\n", "line 2: two columns are named 'premise'"),
    "twice.json": ('[{"premise": "a", "premise": "b"}]', "it says 'premise' twice"),
    "mixed.csv": ("premise,hypothesis,label\na,b\rc,0\n", "line 2: not CSV .a carriage return within a line"),
    "mine.xlsx": ("x", "is no .jsonl, .json, .csv, .tsv, .txt, .parquet, .jsonl.gz, .json.gz, .csv.gz, .tsv.gz or "),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_broken_file_is_refused_with_file_and_line(tmp_path, name):
    content, sentence = BAD_FILES[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError, match=sentence) as caught:
        load_nli(str(tmp_path / name))
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("source", ["./nothing", "/no/where", "nothing.jsonl", "a/b/c", "x.jsonl,y.jsonl", "~/no-such"])
@pytest.mark.parametrize("ask", [load_nli, check_nli])
def test_a_path_that_is_not_there_is_never_asked_of_the_hub(monkeypatch, source, ask):
    monkeypatch.setattr(hub, "reachable", lambda: pytest.fail("asked the hub"))
    with pytest.raises(UserError, match="no such file or folder"):
        ask(source)


def test_empty_source():
    with pytest.raises(UserError, match="source is empty"):
        load_nli(" ")


def test_hub_labels_go_by_their_names(monkeypatch):
    import datasets

    features = datasets.Features(
        premise=datasets.Value("string"),
        hypothesis=datasets.Value("string"),
        label=datasets.ClassLabel(names=["contradiction", "entailment", "neutral"]),
    )
    data = datasets.Dataset.from_dict(
        {"premise": ["a", "a", "b"], "hypothesis": ["x", "y", "z"], "label": [0, 1, -1]}, features=features
    )
    monkeypatch.setattr(hub, "reachable", lambda: True)
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: data)
    pairs = load_nli("owner/name")
    assert (as_rows(pairs), pairs.dropped) == ([("a", "x", 2), ("a", "y", 0)], 1)
    both = load_nli("owner/name,owner/other")  # SNLI and MultiNLI are two data sets
    assert (both.files, len(both), both.file.tolist()) == (("owner/name", "owner/other"), 4, [0, 0, 1, 1])


@pytest.mark.slow
def test_without_network_one_sentence_soon_and_nothing_else(tmp_path):
    """A port that nobody listens on stands for the hub, so that the test says the same with a network."""
    program = (
        "from trainables.corpora.nli import load_nli\nfrom trainables.errors import answer_user_errors\n"
        "raise SystemExit(answer_user_errors(lambda: load_nli('stanfordnlp/snli')))"
    )
    environment = os.environ | {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "error: the data set 'stanfordnlp/snli' is neither a local path nor in the hub's cache"
    )
    assert done.stderr.count("\n") == 1


def test_the_built_in_corpus(monkeypatch, tmp_path):
    lend_scenes(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    pairs = load_nli("scenes", limit=500)
    assert (len(pairs), pairs.dropped, pairs.moved) == (500, 0, 0)
    table = count_premises(pairs)["scenes"]
    assert {entailments for entailments, _, _ in table} >= {0, 1, 2}


SHARED = Path("../shared/data/nli")


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data/nli")
def test_real_snli():
    pairs = load_nli(str(SHARED / "snli_dev.jsonl"))
    assert (len(pairs), pairs.dropped, pairs.moved) == (9842, 0, 0)
    table = {(e, c): count for e, c, count in count_premises(pairs)[str(SHARED / "snli_dev.jsonl")]}
    assert sum(table.values()) == len(set(pairs.premises))
    assert max(table, key=table.__getitem__) == (1, 1)  # every premise was given one hypothesis of each label


# ---- a share of a corpus: whole texts, the smaller within the larger, the same for every seed

SHARES = (0.125, 0.25, 0.5, 0.9)
CUT = [name for name, layout in LAYOUTS.items() if "share" in layout.__dataclass_fields__ and not layout.draws_tokens]


@given(st.lists(st.sampled_from("abcdefgh"), min_size=8, max_size=60))
def test_texts_are_whole_and_shares_are_nested(texts: list[str]) -> None:
    kept = [drawn_share(texts, share, "here") for share in SHARES]
    for share, rows in zip(SHARES, kept, strict=True):
        inside = {text for text, stays in zip(texts, rows, strict=True) if stays}
        assert rows.tolist() == [text in inside for text in texts]
        most = max(map(texts.count, texts))
        assert round(share * len(texts)) <= rows.sum() < round(share * len(texts)) + most
    for smaller, larger in pairwise(kept):
        assert (larger | ~smaller).all()


def test_a_share_without_a_row_is_refused() -> None:
    with pytest.raises(UserError, match=r"^here: corpus\.share 0\.01 of 3 rows is none; give a larger share$"):
        drawn_share(["a", "b", "c"], 0.01, "here")


def table(name: str, file: Path) -> Path:
    """A file of 120 rows, each first text in three of them; of labelled texts each once."""
    rows = [(f"first {n // 3}", f"second {n}", n) for n in range(120)]
    if name == "same_label":
        lines = ["sentence,label", *(f"{second},{n % 4}" for _, second, n in rows)]
    elif name == "texts":  # too short to be cut: a text is both its views
        lines = ["text", *(second for _, second, _ in rows)]
    elif name == "scored_pairs":
        lines = ["sentence1,sentence2,score", *(f"{first},{second},{n / 120}" for first, second, n in rows)]
    else:
        labels = ("entailment", "neutral", "contradiction")
        lines = ["premise,hypothesis,label", *(f"{first},{second},{labels[n % 3]}" for first, second, n in rows)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.mark.parametrize("name", CUT)
def test_every_layout_of_rows_trains_on_a_part(name: str, tmp_path: Path) -> None:
    file = str(table(name, tmp_path / "mine.csv"))
    read: dict[float, set[str]] = {}
    fingerprints = set()
    for share in (0.25, 0.5, 1.0):
        layout: Any = LAYOUTS[name](nli=str(file), share=share)
        for seed in (1, 2):
            request = SamplerRequest(4, seed, None, None, max_length=16)
            layout.check(request)
            sampler, description = make_sampler(layout, request)
            batches = [sampler.batch(step) for step in range(sampler.steps_per_epoch)]
            sentences = {sentence for batch in batches for sentence in batch.sentences}
            whole_part = {*all_sentences(layout, request)}
            assert sentences <= whole_part
            (whole,) = description.get("parts", [description])  # of a mixture, its one corpus
            assert whole.get("pairs", whole.get("texts")) == round(share * 120)
            with pytest.raises(UserError, match=r"optimisation\.batch_size=\d+ is more than"):
                layout.check(dataclasses.replace(request, batch_size=len(whole_part) + 1))
        read[share] = whole_part
        fingerprints.add(description["fingerprint"])
    assert read[0.25] < read[0.5] < read[1.0]
    assert len(fingerprints) == 3


def test_it_is_drawn_alike_everywhere() -> None:
    """Part of what a recipe's hash stands for."""
    kept = drawn_share([f"text {number}" for number in range(20)], 0.25, "here")
    assert np.flatnonzero(kept).tolist() == [1, 6, 8, 14, 19]
