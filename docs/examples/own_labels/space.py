"""A space of one's own data, made by --train. Keep it, edit it, and run it again:

    python study/run.py --space ./my_space.py --search optuna

`base` is what the gain is over, `domains` are what Optuna may choose, `first` is what it tries first.
"""

from search_spaces.space import Domain, Row, Space
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.senteval.tasks import TASKS, Task

DATA = "/ex/results/own_labels/data"

TASKS.add(
    Task(
        "labelled", "classes", "table",
        files=(
            f"{DATA}/train.jsonl",
            f"{DATA}/heldout_dev.jsonl",
            "/ex/labelled_test.csv",
        ),
    )
)

SPACE = Space(
    name="labelled-minilm-2-layers",
    title="minilm-2-layers trained on labelled.csv",
    paper="your own data",
    base=Recipe().preferring(
        {
            "encoder.name": "/ex/minilm-2-layers",
            "encoder.max_length": None,
            "pooling.mode": "mean",
            "corpus.nli": f"{DATA}/train.jsonl",
            "corpus.layout": "same_label",
            "objective.name": "supcon",
            "objective.temperature": 0.05,
            "objective.contrast": "all",
            "optimisation.learning_rate": 0.0001,
            "optimisation.batch_size": 16,
            "optimisation.epochs": 10,
            "optimisation.warmup": 0.1,
        }
    ),
    evaluation=EvaluationConfig(tasks=("labelled",)),
    rows=(
        Row("original encoder", {"optimisation.epochs": 0}, as_it_came=True),
        Row("base settings", {}),
        Row("TF-IDF (no model)", {"encoder.kind": "tf_idf", "encoder.name": f"{DATA}/train.jsonl", "optimisation.epochs": 0, "encoder.adapter": "none", "pooling.after": "none"}),
    ),
    domains=(
        Domain("optimisation.learning_rate", low=5e-06, high=0.001, log=True),
        Domain("optimisation.batch_size", choices=(16, 32, 64)),
        Domain("optimisation.epochs", choices=(1, 3, 10)),
        Domain("objective.name", choices=("supcon", "supmpn", "batch_all", "batch_hard")),
        Domain("corpus.each", choices=(2, 4)),
        Domain("objective.temperature", low=0.01, high=0.5, log=True),
        Domain("objective.margin"),
    ),
    first=(
        {"optimisation.learning_rate": 0.0002, "optimisation.batch_size": 64},
        {"optimisation.learning_rate": 5e-05},
        {"objective.name": "batch_all"},
        {"optimisation.learning_rate": 2e-05},
        {"optimisation.learning_rate": 0.0005, "optimisation.batch_size": 64, "optimisation.epochs": 3},
        {"objective.temperature": 0.1},
    ),
    goals=("labelled",),
    shown=(),
    notes=(
        "leaks: 2 rows of /ex/labelled.csv held an item of --test, exactly or nearly: left out",
        "leaks: labelled (dev): the training data holds 1 of 121 items (1 nearly), and 1 of 120 single texts (1 nearly)",
        "leaks: labelled (test): none",
        "leaks: 1 training row that held an item that is put aside, exactly or nearly: left out",
    ),
)
