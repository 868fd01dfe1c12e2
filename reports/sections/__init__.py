"""The parts of a report, in their order. A plugin adds one:

    from reports.sections import SECTIONS, Section

    def lengths(results, pictures):
        return f"{len(results.records)} trials."

    SECTIONS.add(Section("lengths", "How long it took", lengths, after="what_was_run"))

`python -m reports RESULTS --plugin my_section.py` shows it; a study that was given the plugin shows it by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.document import Block, WrittenSection
from reports.facts.results import Results
from trainables.errors import UserError
from trainables.registry import Registry, load

Write = Callable[["Results", Path], str | Sequence[Block]]
"""From the results and the folder for pictures to blocks, or one paragraph; empty where the section does not apply."""


@dataclass(frozen=True)
class Section:
    """A part of the report under a heading of its own."""

    name: str
    heading: str
    """Empty for what stands right under the title."""
    write: Write | str
    """The function that writes it, or `"module:function"`.

    It makes its pictures in the folder that it is given, and returns the same blocks for the same ledger. Tables,
    pictures and headings are blocks of their own. Without any block the section is left out.
    """
    after: str = ""
    """The section that it follows, by name; without one it stands at the end of the report, or of its appendix."""
    folded: bool = False
    """Whether it stands in the appendix, where only headings are shown until a reader opens them."""

    def __post_init__(self) -> None:
        if self.folded and not self.heading:
            raise UserError(f"the section {self.name!r} is folded, so it needs a heading to open it by")

    def written(self, results: Results, pictures: Path) -> WrittenSection:
        """What the section says of these results, without blocks that are empty."""
        write: Write = load(self.write)
        content = write(results, pictures)
        blocks = [content] if isinstance(content, str) else content
        return WrittenSection(self.name, self.heading, [block for block in blocks if block], self.folded)


def _own(name: str, heading: str, folded: bool = False) -> Section:
    return Section(name, heading, f"reports.sections.{name}:write", folded=folded)


SECTIONS = Registry(
    "section of a report",
    _own("answer", "Answer"),
    _own("glance", "At a glance"),
    _own("finals", "The finals"),
    _own("ship", "Which model to ship"),
    _own("changed", "What it changes on your test items"),
    _own("more_data", "Would more data help?"),
    _own("rows", "Rows"),
    _own("sure", "How sure that is"),
    _own("mattered", "What mattered"),
    _own("claims", "The paper's claims"),
    _own("trust", "Warnings"),
    _own("setting", "What may be compared", folded=True),
    _own("reading", "How to read the tables", folded=True),
    _own("rows_in_full", "Rows in full", folded=True),
    _own("explored", "What the search found", folded=True),
    _own("importance", "What the hyperparameters do", folded=True),
    _own("pareto", "Two goals at once", folded=True),
    _own("racing", "Seeds of each recipe", folded=True),
    _own("row_files", "Every row's command and files", folded=True),
    _own("open_claims", "Claims that are open", folded=True),
    _own("paper_tables", "Tables", folded=True),
    _own("further_tasks", "Further tasks", folded=True),
    _own("mteb", "MTEB", folded=True),
    _own("widths", "Embeddings that are cut", folded=True),
    _own("curves", "Curves", folded=True),
    _own("losses", "How the loss fell", folded=True),
    _own("paper_figures", "Figures", folded=True),
    _own("measured_counts", "Positives and negatives per anchor", folded=True),
    _own("false_negatives", "Which negatives were truly false", folded=True),
    _own("premise_counts", "Premises by entailments and contradictions", folded=True),
    _own("heat_map", "Sentences before and after training", folded=True),
    _own("what_was_run", "What was run", folded=True),
    _own("base_recipe", "The base recipe", folded=True),
    _own("oddities", "Oddities of the published figures", folded=True),
)
"""What a report is made of."""


def in_order() -> list[Section]:
    """Every section where it stands, those of the appendix last; `UserError` where one follows a section that does not
    exist."""
    ordered: list[Section] = []
    for section in SECTIONS.values():
        place = len(ordered)
        if section.after:
            place = ordered.index(SECTIONS[section.after]) + 1
            while place < len(ordered) and ordered[place].after == section.after:
                place += 1  # of several that follow one, in the order in which they were added
        ordered.insert(place, section)
    return sorted(ordered, key=lambda section: section.folded)
