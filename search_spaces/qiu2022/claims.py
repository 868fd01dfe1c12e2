"""What the text says: sections 4.2 to 4.4."""

from __future__ import annotations

from collections.abc import Iterator

from search_spaces.paper import Claim
from search_spaces.qiu2022.rows import BASES, PRINTED_2, PRINTED_4
from search_spaces.qiu2022.tables import DEV, STS


def _data_claims() -> Iterator[Claim]:
    for base in BASES:
        yield Claim(
            f"Compared with the base models, CLSR achieves significant improvements (here {base}).",
            *("1", DEV),
            better=(f"CLSR-{base}", f"CLSR-STSB-{base}"),
            worse=(base,),
        )
        yield Claim(
            f"Models trained on NLI perform much better than those trained on STS-B (here {base}).",
            *("1", DEV),
            better=(f"CLSR-{base}",),
            worse=(f"CLSR-STSB-{base}",),
        )


def _main_claims() -> Iterator[Claim]:
    for base in ("BERT-base", "BERT-large"):
        for column in STS:
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


DATA_CLAIMS = tuple(_data_claims())
MAIN_CLAIMS = tuple(_main_claims())
BATCH_CLAIMS = (
    Claim(
        "Larger batch size brings better performance.",
        *("2", DEV),
        chain=tuple(PRINTED_2[size] for size in sorted(PRINTED_2, key=int, reverse=True)),
    ),
)
POOLING_CLAIMS = (
    Claim(
        "The mean of all word embeddings is as much as 15 points above the CLS embedding.",
        *("4", DEV),
        better=(PRINTED_4["mean"],),
        worse=(PRINTED_4["CLS"],),
        stated=15,
    ),
)
