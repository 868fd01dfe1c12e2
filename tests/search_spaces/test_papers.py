"""The spaces hold what Liao 2021, Qiu 2022 and Dehghan 2022 print, and leave no line of a table out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from search_spaces import spaces

SPACES = spaces()
PAPERS = Path(__file__).resolve().parents[3] / "shared/papers"
LIAO, QIU, DEHGHAN = "liao2021_scl_pdf", "qiu2022_clsr", "dehghan2022_supmpn"


def printed(paper: str) -> list[tuple[str, ...]]:
    """The lines of the tables without bold face, subscripts and the marks of their sources."""
    file = PAPERS / f"{paper}.txt"
    if not file.is_file():
        pytest.skip("the paper's text is not beside this checkout")
    text = re.sub(r"<sup>.*?</sup>|</sub>|</?b>", "", file.read_text(encoding="utf-8"))
    lines = re.sub(r" ?<sub>| -(?=\S)", "-", text).splitlines()
    return [tuple(cell.strip(" †‡♠♣★♦♥◇∞") for cell in line.split("\t")) for line in lines if "\t" in line]


@pytest.mark.parametrize(
    ("paper", "space", "number", "rows"),
    [
        *((LIAO, "scl_ablation", number, rows) for number, rows in zip("234567", (12, 12, 5, 6, 5, 6), strict=True)),
        (QIU, "clsr_main", "3", 8),
        (QIU, "clsr_pooling", "4", 2),
        (DEHGHAN, "supmpn_main", "2", 28),
        (DEHGHAN, "supmpn_main", "3", 16),
        (DEHGHAN, "supmpn_augmentation", "A1", 4),
    ],
)
def test_tables(paper: str, space: str, number: str, rows: int) -> None:
    """Every row stands in the paper's text, figure for figure, under its printed name."""
    table, lines = SPACES[space].table(number), printed(paper)
    columns = tuple(column.name for column in table.columns)
    assert columns in [line[1:] for line in lines] or space == "clsr_pooling"  # whose head says "STS-B"
    assert len(table.rows) == rows
    figures_of = {(line[0], *map(float, line[1:])) for line in lines if all(map(is_figure, line[1:]))}
    for name, label in table.rows:
        figures = dict(SPACES[space].row(label).published[number])
        if (space, number, name) == ("scl_ablation", "5", "1.0"):
            figures["MRPC"] = 73.0  # cut off in print
        assert (name.removesuffix(" (supervised)"), *(figures[column] for column in columns)) in figures_of


def is_figure(cell: str) -> bool:
    return re.fullmatch(r"\d+\.?\d*", cell) is not None


def test_no_line_of_dehghan_is_left_out() -> None:
    """Lines of eight figures: 28 in Table 2, 16 in Table 3, 4 in Table A1."""
    assert len([line for line in printed(DEHGHAN) if len(line) == 9 and all(map(is_figure, line[1:]))]) == 28 + 16 + 4


def test_tables_1_and_2_of_qiu_have_their_rows_side_by_side() -> None:
    lines, data, batch = printed(QIU), SPACES["clsr_data"], SPACES["clsr_batch_size"]
    bases = ("BERT-base", "BERT-large", "SBERT-base", "SBERT-large")
    for base in bases:
        labels = (base, f"CLSR-STSB-{base}", f"CLSR-{base}")
        assert (base, *(f"{data.published('1', label, 'STS-B dev'):.2f}" for label in labels)) in lines
    assert len(data.rows) == 3 * len(bases)
    sizes, labels = zip(*batch.table("2").rows, strict=True)
    assert ("Batch Size", *sizes) in lines
    assert ("STSB", *(f"{batch.published('2', label, 'STS-B dev'):.2f}" for label in labels)) in lines


def test_premise_counts_are_dehghans_table_1() -> None:
    space, lines, ones = SPACES["supmpn_main"], printed(DEHGHAN), [((n, n),) * 2 for n in (1, 2, 3)]
    for name, bounds in (("SNLI", [((1, 1),) * 2, ((2, 4),) * 2, ((5, None),) * 2]), ("MNLI", ones)):
        counts = [count for count in space.premise_counts if count.name == name]
        assert [(count.entailments, count.contradictions) for count in counts] == bounds
        figures = [f"{count.published:,}" if count.published > 9999 else str(count.published) for count in counts]
        assert (name, *figures) in lines
        assert all(any(count.source in part for part in space.base.flat()["corpus.nli"].split(",")) for count in counts)
