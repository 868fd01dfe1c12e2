"""Tampered study files and ledgers, under every command that reads them: named in one sentence, and never counted."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from reports.__main__ import main as reports
from reports.facts.results import Results
from reports.ledger import LEDGER, Ledger, Record, StudyInfo
from reports.live import html
from reports.live.folder import Folder
from reports.testing import changed
from study.cli.listing import list_spaces
from study.run import main as study
from tests.synthetic_results import make_results
from trainables.errors import answer_user_errors
from trainables.recipe import Recipe
from trainables.senteval import task_names

SPACE, ROWS, SEEDS = "scl_lambda", 3, (0, 1)
AGAIN = ("--space", SPACE, "--scale", "laptop", "--dry-run", "--results")
DEEP: Any = []
for _ in range(200):
    DEEP = [DEEP]

WRONG: dict[str, tuple[Any, ...]] = {
    "text": (3, None, ["a"], {"a": 1}, True, "\ud800"),
    "number": ("3", None, [3], {}, True, math.nan, math.inf, 10**400),
    "whole number": ("3", 1.5, [3], {}, True, -1, math.nan),
    "list": ("a", None, 3, {"a": 1}, [None], [[]], [{}]),
    "object": ("a", None, 3, ["a"], DEEP),
    "truth": ("yes", None, 1, [True], {}),
}
"""What no field of that kind may be."""
KINDS: dict[Any, str] = {str: "text", int: "whole number", float: "number", list: "list", bool: "truth", Any: "any"}


def wrong_in(hint: Any, where: str, deep: bool = True) -> list[tuple[str, Any]]:
    """What no field of that type may be, with its place; `deep`: and all that is declared in it."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        negative = [(where, -1) for check in parts[1:] if parts[0] is float and check(-1)]
        return [*wrong_in(parts[0], where, deep), *negative]
    if origin in (Union, types.UnionType):
        first, *others = (wrong_in(option, where, deep) for option in parts if option is not types.NoneType)
        cases = [case for case in first if case != (where, None) or types.NoneType not in parts]
        return [case for case in cases if all(case in other for other in others)]
    kind = KINDS.get(str if origin is Literal else origin or hint, "object")
    cases = [(where, value) for value in WRONG.get(kind, ())]
    inside: dict[str, Any] = {}
    if is_typeddict(hint) or dataclasses.is_dataclass(hint):
        inside = get_type_hints(hint, include_extras=True)
    elif origin is dict or (origin is list and dataclasses.is_dataclass(parts[0])):
        inside = {"any": parts[1]} if origin is dict else {"0": parts[0]}
    return cases + [case for name in inside if deep for case in wrong_in(inside[name], f"{where}.{name}".lstrip("."))]


EXTRA_STUDY: tuple[tuple[str, Any], ...] = (
    ("space", "no_such_space"), ("space", "../space.py"), ("space_file", "../space.py"), ("space_file", "a\0b"),
    ("plugins", ["../x.py"]), ("plugins", ["gone.py"]), ("scale", "huge"), ("search", "all"), ("trials", 0),
    ("requests", [{"colour": "red"}]), ("requests", [{"seeds": "many"}]), ("requests", ["--space x"]),
    ("seeds", [-1]), ("seeds", ["0"]), ("seeds", [0.5]), ("row_hashes", {"a": 3}), ("row_hashes", {"a": "zz"}),
    ("missing", {"a": None}), ("searched", ["objective.colour"]), ("goals", ["beauty"]), ("limits", {"patience": 3}),
    ("limits", {"seconds": "3"}), ("limits", {"seconds": -3}), ("limits", {"seconds": math.nan}),
    ("limited", {"limit": "seconds"}), ("limited", {"limit": "x", "number": 1, "spent": 1, "left_out": 1}),
    ("explored", ["zz"]), ("versions", {"ray": 2}), ("stopping", {"rungs": 8}), ("status_counts", {"finished": "3"}),
    ("places", {"a": 3}), ("finals", {"recipes": 3}), ("finals", {"recipes": 0, "seeds": 5}),
    ("finals", {"recipes": 3, "seeds": 5, "finalists": ["zz"]}),
    ("base", {"objective.colour": "red"}), ("base", {"objective.temperature": "warm"}),
    ("base", {"objective.temperature": None}), ("evaluation", {"evaluation.tasks": None}),
    ("evaluation", {"evaluation.colour": "red"}), ("base", {"evaluation.protocol": "fast"}), ("schema", 99),
)  # fmt: skip
EXTRA_RECORDS: tuple[tuple[str, Any], ...] = (
    ("recipe_hash", "ffffffffffff"), ("recipe_hash", "../x"), ("status", "lost"), ("schema", 99),
    ("checkpoint", "../../x"), ("evaluations.0.predictions", "/etc/passwd"),
    ("recipe.objective.temperature", 0.123), ("recipe.optimisation.batch_size", 1.5), ("recipe.encoder.name", 3),
    ("recipe.encoder.lora_targets", {"a": 1}), ("evaluations.0.scores.STS12.spearman_wmean", "60"),
)  # fmt: skip


