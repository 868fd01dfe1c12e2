"""Hard negatives that are mined anew while a model trains: by its weights of then, and the same after a resume."""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests import renewing
from tests.gloo_worker import Interrupting
from tests.renewing import EACH, RULES, corpus, groups, model, sampler, twelve_steps
from tests.trainables.corpora.test_mining import asked_of
from trainables.corpora.mining import add_negatives, mined_table
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.labels import CONTRADICTION
from trainables.training.distributed import Workers
from trainables.training.loop import Interrupted, Watcher, train
from trainables.training.population_training import embed_ahead
from trainables.trial.build import build_encoder, build_training
from trainables.trial.check import check_recipes

EVERY = 5


pytestmark = pytest.mark.usefixtures("float64")


def broken_after(step: int, folder: Path) -> None:
    with contextlib.suppress(Interrupted):
        twelve_steps(Workers(), sampler(EVERY), Interrupting(step, Workers(), folder))


@pytest.mark.parametrize("step", [5, 10])
def test_they_are_mined_by_the_weights_of_that_step(step: int, tmp_path: Path) -> None:
    """The checkpoint after that step has its weights, and the negatives until then; the next one has those of now."""
    broken_after(step, tmp_path / "then")
    broken_after(step + 1, tmp_path / "next")
    then, following = (load_file(tmp_path / name / "state.safetensors") for name in ("then", "next"))
    made = model()
    made.load_state_dict({name[6:]: value for name, value in then.items() if name.startswith("model.")}, strict=False)
    expected = mined_table(corpus(), made.encoder.encode, RULES, EACH)
    assert np.array_equal(following["model.mined"].numpy(), expected)
    assert not np.array_equal(then["model.mined"].numpy(), expected)


def test_a_step_trains_on_what_was_mined_for_it() -> None:
    """Every batch is asked for with the negatives of its time, the first of a renewal too."""
    mined, trained, tables = sampler(EVERY), dict[int, np.ndarray](), list[np.ndarray]()
    ask, take = mined.batch, mined.set_table

    def batch(step: int) -> Any:
        trained[step] = mined.table.copy()
        return ask(step)

    mined.batch = batch  # type: ignore[method-assign]
    mined.set_table = lambda table: (tables.append(table.copy()), take(table))[1]  # type: ignore[method-assign]
    twelve_steps(Workers(), mined)
    assert len(tables) == 3  # at the beginning, before the sixth step, and before the eleventh
    assert all(np.array_equal(trained[step], tables[step // EVERY]) for step in range(12))
    assert not any(np.array_equal(first, other) for first, other in itertools.pairwise(tables))


@pytest.mark.parametrize("step", [4, 5, 6, 10])
def test_resumed_equals_unbroken(step: int, tmp_path: Path) -> None:
    """To the last bit: just before new ones are due, when they are due, and with new ones."""
    whole = twelve_steps(Workers(), sampler(EVERY))
    broken_after(step, tmp_path)
    resumed = twelve_steps(Workers(), sampler(EVERY), resume=tmp_path)
    state = resumed.pop("state")
    assert all(torch.equal(value, whole["state"][name]) for name, value in state.items())
    assert resumed == {name: value for name, value in whole.items() if name != "state"}
    assert whole["mined"]


@pytest.mark.xdist_group("gloo")
def test_two_workers_equal_one(gloo_answers: dict[int, list[dict[str, Any]]]) -> None:
    whole = twelve_steps(Workers(), sampler(EVERY))
    for answer in gloo_answers[2]:
        ours = answer["renewed"]
        assert torch.equal(ours["state"]["mined"], whole["state"]["mined"])
        torch.testing.assert_close(ours["state"], whole["state"], rtol=1e-9, atol=1e-9)
        assert ours["sums"] == pytest.approx(whole["sums"], rel=1e-9)
        assert "finds no negative for any anchor" in ours["refused"]  # on the one that mines, and on the other


def test_never_renewed_equals_mined_once() -> None:
    pairs = corpus()
    table = mined_table(pairs, model().encoder.encode, RULES, EACH)
    once = twelve_steps(Workers(), groups(add_negatives(pairs, table)))
    never = twelve_steps(Workers(), sampler(12))
    assert torch.equal(never["state"].pop("mined"), torch.tensor(table))
    assert all(torch.equal(value, once["state"][name]) for name, value in never.pop("state").items())
    assert never == {name: value for name, value in once.items() if name != "state"}
    renewed = twelve_steps(Workers(), sampler(EVERY))  # the negative control
    assert renewed["last loss"] != once["last loss"]


def test_anchors_and_positives_of_a_step_stay() -> None:
    """Also where a text that is an anchor becomes a negative of one that stands before it in the corpus."""
    mined = sampler(EVERY)
    before = [mined.batch(step) for step in range(12)]
    chance = np.random.default_rng(0)
    mined.set_table(mined_table(mined.pairs, lambda texts: chance.standard_normal((len(texts), 4)), RULES, EACH))
    for old, step in zip(before, range(12), strict=True):
        new = mined.batch(step)
        named = [
            [(batch.sentences[p], batch.sentences[h])
             for p, h, label in zip(batch.premise, batch.hypothesis, batch.label, strict=True) if (label == kind)]
            for batch in (old, new) for kind in (0, CONTRADICTION)
        ]  # fmt: skip
        assert sorted(named[0]) == sorted(named[2])
        assert sorted(named[1]) != sorted(named[3])


def test_a_trial_renews_beside_a_guide(tmp_path: Path) -> None:
    """It embeds all that may come ahead; the record holds the seconds of mining."""
    torch.set_default_dtype(torch.float32)
    changes = {"objective.false_negatives": "guide", "objective.guide": "scenes-small", "optimisation.max_steps": 4}
    recipe = asked_of(tmp_path, **{**changes, "corpus.mined_every": 2, "optimisation.learning_rate": 1e-3})
    training = build_training(recipe, 0, build_encoder(recipe, 0, None))
    guide = training.model.guide
    assert guide is not None
    embed_ahead(guide, training.sampler, 4)
    guide._encode = None  # type: ignore[assignment]  # nothing is left to encode
    progress = train(training.model, training.sampler, recipe, 0, Watcher(), Workers())
    assert 0 < progress.sums["mining_seconds"] < progress.seconds
    assert training.model.encoder.training


def test_a_frozen_encoder_does_not_mine_anew(tmp_path: Path) -> None:
    torch.set_default_dtype(torch.float32)
    frozen = asked_of(tmp_path, **{"encoder.adapter": "mlp", "corpus.mined_every": 10})
    with pytest.raises(UserError, match=r"corpus\.mined_every mines by an encoder that changes"):
        check_recipes([frozen], EvaluationConfig("scenes", ("STSBenchmark",)))


def test_rules_that_find_nothing_later_end_the_training() -> None:
    with pytest.raises(UserError, match="finds no negative for any anchor"):
        twelve_steps(Workers(), sampler(EVERY, renewing.NONE))
