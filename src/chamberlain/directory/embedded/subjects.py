"""Single groups and sites of the embedded directory, for callers: looked up as a role that sees their tenant alone."""

from collections.abc import Callable, Sequence

from chamberlain.directory.embedded.guest_entries import name_of, observed_of
from chamberlain.directory.embedded.passing import passing
from chamberlain.embedded.directory.database import Pool, one_tenant
from chamberlain.embedded.directory.guests import Guests
from chamberlain.rules.subjects import ObservedSubject, SubjectReference


class EmbeddedSubjects:
    """Looks up one, or several of one tenant. `answer` raises while the directory shall not answer on purpose."""

    def __init__(self, pool: Pool, answer: Callable[[], None] = lambda: None) -> None:
        self._pool = pool
        self._answer = answer

    async def look_up(self, reference: SubjectReference) -> ObservedSubject | None:
        """What the directory shows of a group or site; None where it shows no such group. Raises TryAgain."""
        (shown,) = await self.observe([reference])
        return shown

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        """The same of several of one tenant."""
        with passing():
            self._answer()
            async with one_tenant(self._pool, references[0].tenant_id) as connection:
                found = await Guests(connection).observe([name_of(each) for each in references])
        return [None if shown is None else observed_of(shown) for shown in found]
