"""Single groups and sites of the embedded directory, for callers: looked up as a role that sees their tenant alone."""

from collections.abc import Callable, Sequence

from chamberlain.directory.embedded.guest_entries import name_of, observed_of
from chamberlain.directory.embedded.passing import passing
from chamberlain.directory.subjects import ObservedSubject, SubjectReference
from chamberlain.embedded.directory.database import Pool, one_tenant
from chamberlain.embedded.directory.guests import Guests


class EmbeddedSubjects:
    """Read groups and sites. `answer` raises while an injected outage lasts."""

    def __init__(self, pool: Pool, answer: Callable[[], None] = lambda: None) -> None:
        self._pool = pool
        self._answer = answer

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        """Read groups and sites of one tenant.

        None for each that does not exist. Raises TryAgain.
        """
        with passing():
            self._answer()
            async with one_tenant(self._pool, references[0].tenant_id) as connection:
                found = await Guests(connection).observe([name_of(each) for each in references])
        return [None if shown is None else observed_of(shown) for shown in found]
