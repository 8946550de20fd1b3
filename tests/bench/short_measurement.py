# SPDX-License-Identifier: Apache-2.0
"""Measurements as tests run them: short, to see that they work and not what they say."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

Rows = Mapping[str, Mapping[str, float]]


def measured(question: str, *options: str) -> Rows:
    """Run a measurement and return the rows of its first report. It stops by itself at a wrong answer."""
    done = subprocess.run(
        [sys.executable, "-m", f"bench.{question}", *options], capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    contents = []
    for name in re.findall("^Written to (.+)$", done.stdout, re.MULTILINE):
        written = Path(name)
        contents.append(json.loads(written.read_text(encoding="utf-8")))
        written.unlink()
    content = contents[0]
    assert content["question"] == question
    assert content["machine"]["cores"] > 0
    return {row["name"]: row["medians"] for row in content["rows"]}