STUDY_HINTS = get_type_hints(StudyInfo, include_extras=True)
RECORDS = [case for case in wrong_in(Record, "") if case[0]] + [*EXTRA_RECORDS]
FILES: dict[str, bytes] = {
    "empty": b"", "cut": b'{"space": "scl', "no JSON": b"hello", "a list": b"[]", "null": b"null", "a number": b"3",
    "UTF-16": '{"space": "scl_lambda"}'.encode("utf-16"), "latin": b'{"space": "caf\xe9"}', "NUL": bytes(100),
    "deep": b"[" * 5000, "deep objects": b'{"a":' * 100_000, "huge number": b'{"seed": ' + b"9" * 9000 + b"}",
    "twice": b'{"space": "scl_lambda", "space": "scl_tau"}', "two": b"{} {}",
}  # fmt: skip
"""Whole files that are none."""


def test_every_field_is_tampered_with() -> None:
    assert {case.values[0] for case in study_cases()} == {*STUDY_HINTS}
    assert len(RECORDS) >= 800


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with many recipes, so that many records can be wrong at once."""
    folder = tmp_path_factory.mktemp("tampered") / "results"
    make_results(folder, space_of(), seeds=SEEDS, explored=ROWS)
    return folder


def space_of() -> Any:
    from search_spaces import spaces

    return spaces()[SPACE]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No cluster is asked, and no hub."""
    from study.engine.cluster import Cluster

    monkeypatch.setattr("study.engine.cluster.find_cluster", lambda: Cluster(True, ({"CPU": 2.0},)))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def file(made: Path) -> Iterator[Path]:
    """The study's own file, which is whole again at the end."""
    path = made / "study.json"
    whole = path.read_bytes()
    yield path
    path.write_bytes(whole)


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of the study."""
    return Path(shutil.copytree(made, tmp_path / "results"))


def put(content: dict[str, Any], name: str, value: Any) -> bytes:
    """The object as JSON, with that value at `a.b.c`; what follows `recipe.` is one key."""
    section, _, rest = name.partition(".")
    names = [section, rest] if section in ("recipe", "base") and rest else name.split(".")
    changed = inner = json.loads(json.dumps(content))
    for key in names[:-1]:
        inner = inner[int(key)] if isinstance(inner, list) else inner.setdefault(key, {})
    inner[int(names[-1]) if isinstance(inner, list) else names[-1]] = value
    return json.dumps(changed).encode()


def refused(capsys: pytest.CaptureFixture[str], *commands: Any) -> Iterator[str]:
    """The sentence of each command line, which ends with exit code 2."""
    for main, arguments in commands:
        assert answer_user_errors(lambda: main(arguments)) == 2, arguments  # noqa: B023
        sentence = capsys.readouterr().err
        assert sentence.startswith("error: ")
        assert sentence.count("\n") == 1
        yield sentence


def study_cases() -> Iterator[Any]:
    """Each field is wrong once, and a field of each kind in every way; a limit of its own is each field's own."""
    tried: set[str] = set()
    for name, hint in STUDY_HINTS.items():
        kind = get_origin(hint) if get_origin(hint) is not Annotated else get_args(hint)[0]
        for place, (_, value) in enumerate(wrong_in(hint, name, deep=False)):
            case = f"{kind or hint} {value!r:.40}"
            if place == 0 or value == -1 or case not in tried:
                tried.add(case)
                yield pytest.param(name, value, id=f"{name}={ascii(value)[:30]}")
    for name, value in EXTRA_STUDY:
        yield pytest.param(name, value, id=f"{name}={ascii(value)[:30]}")


