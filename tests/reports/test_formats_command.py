"""`python -m reports`: what it takes, what it refuses, and how light its help is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from reports import check, diff, export, report
from reports.__main__ import main
from reports.sections import SECTIONS
from reports.testing import make_study
from trainables.errors import UserError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_study(tmp_path_factory.mktemp("study")).folder


def test_help_is_light_and_has_examples():
    code = (
        "import sys\n"
        "from reports.__main__ import main\n"
        "for command in ([], ['diff'], ['export']):\n"
        "    try: main([*command, '--help'])\n"
        "    except SystemExit: pass\n"
        "print(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.count("usage: ") == done.stdout.count("example") == 3
    assert not {"torch", "ray", "numpy", "pandas", "matplotlib", "markdown_it"} & set(done.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--format", "md,htm"), "there is no format of a report 'htm'; did you mean 'html'?"),
        (("--across", "stepps"), "did you mean 'steps'"),
        (("--live", "--check"), "do not go together"),
    ],
)
def test_a_mistake_is_one_sentence(study: Path, arguments: tuple[str, ...], sentence: str):
    with pytest.raises(UserError, match=sentence):
        main([str(study), *arguments])


def test_formats_are_written_and_named(
    study: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(report, "in_order", lambda: [SECTIONS["what_was_run"]])
    assert main([str(study), "--format", "html, csv"]) == 0
    assert capsys.readouterr().out.split() == [str(study / "report.html"), str(study / "tables")]
    assert (study / "report.html").is_file()


@pytest.mark.parametrize(("problems", "code"), [([], 0), (["MR differs"], 1)])
def test_check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], problems: list[str], code: int):
    monkeypatch.setattr(check, "check", lambda results, sentences: problems)
    assert main(["results", "--check"]) == code
    assert ("MR differs" in capsys.readouterr().out) == bool(problems)


def test_diff_and_export(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(diff, "diff", lambda first, second: f"{first} and {second}")
    monkeypatch.setattr(export, "export", lambda results, row, folder, fetch: Path(f"{results}/{row}/{folder}"))
    assert main(["diff", "a", "b"]) == 0
    assert main(["export", "a", "my row"]) == 0
    assert main(["export", "a", "my row", "b"]) == 0
    assert capsys.readouterr().out.splitlines() == ["a and b", "a/my row/None", "a/my row/b"]
