"""A space of one's own data, made by --train. Keep it, edit it, and run it again:

    python study/run.py --space ./my_space.py --search optuna

`base` is what the gain is over, `domains` are what Optuna may choose.
"""

from search_spaces.space import Domain, Row, Space
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.senteval.tasks import TASKS, Task

DATA = "/ex/own_pairs/data"

TASKS.add(
    Task(
        "stsb", "scored_pairs", "table",
        files=(
            "/ex/stsb/dev.csv",
            "/ex/stsb/test.csv",
        ),
    )
)

SPACE = Space(
    name="cad_train-minilm-2-layers",
    title="minilm-2-layers trained on cad_train.jsonl",
    paper="your own data",
    base=Recipe().preferring(
        {
            "encoder.name": "/ex/minilm-2-layers",
            "pooling.mode": "mean",
            "corpus.nli": f"{DATA}/train.jsonl",
            "corpus.layout": "groups",
            "objective.name": "mnrl",
            "objective.temperature": 0.05,
            "optimisation.learning_rate": 2e-05,
            "optimisation.batch_size": 64,
            "optimisation.epochs": 1,
            "optimisation.warmup": 0.1,
        }
    ),
    evaluation=EvaluationConfig(tasks=("stsb",)),
    rows=(
        Row("encoder as it came", {"optimisation.epochs": 0}),
        Row("base settings", {}),
    ),
    domains=(
        Domain("optimisation.learning_rate", low=5e-06, high=0.0003, log=True),
        Domain("optimisation.batch_size", choices=(16, 32, 64, 128, 256)),
        Domain("optimisation.epochs", choices=(1, 3, 10)),
        Domain("objective.name", choices=("mnrl", "simcse", "supmpn")),
        Domain("objective.positives", low=1, high=2, when=("objective.name", ("supmpn",))),
        Domain("objective.negatives", low=1, high=2, when=("objective.name", ("mnrl", "supmpn"))),
        Domain("objective.temperature", low=0.01, high=0.5, log=True),
        Domain("pooling.mode", choices=("mean", "cls", "first_last_mean")),
        Domain("head.kind", choices=("none", "linear", "mlp")),
        Domain("head.dim"),
    ),
    goals=("stsb",),
    shown=(),
    notes=(
        "leaks: stsb (dev): the training data holds 0 of 1,500 items whole, and 15 of 2,909 single texts (15 normalised)",
        "leaks: stsb (test): the training data holds 0 of 1,379 items whole, and 13 of 2,551 single texts (12 normalised, 1 near)",
        "leaks: stsb (test): the dev part holds 4 of 1,379 items whole (4 exact), and 79 of 2,551 single texts (77 exact, 2 near)",
    ),
)
