"""Arrows between packages, no circle of imports, late imports only for a reason, light command lines, short files."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("study", "reports", "search_spaces", "trainables", "benchmarks")
SHARED = tuple(
    f"trainables.{name}"
    for name in (
        "recipe",
        "record_parts",
        "arrays",
        "sections",
        "fingerprints",
        "hub_names",
        "evaluation_config",
        "errors",
        "keys",
        "registry",
        "labels",
        "files",
        "process_cache",
        "lines",
        "text_lines",
        "delimited",
        "tabular",
        "to_device",
        "machine",
        "lazy_torch",
        "typed_json",
    )
)

# What a module may import of the project; the longest matching name decides.
MAY_IMPORT = {
    "study": ("study", "reports", "search_spaces", "trainables"),
    # A report names tasks, layouts and presets: their registries are light.
    "reports": (
        "reports",
        "search_spaces",
        "trainables.objectives.OBJECTIVES",
        "trainables.senteval.file_layouts",
        "trainables.senteval.items",
        "trainables.senteval.kinds",
        "trainables.senteval.tasks",
        "trainables.plugins",
        *SHARED,
    ),
    # What studies write and reports read stands below both. A task's kind says between which numbers its scores lie.
    "reports.ledger": ("reports.ledger", "search_spaces", "trainables.senteval.tasks", "trainables.plugins", *SHARED),
    # Numbers, then facts, then words, then blocks: none knows the next.
    "reports.statistics": ("reports.statistics",),
    "reports.facts": (
        "reports.facts",
        "reports.ledger",
        "reports.statistics",
        "search_spaces",
        "trainables.corpora.layouts",
        "trainables.senteval.items",
        "trainables.senteval.kinds",
        "trainables.senteval.protocol",
        "trainables.senteval.tasks",
        *SHARED,
    ),
    "reports.words": (
        "reports.words",
        "reports.facts",
        "reports.ledger",
        "reports.statistics",
        "search_spaces",
        *SHARED,
    ),
    "reports.document": ("reports.document", "reports.words.markdown"),
    # A person says where trainings pause.
    "reports.ledger.request": (
        "reports.ledger",
        "search_spaces",
        "trainables.training.rungs",
        *SHARED,
    ),
    # The exported model gets the card that a trial writes, and the page names test sentences: both read no torch.
    "reports.export": (
        "reports",
        "search_spaces",
        "trainables.encoders.model_card",
        "trainables.senteval",
        *SHARED,
    ),
    # It scores a kept model again, as a trial does.
    "reports.size": (
        "reports",
        "trainables.encoders",
        "trainables.senteval",
        "trainables.trial.data_requests",
        *SHARED,
    ),
    # Which names are the hub's, the card says.
    "reports.mteb_scores": ("reports", "trainables.encoders.model_card", *SHARED),
    "reports.formats.page_data": ("reports", "trainables.senteval", *SHARED),
    # A space is checked when it loads, so it knows the light registries of tasks, objectives and layouts.
    "search_spaces": (
        "search_spaces",
        "trainables.senteval.tasks",
        "trainables.objectives.OBJECTIVES",
        "trainables.corpora.layouts",
        "trainables.plugins",
        *SHARED,
    ),
    "benchmarks": ("benchmarks", "study", "reports", "search_spaces", "trainables"),
    "trainables": ("trainables",),
    "trainables.recipe": SHARED,
    "trainables.evaluation_config": ("trainables.recipe", "trainables.keys", "trainables.errors"),
    "trainables.keys": ("trainables.errors", "trainables.registry"),
    "trainables.registry": ("trainables.errors",),
    "trainables.errors": (),
    "trainables.files": ("trainables.errors",),
    "trainables.arrays": ("trainables.errors",),
    "trainables.typed_json": ("trainables.errors", "trainables.keys"),
    "trainables.process_cache": (),
    "trainables.corpora": ("trainables.corpora", *SHARED),
    "trainables.encoders": ("trainables.encoders", *SHARED),
    "trainables.encoders.builtin": ("trainables.encoders", "trainables.corpora.scenes", *SHARED),
    "trainables.objectives": (
        "trainables.objectives",
        "trainables.corpora.layouts",
        "trainables.corpora.batch",
        *SHARED,
    ),
    "trainables.training": (
        "trainables.training",
        "trainables.corpora",
        "trainables.encoders",
        "trainables.objectives",
        *SHARED,
    ),
    "trainables.senteval": ("trainables.senteval", *SHARED),
    # Tasks of one's own may be the built-in ones, which are kept in the cache.
    "trainables.senteval.own_tasks": ("trainables.senteval", "trainables.corpora.cache", *SHARED),
    # Tables of one's own are read as training data are.
    "trainables.senteval.table": ("trainables.senteval", "trainables.corpora.tables", *SHARED),
    # The command line names data and encoders, and may load them.
    "trainables.senteval.__main__": (
        "trainables.senteval",
        "trainables.encoders",
        "trainables.corpora",
        "trainables.plugins",
        *SHARED,
    ),
}
COMMANDS = (
    ["study/run.py"],
    ["-m", "trainables.senteval"],
    ["-m", "trainables.corpora"],
    ["-m", "reports"],
    ["-m", "benchmarks"],
)
HEAVY = (
    "torch",
    "ray",
    "transformers",
    "pandas",
    "scipy",
    "sklearn",
    "matplotlib",
    "datasets",
    "sentence_transformers",
)
WORTH_WAITING = {
    *HEAVY,
    "huggingface_hub",
    "mlflow",
    "mteb",
    "nltk",
    "numpy",
    "optuna",
    "peft",
    "pooch",
    "pyarrow",
    "safetensors",
    "tensorboardX",
    "threadpoolctl",
    "tokenizers",
    "tqdm",
    "triton",
    "wandb",
}
"""Libraries that take long to import, or that not everybody has: what needs them may import late."""
LONGEST_FILE = 500

FILES = sorted(file for room in PACKAGES for file in (ROOT / room).rglob("*.py"))


def module_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def tree_of(file: Path) -> ast.Module:
    return _parsed(file.read_text(encoding="utf-8"))


_parsed = functools.cache(ast.parse)


@dataclass(frozen=True)
class Import:
    """What an import statement brings."""

    name: str
    """Its full name."""
    source: str
    """The module that it is taken from, or is."""
    late: bool
    """Within a function, so that it is run when the function is; or for types alone."""


def imports_of(tree: ast.AST, late: bool = False) -> Iterator[Import]:
    """At any depth of nesting, without the expressions of a file: these hold none."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (Import(name.name, name.name, late) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the arrows"
            yield from (Import(f"{node.module}.{name.name}", str(node.module), late) for name in node.names)
        elif not isinstance(node, ast.expr):
            for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            yield from imports_of(node, late or for_types or isinstance(node, ast.FunctionDef))


