"""The registered spaces hold together, agree with their papers' own figures, and refuse what is wrong."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

import search_spaces
from search_spaces import Claim, Domain, Space, Table, load_space, spaces
from search_spaces.averages import AVERAGES
from trainables.errors import UserError
from trainables.objectives import check_objective
from trainables.recipe import Recipe, keys

SPACES = spaces()
ROOT = Path(__file__).resolve().parents[2]

# Printed averages that are not the mean of the printed figures beside them, and what the mean would be: the papers'
# own slips, by paper, table and row.
WRONG_AVERAGES = {
    ("scl", "3", "SBERT baseline"): 75.585,
    ("scl", "3", "3palln-lambda0.5-SCL"): 76.38625,
    ("scl", "3", "allpalln-lambda0.3-SCL"): 76.175,
    ("scl", "4", "allpalln-lambda0.3-SCL"): 76.175,
    ("clsr", "3", "BERT-large"): 55.51,
    ("supmpn", "2", "fastText embeddings"): 65.6614,
    ("supmpn", "2", "Mirror-BERT-base"): 75.4143,
    ("supmpn", "2", "SimCSE-unsup-BERT-base"): 76.8457,
    ("supmpn", "2", "TSDAE-BERT-base"): 65.7743,
    ("supmpn", "2", "ConSERT-BERT-large"): 79.4471,
    ("supmpn", "2", "CLEAR-RoBERTa-base"): 61.8,
    ("supmpn", "2", "SBERT-base"): 74.86,
    ("supmpn", "3", "Avg. BERT embedding"): 84.9543,
    ("supmpn", "3", "SimCSE-unsup-BERT-base"): 85.8143,
    ("supmpn", "3", "SimCSE-sup-BERT-base"): 85.08,
}


@pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))
class TestEverySpace:
    def test_rows_are_different_recipes(self, space: Space):
        """All but those whose model only a person can name."""
        known = [row for row in space.rows if row.needs is None or "encoder.name" in row.overrides]
        hashes = [space.base.override(row.overrides).hash for row in known]
        assert len(set(hashes)) == len(hashes)

    def test_laptop_needs_no_network(self, space: Space):
        """Whatever a row needs besides is an input of its own, without which it is a dash."""
        laptop = space.recipe("laptop")
        for recipe in (laptop, *(laptop.override(row.overrides) for row in space.rows if row.needs is None)):
            assert recipe.encoder.kind in ("transformer", "static")
            assert recipe.encoder.name == "scenes-small"
            places = {name: value for name, value in recipe.flat().items() if keys()[name].place}
            assert set(places.values()) <= {"scenes-small", "scenes", "none", None}
            assert space.scored("laptop").senteval == "scenes"
            assert recipe.flat().get("corpus.augmentation", "none") in ("none", "deletion")

    def test_rows_are_different_recipes_on_a_laptop_too(self, space: Space):
        laptop = space.recipe("laptop")
        hashes = [laptop.override(row.overrides).hash for row in space.rows if row.needs is None]
        assert len(set(hashes)) == len(hashes)

    def test_every_row_is_something_that_its_objective_can_learn_from(self, space: Space):
        for base in (space.base, space.recipe("laptop")):
            for row in space.rows:
                recipe = base.override(row.overrides)
                if recipe.trains:
                    check_objective(recipe)

    def test_whatever_a_search_draws_is_a_valid_recipe(self, space: Space):
        draw = random.Random(0)
        for _ in range(100 if space.domains else 0):
            chosen: dict[str, object] = {}
            for domain in space.domains:
                if domain.is_asked({**space.base.flat(), **chosen}):
                    chosen[domain.key] = draw.choice((*domain.grid_values, *_ends(domain)))
            recipe = space.base.override(chosen)
            check_objective(recipe)

    def test_every_row_stands_in_a_table_or_is_the_baseline(self, space: Space):
        shown = {label for table in space.tables for _, label in table.rows} | {space.baseline}
        assert not space.tables or {row.label for row in space.rows} == shown

    def test_every_table_has_published_figures(self, space: Space):
        """In a space that has any: some papers draw their ablations only."""
        printed = any(row.published for row in space.rows) and not space.figures
        for table in space.tables if printed else ():
            assert any(space.row(label).published.get(table.number) for _, label in table.rows)

    def test_models_that_are_not_trained_here_need_a_checkpoint(self, space: Space):
        for row in space.rows:
            others = {"encoder.name", "encoder.kind"} & set(row.overrides)
            if row.overrides.get("encoder.kind") == "static":  # it starts from the base's word embeddings
                others.discard("encoder.kind")
            assert bool(others) == (row.needs in ("checkpoint", "word_vectors"))

    def test_a_search_can_start_from_some_row(self, space: Space):
        """Optuna learns from the rows that lie within the domains; at both scales there is one that is trained."""
        for base in (space.base, space.recipe("laptop")):
            recipes = [base.override(row.overrides) for row in space.rows if row.needs is None]
            assert any(recipe.optimisation.epochs and _lies_within(recipe, space.domains) for recipe in recipes)

    def test_conditional_domains_follow_their_condition(self, space: Space):
        keys = [domain.key for domain in space.domains]
        for domain in space.domains:
            if domain.when is not None:
                assert keys.index(domain.when[0]) < keys.index(domain.key)

    def test_every_domain_has_a_grid(self, space: Space):
        assert all(domain.grid_values for domain in space.domains)


def _ends(domain: Domain) -> tuple[object, ...]:
    return () if domain.choices else (domain.low, domain.high)


def _lies_within(recipe: Recipe, domains: tuple[Domain, ...]) -> bool:
    values = recipe.flat()
    asked = [domain for domain in domains if domain.is_asked(values)]
    return all(
        values[d.key] in d.choices if d.choices else values[d.key] is not None and d.low <= values[d.key] <= d.high
        for d in asked
    )


def _is_printed(space: Space, claim: Claim) -> bool:
    return all(space.published(claim.table, label, claim.column) is not None for label in claim.labels)


def _claims() -> list[tuple[Space, Claim]]:
    return [(space, claim) for space in SPACES.values() for claim in space.claims if _is_printed(space, claim)]


def test_claims_of_figures_that_are_not_printed_are_rare():
    """They are of what a paper draws only, or of SupMPN's section 5.3, which has only words."""
    unprinted = {
        space.name
        for space in SPACES.values()
        for claim in space.claims
        if not space.figures and not _is_printed(space, claim)
    }
    assert unprinted <= {"supmpn_batch_size"}


