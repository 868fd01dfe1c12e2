"""A person's own data: every form and every kind of columns that the ecosystem writes, and names that decide labels."""

from __future__ import annotations

import io
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import trainables.lines
from tests.whole_files import Records, delimited, in_lines, table
from trainables.corpora.columns import find_columns, role_columns
from trainables.corpora.layouts import LAYOUTS, Layout, SamplerRequest, make_sampler
from trainables.corpora.layouts.scored_pairs import ScoredPairLayout, between_0_and_1
from trainables.corpora.nli import NLIPairs, check_nli, load_nli
from trainables.errors import UserError
from trainables.labels import LABELS
from trainables.lines import bounded_lines
from trainables.recipe import Recipe

pytestmark = pytest.mark.usefixtures("own_cache")

ROWS = [
    {"premise": "a man, a dog", "hypothesis": 'he says "no"', "label": "entailment"},
    {"premise": "n/a", "hypothesis": "None", "label": "neutral"},
    {"premise": "the \u00e9nd; of it", "hypothesis": "2020-01-01", "label": "contradiction"},
]
"""Texts that a reader which guesses types would change."""


def as_rows(pairs: NLIPairs) -> list[tuple[str, str, str]]:
    return [
        (premise, hypothesis, LABELS[label])
        for premise, hypothesis, label in zip(pairs.premises, pairs.hypotheses, pairs.labels.tolist(), strict=True)
    ]


def dataset(records: Records, names: list[str] | None = None) -> Any:
    import datasets

    data = datasets.Dataset.from_list(records)
    return data.cast_column("label", datasets.ClassLabel(names=names)) if names else data


def save_dict(folder: Path, records: Records) -> None:
    import datasets

    datasets.DatasetDict(train=dataset(records)).save_to_disk(str(folder))