@functools.cache
def imports(file: Path) -> list[str]:
    """Full names of all that a file imports."""
    return [item.name for item in imports_of(tree_of(file))]


def within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def allowed(module: str) -> tuple[str, ...]:
    return MAY_IMPORT[max((name for name in MAY_IMPORT if within(module, (name,))), key=len)]


class TestEveryFile:
    """Each fails with the files that are wrong."""

    def test_imports_follow_the_arrows(self):
        wrong = {}
        for file in FILES:
            may = allowed(module_of(file))
            ours = [name for name in imports(file) if within(name, (*PACKAGES, "tests"))]
            wrong[str(file)] = [name for name in ours if not within(name, may)]
        assert len(wrong) > 300
        assert {file: names for file, names in wrong.items() if names} == {}

    def test_only_study_imports_ray(self):
        # Beside it those benchmarks that measure the engine: what workers do in them.
        modules = {file: module_of(file) for file in FILES}
        others = [f for f, m in modules.items() if not within(m, ("study",)) and not re.match(r"benchmarks\..*\._", m)]
        assert len(others) > 200
        assert [str(file) for file in others if any(within(name, ("ray",)) for name in imports(file))] == []

    def test_is_not_too_long_and_says_what_it_is(self):
        texts = {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in FILES}
        assert [name for name, text in texts.items() if len(text.splitlines()) > LONGEST_FILE] == []
        silent = [name for name, text in texts.items() if text.strip() and not ast.get_docstring(tree_of(ROOT / name))]
        assert silent == [], "no module docstring"


