"""How the migrations of a database stand to the files that this version of the service has."""

from collections.abc import Sequence
from dataclasses import dataclass

from chamberlain.core.checkups import Checkup, doubtful, faulty, well

# How many names a sentence holds; the rest is a number.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class MigrationState:
    """Names of files: `missing` have to be run before this version starts, `later` may be run when the versions before
    are gone, `changed` were run with another text, and `unknown` ones are those of a newer version."""

    missing: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def judge_migrations(state: MigrationState, *, is_embedded: bool) -> Sequence[Checkup]:
    """Each way in which the database and the files differ; one line when they do not."""
    run = "Start `chamberlain serve`, which runs them." if is_embedded else "Run `chamberlain migrate`."
    found = []
    if state.changed:
        cure = "Put the old text of these files back; what shall be another way comes with a new file."
        found.append(faulty("migrations", f"{_listed(state.changed)} were run with another text.", cure))
    if state.missing:
        found.append(faulty("migrations", f"{_listed(state.missing)} have not been run.", run))
    if state.later:
        seen = f"{_listed(state.later)} are left to be run when no older version of the service runs any more."
        found.append(doubtful("migrations", seen, run))
    if found:
        return found
    newer = f" {len(state.unknown)} are of a newer version, which does no harm." if state.unknown else ""
    return [well("migrations", f"All files of this version were run.{newer}")]


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")
