"""Odd command lines of every command end in one sentence and exit code 2: no traceback, no hang, nothing written."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from trainables.errors import answer_user_errors

LONG = "x" * 5000
DEEP = "[" * 1000 + "1" + "]" * 1000
LONE, NUL, BYTES = "a\ud800b", "a\0b", "caf\udce9"
SECONDS = 120.0
NOBODY = "~nobody-is-called-so/x"
FILE, FOLDER, DEEP_STUDY = "../file.txt", "../folder", "../deep_study"
OPTUNA, RUNGS = ("--search", "optuna"), ("--search", "grid", "--scheduler", "asha")
STS = ("--data", "scenes", "--tasks", "STS12")
SCL = ("--space", "scl_ablation", "--scale", "laptop", "--only", "SBERT baseline", "--dry-run")
ALL_ROWS = (*SCL[:4], "--dry-run")
DECLUTR = ("--space", "declutr_objective", "--scale", "laptop", "--dry-run")
TASK = ("--encoder", "scenes-small", "--tasks", "STS12", "--quiet", "--data")

# What stands for a file or a folder in a command line: made in each test's own folder.
FILES: dict[str, str | bytes] = {
    "file.txt": "hello\n",
    "latin.py": b"# caf\xe9\n",
    "nul.py": "SPACE = 1\0\n",
    "deep.py": f"SPACE = {DEEP}\n",
    "loop.py": "def f():\n    return f()\nf()\n",
    "empty.py": "",
    "wrong.py": "SPACE = 3\n",
    "syntax.py": "def :\n",
    "deep_row.py": (
        "from search_spaces import Row, Space\nfrom trainables.recipe import Recipe\nvalue = []\n"
        "for _ in range(1000): value = [value]\n"
        "SPACE = Space('mine', '', '', Recipe(), rows=(Row('a', {'objective.temperature': value}),))\n"
    ),
    "deep_base.py": (
        "from search_spaces import Space\nfrom trainables.recipe import Recipe\nvalue = {}\n"
        "for _ in range(1000): value = {'a': value}\n"
        "SPACE = Space('mine', '', '', Recipe.from_flat(value))\n"
    ),
    "lone.py": (
        "from search_spaces import Row, Space\nfrom trainables.recipe import Recipe\n"
        "SPACE = Space('mine', '', '', Recipe(), rows=(Row('a\\ud800', {}),))\n"
    ),
    "nan.py": (
        "from search_spaces import Domain, Space\nfrom trainables.recipe import Recipe\n"
        "SPACE = Space('mine', '', '', Recipe(), domains=(Domain('objective.weight', low=float('nan'), high=1.0),))\n"
    ),
    "deep_study/study.json": DEEP,
    "list_study/study.json": "[]",
    "odd_study/study.json": '{"space": "\\ud800"}',
    "nul_study/study.json": '{"space": "x", "space_file": "a\\u0000b"}',
    "long_study/study.json": json.dumps({"space": LONG}),
    "thesis/thesis.txt": "years of work",
}


def contents() -> dict[str, bytes]:
    return {name: content.encode() if isinstance(content, str) else content for name, content in FILES.items()}


@pytest.fixture(autouse=True)
def work_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and beside it the files; no Ray is asked, and no hub."""
    for name, content in contents().items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    (tmp_path / "folder").mkdir()
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from study.engine.cluster import Cluster

    monkeypatch.setattr("study.engine.cluster.find_cluster", lambda: Cluster(True, ({"CPU": 2.0},)))
    return folder


def commands() -> dict[str, Callable[[Sequence[str]], int | None]]:
    from reports.__main__ import main as reports
    from study.run import main as study
    from trainables.corpora.__main__ import main as corpora
    from trainables.senteval.__main__ import main as senteval

    return {
        "study": study,
        "reports": reports,
        "senteval": senteval,
        "corpora": lambda given: corpora(list(given)),
    }


def lines_of(command: str, before: Sequence[str], option: str, values: Sequence[str]) -> list[tuple[str, ...]]:
    return [(command, *before, *([option] if option else []), value) for value in values]