FORMS: dict[str, Callable[[Path, Records], object]] = {
    **{
        f"a{suffix}": lambda file, records, suffix=suffix: file.write_bytes(table(suffix, records))
        for suffix in (".jsonl", ".json", ".jsonl.gz", ".json.gz", ".csv", ".csv.gz", ".tsv")
    },
    "lines.json": lambda file, records: file.write_bytes(in_lines(records)),
    "semicolons.csv": lambda file, records: file.write_bytes(delimited(records, ";")),
    "tabs.csv": lambda file, records: file.write_bytes(delimited(records, "\t")),
    "a.parquet": lambda file, records: dataset(records).to_parquet(str(file)),
    "folder": lambda folder, records: dataset(records).save_to_disk(str(folder)),
    "folder_of_splits": save_dict,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_reads_alike(tmp_path: Path, form: str):
    FORMS[form](tmp_path / form, ROWS)
    pairs = load_nli(str(tmp_path / form))
    assert as_rows(pairs) == [tuple(row.values()) for row in ROWS]
    assert (pairs.dropped, pairs.labels_read, pairs.triplets) == (0, None, False)


@pytest.mark.parametrize("form", [form for form in FORMS if form.endswith(("csv", "tsv", "jsonl"))])
@pytest.mark.parametrize("change", [("\n", "\r"), ("\n", "\r\n"), ("", "\n"), ("", "\r\n  \n")])
def test_line_ends_of_every_system_and_blank_lines_before_the_first(tmp_path: Path, form: str, change: tuple[str, str]):
    FORMS[form](tmp_path / form, ROWS)
    whole = (tmp_path / form).read_text()
    changed = change[1] + whole if not change[0] else whole.replace(*change)
    (tmp_path / form).write_bytes(changed.encode())
    assert as_rows(load_nli(str(tmp_path / form))) == [tuple(row.values()) for row in ROWS]


def test_a_folder_takes_other_forms_only_where_it_has_none_of_the_usual_ones(tmp_path: Path):
    FORMS["a.tsv"](tmp_path / "train.tsv", ROWS[:1])
    assert len(load_nli(str(tmp_path))) == 1
    FORMS["a.jsonl"](tmp_path / "train.jsonl", ROWS)
    assert len(load_nli(str(tmp_path))) == 3


class TestLabels:
    SWAPPED = ("contradiction", "neutral", "entailment")

    @pytest.mark.parametrize("form", ["a.parquet", "folder"])
    def test_names_in_the_metadata_decide_not_numbers(self, tmp_path: Path, form: str):
        data = dataset([row | {"label": self.SWAPPED.index(row["label"])} for row in ROWS], list(self.SWAPPED))
        place = tmp_path / form
        data.to_parquet(str(place)) if form == "a.parquet" else data.save_to_disk(str(place))
        pairs = load_nli(str(place))
        assert as_rows(pairs) == [tuple(row.values()) for row in ROWS]
        assert pairs.labels_read is None

    @pytest.mark.parametrize("form", ["a.parquet", "a.jsonl", "a.csv", "folder"])
    def test_numbers_without_names_are_said_to_be_read_as_ours(self, tmp_path: Path, form: str):
        FORMS[form](tmp_path / form, [row | {"label": LABELS.index(row["label"])} for row in ROWS])
        _, description = make_sampler(layout("rows", tmp_path / form), request())
        assert description["labels"] == "numbers read as 0 entailment, 1 neutral, 2 contradiction"
        remarks = layout("rows", tmp_path / form).remarks(request())
        assert remarks == [f"corpus.nli={str(tmp_path / form)!r}: {description['labels']}"]
        FORMS[form](tmp_path / f"named_{form}", ROWS)
        _, description = make_sampler(layout("rows", tmp_path / f"named_{form}"), request())
        assert "labels" not in description
        assert layout("rows", tmp_path / f"named_{form}").remarks(request()) == []

    def test_the_console_says_it_too(self, tmp_path: Path):
        from trainables.trial import remarks

        FORMS["a.csv"](tmp_path / "a.csv", [row | {"label": LABELS.index(row["label"])} for row in ROWS])
        recipe = Recipe().preferring({"corpus.nli": str(tmp_path / "a.csv")})
        sentences = remarks([recipe, recipe.override({"objective.temperature": 0.1})])
        assert sentences == [
            f"corpus.nli={recipe.flat()['corpus.nli']!r}: numbers read as 0 entailment, 1 neutral, 2 contradiction"
        ]

    def test_other_names_by_a_key(self, tmp_path: Path):
        named = dict(zip(LABELS, ("Yes", "maybe", 0), strict=True))
        FORMS["a.jsonl"](tmp_path / "a.jsonl", [row | {"label": named[row["label"]]} for row in ROWS])
        pairs = load_nli(str(tmp_path / "a.jsonl"), labels="entailment=yes, neutral=maybe, contradiction=0")
        assert as_rows(pairs) == [tuple(row.values()) for row in ROWS]
        assert pairs.labels_read is None  # the person has said what 0 means
        with pytest.raises(UserError, match=r"line 2: unknown label 'maybe'; known: 0 or yes, or - for none"):
            load_nli(str(tmp_path / "a.jsonl"), labels="entailment=yes,contradiction=0")

    @pytest.mark.parametrize("form", ["a.parquet", "a.jsonl", "a.csv", "a.tsv", "folder"])
    @pytest.mark.parametrize("numbers", [(0, 1), (0, 2)])
    def test_two_numbers_alone_must_be_named(self, tmp_path: Path, form: str, numbers: tuple[int, int]):
        rows = [row | {"label": number} for row, number in zip(ROWS, (*numbers, numbers[1]), strict=True)]
        FORMS[form](tmp_path / form, rows)
        for limit in (None, 1, 2):
            with pytest.raises(UserError, match=f"all labels are {numbers[0]} or {numbers[1]}, .*--labels entailment="):
                load_nli(str(tmp_path / form), limit)
        pairs = load_nli(str(tmp_path / form), labels=f"entailment={numbers[1]},contradiction={numbers[0]}")
        assert [label for _, _, label in as_rows(pairs)] == ["contradiction", "entailment", "entailment"]

    def test_a_limit_that_leaves_two_of_three_numbers_is_no_reason_to_name_them(self, tmp_path: Path):
        for name, labels in (("a.jsonl", (0, 1)), ("b.jsonl", (1, 2))):
            FORMS["a.jsonl"](tmp_path / name, [ROWS[0] | {"label": label} for label in labels])
        pairs = load_nli(f"{tmp_path / 'a.jsonl'},{tmp_path / 'b.jsonl'}", limit=2)
        assert (pairs.labels.tolist(), pairs.files) == ([0, 1], (str(tmp_path / "a.jsonl"),))

    @pytest.mark.parametrize("names", ["entailment", "entailment=", "yes=entailment", "", "entailment=yes,,"])
    def test_a_bad_key_is_refused_before_anything_is_read(self, names: str):
        with pytest.raises(UserError, match=r"corpus.labels='.*' is not NAME=VALUE, where NAME is entailment"):
            check_nli("someone/data", labels=names)


LACKING = [
    {"anchor": "a", "positive": "b"},
    *({"anchor": f"a {n}", "positive": "b", "negative": "c"} for n in range(9)),
]


class TestColumns:
    @pytest.mark.parametrize("form", ["a.jsonl", "a.json", "lines.json", "a.jsonl.gz", "a.json.gz"])
    def test_they_are_those_of_all_rows(self, tmp_path: Path, form: str):
        FORMS[form](tmp_path / form, LACKING)
        pairs = load_nli(str(tmp_path / form))
        assert pairs.labels.tolist().count(2) == 9
        source = tmp_path / form
        remarks = layout("groups", source).remarks(request())
        assert remarks[-1] == f"corpus.nli={str(source)!r}: 'negative' is missing in 1 of its rows"
        assert make_sampler(layout("groups", source), request())[1]["missing"] == {"negative": 1}
        FORMS[form](tmp_path / form, LACKING[1:])
        assert not any("missing" in remark for remark in layout("groups", source).remarks(request()))

    def test_two_of_one_name_in_parquet(self, tmp_path: Path):
        import pyarrow
        import pyarrow.parquet

        arrays = [pyarrow.array([text]) for text in ("a", "b", "neutral", "entailment")]
        table = pyarrow.Table.from_arrays(arrays, names=["premise", "hypothesis", "label", "label"])
        pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
        with pytest.raises(UserError, match=r"a.parquet: two columns are named 'label'; rename one"):
            load_nli(str(tmp_path / "a.parquet"))

    def test_other_names_by_a_key(self, tmp_path: Path):
        records = [dict(zip(("text_a", "text_b", "y"), row.values(), strict=True)) | {"id": 7} for row in ROWS]
        FORMS["a.csv"](tmp_path / "a.csv", records)
        with pytest.raises(UserError, match=r"no columns premise.*: text_a, text_b, y, id.*--columns premise=YOURS"):
            load_nli(str(tmp_path / "a.csv"))
        pairs = load_nli(str(tmp_path / "a.csv"), columns="premise=text_a, hypothesis=text_b, label=y")
        assert as_rows(pairs) == [tuple(row.values()) for row in ROWS]

    @pytest.mark.parametrize(
        ("names", "sentence"),
        [
            ("premise", "'premise' is not NAME=VALUE, where NAME is premise, hypothesis"),
            ("text=a", "'text=a' is not NAME=VALUE"),
            ("premise=a,hypothesis=b", "must name premise, hypothesis and label, each once"),
            ("premise=a,premise=b,hypothesis=c,label=d", "must name premise, hypothesis and label, each once"),
            ("anchor=a,negative=b", "must name premise, hypothesis and label, each once, or one anchor, its positive"),
            ("anchor=a,anchor=b,positive=c", "must name premise, hypothesis and label, each once, or one anchor"),
            ("anchor=a,positive=b,label=c", "must name premise, hypothesis and label, each once, or one anchor"),
        ],
    )
    def test_a_bad_key_is_refused_before_anything_is_read(self, names: str, sentence: str):
        with pytest.raises(UserError, match=sentence):
            check_nli("someone/data", columns=names)

    def test_a_column_that_is_not_there(self, tmp_path: Path):
        FORMS["a.csv"](tmp_path / "a.csv", ROWS)
        with pytest.raises(UserError, match=r"a.csv, line 2: column 'y', which corpus.columns names, is missing"):
            load_nli(str(tmp_path / "a.csv"), columns="premise=premise,hypothesis=hypothesis,label=y")


POSITIVES = {"a dog": ["a pet", "an animal"], "a man": ["a person"]}
NEGATIVES = {"a dog": ["a cat"], "a man": ["a tree", "a stone"]}
TRIPLETS: dict[str, Records] = {
    "triplets": [
        {"anchor": anchor, "positive": near, "negative": far}
        for anchor in POSITIVES
        for near in POSITIVES[anchor]
        for far in NEGATIVES[anchor]
    ],
    "lists": [{"query": anchor, "pos": POSITIVES[anchor], "neg": NEGATIVES[anchor]} for anchor in POSITIVES],
    "tuples": [
        {"anchor": "a dog", "positive": "a pet", "negative_1": "a cat", "negative_2": None},
        {"anchor": "a dog", "positive": "an animal", "negative_1": "a cat", "negative_2": ""},
        {"anchor": "a man", "positive": "a person", "negative_1": "a tree", "negative_2": "a stone"},
    ],
}


def layout(name: str, source: Path, columns: str | None = None) -> Layout:
    return LAYOUTS[name](**{"nli": str(source), "columns": columns})


def request(**more: Any) -> SamplerRequest:
    return SamplerRequest(2, **{"seed": 1, "positives": None, "negatives": None, "max_length": 128, **more})


class TestTriplets:
    @pytest.mark.parametrize(
        ("shape", "form"),
        [(shape, form) for shape in TRIPLETS for form in ("a.jsonl", "a.json", "a.parquet", "folder")]
        + [(shape, form) for shape in ("triplets", "tuples") for form in ("a.csv", "a.tsv")],  # these hold no lists
    )
    def test_an_anchors_positives_are_entailments_and_its_negatives_contradictions(
        self, tmp_path: Path, shape: str, form: str
    ):
        records = TRIPLETS[shape]
        if form in ("a.csv", "a.tsv"):
            records = [{name: value or "" for name, value in record.items()} for record in records]
        FORMS[form](tmp_path / form, records)
        pairs = load_nli(str(tmp_path / form))
        expected = {(anchor, text, "entailment") for anchor in POSITIVES for text in POSITIVES[anchor]}
        expected |= {(anchor, text, "contradiction") for anchor in NEGATIVES for text in NEGATIVES[anchor]}
        assert len(pairs) == len(expected) == len(set(as_rows(pairs)))
        assert set(as_rows(pairs)) == expected
        assert pairs.triplets

    def test_what_they_are_read_as_is_said(self, tmp_path: Path):
        FORMS["a.jsonl"](tmp_path / "a.jsonl", TRIPLETS["lists"])
        for name in ("groups", "pairs"):
            made = layout(name, tmp_path / "a.jsonl")
            made.check(request())
            assert make_sampler(made, request())[1]["labels"].startswith("anchors with positives read as entailment")
            (remark,) = made.remarks(request())
            assert ": each anchor is to be near its positives, and far from its negatives where it has any" in remark

    def test_an_anchor_may_be_a_list_of_one_or_a_passage(self, tmp_path: Path):
        anchors = [["a b"], {"title": "a", "text": "c"}, "\u200b"]
        FORMS["a.jsonl"](tmp_path / "a.jsonl", [{"anchor": anchor, "positive": "d"} for anchor in anchors])
        assert load_nli(str(tmp_path / "a.jsonl")).premises == ["a b", "a c", "\u200b"]

    def test_pairs_without_negatives(self, tmp_path: Path):
        records = [{"question": "q1", "answer": "a1"}, {"question": "q2", "answer": "a2"}]
        FORMS["a.csv"](tmp_path / "a.csv", records)
        pairs = layout("pairs", tmp_path / "a.csv", "anchor=question,positive=answer")
        assert make_sampler(pairs, request())[0].batch(0).label.tolist() == [0, 0]

    @pytest.mark.parametrize("ask", ["check", "make"])
    def test_a_layout_that_needs_three_labels_refuses_them(self, tmp_path: Path, ask: str):
        FORMS["a.jsonl"](tmp_path / "a.jsonl", TRIPLETS["triplets"])
        with pytest.raises(
            UserError, match=r"a.jsonl' holds triplets .* takes pairs of all three labels; set"
        ) as caught:
            getattr(layout("rows", tmp_path / "a.jsonl"), ask)(request())
        assert "\n" not in str(caught.value)


def test_a_broken_row_of_a_saved_folder(tmp_path: Path):
    FORMS["folder"](tmp_path / "mine", [*ROWS, {**ROWS[0], "label": "yes"}])
    with pytest.raises(UserError, match=r"mine, row 4: unknown label 'yes'"):
        load_nli(str(tmp_path / "mine"))
    (tmp_path / "mine" / "state.json").write_text("{")
    with pytest.raises(UserError, match=r"mine is no readable folder of datasets.save_to_disk"):
        load_nli(str(tmp_path / "mine"))


def test_saved_splits_without_train(tmp_path: Path):
    import datasets

    datasets.DatasetDict(dev=dataset(ROWS)).save_to_disk(str(tmp_path / "mine"))
    with pytest.raises(UserError, match=r"with the splits dev; name one, as in .*mine::dev"):
        load_nli(str(tmp_path / "mine"))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_cut_alike_however_long_the_file_is(end: str, monkeypatch: pytest.MonkeyPatch):
    """A file without line feeds comes as one long line, and is cut piece by piece."""
    monkeypatch.setattr(trainables.lines, "LONGEST_LINE", 8)
    texts = ["a", "", "bcd", "efghij", "k" * 6, "", *("lm" for _ in range(20))]

    def lines(texts: list[str], last: str = "") -> list[tuple[int, bytes]]:
        stream = io.BytesIO(end.join([*texts, last]).encode())
        return list(bounded_lines(stream, lambda number, problem: UserError(problem)))

    assert [(number, line.decode().rstrip(end)) for number, line in lines(texts)] == list(enumerate(texts, 1))
    assert lines(texts, "no end")[-1] == (len(texts) + 1, b"no end")
    with pytest.raises(UserError, match="longer than"):
        lines([*texts, "n" * 30, *texts])


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("premise hypothesis label gold_label", ("premise", "hypothesis", "label")),
        ("sentence1 sentence2 label gold_label", ("sentence1", "sentence2", "gold_label")),
        ("sentence1 sentence2 label", ("sentence1", "sentence2", "label")),
        ("premise sentence1 sentence2 label", ("sentence1", "sentence2", "label")),
        ("anchor positive positive_2 negative Negative", ("anchor", "positive", "negative")),
        ("text1 text2 class anchor positive", ("anchor", "positive")),
        ("question answer anchor positive", ("anchor", "positive")),
        ("Question answer neg_1", ("Question", "answer", "neg_1")),
        ("anchor positives negatives", ("anchor", "positives", "negatives")),
    ],
)
def test_names_known_later_give_way_to_those_known_before(columns: str, expected: tuple[str, ...]):
    assert (*chain.from_iterable(find_columns(columns.split(), "here", None).values()),) == expected


def test_so_do_those_of_scored_pairs():
    names = ["premise", "sentence1", "sentence2", "similarity", "label"]
    columns = role_columns(names, "here", None, ScoredPairLayout.roles)
    assert columns == {"sentence1": "sentence1", "sentence2": "sentence2", "score": "label"}


@pytest.mark.parametrize(
    ("scores", "scaled"),
    [([0.0, 5.0, 1.0], [0, 1, 0.2]), ([-0.5, 1.0], [-0.5, 1.0]), ([-1.7e308, 0.0, 1.7e308], [0, 0.5, 1])],
)
def test_scores_on_any_scale_lie_between_0_and_1(scores: list[float], scaled: list[float]):
    assert between_0_and_1(scores) == pytest.approx(scaled)
