"""The committed notebook: its cells run in their order, and it brings nothing that a run of it left."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "own_pairs.ipynb"
SCRIPT = """
import json, sys
space = {"__name__": "__main__"}
for number, cell in enumerate(json.load(open(sys.argv[1], encoding="utf-8"))["cells"]):
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), space)
found, model = space["found"], space["model"]
print(len(found.trials), found._repr_html_().startswith("<pre>"), space["embeddings"].shape[0])
"""


def test_it_is_committed_without_outputs_and_every_page_that_should_leads_to_it() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 6
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert "pip" in "".join(code[0]["source"])
    assert len({cell["id"] for cell in cells}) == len(cells)
    for cell in code:
        ast.parse("".join(cell["source"]))
    for page in ("python.md", "own_data.md"):
        assert "(own_pairs.ipynb)" in (ROOT / "docs" / page).read_text()


@pytest.mark.ray
@pytest.mark.slow
def test_its_cells_run_in_their_order(cluster: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(NOTEBOOK)]
    env = {**cluster, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    trials, shown, encoded = done.stdout.splitlines()[-1].split()
    assert int(trials) > 5
    assert (shown, encoded) == ("True", "3")
