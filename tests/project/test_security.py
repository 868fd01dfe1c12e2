"""What SECURITY.md promises, without Ray: what may be read, what names may be, what a spreadsheet or a page may run."""

from __future__ import annotations

import ast
import contextlib
import csv
import io
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from reports.__main__ import main as report
from reports.document import DataTable
from reports.formats.trials_csv import escape_formula
from reports.ledger import STUDY, StudyInfo
from reports.ledger.folders import is_key
from reports.ledger.names import checked_name
from reports.ledger.own_code import check_trusted, trust
from reports.live.server import serve
from reports.report import scratch_copy
from reports.words.markdown import code, text, verbatim
from study.cli.options import parse
from study.plan import decide, read_request
from study.results_folder.check import check_results
from study.results_folder.redact import redacted
from tests.reports.formats.test_escaping import HOSTILE, _parser, structure
from tests.synthetic_results import make_results
from trainables import plugins
from trainables.encoders.model_card import model_card
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("study", "trainables", "search_spaces", "reports", "benchmarks")

FORBIDDEN = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "pickle.load", "pickle.loads",
    "pickle.Unpickler", "pickle._Unpickler",
    "marshal.loads", "shelve.open", "dill.loads", "cloudpickle.loads", "joblib.load", "torch.load",
    "pandas.read_pickle", "pd.read_pickle", "yaml.load", "yaml.unsafe_load", "yaml.full_load", "runpy.run_path",
    "tarfile.extractall", "shutil.unpack_archive", "zipfile.extractall", "torch.hub.load", "tempfile.mktemp",
    "ElementTree.parse",
}  # fmt: skip
"""Calls that run code which data may hold, write where data says, or may be handed somebody else's file."""
METHODS = {"extractall", "extract", "read_pickle", "mktemp", "load_dataset"}
"""The same whatever they are called on."""
ALLOWED = {
    ("trainables/plugins.py", "exec"): "a plugin and a space file are code; the person names them",
    ("trainables/plugins.py", "compile"): "as above",
    ("trainables/senteval/plain_pickle.py", "pickle._Unpickler"): "the base of a reader of arrays and dictionaries",
    ("trainables/encoders/loading.py", "torch.load"): "is replaced by a refusal while a library loads a model",
    ("trainables/corpora/documents.py", "load_dataset"): "datasets 4 and later knows no scripts",
    ("trainables/corpora/hub.py", "load_dataset"): "as above",
    ("trainables/corpora/fetch.py", "extractall"): "with a filter that admits files and folders below the target alone",
}
MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml", "runpy", "xml.sax", "xml.dom"}
MODULES_ALLOWED = {
    ("trainables/senteval/plain_pickle.py", "pickle"): "see above",
    ("trainables/corpora/scenes/files.py", "pickle"): "writes the layout of published captions, and reads nothing",
}
WORDS_THAT_MATTER = {
    None, "allow_pickle", "modules", "shell", "trust_remote_code", "use_safetensors", "weights_only",
}  # fmt: skip
LOADERS = {"from_pretrained", "SentenceTransformer"}
"""What may run a model's own code, and read its pickled weights, unless it is told not to."""


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "_"


