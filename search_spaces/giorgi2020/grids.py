"""Figures 2, 3 and S1 as grids of rows.

The paper prints these results as pictures only. So the published numbers here are from the text, and the default
model's number is from Table S6. Every grid has three tables and pictures with the same rows: SentEval's averages, which
the paper plots, and the STS tasks and the classification tasks alone, which do not need the probing, caption and SNLI
data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from search_spaces.giorgi2020.main import MAIN
from search_spaces.giorgi2020.shared import (
    ANCHORS,
    BASE,
    COMMON_ODDITIES,
    DEV_AGGREGATION,
    DEV_COLUMNS,
    FIGURES,
    LARGER_MODEL,
    POSITIVES,
    SMALL,
    STRATEGY,
    TAU,
    UNTRAINED,
)
from search_spaces.paper import Claim, Column, Figure, Overrides, Row, Table
from search_spaces.shared import YEARS, averaged, scored
from search_spaces.space import Domain, Space

_CLASSIFICATION = ("CR", "MR", "MPQA", "SUBJ", "SST2", "SST5", "TREC", "MRPC", "SICK-E")
_PARTS = {"": "SentEval average", "-STS": "STS average", "-classification": "classification average"}
"""The title of the last column, by the ending of a table's number."""
_NOT_IN_TEXT = "The paper shows these results as a picture only; its default model's Downstream is from Table S6."

_SIZES: dict[str, Overrides] = {"small": {}, "base": LARGER_MODEL}


def _row(label: str, size: str, overrides: Overrides, published: Mapping[str, Mapping[str, float]]) -> Row:
    return Row(label, {**_SIZES[size], **overrides}, published, needs="checkpoint" if _SIZES[size] else None)


def _default(figure: str, size: str) -> dict[str, dict[str, float]]:
    """Return a grid's only published number (Table S6): the development score of the paper's default model."""
    model = {"small": SMALL, "base": BASE}[size]
    return {f"F{figure}": {"Downstream": FIGURES["S6"][model]["Downstream"]}}


def _tables(number: str, title: str, rows: Iterable[Row]) -> tuple[Table, ...]:
    """Return the three tables of a figure's grid."""
    whole = Table(
        number=number,
        title=f"{title}: averages",
        columns=DEV_COLUMNS,
        rows=tuple((row.label, row.label) for row in rows),
        topic="SentEval (development)",
        aggregation=DEV_AGGREGATION,
        footnotes=(_NOT_IN_TEXT,),
    )
    sts = dataclasses.replace(
        whole,
        number=f"{number}-STS",
        title=f"{title}: STS tasks",
        columns=averaged(*scored(YEARS, "spearman_mean")),
        topic="STS",
        aggregation="Spearman correlation x 100 by cosine, mean of the sub-corpora, test scores",
        footnotes=(),
    )
    classes = dataclasses.replace(
        whole,
        number=f"{number}-classification",
        title=f"{title}: classification tasks",
        columns=averaged(
            *(Column(name, (name.replace("SICK-E", "SICKEntailment"), "dev_accuracy")) for name in _CLASSIFICATION)
        ),
        topic="classification (development)",
        aggregation="accuracy on the development part",
        footnotes=(),
    )
    return whole, sts, classes


# Figure 2: all permutations of A, P and tau, with each strategy; P = 4 did not fit for DeCLUTR-base.

_ALL_STRATEGIES = STRATEGY.choices
_TAUS = {"5e-2": 5e-2, "5e-4": 5e-4}
_SAMPLING_ROWS = tuple(
    _row(
        f"{size} A={anchors} P={positives} tau={tau} {strategy}",
        size,
        {
            "spans.anchors": anchors,
            "spans.positives": positives,
            "spans.strategy": strategy,
            "objective.temperature": _TAUS[tau],
        },
        _default("2", size) if (anchors, positives, tau, strategy) == (2, 2, "5e-2", "default") else {},
    )
    for size in _SIZES
    for strategy in _ALL_STRATEGIES
    for anchors in ANCHORS.choices
    for positives in POSITIVES.choices
    for tau in _TAUS
    if (size, positives) != ("base", 4)
)


def _sampled(size: str, holds: Callable[[Overrides], bool]) -> tuple[str, ...]:
    return tuple(row.label for row in _SAMPLING_ROWS if row.label.startswith(size) and holds(row.overrides))


_SAMPLING_CLAIMS = tuple(
    claim
    for size in _SIZES
    for claim in (
        Claim(
            f"Sampling multiple anchors per document has a large positive impact. Here {size}, over pairs of runs",
            *("F2", "Avg."),
            better=_sampled(size, lambda row: row["spans.anchors"] == 2),
            worse=_sampled(size, lambda row: row["spans.anchors"] == 1),
            quantifier="most",
        ),
        Claim(
            "A strategy that allows adjacent and subsumed positives outperforms one that allows only adjacent or "
            f"only subsumed ones. Here {size}, over pairs of runs",
            *("F2", "Avg."),
            better=_sampled(size, lambda row: row["spans.strategy"] == "default"),
            worse=_sampled(size, lambda row: row["spans.strategy"] != "default"),
            quantifier="most",
        ),
    )
)

