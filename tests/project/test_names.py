"""Names are nouns of the field: some words are no names, and a class name stands for one thing."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("study", "reports", "trainables", "search_spaces", "benchmarks")
NO_NAMES = {
    "asked", "came", "found", "gone", "here", "its", "meant", "one",
    "said", "their", "there", "those", "told", "wanted", "who",
}  # fmt: skip
"""They say how a thing came about, or point at it, where a name says what it is."""
NO_NAMES_OF_THE_PRODUCT = NO_NAMES | {"given", "kept", "known"}
OPEN = ("reports/plots", "reports/sections", "trainables/corpora", "trainables/senteval", "benchmarks", "tests")
"""Rooms where these three still stand."""
FIELDS = {
    "trainables/record_parts.py", "trainables/training/checkpoint.py", "trainables/training/weights_kept.py",
    "trainables/trial/run.py", "trainables/trial/save_and_score.py", "trainables/testing/tasks.py",
}  # fmt: skip
"""Where `kept` is a field of records, checkpoints and SentEval's result, which their files have."""


def identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name that code gives or uses, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.keyword(arg=str(name)):
                yield node.lineno, name


def no_names_of(path: str) -> set[str]:
    words = NO_NAMES if path.startswith(OPEN) else NO_NAMES_OF_THE_PRODUCT
    return words - {"kept"} if path in FIELDS else words


def files(*rooms: str) -> list[Path]:
    return [path for room in rooms for path in sorted((ROOT / room).rglob("*.py"))]


def without_texts(code: str) -> str:
    """Code without docstrings, comments and most other texts of a line."""
    return re.sub(r'"""[\s\S]*?"""|(?<![frFR"])"[^"{}\n]*"|#.*', "", code)


@pytest.mark.parametrize("room", [*ROOMS, "tests"])
def test_names_say_what_things_are(room: str) -> None:
    bad = []
    for path in files(room):
        own = str(path.relative_to(ROOT))
        no_names, content = no_names_of(own), path.read_text()
        if not re.search(rf"(?<![^\W_])({'|'.join(no_names)})(?![^\W_])", without_texts(content), re.IGNORECASE):
            continue  # most files, and much sooner
        names = identifiers(ast.parse(content))
        bad += [f"{own}:{line}: {name}" for line, name in names if name.strip("_").lower() in no_names]
    assert not bad, "\n".join(bad)


def test_a_class_name_stands_for_one_thing() -> None:
    texts = {path: path.read_text() for path in files(*ROOMS)}
    words = Counter(name for text in texts.values() for name in re.findall(r"\bclass (\w+)", text))
    paths: dict[str, list[str]] = defaultdict(list)
    for path, text in texts.items():
        if not any(words[name] > 1 for name in re.findall(r"\bclass (\w+)", text)):
            continue  # most files, and much sooner
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                paths[node.name].append(str(path.relative_to(ROOT)))
    assert not {name: where for name, where in paths.items() if len(where) > 1}


def test_the_rule_sees_every_kind_of_name() -> None:
    names = {name for _, name in identifiers(ast.parse("def said(one): return found.told(wanted=1)"))}
    assert names == {"said", "one", "found", "told", "wanted"}