PLACES = (LONG, NOBODY, LONE, NUL, BYTES, f"{LONG}/x", "../file.txt/x")
"""What no path can be, or names nothing."""
BIG = "9" * 5000
NO_NUMBERS = ("", "x", "nan", "-1", "0", BIG, "1e400", LONE)
"""What no number of trials, seeds, workers can be."""
LINES: list[tuple[str, ...]] = [
    # --- study/run.py
    *lines_of("study", SCL, "--results", (*PLACES, FILE, "../thesis", DEEP_STUDY, "../list_study")),
    *lines_of("study", SCL, "--results", ("../odd_study", "../nul_study", "s3://", "s3://a\nb/x", "nothing://x")),
    *lines_of("study", SCL, "--results", ("file://elsewhere/x", "s3://user:secret@b/x", "s3://b/../x")),
    *lines_of("study", (), "--space", (*PLACES, "", "./", "../folder/x.py", FILE, FOLDER, "nothing")),
    *lines_of("study", (), "--space", [f"../{name}" for name in FILES if name.endswith(".py")]),
    *lines_of("study", (), "--space", ("../empty.py:X", "../wrong.py:", f"{LONG}.py:X", ".py:X", "/.py")),
    *lines_of("study", SCL, "--set", ("", "=", "x", "tau", "tau=", f"tau={DEEP}", f"{LONG}=1", f"tau={LONG}")),
    *lines_of("study", SCL, "--set", (f"tau={LONE}", f"{LONE}=1", "tau=nan", "tau=inf", "tau=-1", "tau=1e400")),
    *lines_of("study", SCL, "--set", (f"encoder.name={LONG}", f"encoder.name={NOBODY}", f"encoder.layers={BIG}")),
    *lines_of("study", SCL, "--set", (f"corpus.nli={DEEP}", f"evaluation.tasks={LONG}", f"evaluation.heat_map={LONG}")),
    *lines_of("study", SCL, "--set", ("evaluation.heat_map=../folder", "evaluation.tasks=", "optimisation.epochs=1.5")),
    *lines_of("study", SCL, "--nli", (*PLACES, FILE, FOLDER)),
    *lines_of("study", SCL, "--columns", ("", "x", f"premise={LONE}", LONG)),
    *lines_of("study", SCL, "--labels", ("", "x", "entailment=x,entailment=y")),
    *lines_of("study", SCL, "--senteval", (*PLACES, FILE, FOLDER)),
    *lines_of("study", DECLUTR, "--documents", (*PLACES, FOLDER)),
    *lines_of("study", ALL_ROWS, "--word-vectors", (*PLACES, FOLDER)),
    *lines_of("study", ALL_ROWS, "--evaluate", ("", "x", "=", "a=b")),
    *lines_of("study", ALL_ROWS, "--evaluate", (f"SBERT baseline={LONG}", f"SBERT baseline={NOBODY}")),
    *lines_of("study", ALL_ROWS, "--only", ("", LONG, LONE, "sbert")),
    *lines_of("study", SCL, "--plugin", (*PLACES, FOLDER, "../latin.py", "../nul.py", "../loop.py")),
    *lines_of("study", SCL, "--seeds", (*NO_NUMBERS, "1:", "2:1", "1:2:3", "1000000000000", "1:99999999999")),
    *lines_of("study", SCL, "--workers", (*NO_NUMBERS, "999999999999", "1:99999999999999999999")),
    *lines_of("study", SCL, "--concurrent", (*NO_NUMBERS, "1.5")),
    *lines_of("study", SCL, "--cpus-per-worker", (*NO_NUMBERS, "999999999999")),
    *lines_of("study", SCL, "--gpus-per-worker", ("x", "nan", "inf", "-1", "1e400")),
    *lines_of("study", (*SCL, *OPTUNA), "--trials", (*NO_NUMBERS, "99999999999999")),
    *lines_of("study", (*SCL, *OPTUNA), "--goals", ("", ",", "x", "sts,sts", LONG, LONE)),
    *lines_of("study", SCL, "--limit", ("", "x", "seconds=", "seconds=nan", "seconds=-1", f"{LONG}=1", "gpu_hours=1")),
    *lines_of("study", (*SCL, *RUNGS), "--rungs", ("", "x", "0", "-1", "share:2", "steps:")),
    *lines_of("study", (*SCL, *RUNGS), "--rungs", ("share:nan", "steps:9" * 500, "tokens:inf")),
    ("study", "--nothing"),
    ("study", *SCL, "--scheduler", LONG, "--search", "grid"),
    ("study", *SCL, "--sampler", LONE, "--search", "optuna"),
    # --- python -m reports
    *lines_of("reports", (), "", (*PLACES, FILE, FOLDER, "../thesis", DEEP_STUDY, "../list_study")),
    *lines_of("reports", (), "", ("../odd_study", "../nul_study", "../long_study", "s3://", "nothing://x", "")),
    *lines_of("reports", ("--live",), "", (LONG, NOBODY, FILE, DEEP_STUDY, "../odd_study")),
    *lines_of("reports", ("--check",), "", (LONG, NOBODY, FILE, "../nul_study")),
    *lines_of("reports", ("diff", FOLDER), "", (LONG, NOBODY, LONE)),
    *lines_of("reports", ("export",), "", (LONG, NOBODY)),
    ("reports", "export", DEEP_STUDY, "x"),
    ("reports", "export", LONG, "x"),
    ("reports", FOLDER, "--live", "--check"),
    *lines_of("reports", (FOLDER,), "--plugin", (LONG, NOBODY, FOLDER, "../latin.py", "../nul.py")),
    ("reports",),
    # --- python -m trainables.senteval
    *lines_of("senteval", TASK, "", (*PLACES, FILE, FOLDER, "")),
    *lines_of("senteval", (*TASK, "scenes"), "--json", (*PLACES, FOLDER)),
    *lines_of("senteval", (*TASK, "scenes"), "--plugin", (LONG, LONE, FOLDER, "../loop.py")),
    *lines_of("senteval", (*TASK, "scenes"), "--max-length", ("x", "0", "-5", BIG, "1e3")),
    *lines_of("senteval", (*TASK, "scenes"), "--pooling", ("", "x", LONG, LONE)),
    *lines_of("senteval", (*TASK, "scenes"), "--protocol", ("", "x", LONG)),
    *lines_of("senteval", ("--data", "scenes", "--encoder", "scenes-small"), "--tasks", ("", ",", "x", LONG, LONE)),
    *lines_of("senteval", STS, "--encoder", (*PLACES, "", FILE, FOLDER)),
    *lines_of("senteval", STS, "--word-vectors", (*PLACES, FOLDER, FILE)),
    ("senteval",),
    ("senteval", "--encoder", "a", "--word-vectors", "b"),
    # --- python -m trainables.corpora
    *lines_of("corpora", ("fetch", "senteval"), "--to", (LONG, LONE, NUL, FILE)),
    *lines_of("corpora", ("fetch",), "", ("", "x", LONE, "nli")),
    *lines_of("corpora", ("write-scenes",), "--to", (*PLACES, FILE, "../thesis", "/proc/x")),
    *lines_of("corpora", ("write-scenes", "--to", "x"), "--size", ("", "x", "nan", "inf", "-1", "0", "1e300")),
    *lines_of("corpora", ("write-scenes", "--to", "x"), "--seed", ("", "x", "1.5", BIG)),
    ("corpora",),
    ("corpora", LONE),
]  # fmt: skip


