"""A report from a results folder: its sections, one after the other (`reports/sections`).

It is made of `study.json`, the ledger and the stored predictions. It needs neither Ray nor torch, and the same folder
gives the same text.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reports.results import Results
from reports.sections import Section, in_order
from reports.trials_csv import write_trials_csv
from trainables.files import write_whole

NAME = "report.md"
PICTURES = "pictures"


@dataclass(frozen=True)
class Part:
    """A section as it was written: markdown without any HTML."""

    name: str
    """The section's."""
    heading: str
    """Empty for what stands right under the title."""
    content: str
    """Markdown under the heading. A picture is named by its path within the results folder."""
    folded: bool

    @property
    def markdown(self) -> str:
        """With its heading, within a fold where it is folded: the only HTML of a report in markdown."""
        head = f"## {self.heading}" if self.heading else ""
        if self.folded:
            return f"<details><summary>\n\n{head}\n\n</summary>\n\n{self.content}\n\n</details>"
        return f"{head}\n\n{self.content}" if head else self.content


def part_of(section: Section, results: Results, pictures: Path) -> Part:
    """A section as it is written of these results."""
    return Part(section.name, section.heading, section.content(results, pictures), section.folded)


def parts(results: Results) -> list[Part]:
    """Every section that has something to say, in order; their pictures are made in the results folder."""
    written = [part_of(section, results, results.folder / PICTURES) for section in in_order()]
    return [part for part in written if part.content]


def write_report(results: Path) -> Path:
    """Write `report.md`, its pictures and `trials.csv` into the results folder; returns the report's path.

    Works on a study that is still running: what is not there yet is a dash. Raises `UserError` for a folder that
    is no study's, or where nothing is finished.
    """
    read = Results.load(results)
    texts = [f"# {read.space.title}", *(part.markdown for part in parts(read))]
    path = results / NAME
    write_whole(path, "\n\n".join(texts) + "\n")
    write_trials_csv(results / "trials.csv", read.records, read.labels)
    return path