def test_figures_named_as_contradictions_are_the_published_ones():
    for space in SPACES.values():
        for claim in space.claims:
            printed = {space.published(claim.table, label, claim.column) for label in claim.labels}
            assert {float(number) for number in re.findall(r"\d\d\.\d\d", claim.contradicted)} <= printed


@pytest.mark.parametrize(("space", "claim"), _claims(), ids=lambda value: getattr(value, "text", None) or value.name)
def test_claims_against_the_published_figures(space: Space, claim: Claim):
    def figure(label: str, table: str = claim.table, column: str = claim.column) -> float:
        value = space.published(table, label, column)
        assert value is not None
        return value

    gaps = [figure(better) - figure(worse) for better, worse in claim.comparisons]
    needed = len(gaps) if claim.quantifier == "all" else len(gaps) // 2 + 1
    holds = sum(map(claim.holds, gaps)) >= needed
    if claim.smaller_in:
        better, worse = claim.comparisons[0]
        holds = holds and figure(better, *claim.smaller_in) - figure(worse, *claim.smaller_in) < gaps[0]
    assert holds is not bool(claim.contradicted)
    if claim.stated is not None:
        # 1.08 is printed as 1.05, 1.06 as "around 1.0"; 15.40 as 15
        assert gaps[0] == pytest.approx(claim.stated, abs=0.065) or round(gaps[0]) == claim.stated


@pytest.mark.parametrize(
    ("space", "table", "label"),
    [(s, t, label) for s in SPACES.values() for t in s.tables for _, label in t.rows],
    ids=lambda value: str(getattr(value, "number", None) or getattr(value, "name", value)),
)
def test_printed_averages(space: Space, table: Table, label: str):
    figures = space.row(label).published.get(table.number, {})
    for column in table.columns:
        if column.mean_of and set(column.mean_of) <= set(figures):
            mean = sum(figures[name] for name in column.mean_of) / len(column.mean_of)
            slip = WRONG_AVERAGES.get((space.name.split("_")[0], table.number, label))
            assert mean == pytest.approx(figures[column.name] if slip is None else slip, abs=0.00501)
            assert slip is None or slip != pytest.approx(figures[column.name], abs=0.00501)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("scl_ablatoin", "did you mean 'scl_ablation'"),
        ("zzz", "scl_ablation, scl_npos_nneg, scl_lambda, scl_tau"),
        ("./nowhere.py", "nowhere.py does not exist"),
    ],
)
def test_unknown_spaces(name: str, said: str):
    with pytest.raises(UserError, match=re.escape(said)):
        load_space(name)


OWN = """
from __future__ import annotations
from dataclasses import dataclass
from search_spaces import Row, Space
from trainables.recipe import Recipe, keys

@dataclass
class Mine:
    x: int = 1

SPACE = Space(name="mine", title="Mine", paper="none", base=Recipe(), rows=(Row("a", {}),))
"""


def test_a_persons_own_file(tmp_path: Path):
    path = tmp_path / "my_space.py"
    path.write_text(OWN)
    assert load_space(path).name == "mine"
    assert load_space(f"{path}:mine").row("a").label == "a"
    with pytest.raises(UserError, match="no space 'other', only mine"):
        load_space(f"{path}:other")
    assert list(tmp_path.iterdir()) == [path]  # no compiled files beside it


