"""The search that sentence-transformers documents, on a file of pairs, for some minutes.

    python -m benchmarks._peer_evening ASKED.json

Its last line is JSON: how many recipes it tried, the best on the dev part, and what that model has on the test part.
The model is the one that the search trained: it is not trained again.
"""

from __future__ import annotations

import copy
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas as pd
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

ENDLESS = 10_000
"""More recipes than there is time for."""


def main() -> None:
    """Search, and print the best."""
    asked = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    pairs = read(asked["train"])
    dev, test = (evaluator(read(asked[part]), part) for part in ("dev", "test"))
    kept: dict[str, Any] = {"dev": float("-inf"), "recipes": []}

    def model(_: Any) -> SentenceTransformer:
        kept["now"] = SentenceTransformer(asked["encoder"])
        return kept["now"]

    def recipe(trial: Any) -> dict[str, Any]:
        """As the page on hyperparameter search has it."""
        chosen = {
            "num_train_epochs": trial.suggest_int("num_train_epochs", 1, 2),
            "per_device_train_batch_size": trial.suggest_int("per_device_train_batch_size", 32, 128),
            "warmup_steps": trial.suggest_float("warmup_steps", 0, 0.3),
            "learning_rate": trial.suggest_float("learning_rate", 1e-6, 1e-4, log=True),
        }
        kept["recipes"].append(chosen)
        return chosen

    def score(metrics: dict[str, float]) -> float:
        found = metrics["eval_dev_cosine_ndcg@10"]
        if found > kept["dev"]:
            kept.update(
                dev=found,
                until=(time.monotonic() - began) / 60,
                model=copy.deepcopy(kept["now"]).cpu(),
                best=kept["recipes"][-1],
            )
        return found

    with tempfile.TemporaryDirectory() as folder:
        trainer = SentenceTransformerTrainer(
            model=None,
            args=SentenceTransformerTrainingArguments(
                output_dir=folder,
                warmup_steps=0.0,  # below 1 it is a share, and a recipe's share keeps the type that stands here
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
            timeout=60 * asked["minutes"],
        )
        minutes = (time.monotonic() - began) / 60
    tested = test(kept["model"])["test_cosine_ndcg@10"]
    untrained = test(SentenceTransformer(asked["encoder"]))["test_cosine_ndcg@10"]
    figures = {
        "until": kept["until"],
        "dev": 100 * kept["dev"],
        "test": 100 * tested,
        "untrained": 100 * untrained,
        "minutes": minutes,
    }
    print(json.dumps({**figures, "recipes": len(kept["recipes"]), "recipe": kept["best"]}))


def read(file: str) -> pd.DataFrame:
    """Texts as they are: NA is one, too."""
    return pd.read_csv(file, keep_default_na=False, dtype=str)


def evaluator(pairs: pd.DataFrame, name: str) -> InformationRetrievalEvaluator:
    """Each first text looks for its second among all second texts of the part."""
    queries, answers = (pairs[column].tolist() for column in pairs.columns[:2])
    numbers = {text: str(number) for number, text in enumerate(dict.fromkeys(answers))}
    relevant: dict[str, set[str]] = {}
    for query, answer in zip(queries, answers, strict=True):
        relevant.setdefault(query, set()).add(numbers[answer])
    return InformationRetrievalEvaluator(
        {str(number): query for number, query in enumerate(relevant)},
        {number: text for text, number in numbers.items()},
        {str(number): wanted for number, wanted in enumerate(relevant.values())},
        name=name,
    )


if __name__ == "__main__":
    main()
