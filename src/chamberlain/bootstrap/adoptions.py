"""The service of adoptions, and their job."""

from chamberlain.adoptions.jobs import RunAdoptions
from chamberlain.adoptions.preview import Previewer
from chamberlain.adoptions.service import AdoptionService
from chamberlain.bootstrap.directory import make_adoptions
from chamberlain.bootstrap.means import Means, WorkMeans
from chamberlain.bootstrap.origins import new_id, now


def adoption_service(means: Means) -> AdoptionService:
    """Build the service that the API calls."""
    directory = make_adoptions(means.settings, means.database.pool)
    previewer = Previewer(means.database, directory, means.catalog)
    return AdoptionService(means.database, means.authorization, previewer, means.notifier, new_id, now)


def adoption_work(means: WorkMeans) -> RunAdoptions:
    """Build the handler of adoption jobs."""
    adoptions = make_adoptions(means.settings, means.database.pool)
    return RunAdoptions(means.database, adoptions, means.directory, means.people, new_id, now)