@pytest.mark.parametrize(("name", "value"), list(study_cases()))
def test_a_study_file_with_a_wrong_field_is_refused(
    file: Path, name: str, value: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the report, a continuing study, and the live page."""
    folder = file.parent
    file.write_bytes(put(json.loads(file.read_text()), name, value))
    sentences = list(refused(capsys, (reports, [str(folder)])))
    assert all(str(folder) in line for line in sentences)
    assert name in sentences[0] or str(value).strip("[]'") in sentences[0] or "nested" in sentences[0]
    view = Folder(folder).view()
    json.loads(html.state(view, {}))
    if view.info is None:
        assert any(str(file) in problem for problem in view.problems)
        assert list(refused(capsys, (study, [*AGAIN, str(folder)])))


LOOKS = FILES | {f"at {value!r}": json.dumps({"at": value}).encode() for value in (*WRONG["text"], "", "yesterday")}


@pytest.mark.parametrize("name", LOOKS)
def test_a_look_that_is_none_is_refused(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "looks" / "0123456789abcdef.json"
    path.parent.mkdir()
    path.write_bytes(LOOKS[name])
    commands = [(reports, [str(folder)]), (reports, [str(folder), "--check"])]
    assert all(f"{path} is not a look" in sentence for sentence in refused(capsys, *commands))


@pytest.mark.parametrize("name", FILES)
def test_a_study_file_that_is_none_is_refused(file: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = file.parent
    file.write_bytes(FILES[name])
    commands = [(reports, [str(folder)]), (study, [*AGAIN, str(folder)])]
    commands.append((reports, [str(folder), "--check"]))
    assert all(str(file) in sentence for sentence in refused(capsys, *commands))
    assert Folder(folder).view().problems


def test_wrong_records_are_set_aside_named_and_run_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every one of them at once, as records of one study: each reader counts the right ones only."""
    ledger = Ledger(folder / LEDGER)
    first, *right = ledger.read()
    whole = json.loads(ledger.path(first.recipe_hash, first.seed).read_text())
    ledger.path(first.recipe_hash, first.seed).unlink()
    wrong: dict[str, str] = {}
    broken = [(f"{name} {value!r:.40}", put(whole, name, value)) for name, value in RECORDS]
    for number, (what, content) in enumerate([*broken, *FILES.items()]):
        seed = 100 + number
        if what.partition(" ")[0] != "seed":
            content = content.replace(b'"seed": 0', f'"seed": {seed}'.encode())
        path = ledger.path(first.recipe_hash, seed)
        path.write_bytes(content)
        wrong[path.name] = what
    for number, key in enumerate(("recipe_hash", "seed")):
        seed = 1000 + number
        less = json.loads(json.dumps(whole)) | {"seed": seed}
        (less if key in less else less["recipe"]).pop(key)
        path = ledger.path(first.recipe_hash, seed)
        path.write_text(json.dumps(less))
        wrong[path.name] = f"without {key}"
    assert len(wrong) >= 140
    records, aside = Ledger(folder / LEDGER).sift()
    assert records == right, [record.key for record in records if record not in right]
    assert aside.keys() == wrong.keys(), [wrong[name] for name in wrong.keys() - aside.keys()]
    assert all(why.isprintable() and len(why) < 1100 for why in aside.values())
    # the report, and what is computed of it
    results = Results.load(folder)
    assert sorted(results.records, key=lambda record: record.key) == right
    assert reports([str(folder)]) == 0
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert f"**Set aside: {len(wrong)} records**" in text
    assert f"; and {len(wrong) - 3} more." in text
    assert "the study's own command runs these trials again" in text
    # the live page
    view = Folder(folder).view()
    assert view.set_aside.keys() == wrong.keys()
    assert "set aside: " in html.parts_of(view, {})["failed"]
    assert view.finished == len(right)
    html.page(view, html.verdicts(None, "", 0, False))


def test_a_continuing_study_names_a_wrong_record_and_runs_its_trial(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from search_spaces import spaces

    label, row = next((row.label, row) for row in spaces()[SPACE].rows if row.needs is None)
    info = StudyInfo.load(folder)
    ledger = Ledger(folder / LEDGER)
    path = ledger.path(info.row_hashes[label] or "", 0)
    record = ledger.get(info.row_hashes[label] or "", 0)
    scores = {task: {} for task in task_names(info.evaluation["evaluation.tasks"])} | record.scores
    ledger.write(changed(record, scores=scores, data={}))  # of data that nobody noted
    arguments = [*AGAIN, str(folder), "--only", label]
    assert study(arguments) == 0
    before = capsys.readouterr().out
    assert "set aside" not in before
    path.write_bytes(path.read_bytes()[:-100])
    assert study(arguments) == 0
    out = capsys.readouterr().out
    assert f"warning: {path} is set aside, and its trial counts as not done: is not a record" in out
    assert (before.count("  done"), out.count("  done")) == (1, 0)
    assert out.count("to run") == before.count("to run") + 1
    assert Recipe.from_flat(info.base).override(row.overrides).hash in out


def test_the_list_of_spaces_reads_no_results(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "study.json").write_bytes(FILES["deep"])
    monkeypatch.chdir(folder)
    assert list_spaces() == 0
