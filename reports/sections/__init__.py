"""The sections of a report, in order. A plugin can add a section:

    from reports.sections import SECTIONS, Section

    def lengths(results, pictures):
        return f"{len(results.records)} trials."

    SECTIONS.add(Section("lengths", "How long it took", lengths, after="what_was_run"))

`python -m reports RESULTS --plugin my_section.py` shows it. If the study ran with the plugin, `--plugin` is not needed.
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
"""Takes the results and a folder for pictures; returns a section's blocks, or one paragraph. Empty: no section."""


@dataclass(frozen=True)
class Section:
    """A part of the report under its own heading."""

    name: str
    heading: str
    """The section's heading; empty for the text directly below the report's title."""
    write: Write | str
    """The function that writes the section, or `"module:function"`.

    It writes its pictures to the given folder, and returns the same blocks for the same ledger. Tables, pictures and
    headings are separate blocks. A section without any block is left out.
    """
    after: str = ""
    """Name of the section before this one. Empty: the section is at the end of the report, or of its appendix."""
    folded: bool = False
    """Whether the section is in the appendix, where only headings are shown until a reader opens them."""

    def __post_init__(self) -> None:
        if self.folded and not self.heading:
            raise UserError(f"the section {self.name!r} is folded, so it needs a heading to open it by")

    def written(self, results: Results, pictures: Path) -> WrittenSection:
        """Return the section's blocks for these results, without empty blocks."""
        write: Write = load(self.write)
        content = write(results, pictures)
        blocks = [content] if isinstance(content, str) else content
        return WrittenSection(self.name, self.heading, [block for block in blocks if block], self.folded)


def _section(name: str, heading: str, folded: bool = False) -> Section:
    return Section(name, heading, f"reports.sections.{name}:write", folded=folded)


SECTIONS = Registry(
    "section of a report",
    _section("answer", "Answer"),
    _section("glance", "At a glance"),
    _section("finals", "The finals"),
    _section("ship", "Which model to ship"),
    _section("changed", "What it changes on your test items"),
    _section("more_data", "Would more data help?"),
    _section("rows", "Rows"),
    _section("sure", "How sure that is"),
    _section("mattered", "What mattered"),
    _section("claims", "The paper's claims"),
    _section("trust", "Warnings"),
    _section("setting", "What may be compared", folded=True),
    _section("reading", "How to read the tables", folded=True),
    _section("rows_in_full", "Rows in full", folded=True),
    _section("explored", "What the search found", folded=True),
    _section("importance", "What the hyperparameters do", folded=True),
    _section("pareto", "Two goals at once", folded=True),
    _section("racing", "Seeds of each recipe", folded=True),
    _section("row_files", "Every row's command and files", folded=True),
    _section("open_claims", "Claims that are open", folded=True),
    _section("paper_tables", "Tables", folded=True),
    _section("further_tasks", "Further tasks", folded=True),
    _section("mteb", "MTEB", folded=True),
    _section("widths", "Embeddings that are cut", folded=True),
    _section("curves", "Curves", folded=True),
    _section("losses", "How the loss fell", folded=True),
    _section("paper_figures", "Figures", folded=True),
    _section("measured_counts", "Positives and negatives per anchor", folded=True),
    _section("false_negatives", "Which negatives were truly false", folded=True),
    _section("premise_counts", "Premises by entailments and contradictions", folded=True),
    _section("heat_map", "Sentences before and after training", folded=True),
    _section("what_was_run", "What was run", folded=True),
    _section("base_recipe", "The base recipe", folded=True),
    _section("oddities", "Oddities of the published figures", folded=True),
)
"""The sections of a report."""


def in_order() -> list[Section]:
    """Return all sections in order, those of the appendix last. Raise `UserError` for an unknown section in `after`."""
    ordered: list[Section] = []
    for section in SECTIONS.values():
        index = len(ordered)
        if section.after:
            index = ordered.index(SECTIONS[section.after]) + 1
            while index < len(ordered) and ordered[index].after == section.after:
                index += 1  # sections after the same one keep the order in which they were added
        ordered.insert(index, section)
    return sorted(ordered, key=lambda section: section.folded)
