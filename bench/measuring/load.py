# SPDX-License-Identifier: Apache-2.0
"""Load over HTTP, by wrk with a script of ours, and what it says of rate and latency."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Load:
    """One run of wrk: a script of bench/, and the environment that it reads."""

    script: Path
    url: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answered:
    """How a service did under a load. Latencies are in milliseconds; `bytes` are those of all answers."""

    rate: float
    p50: float
    p99: float
    requests: int
    seconds: float
    bytes: int


def run_load(load: Load, *, connections: int, seconds: int) -> Answered:
    """Put the load on for so long. An answer that is no success, or none at all, spoils the measurement."""
    # One thread makes more requests than any of our services answers, and leaves the other core alone.
    command = ["wrk", "--threads=1", f"--connections={connections}", f"--duration={seconds}s"]
    command += ["--timeout=30s", f"--script={load.script}", load.url]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **load.environment},
        timeout=seconds + 60,
    )
    said = json.loads(done.stdout.splitlines()[-1])
    if said["refused"] or said["broken"]:
        raise SystemExit(f"{said['refused']} calls were refused and {said['broken']} broke: this measures nothing.")
    if not said["requests"]:
        raise SystemExit(f"No call was answered within {seconds} s: this measures nothing.")
    elapsed = said["microseconds"] / 1e6
    return Answered(
        said["requests"] / elapsed, said["p50"] / 1e3, said["p99"] / 1e3, said["requests"], elapsed, said["bytes"]
    )
