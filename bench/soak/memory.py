# SPDX-License-Identifier: Apache-2.0
"""Memory that is a process's own: without the buffers that PostgreSQL's processes share, whose size is fixed and which
fill up as long as a database is young; and without the workers of autovacuum, which take up to 60 MB and end."""

import re
from pathlib import Path

from bench.measuring.processor import family_of

_VACUUM = b"postgres: autovacuum worker"
_KILOBYTES = re.compile(r"^(Pss|Pss_Shmem):\s+(\d+) kB$", re.MULTILINE)


def own_megabytes(process: int) -> dict[str, float]:
    """The proportional share (Pss) without shared memory, of a service and of PostgreSQL, which it has started."""
    started = [each for each in family_of([process]) if each != process and not _is_vacuum(each)]
    return {"service": _own(process), "PostgreSQL": sum(map(_own, started))}


def _is_vacuum(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().startswith(_VACUUM)
    except OSError:  # It has ended meanwhile.
        return False


def _own(process: int) -> float:
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8")
    except OSError:  # It has ended meanwhile.
        return 0.0
    found = {name: int(size) for name, size in _KILOBYTES.findall(text)}
    return (found.get("Pss", 0) - found.get("Pss_Shmem", 0)) / 1024
