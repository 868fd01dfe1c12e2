"""Tables S1 and S5, pretrained transformers as sentence encoders: their development scores."""

from __future__ import annotations

import dataclasses

from search_spaces.giorgi2020.main import MAIN
from search_spaces.giorgi2020.shared import (
    AVERAGES,
    COMMON_ODDITIES,
    DEV_AGGREGATION,
    DEV_COLUMNS,
    FIGURES,
    HUB,
    POOL,
    SMALL,
    UNTRAINED,
    row_of,
)
from search_spaces.paper import Claim, Row, Table
from search_spaces.published import by_label, same
from search_spaces.shared import NO_TRAINING, WORD_VECTORS, finished, plain

# Table S5: before and after fine-tuning by Sentence Transformers.
_FINE_TUNED = ("BERT-base", "BERT-large", "RoBERTa-base", "RoBERTa-large")
_BEFORE = {f"{model}, before": f"{model}-mean" for model in _FINE_TUNED}
_AFTER = {f"{model}, after": f"{model.lower()}-nli-mean-tokens" for model in _FINE_TUNED}
_PUBLISHED = by_label(FIGURES, {"S1": same(FIGURES["S1"]), "S5": _BEFORE | _AFTER})


def _pretrained(label: str) -> Row:
    """Return the row of an untrained transformer, such as BERT-base-CLS."""
    model, _, mode = label.rpartition("-")
    return row_of(label, plain(HUB[model], mode.lower()), _PUBLISHED[label], model)


_BAGS_OF_WORDS = ("GloVe", "fastText")
_ROWS = (
    # Table S1, then further rows of Table S5, then ours: the base encoder, before and after training.
    *(
        row_of(label, WORD_VECTORS, _PUBLISHED[label]) if label in _BAGS_OF_WORDS else _pretrained(label)
        for label in FIGURES["S1"]
    ),
    *(_pretrained(label) for label in _BEFORE.values() if label not in FIGURES["S1"]),
    *(
        Row(label, finished(f"sentence-transformers/{label}"), _PUBLISHED[label], needs="checkpoint")
        for label in _AFTER.values()
    ),
    *(
        Row(f"{label}-{mode}", {**overrides, "pooling.mode": mode.lower()}, note="not in the paper")
        for label, overrides in ((UNTRAINED, NO_TRAINING), (SMALL, {}))
        for mode in ("CLS", "mean")
    ),
)

_PRETRAINED = ("BERT-base", "ALBERT-base-V2", "RoBERTa-base")
_ROBERTA = "RoBERTa-base-mean"
_POOLING_TABLES = (
    Table(
        number="S1",
        title="Pretrained transformers, pooled by their first token or by the mean",
        columns=DEV_COLUMNS,
        rows=(
            *((label, label) for label in FIGURES["S1"]),
            *((f"{label}-{mode}", f"{label}-{mode}") for label in (UNTRAINED, SMALL) for mode in ("CLS", "mean")),
        ),
        topic="SentEval (development)",
        aggregation=DEV_AGGREGATION,
        footnotes=(
            "The last four rows are not in the paper: its own encoder before and after DeCLUTR, so that the question "
            "can be asked where nothing can be downloaded.",
        ),
    ),
    Table(
        number="S5",
        title="Pretrained transformers before and after fine-tuning by Sentence Transformers",
        columns=DEV_COLUMNS,
        rows=tuple((_BEFORE | _AFTER).items()),
        topic="SentEval (development)",
        aggregation=DEV_AGGREGATION,
    ),
)
_POOLING_CLAIMS = (
    *(
        Claim(
            f"Mean pooling outperforms pooling via the CLS token (here {model}, {column}).",
            *("S1", column),
            better=(f"{model}-mean",),
            worse=(f"{model}-CLS",),
        )
        for model in _PRETRAINED
        for column in AVERAGES
    ),
    *(
        Claim(
            f"CLS embeddings of models with a sentence-level loss (NSP, SOP) do not outperform those of a model "
            f"without one ({column}).",
            *("S1", column),
            better=("RoBERTa-base-CLS",),
            worse=("BERT-base-CLS", "ALBERT-base-V2-CLS"),
            relation="not below",
            contradicted=why,
        )
        for column, why in (
            ("Downstream", ""),
            ("Probing", "BERT-base-CLS (69.57) and ALBERT-base-V2-CLS (69.88) lie above RoBERTa-base-CLS (66.35)"),
            ("Avg.", ""),
        )
    ),
    Claim(
        "CLS embeddings sometimes fail to outperform a bag-of-words baseline (here ALBERT against fastText).",
        *("S1", "Avg."),
        better=("fastText",),
        worse=("ALBERT-base-V2-CLS",),
        relation="not below",
    ),
    *(
        Claim(
            f"Sentence Transformers leads to good downstream performance (here {model}).",
            *("S5", "Downstream"),
            better=(f"{model.lower()}-nli-mean-tokens",),
            worse=(f"{model}-mean",),
        )
        for model in _FINE_TUNED
    ),
    *(
        Claim(
            f"... at the cost of probing performance, by at least 6% (here {model}).",
            *("S5", "Probing"),
            better=(f"{model}-mean",),
            worse=(f"{model.lower()}-nli-mean-tokens",),
            margin=6.0,
        )
        for model in _FINE_TUNED
    ),
)

POOLING = dataclasses.replace(
    MAIN,
    name="declutr_pooling",
    title="DeCLUTR: pretrained transformers, CLS or mean, before and after Sentence Transformers (Tables S1, S5)",
    rows=_ROWS,
    domains=(POOL,),
    tables=_POOLING_TABLES,
    claims=_POOLING_CLAIMS,
    baseline=_ROBERTA,
    oddities=(
        "BERT-large has 350M parameters before and 340M after fine-tuning in Table S5.",
        "The paper does not say whether its BERT models are cased; uncased ones are taken here.",
        "NSP and SOP losses: the text says that the CLS embeddings trained with them do not outperform "
        "RoBERTa's; on the probing tasks they do, by 3.2 and 3.5 points.",
        *COMMON_ODDITIES,
    ),
)
