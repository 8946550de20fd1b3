"""Offer templates to those who ask for something: the active ones of whose audience they are."""

from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.directory.port import People
from chamberlain.rules.callers import Caller
from chamberlain.rules.errors import TryAgain, Unavailable
from chamberlain.rules.ids import GroupId
from chamberlain.rules.pages import Page, PageWanted
from chamberlain.rules.people import PeopleQuestion
from chamberlain.rules.template_areas import TemplateArea
from chamberlain.rules.template_records import TemplateRecord
from chamberlain.store import template_records
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class OfferTemplates:
    """For everybody who may ask for something of these kinds. No audience holds an application back."""

    database: Database
    people: People
    authorization: Authorization
    area: TemplateArea

    async def __call__(self, caller: Caller, page: PageWanted) -> Page[TemplateRecord]:
        """Raises Forbidden, and Unavailable while the directory does not tell of which groups somebody is."""
        await self.authorization.require(caller, self.area.read)
        member_of = await self._member_of(caller)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await template_records.find_offered(
                tx, self.area.offered_kinds, page, user=caller.user_id, member_of=member_of
            )

    async def _member_of(self, caller: Caller) -> frozenset[GroupId]:
        """Those groups of audiences that the caller is in, directly or through others."""
        if caller.user_id is None:
            return frozenset()
        async with self.database.transaction(caller.tenant_id) as tx:
            groups = await template_records.audience_groups(tx, self.area.offered_kinds)
        if not groups:
            return groups
        try:
            answer = await self.people.look_up(PeopleQuestion(caller.tenant_id, member=caller.user_id, groups=groups))
        except TryAgain as error:
            detail = "The directory cannot be asked which templates are for you. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error
        return answer.member_of