MODULES = {module_of(file): file for file in FILES}


def graph(files: Mapping[str, Path]) -> dict[str, list[tuple[str, bool]]]:
    """What each module imports, as modules, and whether late."""
    return {
        module: [(item.name if item.name in files else item.source, item.late) for item in imports_of(tree_of(file))]
        for module, file in files.items()
    }


def circle(modules: Mapping[str, Sequence[tuple[str, bool]]]) -> list[str] | None:
    """A circle of modules, if there is one."""
    known = {name: {other for other, _ in items} & set(modules) - {name} for name, items in modules.items()}
    try:
        TopologicalSorter(known).prepare()
    except CycleError as error:
        return list(error.args[1])
    return None


@pytest.fixture(scope="module")
def ours() -> dict[str, list[tuple[str, bool]]]:
    return graph(MODULES)


def test_no_circle_of_imports_late_ones_included(ours: dict[str, list[tuple[str, bool]]]):
    assert circle(ours) is None


def test_a_circle_is_found(tmp_path: Path):
    (tmp_path / "a.py").write_text("import b\n")
    (tmp_path / "b.py").write_text("def f():\n    from c import g\n")
    (tmp_path / "c.py").write_text("from a import h\n")
    files = {name: tmp_path / f"{name}.py" for name in "abc"}
    assert set(circle(graph(files)) or ()) == {"a", "b", "c"}
    (tmp_path / "c.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a import h\n")
    assert set(circle(graph(files)) or ()) == {"a", "b", "c"}
    (tmp_path / "c.py").write_text("")
    assert circle(graph(files)) is None


def heavy_modules(modules: Mapping[str, Sequence[tuple[str, bool]]]) -> set[str]:
    """Modules of the project that load a heavy library as soon as they are imported."""
    heavy: set[str] = set()
    while True:
        more = {
            name
            for name, items in modules.items()
            if name not in heavy
            and any(
                not late and (module.partition(".")[0] in WORTH_WAITING or module in heavy) for module, late in items
            )
        }
        if not more:
            return heavy
        heavy |= more


def test_a_late_import_is_of_something_heavy(ours: dict[str, list[tuple[str, bool]]]):
    """Everything else is imported where a reader looks for it: at the top."""
    heavy = heavy_modules(ours)
    light = [
        f"{name}: {module}"
        for name, items in ours.items()
        for module, late in items
        if late and module.partition(".")[0] not in WORTH_WAITING and module not in heavy
        if not is_command_line(name)
    ]
    assert light == []


def is_command_line(module: str) -> bool:
    """What answers `--help`: it imports nothing of its work before it knows what is asked."""
    return (
        module.endswith("__main__") or module in ("study.run", "study.cli.listing") or within(module, ("benchmarks",))
    )


def test_the_check_can_fail(tmp_path: Path):
    file = tmp_path / "bad.py"
    file.write_text("def f():\n    import ray.train\n    from study import plan\n    from trainables import recipe\n")
    names = list(imports(file))
    assert names == ["ray.train", "study.plan", "trainables.recipe"]
    assert not [name for name in MAY_IMPORT if within(name, ("reports",)) and within("study.plan", allowed(name))]
    assert within("trainables.recipe", allowed("reports.report"))
    assert not within("trainables.training.loop", allowed("trainables.objectives.losses.scl"))
    assert within("trainables.corpora.scenes", allowed("trainables.encoders.builtin"))
    assert not within("trainables.recipes", ("trainables.recipe",))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_has_examples_and_loads_nothing_heavy(command: list[str], tmp_path: Path):
    # The real command line under an import trace: each loaded module is a line on stderr.
    answer = subprocess.run(
        [sys.executable, "-X", "importtime", *command, "--help"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    trace = [line for line in answer.stderr.splitlines() if line.startswith("import time:")]
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in trace}
    assert len(loaded) > 20  # the trace was read
    assert loaded.isdisjoint(HEAVY)
    assert f"python {' '.join(command)}" in answer.stdout, "no example"
