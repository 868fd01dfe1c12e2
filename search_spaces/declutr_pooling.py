"""Giorgi et al. 2020, "DeCLUTR": Tables S1 and S5, pretrained transformers as sentence encoders.

Both tables are of development scores, percentages as printed.
"""

from __future__ import annotations

from search_spaces.declutr import (
    AS_IT_IS,
    AVERAGES,
    COMMON_ODDITIES,
    DEV_AGGREGATION,
    DEV_COLUMNS,
    HUB,
    LAPTOP,
    NOTES,
    PAPER,
    POOL,
    RECIPE,
    SMALL,
    UNTRAINED,
    WORDS,
    figures,
    finished,
    needed,
    plain,
    sized,
)
from search_spaces.space import Claim, Row, Space, Table

# Table S1.
_POOLING: dict[str, tuple[float, float, float]] = {
    "GloVe": (66.05, 62.93, 64.49),
    "fastText": (68.75, 63.46, 66.11),
    "BERT-base-CLS": (63.54, 69.57, 66.55),
    "BERT-base-mean": (72.00, 73.37, 72.68),
    "ALBERT-base-V2-CLS": (58.81, 69.88, 64.35),
    "ALBERT-base-V2-mean": (69.63, 74.83, 72.23),
    "RoBERTa-base-CLS": (68.04, 66.35, 67.20),
    "RoBERTa-base-mean": (72.39, 73.85, 73.12),
}
# Table S5: before and after fine-tuning by Sentence Transformers.
_FINE_TUNED: dict[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    "BERT-base": ((72.00, 73.37, 72.68), (77.78, 67.37, 72.57)),
    "BERT-large": ((71.27, 71.37, 71.32), (79.12, 64.57, 71.85)),
    "RoBERTa-base": ((72.39, 73.85, 73.12), (77.61, 63.73, 70.67)),
    "RoBERTa-large": ((72.02, 75.05, 73.54), (79.23, 64.02, 71.63)),
}


def _pooling_rows() -> tuple[Row, ...]:
    """Table S1's rows, then Table S5's others, then ours: the base encoder, before and after training."""
    rows = []
    for label, printed in _POOLING.items():
        published = {"S1": figures(AVERAGES, printed)}
        model, _, mode = label.rpartition("-")
        if not model:
            need, note = needed(label, WORDS), sized(label, NOTES[label])
            rows.append(Row(label, WORDS, published, needs=need, note=note))
            continue
        if mode == "mean" and model in _FINE_TUNED:
            published["S5"] = figures(AVERAGES, _FINE_TUNED[model][0])
        rows.append(Row(label, plain(HUB[model], mode.lower()), published, needs="checkpoint", note=sized(model)))
    for model, (before, _) in _FINE_TUNED.items():
        if f"{model}-mean" not in _POOLING:
            published = {"S5": figures(AVERAGES, before)}
            overrides = plain(HUB[model], "mean")
            rows.append(Row(f"{model}-mean", overrides, published, needs="checkpoint", note=sized(model)))
    for model, (_, after) in _FINE_TUNED.items():
        label = f"{model.lower()}-nli-mean-tokens"
        overrides = finished(f"sentence-transformers/{label}")
        rows.append(Row(label, overrides, {"S5": figures(AVERAGES, after)}, needs="checkpoint"))
    for label, overrides in ((UNTRAINED, AS_IT_IS), (SMALL, {})):
        for mode in ("CLS", "mean"):
            rows.append(Row(f"{label}-{mode}", {**overrides, "pooling.mode": mode.lower()}, note="not in the paper"))
    return tuple(rows)


_PRETRAINED = ("BERT-base", "ALBERT-base-V2", "RoBERTa-base")
_ROBERTA = "RoBERTa-base-mean"
_POOLING_TABLES = (
    Table(
        number="S1",
        title="Pretrained transformers, pooled by their first token or by the mean",
        columns=DEV_COLUMNS,
        rows=(
            *((label, label) for label in _POOLING),
            *((f"{label}-{mode}", f"{label}-{mode}") for label in (UNTRAINED, SMALL) for mode in ("CLS", "mean")),
        ),
        topic="SentEval (development)",
        protocol="full",
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
        rows=(
            *((f"{model}, before", f"{model}-mean") for model in _FINE_TUNED),
            *((f"{model}, after", f"{model.lower()}-nli-mean-tokens") for model in _FINE_TUNED),
        ),
        topic="SentEval (development)",
        protocol="full",
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
        )
        for model in _FINE_TUNED
    ),
)

SPACES = (
    Space(
        name="declutr_pooling",
        title="DeCLUTR: pretrained transformers, CLS or mean, before and after Sentence Transformers (Tables S1, S5)",
        paper=PAPER,
        base=RECIPE,
        laptop=LAPTOP,
        rows=_pooling_rows(),
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
    ),
)
