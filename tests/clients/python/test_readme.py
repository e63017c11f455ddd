"""Runs the examples of the package's README, as pasted, against the real server."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import distribution


def test_examples_of_the_readme_run(open_url: str) -> None:
    examples = re.findall(r"```python\n(.*?)```", distribution("relevantic-recall").read_text("METADATA") or "", re.DOTALL)
    assert len(examples) == 6
    for code in examples:
        code = code.replace("http://127.0.0.1:8080", open_url)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{code}\n{done.stderr}"
        assert "Mary" in done.stdout, code
