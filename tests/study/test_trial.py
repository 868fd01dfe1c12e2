"""A trial survives the way to a worker, and opens there only after what it names was run."""

from __future__ import annotations

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st

from reports.ledger import split_key
from study.engine.messages import WorkerTask
from study.trial import Resources, SourceFile, Trial
from trainables.recipe import Recipe
from trainables.training.rungs import Measure, RungPlan

RECIPES = st.builds(
    lambda steps, rate: Recipe().override({"optimisation.max_steps": steps, "optimisation.learning_rate": rate}),
    st.integers(1, 10_000),
    st.floats(1e-9, 1),
)
WORDS = st.text(max_size=8)
MEASURES = st.builds(Measure, WORDS, st.lists(WORDS, max_size=2).map(tuple), WORDS)
TRIALS = st.builds(
    Trial,
    recipe=RECIPES,
    seed=st.integers(0, 10_000),
    name=WORDS,
    row=st.booleans(),
    resources=st.builds(Resources, st.integers(1, 8), st.integers(1, 8), st.integers(1, 8), st.floats(0, 8), WORDS),
    rungs=st.none()
    | st.builds(RungPlan, st.just("share"), st.just((0.25, 0.5)), st.lists(MEASURES, max_size=2).map(tuple)),
)
SOURCE = SourceFile("plugin", "/a/b.py", "ran = True")


@given(WORDS, st.lists(TRIALS, min_size=1, max_size=2))
@settings(max_examples=20)
def test_a_trial_survives_the_way_to_a_worker(key: str, trials: list[Trial]) -> None:
    task = pickle.loads(
        pickle.dumps(WorkerTask(key, tuple(trials), sources=(SOURCE,), done=frozenset({trials[0].key})))
    )
    assert task.trials == tuple(trials)
    assert task.keys == tuple(trial.key for trial in trials)
    assert task.resources == trials[0].resources
    assert (task.key, task.done, task.sources) == (key, {trials[0].key}, (SOURCE,))


@given(TRIALS)
@settings(max_examples=20)
def test_a_key_is_of_the_recipe_and_the_seed_alone(trial: Trial) -> None:
    """Whatever a label holds, no file is called after it."""
    assert split_key(trial.key) == (trial.recipe_hash, trial.seed)
