"""Every command that a report or the console tells to type is one that our own parser takes."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.__main__ import main as reports
from reports.check import check
from reports.ledger import StudyInfo
from reports.ledger.option_values import NumberRange
from reports.ledger.request import PROGRAM, Request
from reports.report import write_report
from reports.testing import make_study
from reports.words.commands import recipe_command, report_command, study_command
from study.cli.options import EXAMPLES, own_version, parse

LABELS = st.one_of(
    st.sampled_from(
        ["SBERT baseline", "it's", 'a "b"', "λ=0.5", "-x", "--only", "--seeds=3", "$HOME", "a\\b", "", "#"]
    ),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12),
)


def given_as(option: str, value: str, joined: bool, short: int) -> list[str]:
    """As a person may type it: `--option value`, `--option=value`, and the name cut short."""
    name = option[: len(option) - short]
    return [f"{name}={value}"] if joined or value.startswith("-") else [name, value]


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """A command line that the parser takes, its options in any order."""
    joined = st.booleans()
    options: list[list[str]] = [["--space", draw(st.sampled_from(["scl_tau", "./my space.py", "./a.py:NAME"]))]]

    def add(option: str, values: Any, most: int = 1, short: int = 0) -> None:
        for value in draw(st.lists(values, max_size=most)):
            options.append(given_as(option, str(value), draw(joined), draw(st.integers(0, short))))

    add("--scale", st.sampled_from(["auto", "laptop", "paper"]), short=2)
    add("--seeds", st.sampled_from(["1", "3", "1:10", "2:5"]), short=2)
    add("--only", LABELS, most=3, short=3)
    add("--set", st.sampled_from(["tau=0.1", "evaluation.tasks=CR,MR", "corpus.nli=/a b/c.csv"]), most=2)
    add("--evaluate", LABELS.map(lambda label: f"{label}=model"), most=2)
    add("--goals", st.just("sts,seconds"))
    add("--limit", st.sampled_from(["gpu_hours=2", "seconds=600"]), most=2)
    add("--plugin", st.sampled_from(["mine.py", "/a b/c.py"]), most=2, short=2)
    add("--results", st.sampled_from(["results/x", "/a b", "s3://bucket/x"]), short=3)
    add("--workers", st.sampled_from(["1", "1:4"]), short=2)
    add("--gpus-per-worker", st.sampled_from(["0", "0.5"]), short=5)
    add("--word-vectors", st.just("glove.txt"), short=5)
    search = draw(st.sampled_from(["paper", "grid", "optuna"]))
    if search != "paper":
        options.append(given_as("--search", search, draw(joined), draw(st.integers(0, 3))))
        add("--scheduler", st.sampled_from(["none", "asha"]), short=3)
        add("--finals", st.sampled_from(["none", "3x5", "1x2"]), short=4)
        if "none" not in options[-1][-1] and draw(st.booleans()):
            options.insert(1, ["--learning-curve"])
        if options[-1][-1].endswith("asha"):
            add("--rungs", st.sampled_from(["8", "steps:10,20"]), short=3)
    if search == "optuna":
        add("--trials", st.integers(1, 50), short=3)
        add("--sampler", st.sampled_from(["tpe", "random"]), short=3)
    return [word for words in draw(st.permutations(options)) for word in words]


def info_of(words: list[str], **more: Any) -> StudyInfo:
    return StudyInfo("scl_tau", scale="laptop", seeds=[0], requests=[parse(words).values], **more)


def read(command: str) -> Request:
    words = shlex.split(command)
    assert words[:2] == [*PROGRAM]
    return parse(words[2:])


@given(lines(), st.lists(LABELS, max_size=3), st.none() | st.integers(1, 50))
def test_what_a_report_tells_to_type_is_what_it_means(words: list[str], rows: list[str], seeds: int | None) -> None:
    """Also once it went through `study.json`."""
    request = parse(words)
    assert Request.of(json.loads(json.dumps(request.values))) == request
    expected = request.without_search() if rows else request
    expected = dataclasses.replace(expected, only=tuple(rows) or request.only)
    if seeds is not None:
        expected = dataclasses.replace(expected, seeds=NumberRange(seeds, seeds))
    assert read(study_command(info_of(words), rows, seeds)) == expected


@given(
    st.permutations(
        [
            ["--train", "my pairs.csv", "b.csv"],
            ["--columns=anchor=a,positive=b"],
            ["--lab", "entailment=yes"],
            ["--drop-leaks"],
            ["--max-rows", "3000000"],
            ["--encoder", "scenes-small"],
            ["--test", "sts.csv", "x=y/"],
            ["--results", "res/mine"],
            ["--limit", "minutes=60"],
        ]
    )
)
@settings(max_examples=10, derandomize=True)
def test_the_recipe_of_own_data_is_trained_on_all_of_them(options: list[list[str]]) -> None:
    request = read(recipe_command(info_of([word for words in options for word in words])))
    assert (request.recipe, request.train, request.strategy) == ("res/mine", ("my pairs.csv", "b.csv"), "paper")
    assert (request.columns, request.labels, request.drop_leaks) == ("anchor=a,positive=b", "entailment=yes", True)
    assert request.max_rows == 3_000_000
    assert (request.encoder, request.test, request.limit) == ((), (), ())


@pytest.mark.parametrize("seeds", [[], [0, 1]])
def test_without_a_request_one_is_made_up(seeds: list[int]) -> None:
    request = read(study_command(StudyInfo("mine", space_file="space.py", scale="laptop", seeds=seeds), ["-a"]))
    number = max(1, len(seeds))
    assert request == Request(space="space.py", scale="laptop", seeds=NumberRange(number, number), only=("-a",))


SEARCHED = "--space scl_tau --scale laptop --search optuna --trials 3 --sched asha --rungs 8 --only x"


def test_a_searched_studys_report_tells_no_other_command(tmp_path: Path) -> None:
    folder = make_study(tmp_path / "my results", seeds=2).folder
    info = dataclasses.replace(StudyInfo.load(folder), requests=[parse(shlex.split(SEARCHED)).values], seeds=[0, 1, 2])
    info.save(folder)
    text = write_report(folder).read_text()
    commands = re.findall(r"^(?:- .*?`+ ?)?(python study/run\.py .*?)(?: ?`+)?$", text, re.MULTILINE)
    assert len(commands) >= 4
    assert "Continue with:" in text
    assert "Run it:" in text
    for command in commands:
        read(command)


def test_the_commands_of_messages_are_taken(tmp_path: Path) -> None:
    results = make_study(tmp_path / "it's mine")
    (sentence,) = [problem for problem in check(results.folder) if "report.md" in problem]
    words = shlex.split(sentence.split("`")[1])
    assert words[:3] == ["python", "-m", "reports"]
    assert reports(words[3:]) == 0
    assert shlex.split(report_command(results.folder, "--live"))[3:] == [str(results.folder), "--live"]


def test_the_examples_of_the_help_are_taken() -> None:
    commands = [line.strip().split("   ")[0] for line in EXAMPLES.splitlines() if "study/run.py" in line]
    assert len(commands) > 8
    for command in commands:
        words = shlex.split(command)
        parse(words[words.index("study/run.py") + 1 :])
    assert own_version()
