"""The tutorial runs from its first cell to its last, and is stored without outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

_EXECUTE = """
import json, sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=800, kernel_name="python3", resources={"metadata": {"path": sys.argv[2]}}).execute()
print(json.dumps([[output for output in cell.get("outputs", [])] for cell in notebook.cells]))
"""


def test_it_is_stored_without_outputs(root: Path) -> None:
    cells = json.loads((root / "docs/tutorial.ipynb").read_text())["cells"]
    kept = [cell for cell in cells if cell["cell_type"] == "code" and (cell["outputs"] or cell["execution_count"])]
    assert cells and not kept


def test_every_cell_runs_and_shows_what_it_promises(root: Path, tmp_path: Path, needed) -> None:
    needed(find_spec("nbclient") is not None and find_spec("ipykernel") is not None, "what runs notebooks")
    environment = {
        **os.environ, "PYTHONPATH": str(root), "HOME": str(tmp_path), "TMPDIR": str(tmp_path),
        "PYTHONWARNINGS": "ignore", "JUPYTER_PLATFORM_DIRS": "1",
    }  # fmt: skip
    command = [sys.executable, "-c", _EXECUTE, str(root / "docs/tutorial.ipynb"), str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=850)
    assert done.returncode == 0, done.stderr[-3000:]
    outputs = [output for cell in json.loads(done.stdout) for output in cell]
    assert not [output for output in outputs if output["output_type"] == "error"]
    shown = json.dumps(outputs)
    for words in ("86 samples, labels are public", " samples judged, cost", "95% interval", "no faults"):
        assert words in shown, words
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert {"text/html", "image/svg+xml", "application/vnd.vegalite.v6+json"} <= kinds
    assert "<progress" in shown  # evaluated within the notebook's own event loop
    assert "TqdmWarning" not in shown and "ipywidgets" not in shown
