# SPDX-License-Identifier: Apache-2.0
"""Mutants: one small change of a source file each, and a sample of them that stays the same from run to run."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

# Changing the seed selects other mutants. Equivalent mutants of the old sample then need a new review.
SEED = "chamberlain-1"


@dataclass(frozen=True, slots=True)
class Edit:
    """Replacement of the bytes from `start` to `end` of a file."""

    start: int
    end: int
    replacement: bytes
    scope: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed file. `before` and `after` are the changed lines without indentation."""

    file: str
    line: int
    scope: str
    before: str
    after: str
    text: bytes

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Identity that survives changes elsewhere in the file."""
        return self.file, self.scope, self.before, self.after

    @property
    def rank(self) -> str:
        """Place in the sample: pseudo-random, and independent of all other mutants."""
        return hashlib.sha256("\0".join((SEED, *self.key)).encode()).hexdigest()


Finder: TypeAlias = Callable[[bytes], Iterable[Edit]]


def mutants_of(root: Path, file: str, find: Finder) -> Sequence[Mutant]:
    """List all mutants of a file in the order of its lines."""
    source = (root / file).read_bytes()
    found: dict[tuple[str, str, str, str], Mutant] = {}
    for edit in sorted(find(source), key=lambda edit: (edit.start, edit.end, edit.replacement)):
        mutant = _mutant(file, source, edit)
        # Equal lines of one function give equal keys; the first of them represents all.
        if mutant.before != mutant.after:
            found.setdefault(mutant.key, mutant)
    return list(found.values())


def sample(mutants: Sequence[Mutant], share: float, least: int) -> Sequence[Mutant]:
    """Select this share of the mutants of one file, but at least `least` of them if there are as many."""
    number = max(least, round(share * len(mutants)))
    chosen = {mutant.key for mutant in sorted(mutants, key=lambda mutant: mutant.rank)[:number]}
    return [mutant for mutant in mutants if mutant.key in chosen]


def _mutant(file: str, source: bytes, edit: Edit) -> Mutant:
    begin = source.rfind(b"\n", 0, edit.start) + 1
    end = source.find(b"\n", edit.end)
    end = len(source) if end < 0 else end
    before = source[begin:end]
    after = source[begin : edit.start] + edit.replacement + source[edit.end : end]
    return Mutant(
        file=file,
        line=source.count(b"\n", 0, edit.start) + 1,
        scope=edit.scope,
        before=_one_line(before),
        after=_one_line(after),
        text=source[:begin] + after + source[end:],
    )


def _one_line(text: bytes) -> str:
    return re.sub(r"\s+", " ", text.decode()).strip()


def iterate_gaps(items: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """List the spans between neighbours."""
    for (_, end), (start, _) in pairwise(items):
        yield end, start