def dangers(source: str) -> Iterator[tuple[str, int]]:
    """What a file does that needs a reason, and the line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from ((name, node.lineno) for name in names if name in MODULES)
        elif isinstance(node, ast.Attribute | ast.Name) and dotted(node) in FORBIDDEN:
            yield dotted(node), node.lineno  # also where it is handed on, or inherited from
        elif isinstance(node, ast.Constant) and node.value in ("0.0.0.0", "::"):
            yield "all of the machine's addresses", node.lineno
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            last = name.rpartition(".")[2]
            given = {word.arg: ast.unparse(word.value) for word in node.keywords if word.arg in WORDS_THAT_MATTER}
            splat = given.get(None) == "SAFE_ARGUMENTS" or "modules" in given  # or made of modules that are at hand
            if last in METHODS and name not in FORBIDDEN:
                yield last, node.lineno
            if name in ("np.load", "numpy.load") and given.get("allow_pickle") != "False":
                yield "np.load that may unpickle", node.lineno
            if last in LOADERS and not splat and given.get("trust_remote_code") != "False":
                yield f"{last} that may run a model's code", node.lineno
            weights = re.search(r"^Auto(Model|.*For)|^loader\.", name) and last in LOADERS and not splat
            if weights and given.get("use_safetensors") != "True":
                yield f"{name} that may unpickle", node.lineno
            if given.get("shell") == "True":
                yield "shell=True", node.lineno
            for word in ("trust_remote_code", "weights_only", "allow_pickle"):
                if given.get(word) not in (None, "False" if word != "weights_only" else "True"):
                    yield f"{word}={given[word]}", node.lineno


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_is_unpickled_run_or_unpacked_but_for_a_reason(package: str) -> None:
    for path in sorted((ROOT / package).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for what, line in dangers(path.read_text(encoding="utf-8")):
            if package == "benchmarks" and ("from_pretrained" in what or "SentenceTransformer" in what):
                continue  # of an encoder that the person who measures names
            assert (name, what) in ALLOWED or (name, what) in MODULES_ALLOWED, f"{name}, line {line}: {what}"


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("import pickle", "pickle"),
        ("from joblib import load", "joblib"),
        ("torch.load(path, weights_only=True)", "torch.load"),
        ("torch.load(path, weights_only=False)", "weights_only=False"),
        ("read = torch.load", "torch.load"),
        ("np.load(path)", "np.load that may unpickle"),
        ("np.load(path, allow_pickle=True)", "allow_pickle=True"),
        ("AutoModel.from_pretrained(name)", "from_pretrained that may run a model's code"),
        ("AutoModel.from_pretrained(name, trust_remote_code=False)", "AutoModel.from_pretrained that may unpickle"),
        ("SentenceTransformer(name)", "SentenceTransformer that may run a model's code"),
        ("SentenceTransformer(name, trust_remote_code=True)", "trust_remote_code=True"),
        ("yaml.load(text)", "yaml.load"),
        ("eval(text)", "eval"),
        ("tar.extractall(folder)", "extractall"),
        ("load_dataset('x')", "load_dataset"),
        ("subprocess.run(line, shell=True)", "shell=True"),
        ("LOOPBACK = '0.0.0.0'", "all of the machine's addresses"),
    ],
)
def test_that_test_can_fail(source: str, what: str) -> None:
    assert what in {name for name, _ in dangers(source)}


# --- names

COMMANDS: dict[str, Callable[[Path], object]] = {
    "reports": lambda results: report([str(results)]),
    "check": lambda results: report([str(results), "--check"]),
    "recipe": lambda results: read_request(parse(["--recipe", str(results), "--dry-run"])),
    "live": lambda results: serve(results, lambda name: None),
    "continued": lambda results: check_results(
        decide(read_request(parse(["--space", "scl_tau", "--scale", "laptop", "--results", str(results)])), 0)
    ),
}
"""What reads a results folder, and may need its code."""


NAMES = [
    "..", ".", "", "../x", "a/../../x", "/etc/passwd", "a//b", "a/", "x\0y", "./x", "a/./b", "a/..",
]  # fmt: skip
ODD = ["..\\..\\x", "C:\\x", "a" * 300, "\u202egpj.exe", "\uff0e\uff0e\uff0fx", "a\nb", "%2e%2e%2f", "CON", "~root"]
"""Odd, and still one name within the folder on the systems that Ray runs on."""


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_leaves_the_results_folder_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="names no file within a results folder"):
        checked_name(name)


@given(st.lists(st.sampled_from(["..", ".", "", "a", "/", "\0", "\\", "b c", "\u2024\u2024", "~"]), max_size=6))
def test_no_checked_name_leads_out(parts: list[str]) -> None:
    name = "/".join(parts)
    try:
        checked = checked_name(name)
    except UserError:
        return
    path = Path("/results/folder") / checked
    assert path.resolve().is_relative_to("/results/folder")
    assert path.resolve() != Path("/results/folder")


@pytest.mark.parametrize("name", [*NAMES, *ODD])
def test_no_such_name_is_a_trials(name: str) -> None:
    for key in (name, f"{name}-1", f"0123456789ab-{name}", f"../0123456789ab-1{name}"):
        assert not is_key(key) or key == "0123456789ab-1"


class TestATamperedStudy:
    """A results folder of a stranger. Its own plugins and space file are code, and run once they are trusted; nothing
    else does."""

    @pytest.fixture
    def outside(self, tmp_path: Path) -> tuple[Path, Path]:
        """A results folder, and a file beside it that must not run."""
        from search_spaces import spaces

        make_results(tmp_path / "results", spaces()["scl_tau"])
        evil = tmp_path / "evil.py"
        evil.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
        return tmp_path / "results", evil

    def tamper(self, results: Path, **changes: Any) -> None:
        content = json.loads((results / STUDY).read_text())
        (results / STUDY).write_text(json.dumps(content | changes))

    @pytest.mark.parametrize(
        "changes",
        [
            lambda evil: {"plugins": [str(evil)]},
            lambda evil: {"plugins": ["../../evil.py"]},
            lambda evil: {"plugins": ["../plugins/../../evil.py"]},
            lambda evil: {"plugins": ["ok.py\0"]},
            lambda evil: {"space_file": str(evil)},
            lambda evil: {"space_file": "../evil.py"},
            lambda evil: {"space_file": "trials.csv"},
            lambda evil: {"space_file": "looks.py:x"},
            lambda evil: {"space_file": "looks.py"},
            lambda evil: {"plugins": ["looks.txt"]},
            lambda evil: {"space": str(evil)},
            lambda evil: {"space": f"{evil}:mine"},
            lambda evil: {"space": "../evil.py"},
        ],
    )
    def test_no_code_outside_the_folder_runs(self, outside: tuple[Path, Path], changes: Any) -> None:
        results, evil = outside
        self.tamper(results, **changes(evil))
        with pytest.raises(UserError, match=r"study\.json.*(plugins|space)"):
            StudyInfo.load(results).load_space(results)
        assert not (evil.parent / "ran").exists()

    @pytest.mark.parametrize(
        ("command", "name"),
        [(command, name) for command in COMMANDS for name in ("plugins/evil.py", "space.py")][:-1],  # it brings a space
    )
    def test_the_folders_own_code_does_once_it_is_trusted(
        self, outside: tuple[Path, Path], name: str, command: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        results, evil = outside
        code = results / name
        code.parent.mkdir(exist_ok=True)
        evil.rename(code)
        is_space = name == "space.py"
        self.tamper(results, **({"space_file": name} if is_space else {"plugins": ["evil.py"]}))
        with pytest.raises(UserError, match=rf"holds code that you have not run on this machine.*{code.name}"):
            COMMANDS[command](results)
        assert not (results.parent / "ran").exists()
        with contextlib.suppress(UserError):  # the space file defines no space
            report([str(results), "--trust"])
        assert (results.parent / "ran").exists()

    @pytest.mark.parametrize("linked", ["space.py", "plugins/evil.py", "plugins"])
    def test_no_code_behind_a_link_runs(self, outside: tuple[Path, Path], linked: str) -> None:
        results, evil = outside
        trust([evil.read_text()])
        folder = evil.parent / "elsewhere"
        folder.mkdir()
        shutil.copy(evil, folder)
        (results / linked).parent.mkdir(exist_ok=True)
        (results / linked).symlink_to(folder if linked == "plugins" else evil)
        self.tamper(results, **({"space_file": linked} if linked == "space.py" else {"plugins": ["evil.py"]}))
        refused = "code that lies outside the results folder, by its name or a link"
        with pytest.raises(UserError, match=refused):
            StudyInfo.load(results).load_space(results)
        with pytest.raises(UserError, match=refused), scratch_copy(results):
            pass
        assert not (evil.parent / "ran").exists()

    def test_other_words_of_the_same_code_are_not_trusted(self, outside: tuple[Path, Path]) -> None:
        results, evil = outside
        trust([evil.read_text()])
        (results / "space.py").write_text(evil.read_text() + "#")
        self.tamper(results, space_file="space.py")
        with pytest.raises(UserError, match="you have not run on this machine"):
            StudyInfo.load(results).load_space(results)

    def test_code_of_the_projects_examples_is_trusted_and_a_change_of_it_is_not(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(plugins, "_loaded_files", {})
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        files = [*(ROOT / "docs/examples").glob("*/space.py")]
        assert files
        for file in files:
            texts = {"space.py": file.read_text(encoding="utf-8") + "\n"}
            with pytest.raises(UserError, match="you have not run on this machine"):
                check_trusted(tmp_path, texts)
            check_trusted(tmp_path, {"space.py": texts["space.py"][:-1]})

    def test_no_file_behind_a_link_is_exported(self, tmp_path: Path) -> None:
        from reports.export import _without_links

        model = tmp_path / "results" / "models" / "0123456789ab-1"
        model.mkdir(parents=True)
        (tmp_path / "secret").write_text("a key")
        assert _without_links(tmp_path / "results", "models/0123456789ab-1") == model
        (model / "notes.txt").symlink_to(tmp_path / "secret")
        with pytest.raises(UserError, match="leads out of the results folder by a link"):
            _without_links(tmp_path / "results", "models/0123456789ab-1")
        (tmp_path / "results" / "here").symlink_to(tmp_path)
        with pytest.raises(UserError, match="leads out of the results folder by a link"):
            _without_links(tmp_path / "results", "here/secret")


# --- what data says is shown, and does nothing

MARKS = st.text(st.sampled_from("\\`*_{}[]()<>#+-=.!|~$&;:/@\"'%^ \n\r\t\0\x7f\x85\u2028\u202e1aé文🙂"), max_size=40)
WORDS = st.one_of(MARKS, st.text(max_size=40), st.sampled_from([HOSTILE, "</script><script>", "&lt;script&gt;"]))


@given(WORDS)
def test_words_from_outside_are_one_text_in_markdown(words: str) -> None:
    if " ".join("".join(sign if sign.isprintable() else " " for sign in words).split()):
        assert structure(text(words), True) == [("paragraph_open", "p"), ("text", ""), ("paragraph_close", "p")]
    for spanned in (verbatim(words), code(words)):
        assert [kind for kind, _ in structure(spanned, True)] == ["paragraph_open", "code_inline", "paragraph_close"]
    cells = [
        t
        for t in _parser(True).parse(DataTable(["a", "b"], [[text(words), "end"]], left=2).markdown)
        if t.type == "inline"
    ]
    assert [cell.content for cell in cells][-1] == "end"
    assert len(cells) == 4


@given(WORDS)
def test_words_from_outside_shape_no_models_readme(words: str) -> None:
    """Names of the hub, sources of data, reasons: the card of a model goes to the hub."""
    plain = card("x")
    hostile = card(words)
    assert structure(hostile.split("\n---\n", 1)[1], True) == structure(plain.split("\n---\n", 1)[1], True)
    assert yaml.safe_load(hostile.split("---\n")[1]).keys() >= yaml.safe_load(plain.split("---\n")[1]).keys()


def card(words: str) -> str:
    text = f"x{words}x"
    data = {"corpus": {"source": text, f"more{text}": "1"}}
    return model_card(
        Recipe().flat() | {"encoder.name": text}, EvaluationConfig(), 1, {"MR": {"reason": text}}, data, {text: text}
    )


@given(WORDS)
def test_words_from_outside_are_no_formula(words: str) -> None:
    cell = escape_formula(words)
    shown = "".join(sign if sign.isprintable() else " " for sign in words)
    assert cell in (shown, f"'{shown}")
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerow([cell, "end"])
    (line,) = csv.reader(io.StringIO(stream.getvalue(), newline=""))
    assert line == [cell, "end"]
    begins = cell.lstrip()
    if begins[:1] in ("+", "-", "＋", "－"):
        assert not re.search(r"[^\W\d]|[(!|]", begins), "a sign may stand before numbers alone"
    assert begins[:1] not in ("=", "@", "＝", "＠")


@pytest.mark.parametrize(
    "cell", ["=1+1", "@SUM(A1)", "+1+cmd|' /C calc'!A0", "-2+3+cmd|' /C calc'!A0", " =1", "\t=1", "＝1", "-a", "\r=1"]
)
def test_a_formula_is_not_run(cell: str) -> None:
    assert escape_formula(cell) == f"'{cell}".replace("\t", " ").replace("\r", " ")


@pytest.mark.parametrize("cell", ["-1.5", "+2.83", "+2.83 [+1.10, +4.50]", "-3 ± 0.2", "a=b", "3p3n-lambda0.5"])
def test_a_number_and_a_label_stay(cell: str) -> None:
    assert escape_formula(cell) == cell


# --- secrets

SECRET = "planted-0123456789-secret"


@pytest.mark.parametrize(
    "name", ["HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "MY_PASSWORD", "ray_auth_token"]
)
def test_a_secret_is_taken_out_of_a_message(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, SECRET)
    assert redacted(f"401 for Bearer {SECRET}: denied") == f"401 for Bearer [{name}]: denied"


def test_a_login_in_a_url_is_taken_out_too() -> None:
    assert redacted("cannot reach https://me:pass@host/x?y=1") == "cannot reach https://...@host/x?y=1"


@pytest.mark.parametrize(("name", "value"), [("LANGUAGE", SECRET), ("RAY_AUTH_MODE", "token"), ("MY_KEYS_FILE", "/")])
def test_other_words_stay(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert redacted(f"a token is asked for: {value}") == f"a token is asked for: {value}"


def test_a_secret_in_a_path_that_is_there_stays_a_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path))
    assert redacted(f"{tmp_path} cannot be read") == f"{tmp_path} cannot be read"


# --- what a person is told to type


PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "deploy").rglob("*.*")),
]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_page_tells_to_open_a_server_to_the_network(path: Path) -> None:
    words = path.read_text(encoding="utf-8")
    for opened in (
        "0.0.0.0",
        "--bind_all",
        "--dashboard-host=::",
        "serviceType: LoadBalancer",
        "serviceType: NodePort",
    ):
        assert opened not in words
    assert not re.search(r"RAY_AUTH_MODE[=:] *[\"']?disabled", words)
