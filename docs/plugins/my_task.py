from pathlib import Path

from trainables.senteval.tasks import TASKS, Task

FOLDER = Path(__file__).parent / "reviews"
TASKS.add(Task("reviews", "split", "table", tuple(str(FOLDER / f"{part}.tsv") for part in ("train", "dev", "test"))))
