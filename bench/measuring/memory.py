# SPDX-License-Identifier: Apache-2.0
"""Memory: what a service and everything that it has started take, each shared page counted in parts."""

import re
from pathlib import Path

from bench.measuring.processor import family_of

_PSS = re.compile(r"^Pss:\s+(\d+) kB$", re.MULTILINE)


def megabytes_used(process: int) -> dict[str, float]:
    """The proportional share (Pss) of the process itself, of PostgreSQL's processes, and of all together."""
    own = _pss(process)
    together = sum(_pss(each) for each in family_of([process]))
    return {"service": own, "PostgreSQL": together - own, "together": together}


def _pss(process: int) -> float:
    try:
        found = _PSS.search(Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8"))
    except OSError:  # It has ended meanwhile.
        return 0.0
    return int(found[1]) / 1024 if found else 0.0
