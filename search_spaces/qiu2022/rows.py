"""The models of Tables 1 to 4: the bases as they are, and CLSR on each of them."""

from __future__ import annotations

from pathlib import Path

from search_spaces.paper import Overrides, Row
from search_spaces.published import by_label, read_figures, same

FIGURES = read_figures(Path(__file__).with_name("figures.csv"))

# Hub ids of the bases; None is the base recipe's own encoder.
BASES: dict[str, str | None] = {
    "BERT-base": None,
    "BERT-large": "bert-large-uncased",
    "SBERT-base": "sentence-transformers/bert-base-nli-mean-tokens",
    "SBERT-large": "sentence-transformers/bert-large-nli-mean-tokens",
}
BASELINE = "BERT-base"

_UNTRAINED: Overrides = {"optimisation.epochs": 0, "encoder.adapter": "none"}
_ON_STSB: Overrides = {"corpus.layout": "similar_pairs"}

# Printed names of the rows, and ours.
PRINTED_1 = {
    printed: printed.replace("NLI-", "")
    for base in BASES
    for printed in (base, f"CLSR-STSB-{base}", f"CLSR-NLI-{base}")
}
PRINTED_2 = {size: f"CLSR-BERT-base, batch {size}" for size in FIGURES["2"]}
PRINTED_3 = same(FIGURES["3"])
PRINTED_4 = {pooling: f"CLSR-BERT-base, {pooling}" for pooling in FIGURES["4"]}

_PUBLISHED = by_label(FIGURES, {"1": PRINTED_1, "2": PRINTED_2, "3": PRINTED_3, "4": PRINTED_4})


def _on_base(label: str, base: str, overrides: Overrides) -> Row:
    hub_id = BASES[base]
    if hub_id is None:
        return Row(label, overrides, _PUBLISHED[label])
    model = {"encoder.kind": "transformer", "encoder.name": hub_id}
    return Row(label, {**overrides, **model}, _PUBLISHED[label], needs="checkpoint")


DATA_ROWS = tuple(
    row
    for base in BASES
    for row in (
        _on_base(base, base, _UNTRAINED),
        _on_base(f"CLSR-STSB-{base}", base, _ON_STSB),
        _on_base(f"CLSR-{base}", base, {}),
    )
)
"""Table 1: the bases, and CLSR on each with either training set."""
BASE_ROW = DATA_ROWS[0]
MAIN_ROWS = tuple(row for row in DATA_ROWS if row.label in PRINTED_3)
BATCH_ROWS = tuple(
    Row(label, {"optimisation.batch_size": int(size)}, _PUBLISHED[label]) for size, label in PRINTED_2.items()
)
POOLING_ROWS = tuple(
    Row(label, {"pooling.mode": pooling.lower()}, _PUBLISHED[label]) for pooling, label in PRINTED_4.items()
)
