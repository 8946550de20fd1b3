"""The use cases of adoptions, for callers and for workers."""

from chamberlain.api.administration import Adoptions
from chamberlain.bootstrap.directory import make_adoptions
from chamberlain.bootstrap.means import Means, WorkMeans
from chamberlain.bootstrap.origins import new_id, now
from chamberlain.usecases.adoption_confirm import ConfirmAdoption
from chamberlain.usecases.adoption_list import ListAdoptions
from chamberlain.usecases.adoption_read import ReadAdoption
from chamberlain.usecases.adoption_run import RunAdoptions
from chamberlain.usecases.adoption_undo import UndoAdoption


def adoption_services(means: Means) -> Adoptions:
    """What the API may ask about adoptions."""
    database, authorization, workers = means.database, means.authorization, means.notifier
    directory = make_adoptions(means.settings, database.pool)
    confirm = ConfirmAdoption(database, directory, authorization, means.catalog, workers, new_id, now)
    return Adoptions(
        preview=confirm.preview,
        confirm=confirm,
        list=ListAdoptions(database, authorization),
        read=ReadAdoption(database, authorization),
        undo=UndoAdoption(database, authorization, workers, now),
    )


def adoption_work(means: WorkMeans) -> RunAdoptions:
    """What a worker does about adoptions."""
    adoptions = make_adoptions(means.settings, means.database.pool)
    return RunAdoptions(means.database, adoptions, means.directory, means.people, new_id, now)
