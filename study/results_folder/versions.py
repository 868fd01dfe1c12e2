"""Versions of the code that a trial ran: those of packages, and digests of our own code and plugins."""

from __future__ import annotations

import ast
import functools
import hashlib
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import trainables
from study.trial import SourceFile

LIBRARIES = ("ray", "torch", "transformers", "sentence-transformers", "datasets", "optuna", "numpy", "scipy")


def versions(sources: Iterable[SourceFile] = ()) -> dict[str, str]:
    """Return the versions of Python and of the packages that affect the numbers. `trainables` and plugins have no
    version: their digest is returned, which comments and docstrings do not change."""
    plugins = [source.text for source in sources if source.what == "plugin"]
    return {**_installed(), **({"plugins": digest(plugins)} if plugins else {})}


def digest(sources: Iterable[str]) -> str:
    """Return eight hexadecimal digits of Python files, independent of their comments, docstrings and line breaks."""
    content = hashlib.blake2b(digest_size=4)
    for source in sources:
        content.update(ast.dump(_without_docstrings(ast.parse(source))).encode())
    return content.hexdigest()


@functools.cache
def _installed() -> dict[str, str]:
    files = sorted(Path(trainables.__file__).parent.rglob("*.py"))
    installed = {"python": platform.python_version(), "trainables": digest(file.read_text("utf-8") for file in files)}
    for package in LIBRARIES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """Remove every string that is a statement from the tree: docstrings, also those of attributes."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [line for line in body if not _is_text(line)]  # type: ignore[attr-defined]
    return tree


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