# Figure 3. The text names 40 % and 100 % of the documents.

_SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
_OBJECTIVES: dict[str, Overrides] = {
    "MLM": {"objective.name": "mlm"},
    "contrastive": {"objective.name": "ntxent", "objective.mlm": 0.0},
    "both": {"objective.name": "ntxent", "objective.mlm": 1.0},
}
_UNTRAINED_ROW = Row(UNTRAINED, {"optimisation.epochs": 0}, note="the encoder before training")


def _objective(size: str, objective: str, share: float) -> str:
    return f"{size} {objective} {share:.0%}"


_OBJECTIVE_ROWS = (
    _UNTRAINED_ROW,
    *(
        _row(
            _objective(size, objective, share),
            size,
            {**overrides, "corpus.share": share},
            _default("3", size) if (objective, share) == ("both", 1.0) else {},
        )
        for size in _SIZES
        for objective, overrides in _OBJECTIVES.items()
        for share in _SHARES
    ),
)
_OBJECTIVE_CLAIMS = (
    *(
        claim
        for size in _SIZES
        for claim in (
            Claim(
                f"Both objectives together improve over either alone. Here {size}, all documents",
                *("F3", "Avg."),
                better=(_objective(size, "both", 1.0),),
                worse=(_objective(size, "MLM", 1.0), _objective(size, "contrastive", 1.0)),
            ),
            Claim(
                f"With the contrastive objective alone the performance peaks at 40% of the train set. Here {size}",
                *("F3", "Avg."),
                better=(_objective(size, "contrastive", 0.4),),
                worse=tuple(_objective(size, "contrastive", share) for share in _SHARES if share != 0.4),
            ),
            Claim(
                f"With both objectives performance improves monotonically with the train set. Here {size}",
                *("F3", "Avg."),
                chain=tuple(_objective(size, "both", share) for share in sorted(_SHARES, reverse=True)),
            ),
        )
    ),
    Claim(
        "Performance can be further improved by scaling the model capacity. Here both objectives, all documents",
        *("F3", "Avg."),
        better=(_objective("base", "both", 1.0),),
        worse=(_objective("small", "both", 1.0),),
    ),
)

# Figure S1 (a). Of the sizes the text names 128.

_HEADS = {"linear": "linear", "mlp": "non-linear"}
_DIMS = (128, 256, 512, 768)
_NO_HEAD = "no projection"


def _projected(kind: str, dim: int) -> str:
    return f"{_HEADS[kind]} {dim}"


_PROJECTION_ROWS = (
    Row(_NO_HEAD, {}, _default("S1a", "small")),
    *(Row(_projected(kind, dim), {"head.kind": kind, "head.dim": dim}) for kind in _HEADS for dim in _DIMS),
)
_PROJECTION_CLAIMS = (
    Claim(
        "A non-linear projection head marginally improves performance at every dimensionality",
        *("FS1a", "Avg."),
        better=tuple(_projected("mlp", dim) for dim in _DIMS),
        worse=(_NO_HEAD,),
        relation="slightly above",
    ),
    Claim(
        "A linear head improves performance when the output dimensionality is 128",
        *("FS1a", "Avg."),
        better=(_projected("linear", 128),),
        worse=(_NO_HEAD,),
    ),
    Claim(
        "... and only then",
        *("FS1a", "Avg."),
        better=(_NO_HEAD,),
        worse=tuple(_projected("linear", dim) for dim in _DIMS if dim != 128),
        relation="not below",
    ),
)

# Figure S1 (b). The text names queues up to 512, and these temperatures.

_BANKS = (0, 128, 256, 512)
_BANK_TAUS = {"1e-3": 1e-3, "5e-3": 5e-3, "1e-2": 1e-2, "5e-2": 5e-2}


def _banked(size: int, tau: str) -> str:
    return f"queue={size} tau={tau}" if size else f"no queue tau={tau}"


_BANK_ROWS = tuple(
    Row(
        _banked(size, tau),
        {"objective.bank": size, "objective.temperature": value},
        _default("S1b", "small") if (size, tau) == (0, "5e-2") else {},
    )
    for tau, value in _BANK_TAUS.items()
    for size in _BANKS
)
_BANK_CLAIMS = tuple(
    Claim(
        f"A queue of any size performs worse than no queue at all. Here tau {tau}",
        *("FS1b", "Avg."),
        better=(_banked(0, tau),),
        worse=tuple(_banked(size, tau) for size in _BANKS if size),
    )
    for tau in _BANK_TAUS
)

