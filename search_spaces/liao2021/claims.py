"""What the text says: the abstract, sections 4.4 and 5.1 to 5.3."""

from __future__ import annotations

from collections.abc import Iterable

from search_spaces.liao2021.rows import AUGMENT, BASELINE, GLOVE, LAMBDAS, MODELS, SCL_MODELS, TAUS
from search_spaces.paper import Claim
from search_spaces.shared import YEARS

_BASELINES = (GLOVE, BASELINE, *AUGMENT)
_BEST_STS, _BEST_TRANSFER = "allpalln-lambda0.3-SCL", "allpalln-lambda0.1-SCL"


def _but(label: str, labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(other for other in labels if other != label)


def _lambdas(*values: str) -> tuple[str, ...]:
    return tuple(LAMBDAS[value] for value in values)


def _taus(*values: str) -> tuple[str, ...]:
    return tuple(TAUS[value] for value in values)


CLAIMS = (
    # Abstract, introduction and section 4.4
    Claim(
        "The best model on STS tasks outperforms the SBERT baseline with a 2.8% improvement in average.",
        *("2", "Avg."),
        better=(_BEST_STS,),
        worse=(BASELINE,),
        stated=2.8,
    ),
    Claim(
        "The best model on STS tasks is allpalln-lambda0.3-SCL.",
        *("2", "Avg."),
        better=(_BEST_STS,),
        worse=_but(_BEST_STS, MODELS),
    ),
    Claim(
        "The best model on transfer tasks outperforms the SBERT baseline with a 1.05% improvement in average.",
        *("3", "Avg."),
        better=(_BEST_TRANSFER,),
        worse=(BASELINE,),
        stated=1.05,
    ),
    Claim(
        "The best model on SentEval transfer tasks is allpalln-lambda0.1-SCL.",
        *("3", "Avg."),
        better=(_BEST_TRANSFER,),
        worse=_but(_BEST_TRANSFER, MODELS),
    ),
    *(
        Claim(
            f"Supervised contrastive learning outperforms the baselines on almost every STS task (here the best "
            f"model on {column}).",
            *("2", column),
            better=(_BEST_STS,),
            worse=_BASELINES,
        )
        for column in YEARS[1:]
    ),
    Claim(
        "... except STS12 (here the SBERT baseline beats every SCL model).",
        *("2", "STS12"),
        better=(BASELINE,),
        worse=SCL_MODELS,
    ),
    Claim(
        "SCL embeddings consistently outperform the baselines using only cross-entropy (STS).",
        *("2", "Avg."),
        better=SCL_MODELS,
        worse=(BASELINE, *AUGMENT),
        contradicted="3p3n-lambda0.5-SCL (67.17) and 3all3n-lambda1.0-SCL (66.57) lie below the baseline (67.61)",
    ),
    Claim(
        "All augment models trained using pure cross-entropy perform worse than the SBERT baseline.",
        *("2", "Avg."),
        better=(BASELINE,),
        worse=AUGMENT,
    ),
    Claim(
        "Fine-tuning on augmented data using cross-entropy does not generate better embeddings (transfer).",
        *("3", "Avg."),
        better=(BASELINE,),
        worse=AUGMENT,
        relation="not below",
    ),
    Claim(
        "3p3n-lambda0.5-SCL outperforms 3p3n-Augment, which has the same sentences.",
        *("2", "Avg."),
        better=("3p3n-lambda0.5-SCL",),
        worse=("3p3n-Augment",),
    ),
    Claim(
        "allpalln-lambda0.5-SCL outperforms allpalln-Augment with a 3.35% improvement in average.",
        *("2", "Avg."),
        better=("allpalln-lambda0.5-SCL",),
        worse=("allpalln-Augment",),
        stated=3.35,
    ),
    Claim(
        "The majority of SCL models outperform the baseline models in average on transfer tasks.",
        *("3", "Avg."),
        better=SCL_MODELS,
        worse=_BASELINES,
        quantifier="most",
    ),
    *(
        Claim(
            f"Baseline models have better scores than SCL models on some transfer tasks (here {label} on {column}).",
            *("3", column),
            better=(label,),
            worse=SCL_MODELS,
        )
        for label, column in ((BASELINE, "SST2"), ("3p3n-Augment", "CR"), ("3p3n-Augment", "SST5"))
    ),
    Claim(
        "The improvement on transfer tasks is smaller than on STS tasks (here of the best STS model).",
        *("2", "Avg."),
        better=(_BEST_STS,),
        worse=(BASELINE,),
        smaller_in=("3", "Avg."),
    ),
    # Section 5.1
    Claim(
        "For STS tasks, the best model has lambda 0.3.",
        *("6", "Avg."),
        better=_lambdas("0.3"),
        worse=_lambdas("0.1", "0.5", "0.7", "0.9"),
    ),
    Claim(
        "Increasing lambda from 0.5 to 0.9 decreases the quality of sentence embeddings (STS).",
        *("6", "Avg."),
        chain=_lambdas("0.5", "0.7", "0.9"),
    ),
    Claim(
        "A combination of cross-entropy and supervised contrastive loss is better than either alone (STS).",
        *("2", "Avg."),
        better=(_BEST_STS,),
        worse=(BASELINE, "allpalln-lambda1.0-SCL"),
    ),
    Claim(
        "For transfer tasks, the best model has lambda 0.1.",
        *("4", "Avg."),
        better=_lambdas("0.1"),
        worse=_lambdas("0.3", "0.5", "0.7", "0.9"),
    ),
    Claim(
        "Increasing lambda tends to decrease the model performance (transfer).",
        *("4", "Avg."),
        chain=_lambdas("0.1", "0.3", "0.5", "0.7", "0.9"),
        quantifier="most",
    ),
    # Section 5.2
    Claim(
        "For STS tasks, the best model has tau 1.0.",
        *("7", "Avg."),
        better=_taus("1.0"),
        worse=_taus("0.1", "0.3", "0.5", "0.7", "0.9"),
    ),
    Claim(
        "Increasing tau from 0.1 to 1.0 increases the quality of sentence embeddings (STS).",
        *("7", "Avg."),
        chain=_taus("1.0", "0.9", "0.7", "0.5", "0.3", "0.1"),
    ),
    Claim(
        "For transfer tasks, the best model has tau 1.0.",
        *("5", "Avg."),
        better=_taus("1.0"),
        worse=_taus("0.1", "0.3", "0.5", "0.7", "0.9"),
    ),
    Claim(
        "Increasing tau from 0.1 to 0.5 tends to increase the model performance (transfer).",
        *("5", "Avg."),
        chain=_taus("0.5", "0.3", "0.1"),
    ),
    Claim(
        "Increasing tau from 0.7 to 1.0 tends to increase the model performance (transfer).",
        *("5", "Avg."),
        chain=_taus("1.0", "0.9", "0.7"),
    ),
    Claim(
        "There is a drop going from tau 0.5 to 0.7 (transfer).",
        *("5", "Avg."),
        better=_taus("0.5"),
        worse=_taus("0.7"),
    ),
    # Section 5.3
    Claim(
        "Increasing N+ and N- increases the STS scores (lambda 0.5).",
        *("2", "Avg."),
        chain=("allpalln-lambda0.5-SCL", "3palln-lambda0.5-SCL", "3p3n-lambda0.5-SCL"),
    ),
    Claim(
        "Increasing N+ and N- increases the STS scores (lambda 1.0).",
        *("2", "Avg."),
        chain=("allpalln-lambda1.0-SCL", "3palln-lambda1.0-SCL", "3all3n-lambda1.0-SCL"),
        contradicted="allpalln-lambda1.0-SCL (69.38) lies below 3palln-lambda1.0-SCL (69.76)",
    ),
    Claim(
        "Increasing N+ and N- tends to increase the transfer scores (lambda 0.5).",
        *("3", "Avg."),
        chain=("allpalln-lambda0.5-SCL", "3palln-lambda0.5-SCL", "3p3n-lambda0.5-SCL"),
        contradicted="allpalln-lambda0.5-SCL (76.28) lies below 3palln-lambda0.5-SCL (76.37)",
    ),
    Claim(
        "With lambda 1.0, going from 3 N+ to all N+ drops the transfer score by around 1.0%.",
        *("3", "Avg."),
        better=("3palln-lambda1.0-SCL",),
        worse=("allpalln-lambda1.0-SCL",),
        stated=1.0,
    ),
)
