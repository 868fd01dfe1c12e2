"""A search that goes on in a space that was changed since: with what the space still holds, and nothing twice."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from study.search.samplers import SAMPLERS
from study.search.tune_searcher import TuneSearcher
from tests.study.search.test_search import make, run_all
from trainables.errors import UserError

CHANGED = """
from search_spaces import Domain, Row, Space
from trainables.recipe import Recipe

SPACE = Space(
    name="mine", title="", paper="", base=Recipe(), laptop={"encoder.name": "scenes-small", "corpus.nli": "scenes"},
    rows=(Row("low", {"objective.temperature": 0.02}),),
    domains=(%s),
)
"""
TWO, SHORT = "choices=(0.02, 0.05)", "low=0.02, high=0.05"
CHANGES = [
    pytest.param(sampler, before, now, id=f"{sampler}-{before}-{now}")
    for samplers, before, now in [
        (SAMPLERS, TWO, "choices=(0.02, 0.05, 0.1)"),
        (["tpe"], SHORT, "low=0.03, high=0.2, log=True"),
        (["tpe"], SHORT, TWO),
        (["tpe"], TWO, "low=0.01, high=0.2"),
        (["tpe"], TWO, "choices=(0.05, 0.1)"),
        (["tpe"], TWO, None),
    ]
    for sampler in samplers
]
"""A sampler, and how a domain is before and after; None where it is gone."""


@pytest.mark.parametrize(("sampler", "before", "now"), CHANGES)
def test_a_changed_space_goes_on_with_what_it_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sampler: str, before: str, now: str | None
) -> None:
    """Optuna learns from what the space still holds, the others stay explored, and nothing runs twice."""
    file = tmp_path / "mine.py"

    def run(trials: int, temperature: str | None) -> tuple[TuneSearcher, list[str]]:
        domain = "" if temperature is None else f"Domain('objective.temperature', {temperature}),"
        file.write_text(CHANGED % f"Domain('optimisation.learning_rate', low=1e-5, high=9e-5), {domain}")
        options = ("--search", "optuna", "--sampler", sampler, "--trials", str(trials))
        _, ledger, searcher = make(tmp_path / "results", "--space", str(file), *options)
        return searcher, [config["key"] for config in run_all(searcher, ledger)]

    first, ran = run(6, before)
    assert "the space was changed" not in capsys.readouterr().out
    again, more = run(9, now)
    trials = [trial for trial in again.explorer.ask_tell.study.get_trials() if "name" in trial.user_attrs]
    known = [trial for trial in trials[:6] if trial.state == TrialState.COMPLETE]
    left = f"; {6 - len(known)} recipe" if len(known) < 6 else ""
    text = capsys.readouterr().out
    assert "the space was changed: the search goes on in it with" in text
    assert left in text
    assert again.explored[:6] == first.explored
    assert (len(again.explored), len(trials)) == (9, 9)
    assert not {*ran} & {*more}
    assert all(trial.distributions == trials[-1].distributions for trial in known)
    run(9, now)
    assert "the space was changed" not in capsys.readouterr().out


def test_trials_that_never_ended_may_lie_outside_a_changed_space(tmp_path: Path) -> None:
    file, options = tmp_path / "mine.py", ("--search", "optuna", "--sampler", "random", "--trials", "8")

    def search(temperature: str) -> TuneSearcher:
        file.write_text(
            CHANGED % f"Domain('optimisation.learning_rate', low=1e-5, high=9e-5), "
            f"Domain('objective.temperature', {temperature}),"
        )
        return make(tmp_path / "results", "--space", str(file), *options)[2]

    killed = search("choices=(0.02, 0.05)")
    for number in range(9):
        killed.suggest(str(number))
    again = search("choices=(0.1, 0.2)")
    states = {trial.state for trial in again.explorer.ask_tell.study.get_trials() if "left" in str(trial.user_attrs)}
    assert states == {TrialState.FAIL}
    assert not list((tmp_path / "results").glob("*.tmp"))


def test_what_a_sampler_refuses_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(study: optuna.Study) -> None:
        raise ValueError("CategoricalDistribution does not support dynamic value space.")

    _, ledger, searcher = make(tmp_path, "--space", "scl_tau", "--search", "optuna", "--trials", "1")
    monkeypatch.setattr(optuna.Study, "ask", refuse)
    with pytest.raises(UserError, match=r"the sampler tpe gave no next recipe \(ValueError: Cat.*another one, such"):
        run_all(searcher, ledger)
