"""Qiu, Ding and Chen 2022, "Contrastive Learning of Sentence Representations" (CLSR): Tables 1 to 4.

The base recipe is section 4.1, with BERT-base. All figures are Spearman correlations x 100 as printed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from search_spaces.space import Claim, Column, Domain, Row, Space, Table
from trainables.recipe import SCENES, SCENES_ENCODER, Recipe

BASELINE = "BERT-base"

# Hub ids of the bases; None is the base recipe's own encoder.
_BASES: dict[str, str | None] = {
    "BERT-base": None,
    "BERT-large": "bert-large-uncased",
    "SBERT-base": "sentence-transformers/bert-base-nli-mean-tokens",
    "SBERT-large": "sentence-transformers/bert-large-nli-mean-tokens",
}

# Table 1: the base itself, CLSR trained on STS-B, CLSR trained on NLI.
_DATA: dict[str, tuple[float, float, float]] = {
    "BERT-base": (59.32, 64.94, 76.74),
    "BERT-large": (57.77, 63.84, 78.75),
    "SBERT-base": (77.12, 80.15, 81.93),
    "SBERT-large": (79.19, 80.19, 83.76),
}
# Table 2: batch size, on BERT-base.
_BATCH_SIZES = {64: 64.93, 128: 67.38, 256: 69.78, 512: 76.74, 1024: 78.55}
# Table 4: pooling of BERT-base.
_POOLING = {"CLS": 61.34, "mean": 76.74}
# Table 3: STS12 ... STS16, STS-B, Avg.
STS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "Avg.")
_MODELS: dict[str, tuple[float, ...]] = {
    "BERT-base": (45.61, 56.57, 57.15, 62.94, 64.74, 64.48, 58.58),
    "CLSR-BERT-base": (59.83, 66.16, 63.80, 70.11, 69.71, 70.03, 66.61),
    "BERT-large": (46.98, 52.88, 49.56, 56.63, 61.64, 65.37, 57.51),
    "CLSR-BERT-large": (60.02, 63.19, 62.74, 68.81, 71.78, 73.53, 66.68),
    "SBERT-base": (66.35, 73.76, 73.88, 77.33, 73.62, 73.63, 73.10),
    "CLSR-SBERT-base": (66.38, 74.96, 73.81, 77.93, 75.22, 70.35, 73.11),
    "SBERT-large": (68.79, 75.71, 75.12, 80.29, 75.91, 75.35, 75.20),
    "CLSR-SBERT-large": (69.49, 76.74, 74.64, 78.90, 77.84, 76.84, 75.74),
}

_DEV = "STS-B dev"
_UNTRAINED = {"optimisation.epochs": 0, "encoder.adapter": "none", "head.kind": "none"}
_ON_STSB = {"corpus.layout": "similar_pairs"}


def _row(label: str, base: str, overrides: dict[str, Any], published: dict[str, dict[str, float]]) -> Row:
    hub_id = _BASES[base]
    if hub_id is None:
        return Row(label, overrides, published)
    model = {"encoder.kind": "transformer", "encoder.name": hub_id}
    return Row(label, {**overrides, **model}, published, needs="checkpoint")


def _data_rows() -> tuple[Row, ...]:
    """The bases, and CLSR on each with either training set: Tables 1 and 3."""
    rows = []
    for base, (alone, stsb, nli) in _DATA.items():
        both: tuple[tuple[str, dict[str, Any], float], ...] = (
            (base, _UNTRAINED, alone),
            (f"CLSR-STSB-{base}", _ON_STSB, stsb),
            (f"CLSR-{base}", {}, nli),
        )
        for label, overrides, figure in both:
            printed = {"3": dict(zip(STS, _MODELS[label], strict=True))} if label in _MODELS else {}
            rows.append(_row(label, base, overrides, {"1": {_DEV: figure}, **printed}))
    return tuple(rows)


_DATA_ROWS = _data_rows()
_BASE_ROW = _DATA_ROWS[0]
_MAIN_ROWS = tuple(row for row in _DATA_ROWS if row.label in _MODELS)
_BATCH_LABELS = {str(size): f"CLSR-BERT-base, batch {size}" for size in _BATCH_SIZES}
_BATCH_ROWS = tuple(
    Row(_BATCH_LABELS[str(size)], {"optimisation.batch_size": size}, {"2": {_DEV: figure}})
    for size, figure in _BATCH_SIZES.items()
)
_POOLING_LABELS = {name: f"CLSR-BERT-base, {name}" for name in _POOLING}
_POOLING_ROWS = tuple(
    Row(_POOLING_LABELS[name], {"pooling.mode": name.lower()}, {"4": {_DEV: figure}})
    for name, figure in _POOLING.items()
)

_DEV_COLUMNS = (Column(_DEV, ("STSBenchmark", "dev_spearman_cosine")),)
_STS_COLUMNS = (
    *(Column(name, (name, "spearman_all")) for name in STS[:5]),
    Column("STS-B", ("STSBenchmark", "test_spearman_cosine")),
    Column("Avg.", mean_of=STS[:-1]),
)
_LEAK = (
    "The 1,406 STS-B pairs that CLSR-STSB trains on are those above 4 of all 8,628, so pairs of the development and "
    "the test set are among them: its scores on STS-B are not of unseen pairs."
)
_STSB_OR_NLI = (
    'The paper calls the models of Table 2 "trained on STS-B"; its figure at batch 512 is the one that Table 1 prints '
    "for NLI (76.74; for STS-B 64.94), and section 4.2 promises NLI for all that follows, so NLI it is here."
)
_ALSO_NLI = "Table 4 names no training data; its mean is again the figure that Table 1 prints for NLI (76.74)."


def _dev_table(
    number: str, title: str, rows: dict[str, str], curve: str | None = None, footnotes: tuple[str, ...] = ()
) -> Table:
    return Table(
        number=number,
        title=title,
        columns=_DEV_COLUMNS,
        rows=tuple(rows.items()),
        topic=_DEV,
        protocol="full",
        aggregation="Spearman correlation x 100 by cosine on the development set of STS-B",
        curve=curve,
        footnotes=footnotes,
        baseline_table=None if number == "1" else "1",
    )


_PRINTED_1 = {
    row.label: row.label if row.label in _BASES or "STSB" in row.label else row.label.replace("CLSR-", "CLSR-NLI-", 1)
    for row in _DATA_ROWS
}
_TABLE_1 = _dev_table(
    "1", "Bases and training data, on STS-B dev", {name: label for label, name in _PRINTED_1.items()}, None, (_LEAK,)
)
_TABLE_2 = _dev_table("2", "Batch size, on STS-B dev", _BATCH_LABELS, "optimisation.batch_size", (_STSB_OR_NLI,))
_TABLE_4 = _dev_table("4", "Pooling of the base, on STS-B dev", _POOLING_LABELS, footnotes=(_ALSO_NLI,))
_TABLE_3 = Table(
    number="3",
    title="STS tasks, each base with and without CLSR",
    columns=_STS_COLUMNS,
    rows=tuple((label, label) for label in _MODELS),
    topic="STS",
    protocol="full",
    aggregation="Spearman correlation x 100 by cosine, over all pairs of a year; STS-B's test set",
)


def _data_claims() -> Iterable[Claim]:
    for base in _BASES:
        yield Claim(
            f"Compared with the base models, CLSR achieves significant improvements (here {base}).",
            *("1", _DEV),
            better=(f"CLSR-{base}", f"CLSR-STSB-{base}"),
            worse=(base,),
        )
        yield Claim(
            f"Models trained on NLI perform much better than those trained on STS-B (here {base}).",
            *("1", _DEV),
            better=(f"CLSR-{base}",),
            worse=(f"CLSR-STSB-{base}",),
        )


def _main_claims() -> Iterable[Claim]:
    for base in ("BERT-base", "BERT-large"):
        for column in STS[:-1]:
            yield Claim(
                f"Compared with pre-trained BERT, CLSR improves all STS tasks (here {base} on {column}).",
                *("3", column),
                better=(f"CLSR-{base}",),
                worse=(base,),
            )
    for base in ("SBERT-base", "SBERT-large"):
        yield Claim(
            f"Compared with SBERT, CLSR also shows solid improvement (here the average of {base}).",
            *("3", "Avg."),
            better=(f"CLSR-{base}",),
            worse=(base,),
        )


_BATCH_CLAIMS = (
    Claim(
        "Larger batch size brings better performance.",
        *("2", _DEV),
        chain=tuple(_BATCH_LABELS[str(size)] for size in sorted(_BATCH_SIZES, reverse=True)),
    ),
)
_POOLING_CLAIMS = (
    Claim(
        "The mean of all word embeddings is as much as 15 points above the CLS embedding.",
        *("4", _DEV),
        better=(_POOLING_LABELS["mean"],),
        worse=(_POOLING_LABELS["CLS"],),
        stated=15,
    ),
)

_TAU = Domain("objective.temperature", low=0.01, high=1.0, log=True, grid=(0.05, 0.1, 0.2, 0.5))
_RATE = Domain("optimisation.learning_rate", low=0.01, high=1.0, log=True, grid=(0.05, 0.1, 0.5))
_BATCH = Domain("optimisation.batch_size", choices=(64, 128, 256, 512, 1024))
_POOL = Domain("pooling.mode", choices=("mean", "mean_without_cls", "cls", "max", "first_last_mean"))
_HEAD = Domain("head.kind", choices=("none", "linear", "mlp"))

_BASE = Recipe().override(
    {
        "encoder.name": "bert-base-uncased",
        "encoder.adapter": "mlp",
        "pooling.mode": "mean",
        "head.kind": "linear",
        "corpus.nli": "stanfordnlp/snli,nyu-mll/multi_nli",
        "corpus.layout": "pairs",
        "objective.name": "ntxent",
        "objective.temperature": 0.1,
        "optimisation.optimiser": "sgd",
        "optimisation.learning_rate": 0.5,
        "optimisation.weight_decay": 1e-4,
        "optimisation.schedule": "cosine",
        "optimisation.warmup": 10 / 2000,
        "optimisation.epochs": 2000,
        "optimisation.batch_size": 512,
        "evaluation.tasks": ("sts", "STSBenchmark"),
    }
)
_LAPTOP = {
    "encoder.name": SCENES_ENCODER,
    "corpus.nli": SCENES,
    "evaluation.senteval": SCENES,
    "evaluation.protocol": "fast",
    "optimisation.batch_size": 128,
    "optimisation.learning_rate": 0.05,
    "optimisation.epochs": 30,
    "optimisation.warmup": 0.05,
}
_ODDITIES_3 = (
    "The paper does not say how the sub-corpora of a year are put together. Its SBERT-base has 66.35 on STS12 and "
    "73.76 on STS13, where the SupMPN paper prints 70.97 and 76.53 for all pairs of a year, so Table 3 may hold "
    "means over sub-corpora; ours are over all pairs.",
    "SBERT-base is 73.63 on STS-B in Table 3, where the SupMPN paper prints 77.03 by cosine; Table 1 has 77.12 for "
    "it, on what its caption calls the development set. A trained regressor, or exchanged sets, would explain it; "
    "the text says cosine, which is what is measured here.",
    "The average that SBERT-base gains is 0.01 (73.11 and 73.10): two of its six tasks fall, STS-B by 3.28.",
    "The printed average of BERT-large, 57.51, is not the mean of its six figures, 55.51.",
)
_ODDITY_1 = (
    "The text names 15 points of NLI over STS-B on BERT-base; Table 1 has 76.74 - 64.94 = 11.80 there, and 14.91 "
    "on BERT-large."
)
_OPTIMISER = (
    "The optimiser is not named. Here it is SGD with momentum 0.9, as a learning rate of 0.5 asks for; the decay "
    "rate of 0.0001 is read as weight decay."
)
_MAIN = Space(
    name="clsr_main",
    title="CLSR: bases with and without it on the STS tasks (Table 3)",
    paper='Qiu, Ding and Chen 2022, "Contrastive Learning of Sentence Representations"',
    base=_BASE,
    laptop=_LAPTOP,
    rows=_MAIN_ROWS,
    domains=(_TAU, _RATE, _BATCH, _POOL, _HEAD),
    tables=(_TABLE_3,),
    claims=tuple(_main_claims()),
    baseline=BASELINE,
    oddities=(*_ODDITIES_3, _OPTIMISER, _LEAK),
    training_pairs=314_315,
)


def _part(
    name: str,
    title: str,
    rows: tuple[Row, ...],
    table: Table,
    claims: Iterable[Claim],
    domains: tuple[Domain, ...],
    oddities: tuple[str, ...] = (),
) -> Space:
    return dataclasses.replace(
        _MAIN,
        name=name,
        title=title,
        rows=rows,
        tables=(table,),
        claims=tuple(claims),
        domains=domains,
        oddities=(*oddities, _OPTIMISER),
    )


SPACES = (
    _part(
        "clsr_data",
        "CLSR: base and training data (Table 1)",
        _DATA_ROWS,
        _TABLE_1,
        _data_claims(),
        (_TAU, _RATE),
        (_ODDITY_1,),
    ),
    _part(
        "clsr_batch_size",
        "CLSR: batch size (Table 2)",
        (_BASE_ROW, *_BATCH_ROWS),
        _TABLE_2,
        _BATCH_CLAIMS,
        (_BATCH, _RATE),
    ),
    _part("clsr_pooling", "CLSR: pooling (Table 4)", (_BASE_ROW, *_POOLING_ROWS), _TABLE_4, _POOLING_CLAIMS, (_POOL,)),
    _MAIN,
)
