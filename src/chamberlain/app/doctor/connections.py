"""The directory: whether it answers, and whether it makes difficulties on purpose."""

from collections.abc import Sequence

from chamberlain.app.directory import faults_of, make_people
from chamberlain.app.doctor.checks_looks import look, not_there
from chamberlain.app.doctor.database import Opened
from chamberlain.app.doctor.store import NotThere, telling
from chamberlain.core.checkups import Checkup, doubtful, faulty, well
from chamberlain.core.errors import TryAgain
from chamberlain.database.transactions import Transaction
from chamberlain.directory.models import PeopleQuestion
from chamberlain.embedded.directory.faults import Faults
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import Tenant


async def look_at_directory(opened: Opened) -> Sequence[Checkup]:
    """It is asked for the administrators of the first tenant."""
    found: list[Tenant] = []

    async def read(tx: Transaction) -> Sequence[Checkup]:
        found.extend(await tenant_records.find_all(tx))
        return ()

    told = [*_on_purpose(opened), *await look("tenants", opened.worker, read)]
    if opened.worker is None or opened.application is None or (not found and told):
        return told
    if not found:
        cure = "`chamberlain apply` makes tenants from configuration files."
        return [*told, doubtful("tenants", "There is no tenant yet.", cure)]
    suspended = sum(tenant.suspended for tenant in found)
    counted = "1 tenant" if len(found) == 1 else f"{len(found)} tenants"
    told.append(well("tenants", f"There are {counted}, {suspended} of them suspended."))
    return [*told, await _answer(opened, found[0])]


async def _answer(opened: Opened, tenant: Tenant) -> Checkup:
    if opened.application is None:
        return faulty("directory", "It was not asked.", "Mend CHAMBERLAIN_DATABASE_URL first.")
    people = make_people(opened.settings, opened.application.pool)
    question = PeopleQuestion(tenant.id, users=tenant.administrator_users, named_groups=tenant.administrator_groups)
    try:
        with telling():
            answer = await people.look_up(question)
    except TryAgain as error:
        cure = "Look whether it runs; with faults on purpose, ask again."
        return faulty("directory", f"It does not answer: {error.reason}", cure)
    except NotThere as error:
        return not_there("directory", error)
    if answer.people or answer.known_groups:
        return well("directory", f"It answers, and knows the administrators of {tenant.name}.")
    cure = "Name administrators in the tenant's configuration file whom the directory knows, and apply it."
    return doubtful("directory", f"It answers, and knows none of the administrators of {tenant.name}.", cure)


def _on_purpose(opened: Opened) -> Sequence[Checkup]:
    if faults_of(opened.settings) == Faults():
        return ()
    cure = "Take the settings CHAMBERLAIN_FAULT_... away where people work."
    return [doubtful("directory", "It makes difficulties on purpose, as settings ask for.", cure)]
