"""The hyperparameter search of sentence-transformers' documentation, on a file of pairs, for some minutes.

    python -m benchmarks.training._peer_evening REQUEST

The request is JSON: the files, the encoder's folder and the minutes. The last line of output is JSON: the number of
recipes, the best score on the dev split, and that model's score on the test split. The best model is not trained again.
"""

from __future__ import annotations

import copy
import json
import sys
import tempfile
import time
from typing import Any

import pandas as pd
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

ENDLESS = 10_000
"""Limit on the number of recipes. It is higher than the time allows, so that only the time ends the search."""


def main() -> None:
    """Search, and print the best result."""
    request = json.loads(sys.argv[1])
    pairs = read(request["train"])
    dev, test = (evaluator(read(request[part]), part) for part in ("dev", "test"))
    state: dict[str, Any] = {"dev": float("-inf"), "recipes": []}

    def model(_: Any) -> SentenceTransformer:
        state["now"] = SentenceTransformer(request["encoder"])
        return state["now"]

    def recipe(trial: Any) -> dict[str, Any]:
        """Return a recipe with the ranges of the documentation's page on hyperparameter search."""
        chosen = {
            "num_train_epochs": trial.suggest_int("num_train_epochs", 1, 2),
            "per_device_train_batch_size": trial.suggest_int("per_device_train_batch_size", 32, 128),
            "warmup_steps": trial.suggest_float("warmup_steps", 0, 0.3),
            "learning_rate": trial.suggest_float("learning_rate", 1e-6, 1e-4, log=True),
        }
        state["recipes"].append(chosen)
        return chosen

    def score(metrics: dict[str, float]) -> float:
        value = metrics["eval_dev_cosine_ndcg@10"]
        if value > state["dev"]:
            state.update(
                dev=value,
                until=(time.monotonic() - began) / 60,
                model=copy.deepcopy(state["now"]).cpu(),
                best=state["recipes"][-1],
            )
        return value

    with tempfile.TemporaryDirectory() as folder:
        trainer = SentenceTransformerTrainer(
            model=None,
            args=SentenceTransformerTrainingArguments(
                output_dir=folder,
                warmup_steps=0.0,  # below 1 it is a share, and a recipe's share must have this type
                eval_strategy="no",
                save_strategy="no",
                logging_steps=10,
                report_to="none",
            ),
            train_dataset=Dataset.from_pandas(pairs, preserve_index=False),
            evaluator=dev,
            model_init=model,
            loss=MultipleNegativesRankingLoss,
        )
        began = time.monotonic()
        trainer.hyperparameter_search(
            hp_space=recipe,
            compute_objective=score,
            n_trials=ENDLESS,
            direction="maximize",
            backend="optuna",
            timeout=60 * request["minutes"],
        )
        minutes = (time.monotonic() - began) / 60
    tested = test(state["model"])["test_cosine_ndcg@10"]
    untrained = test(SentenceTransformer(request["encoder"]))["test_cosine_ndcg@10"]
    figures = {
        "until": state["until"],
        "dev": 100 * state["dev"],
        "test": 100 * tested,
        "untrained": 100 * untrained,
        "minutes": minutes,
    }
    print(json.dumps({**figures, "recipes": len(state["recipes"]), "recipe": state["best"]}))


def read(file: str) -> pd.DataFrame:
    """Read texts unchanged: NA is a text too."""
    return pd.read_csv(file, keep_default_na=False, dtype=str)


def evaluator(pairs: pd.DataFrame, name: str) -> InformationRetrievalEvaluator:
    """Return an evaluator: each first text searches for its second text among all second texts of the split."""
    queries, answers = (pairs[column].tolist() for column in pairs.columns[:2])
    numbers = {text: str(number) for number, text in enumerate(dict.fromkeys(answers))}
    relevant: dict[str, set[str]] = {}
    for query, answer in zip(queries, answers, strict=True):
        relevant.setdefault(query, set()).add(numbers[answer])
    return InformationRetrievalEvaluator(
        {str(number): query for number, query in enumerate(relevant)},
        {number: text for text, number in numbers.items()},
        {str(number): answers for number, answers in enumerate(relevant.values())},
        name=name,
    )


if __name__ == "__main__":
    main()