_SHARE = Domain("corpus.share", choices=_SHARES)
_OBJECTIVE = Domain("objective.name", choices=("ntxent", "mlm"))
_MLM = Domain("objective.mlm", choices=(1.0, 0.0), when=("objective.name", ("ntxent",)))
_HEAD = Domain("head.kind", choices=("none", *_HEADS))
_DIM = Domain("head.dim", choices=_DIMS, when=("head.kind", tuple(_HEADS)))
_BANK = Domain("objective.bank", choices=_BANKS)
_BANK_TAU = Domain("objective.temperature", low=1e-3, high=5e-2, log=True, grid=tuple(_BANK_TAUS.values()))


def _space(
    name: str,
    title: str,
    figure: str,
    kind: Literal["distribution", "lines"],
    keys: tuple[str, ...],
    rows: tuple[Row, ...],
    baseline: str,
    domains: tuple[Domain, ...],
    claims: tuple[Claim, ...],
    oddities: tuple[str, ...],
    lines: Mapping[str, Overrides] | None = None,
) -> Space:
    """Return the space of a figure. The text's claims on SentEval's average are checked in each of the three tables."""
    what = title.partition(": ")[2].partition(" (")[0]
    what = what[0].upper() + what[1:]
    return dataclasses.replace(
        MAIN,
        name=name,
        title=title,
        rows=rows,
        domains=domains,
        tables=_tables(f"F{figure}", what, rows),
        figures=tuple(
            Figure(f"{figure}{part}", f"{what}: {words}", kind, keys, f"F{figure}{part}", "Avg.", lines=lines or {})
            for part, words in _PARTS.items()
        ),
        claims=tuple(
            dataclasses.replace(claim, text=f"{claim.text} ({words})", table=f"{claim.table}{part}")
            for claim in claims
            for part, words in _PARTS.items()
        ),
        baseline=baseline,
        oddities=(*oddities, *COMMON_ODDITIES),
    )


GRIDS = (
    _space(
        "declutr_sampling",
        "DeCLUTR: anchors, positives and where they lie (Figure 2)",
        "2",
        "distribution",
        ("spans.anchors", "spans.positives", "spans.strategy"),
        _SAMPLING_ROWS,
        "small A=2 P=2 tau=5e-2 default",
        (ANCHORS, POSITIVES, TAU, STRATEGY),
        _SAMPLING_CLAIMS,
        (
            "The caption's grid is A, P and tau; it does not say whether the strategies were compared over all of it. "
            "Here every strategy runs the whole grid.",
            "P = 4 is left out for DeCLUTR-base, as in the paper, where it did not fit into the memory.",
            'The text adds that P above 1 has "minimal impact"; that two things are equal is no claim that a sign '
            "could refute, so see the figures.",
            "The caption does not say whether it shows development or test scores; Figure 3's are development scores, "
            "and so are these.",
        ),
    ),
    _space(
        "declutr_objective",
        "DeCLUTR: objective, share of the documents and model size (Figure 3)",
        "3",
        "lines",
        ("corpus.share", "objective.name", "objective.mlm", "encoder.name"),
        _OBJECTIVE_ROWS,
        UNTRAINED,
        (_OBJECTIVE, _MLM, _SHARE),
        _OBJECTIVE_CLAIMS,
        (
            "Of the shares the text names 40 % and 100 %; 20, 60 and 80 % are ours.",
            'The text does not say for which of the two model sizes "the performance of the model" peaks at 40 %; the '
            "claim is held against each.",
        ),
        _OBJECTIVES,
    ),
    _space(
        "declutr_projection",
        "DeCLUTR: projection heads (Figure S1, a)",
        "S1a",
        "distribution",
        ("head.kind", "head.dim"),
        _PROJECTION_ROWS,
        _NO_HEAD,
        (_HEAD, _DIM),
        _PROJECTION_CLAIMS,
        (
            "Of the output sizes the text names 128, and a gain of at most 0.16 points; the other sizes are ours.",
            "The paper's linear head is its two layers without the ReLU, here one linear layer, which can do the same. "
            "Its count of about 100,000 to 1,000,000 parameters fits a hidden layer as wide as the output, so that of "
            "the non-linear head is.",
            "Which of the two models it was is not said; here it is DeCLUTR-small.",
        ),
    ),
    _space(
        "declutr_memory_bank",
        "DeCLUTR: a memory bank of earlier negatives (Figure S1, b)",
        "S1b",
        "lines",
        ("objective.bank", "objective.temperature"),
        _BANK_ROWS,
        _banked(0, "5e-2"),
        (_BANK, _BANK_TAU),
        _BANK_CLAIMS,
        (
            "Of the queue sizes the text names 512 as the largest; 128 and 256 are ours. A warm-up is not mentioned, "
            "so the queue serves from the second batch on.",
            "Which of the two models it was is not said; here it is DeCLUTR-small.",
        ),
    ),
)
