"""The committed notebook: its cells run in their order, and it shows what a run of them gave."""

from __future__ import annotations

import ast
import json
import re
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
answer = space["answer"]
print(len(answer.trials), answer._repr_html_().startswith("<pre>"), space["embeddings"].shape[0])
"""


def test_it_keeps_what_a_run_gave_and_every_page_that_should_leads_to_it() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    cells = json.loads(text)["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == [*range(1, len(code) + 1)]
    install, *shown = code
    assert "pip" in "".join(install["source"])
    assert install["outputs"] == []
    assert all(cell["outputs"] for cell in shown)
    outputs = [output for cell in shown for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert [output for output in outputs if "text/html" in output.get("data", {})]
    assert not re.search(r"/(home|root|tmp)/", text), "a machine's path"
    assert len({cell["id"] for cell in cells}) == len(cells)
    for cell in code:
        ast.parse("".join(cell["source"]))
    for page in ("python.md", "own_data.md"):
        assert "(own_pairs.ipynb)" in (ROOT / "docs" / page).read_text()
    assert NOTEBOOK.relative_to(ROOT).as_posix() in (ROOT / "Makefile").read_text()


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
