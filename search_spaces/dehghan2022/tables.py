"""Tables 2, 3 and A1; the ablations are laid out as Tables 2 and 3 are."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from search_spaces.dehghan2022.rows import TABLE_2, TABLE_3
from search_spaces.paper import ACCURACY, ALL_PAIRS, Column, Table
from search_spaces.published import same
from search_spaces.shared import SICK, STSB, YEARS, averaged, scored

STS = (*YEARS, STSB.name, SICK.name)
TRANSFER = ("MR", "CR", "SUBJ", "MPQA", "SST-2", "TREC", "MRPC")

_STS_COLUMNS = averaged(*scored(YEARS, "spearman_all"), STSB, SICK)
_TRANSFER_COLUMNS = averaged(*(Column(name, (name.replace("SST-2", "SST2"), "test_accuracy")) for name in TRANSFER))


def sts_table(number: str, title: str, rows: Mapping[str, str], curve: str | None = None) -> Table:
    """The columns of Table 2, for these rows."""
    return Table(
        number=number,
        title=title,
        columns=_STS_COLUMNS,
        rows=tuple(rows.items()),
        topic="STS",
        aggregation=ALL_PAIRS,
        curve=curve,
    )


def both_tables(what: str, rows: Mapping[str, str], curve: str | None = None) -> tuple[Table, ...]:
    """The columns of Tables 2 and 3, for these rows."""
    transfer = Table(
        number="3",
        title=f"{what}, on the transfer tasks",
        columns=_TRANSFER_COLUMNS,
        rows=tuple(rows.items()),
        topic="transfer",
        aggregation=ACCURACY,
        curve=curve,
    )
    return sts_table("2", f"{what}, on the STS tasks", rows, curve), transfer


_STS_TABLE, _TRANSFER_TABLE = both_tables("All models", {})
MAIN_TABLES = (
    dataclasses.replace(_STS_TABLE, rows=tuple(same(TABLE_2).items())),
    dataclasses.replace(_TRANSFER_TABLE, rows=tuple(same(TABLE_3).items())),
)
