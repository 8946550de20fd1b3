"""The use cases of findings, for callers and for workers."""

from chamberlain.api.administration import Findings
from chamberlain.bootstrap.means import Means, WorkMeans
from chamberlain.bootstrap.origins import now
from chamberlain.store.clocks import decision_time
from chamberlain.usecases.finding_accept import AcceptFinding
from chamberlain.usecases.finding_confirm import ConfirmFinding
from chamberlain.usecases.finding_list import ListFindings
from chamberlain.usecases.finding_reopen import ReopenFindings


def finding_services(means: Means) -> Findings:
    """What the API may ask about findings."""
    return Findings(
        list=ListFindings(means.database, means.authorization),
        accept=AcceptFinding(means.database, means.authorization, now),
        confirm=ConfirmFinding(means.database, means.people, means.authorization, now),
    )


def finding_work(means: WorkMeans) -> ReopenFindings:
    """What a worker does about acceptances that have ended."""
    return ReopenFindings(means.database, decision_time)
