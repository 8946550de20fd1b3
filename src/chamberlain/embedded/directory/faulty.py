"""The directory with faults on purpose: every part of a group is a writing call of its own, as in a suite."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from chamberlain.embedded.directory.database import Pool, answering
from chamberlain.embedded.directory.entries import GroupEntry, Mark
from chamberlain.embedded.directory.errors import NotYet
from chamberlain.embedded.directory.faults import NOT_FOUND, NOT_SHOWN, Faults, Injection
from chamberlain.embedded.directory.groups import Groups, GroupShown
from chamberlain.embedded.directory.people import Found, Question, Register

# The wait that is fair before the first look for what was just made; later ones are up to whoever looks.
_LOOK_AGAIN = timedelta(seconds=1)

_MADE_AT = """
SELECT i.item, g.created_at
FROM unnest($2::uuid[], $3::text[], $4::text[]) WITH ORDINALITY AS i (tenant_id, name, key, item)
JOIN directory.extension_values v
    ON v.tenant_id = i.tenant_id AND v.name = i.name AND v.member = $1 AND v.value = lower(i.key)
JOIN directory.groups g ON g.tenant_id = i.tenant_id AND g.id = v.group_id
"""


class FaultyRegister(Register):
    """A register that does not answer during an outage."""

    def __init__(self, pool: Pool, injection: Injection) -> None:
        super().__init__(pool)
        self._injection = injection

    async def look_up(self, questions: Mapping[UUID, Question]) -> Mapping[UUID, Found]:
        """As without faults, when anything answers at all."""
        self._injection.answer()
        return await super().look_up(questions)


class FaultyGroups:
    """Groups for those who have to call once for each part."""

    def __init__(self, pool: Pool, injection: Injection, *, key_member: str) -> None:
        self._pool = pool
        self._injection = injection
        self._key_member = key_member
        self._groups = Groups(pool, key_member=key_member)

    @property
    def faults(self) -> Faults:
        """Those that are at work."""
        return self._injection.faults

    async def observe(self, marks: Sequence[Mark]) -> Sequence[GroupShown | None]:
        """What is visible of each."""
        self._injection.answer()
        until = self._injection.visible_until()
        shown = await self._groups.observe(marks)
        if not any(shown):
            return shown
        made = await self._made_at(marks)
        return [one if at is not None and at <= until else None for one, at in zip(shown, made, strict=True)]

    async def find(self, mark: Mark) -> GroupShown:
        """A group that was made. Raises NotNow when it is not visible yet."""
        [shown] = await self.observe([mark])
        if shown is None:
            raise NotYet(NOT_SHOWN, _LOOK_AGAIN)
        return shown

    async def create(self, whole: GroupEntry, first: GroupEntry) -> None:
        """Make `first`, which is a part of the whole, unless something speaks against the whole. What is there already,
        by the id that it was to get, needs no writing call. Raises Refused and NotNow."""
        self._injection.answer()
        [made_at] = await self._made_at([whole.mark])
        if made_at is not None:
            return
        self._injection.take_call()
        await self.check(whole)
        await self._write(first)

    async def change(self, part: GroupEntry) -> None:
        """Bring this part of a group about. Raises Refused and NotNow."""
        self._injection.take_call()
        [made_at] = await self._made_at([part.mark])
        if made_at is None or made_at > self._injection.visible_until():
            raise NotYet(NOT_SHOWN, _LOOK_AGAIN)
        if made_at > self._injection.known_until():
            raise NotYet(NOT_FOUND, _LOOK_AGAIN)
        await self._write(part)

    async def check(self, entry: GroupEntry) -> None:
        """Raises Refused with what speaks against it: it is made, and unmade before anybody sees it."""
        with answering():
            async with self._pool.acquire() as connection:
                attempt = connection.transaction()
                await attempt.start()
                try:
                    [ensured] = await Groups(connection, key_member=self._key_member).ensure([entry])
                finally:
                    await attempt.rollback()
        if ensured.fault is not None:
            raise ensured.fault

    async def _write(self, part: GroupEntry) -> None:
        [ensured] = await self._groups.ensure([part])
        if ensured.fault is not None:
            raise ensured.fault

    async def _made_at(self, marks: Sequence[Mark]) -> Sequence[datetime | None]:
        tenants = [mark.tenant_id for mark in marks]
        names = [mark.extension for mark in marks]
        keys = [mark.key for mark in marks]
        with answering():
            rows = await self._pool.fetch(_MADE_AT, self._key_member, tenants, names, keys)
        made: dict[int, datetime] = {row[0]: row[1] for row in rows}
        return [made.get(item) for item in range(1, len(marks) + 1)]
