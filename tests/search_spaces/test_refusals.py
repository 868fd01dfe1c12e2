"""What is wrong in a space is refused when it is made: in one sentence, with the space and the right name."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from search_spaces import Claim, Column, Domain, Figure, PremiseCount, Row, Space, Table
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe

COLUMNS = (Column("a", ("MR", "test_accuracy")), Column("Avg.", mean_of=("a",)))
ROWS = (Row("x", {}), Row("y", {}))


def _space(**changes: object) -> Space:
    values = {"name": "s", "title": "", "paper": "", "base": Recipe(), "rows": ROWS, "tables": (_table(),)}
    return Space(**(values | changes))


def _table(**changes: object) -> Table:
    values = {"number": "1", "title": "", "columns": COLUMNS, "rows": (("x", "x"),), "aggregation": ""}
    return Table(**(values | changes))


def _tables(**changes: object) -> dict[str, object]:
    return {"tables": (_table(**changes),)}


def _scored(task: str, number: str) -> dict[str, object]:
    return _tables(columns=(Column("a", (task, number)),))


def _heads(key: str, kind: str) -> tuple[Domain, ...]:
    return (Domain("head.dim", choices=(8,), when=(key, (kind,))),)


def _claim(**changes: object) -> Claim:
    values = {"text": "c", "table": "1", "column": "a", "better": ("x",), "worse": ("y",)}
    return Claim(**(values | changes))


def _figure(**changes: object) -> Figure:
    values = {"number": "9", "title": "", "kind": "distribution", "keys": ("objective.weight",), "table": "1"}
    return Figure(**(values | {"column": "a"} | changes))


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: Domain("encoder.name"), "either choices or both low and high"),
        (lambda: Domain("objective.weight", low=1, high=0), "needs low < high"),
        (lambda: Domain("objective.weight", low=0, high=1, log=True), "needs a low above 0"),
        (lambda: Row("x", {}, needs="checkpoint"), "must override encoder.kind or encoder.name"),
        (lambda: Row("x", {}, needs="word_vectors"), "must override encoder.kind"),
        (lambda: Row("x", {}, needs="luck"), "needs must be 'word_vectors', 'checkpoint', 'wordnet' or 'paraphraser'"),
        (lambda: PremiseCount("snli", "SNLI", (2, 1), (1, 1), 5), "no number lies between 2 and 1"),
        (lambda: PremiseCount("snli", "SNLI", (1, 1), (-1, None), 5), "no number lies between -1 and None"),
        (lambda: PremiseCount("snli", "SNLI", (1, 1), (1, 1), -5), "-5 is not a number of premises"),
        (lambda: _table(columns=COLUMNS * 2), "two columns called"),
        (lambda: Column("a"), "either a score or the columns"),
        (lambda: Claim("c", "1", "a"), "either a chain or both"),
        (lambda: Claim("c", "1", "a", better=("x", "y"), worse=("z",), stated=1.0), "compare one row"),
    ],
)
def test_parts_of_a_space_refuse(build: Callable[[], object], sentence: str):
    with pytest.raises(UserError, match=re.escape(sentence)):
        build()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        # Twice the same.
        ({"rows": ROWS * 2}, " names a row twice: 'x', 'y'"),
        ({"domains": (Domain("head.dim", choices=(8,)),) * 2}, " has two domains for 'head.dim'"),
        ({"goals": ("sts", "sts")}, " names a goal twice: 'sts'"),
        ({"tables": (_table(),) * 2}, " has two tables numbered '1'"),
        ({"shown": (("STS", "liao_sts"), ("STS", "clsr_sts"))}, " shows two averages as 'STS'"),
        # Recipes: keys, values, registered names, tasks.
        ({"laptop": {"encoder.nam": "x"}}, ", laptop: 'encoder.nam' is not a key of a recipe; did you mean 'encoder."),
        ({"rows": (Row("x", {"objective.name": "supmnp"}),)}, ", row 'x': objective.name must be"),
        ({"rows": (Row("x", {"corpus.layout": "gruops"}),)}, "'gruops'; did you mean 'groups'?"),
        ({"rows": (Row("x", {"encoder.kind": "transfromer"}),)}, "'transfromer'; did you mean 'transformer'?"),
        ({"laptop": {"evaluation.tasks": ("TRECC",)}}, ", laptop: 'TRECC' is no SentEval task; did you mean 'TREC'"),
        ({"evaluation": EvaluationConfig(tasks=("transfr",))}, ", paper: 'transfr' is no SentEval task"),
        # Goals, averages, the baseline.
        ({"goals": ("sts", "transfr")}, ": no goal is called 'transfr'; did you mean 'transfer'?"),
        ({"goals": ("sts", "speed")}, ": no goal is called 'speed'; did you mean 'seconds'?"),
        ({"shown": (("STS", "liao_st"),)}, ", shown 'STS': no average is called 'liao_st'; did you mean 'liao_sts'?"),
        ({"baseline": "z"}, ", baseline: no row is called 'z'; there is 'x' or 'y'"),
        ({"trial_seconds": 5.0}, " needs both trial_seconds and trial_seconds_source"),
        ({"trial_seconds_source": "the paper"}, " needs both trial_seconds and trial_seconds_source"),
        # Domains.
        ({"domains": (Domain("objective.wieght", low=0, high=1),)}, "no key of a recipe is called 'objective.wieght'"),
        (
            {"domains": (Domain("objective.weight", low=0, high=2),)},
            ", domain 'objective.weight': objective.weight mus",
        ),
        ({"domains": _heads("head.kind", "mpl")}, ", domain 'head.dim', when: head.kind must be"),
        (
            {"domains": _heads("head.knd", "mlp")},
            ", domain 'head.dim', when: no key of a recipe is called 'head.knd'; d",
        ),
        # Tables.
        (_scored("MRR", "test_accuracy"), "no task is called 'MRR'; did you mean 'MR'?"),
        (
            _scored("MR", "test_acuracy"),
            ", table 1, column 'a': no number of MR is called 'test_acuracy'; did you mean",
        ),
        (_scored("STS12", "test_accuracy"), "no number of STS12 is called 'test_accuracy'; there is 'spearman_all', "),
        (
            _tables(columns=(Column("a", average="clsr_st"),)),
            ", table 1, column 'a': no average is called 'clsr_st'; did",
        ),
        (_tables(columns=COLUMNS[1:]), ", table 1, column 'Avg.': no column is called 'a'; there is 'Avg.'"),
        (_tables(rows=(("z", "z"),)), ", table 1: no row is called 'z'; there is 'x' or 'y'"),
        (
            {"rows": (Row("x", {}, {"1": {"b": 1.0}}),)},
            ", table 1, published figures of 'x': no column is called 'b'; ",
        ),
        (
            _tables(curve="objective.tmperature"),
            ", table 1, curve: no key of a recipe is called 'objective.tmperature'",
        ),
        ({**_tables(baseline_table="2"), "baseline": "x"}, "no table with the baseline's figures is called '2'; there"),
        # Claims and figures.
        ({"tables": (), "claims": (_claim(),)}, ", claim 'c': no table is called '1'"),
        ({"claims": (_claim(worse=("z",)),)}, ", claim 'c': no row is called 'z'; there is 'x' or 'y'"),
        ({"claims": (_claim(column="b"),)}, ", claim 'c', table 1: no column is called 'b'"),
        ({"claims": (_claim(smaller_in=("1", "Avg")),)}, ", claim 'c', table 1: no column is called 'Avg'; did you me"),
        ({"figures": (_figure(keys=("objective.wight",)),)}, ", figure 9: no key of a recipe is called 'objective.wig"),
        (
            {"figures": (_figure(lines={"l": {"objective.nme": "scl"}}),)},
            "no key of a recipe is called 'objective.nme'",
        ),
        ({"tables": (), "figures": (_figure(),)}, ", figure 9: no table is called '1'; there is none"),
        ({"figures": (_figure(column="b"),)}, ", figure 9, table 1: no column is called 'b'"),
    ],
)
def test_spaces_refuse(changes: dict[str, object], sentence: str):
    """Each in one sentence that begins with the space and names what would work."""
    with pytest.raises(UserError) as caught:
        _space(**changes)
    assert str(caught.value).startswith("space 's'")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