def option_of(line: Sequence[str]) -> tuple[str, str]:
    """The command, and the option whose value is odd."""
    return line[0], line[-2] if len(line) > 2 and line[-2].startswith("--") else ""


def name_of(line: Sequence[str]) -> str:
    return ascii(" ".join(word if len(word) <= 40 else f"{word[:20]}(long)" for word in line))[1:-1]


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """An AssertionError where it takes longer, which on a busy machine is a hang."""

    def late(*_: object) -> None:
        raise AssertionError(f"no answer within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def answer(line: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code and what stands on stderr."""
    command, *words = line
    try:
        with at_most(SECONDS):
            code = answer_user_errors(lambda: commands()[command](words))
    except SystemExit as ended:  # argparse, which prints how the command is used before its sentence
        code = int(ended.code or 0)
    return code, capsys.readouterr().err


@pytest.mark.parametrize("option", dict.fromkeys(map(option_of, LINES)), ids=" ".join)
def test_odd_command_lines_are_each_answered_by_one_sentence(
    option: tuple[str, str], work_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for line in (line for line in LINES if option_of(line) == option):
        code, message = answer(line, capsys)
        assert code == 2, (name_of(line), message)
        last = message.strip().splitlines()[-1]
        assert "error: " in last, name_of(line)
        assert "Traceback" not in message, name_of(line)
        assert len(last) < 1500 or "invalid int value" in last, name_of(line)
        message.encode()  # a terminal can show it
        assert list(work_folder.iterdir()) == [], name_of(line)
    assert all((work_folder.parent / name).read_bytes() == content for name, content in contents().items())
