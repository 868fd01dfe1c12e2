"""The search that sentence-transformers documents, over recipes of a list.

    python -m benchmarks._peer_search ASKED.json

Its last word is the best score on the dev part, in %.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

TRIPLET = ("anchor", "positive", "negative")
NAMES = {
    "optimisation.epochs": "num_train_epochs",
    "optimisation.batch_size": "per_device_train_batch_size",
    "optimisation.warmup": "warmup_steps",
    "optimisation.learning_rate": "learning_rate",
}


def main() -> None:
    """Search, and print the best."""
    asked = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    lines = Path(asked["train"]).read_text(encoding="utf-8").splitlines()
    train = Dataset.from_list([{name: json.loads(line)[name] for name in TRIPLET} for line in lines])
    with open(asked["dev"], encoding="utf-8", newline="") as file:
        dev = list(csv.DictReader(file))
    pairs = ([row[name] for row in dev] for name in ("sentence1", "sentence2"))
    evaluator = EmbeddingSimilarityEvaluator(*pairs, [float(row["score"]) for row in dev], name="dev")

    def recipe(trial: Any) -> dict[str, Any]:
        return {NAMES[key]: value for key, value in asked["recipes"][trial.number].items()}

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
            train_dataset=train,
            evaluator=evaluator,
            model_init=lambda trial: SentenceTransformer(asked["encoder"]),
            loss=MultipleNegativesRankingLoss,
        )
        best = trainer.hyperparameter_search(
            hp_space=recipe,
            compute_objective=lambda metrics: metrics["eval_dev_spearman_cosine"],
            n_trials=len(asked["recipes"]),
            direction="maximize",
            backend="optuna",
        )
    print(100 * float(best.objective))


main()