def test_several_spaces_in_a_file(tmp_path: Path):
    path = tmp_path / "two.py"
    path.write_text(
        OWN.replace("SPACE =", "A =") + "import dataclasses\nB = dataclasses.replace(A, name='b')\nSPACES = (A, B)"
    )
    assert load_space(f"{path}:b").name == "b"
    with pytest.raises(UserError, match=r"several spaces; pick one as .*two.py:NAME with mine or b"):
        load_space(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SPACE = (\n", "line 1: '(' was never closed"),
        ("import nothing_like_this\n", "line 1: ModuleNotFoundError"),
        ("\nx = 1 / 0\n", "line 2: ZeroDivisionError: division by zero"),
        ("x = 1\n", "defines no space; write SPACE = Space("),
        ("SPACES = ()\n", "defines no space"),
        (OWN.replace('Row("a", {})', 'Row("a", {"objective.temprature": 1})'), "did you mean 'objective.temperature'"),
        (
            OWN.replace('Row("a", {})', 'Row("a", {"objective.temperature": -1})'),
            "line 11: space 'mine', row 'a': objective.temperature must be above 0",
        ),
        (OWN.replace('Row("a", {})', 'Row("a", {}), Row("a", {})'), "names a row twice: 'a'"),
        (OWN.replace("Row,", "Roww,"), "line 4: ImportError"),
    ],
)
def test_broken_files(tmp_path: Path, text: str, said: str):
    path = tmp_path / "broken.py"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        load_space(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


HEAVY = {"torch", "ray", "transformers", "optuna", "pandas", "scipy", "sklearn", "datasets", "pyarrow", "matplotlib"}


def test_spaces_load_nothing_heavy():
    code = "import sys, search_spaces; search_spaces.spaces(); print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert not HEAVY & set(loaded.split())


def test_the_console_shows_of_each_space_what_it_did():
    """The averages in a finished trial's line, by the first word of the spaces' names."""
    usual = (("STS", "liao_sts"), ("transfer", "liao_transfer"))
    wanted = {
        "supmpn": (usual[0], ("transfer", "supmpn_transfer")),
        "declutr": (*usual, ("downstream", "declutr_downstream"), ("probing", "declutr_probing")),
    }
    for name, space in SPACES.items():
        assert space.shown == wanted.get(name.partition("_")[0], usual)


def test_only_a_paper_that_names_a_time_has_one():
    timed = {name for name, space in SPACES.items() if space.trial_seconds}
    assert timed == {name for name in SPACES if name.startswith("scl_")} - {"scl_batch_size"}


def test_the_order_of_the_spaces():
    """By paper, as the list of spaces has them."""
    words = [name.partition("_")[0] for name in SPACES]
    assert len(words) == 32
    assert (
        list(dict.fromkeys(words))
        == sorted(set(words))
        == [
            *("clsr", "contrastive", "data", "declutr", "false", "frozen", "learned"),
            *("matryoshka", "modern", "scl", "static", "supmpn", "teacher", "tuned"),
        ]
    )


def test_a_papers_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "mine2024").mkdir()
    (tmp_path / "mine2024/__init__.py").write_text("")
    (tmp_path / "mine2024/spaces.py").write_text(OWN.replace("SPACE = ", "SPACES = (").rstrip() + ",)\n")
    monkeypatch.setattr(search_spaces, "__path__", [*search_spaces.__path__, str(tmp_path)])
    try:
        assert set(spaces()) == {*SPACES, "mine"}
        assert list(spaces()).index("mine") == list(SPACES).index("modern_negatives")
        (tmp_path / "more").mkdir()
        (tmp_path / "more/again.py").write_text(OWN.replace("SPACE = ", "SPACES = (").rstrip() + ",)\n")
        monkeypatch.setattr(search_spaces, "__path__", [*search_spaces.__path__, str(tmp_path / "more")])
        with pytest.raises(UserError, match=r"two spaces are called 'mine'; the second is in search_spaces\.again"):
            spaces()
    finally:
        for name in ("again", "mine2024.spaces", "mine2024"):
            sys.modules.pop(f"search_spaces.{name}", None)


def test_a_space_file_is_run_once(tmp_path: Path):
    """So that what it adds to a registry is not added twice."""
    path = tmp_path / "adds.py"
    adds = (
        "from search_spaces.averages import AVERAGES\nfrom search_spaces.paper import Average, cells\n"
        "AVERAGES.add(Average('adds', cells(('MR',), 'test_accuracy')))\n"
    )
    own = OWN.replace("paper=", "shown=(('MR', 'adds'),), paper=")
    path.write_text(own.replace("\n@dataclass", adds + "\n@dataclass"))
    try:
        assert load_space(path).shown == (("MR", "adds"),)
        assert load_space(path) == load_space(path)
    finally:
        AVERAGES.remove("adds")
