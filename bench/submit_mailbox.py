# SPDX-License-Identifier: Apache-2.0
"""How many mailboxes can be asked for each second, every one with a name of its own, and how many become active
beside that?

In each round, at each number of connections, in turn: pgbench with one transaction a request and the same rows, the
service without a worker, the service with the worker in its process, and with a worker in a process of its own. The
cores are shared by the load, the API, the worker and PostgreSQL. bench/README.md says what the columns mean.
"""

from bench.measuring.comparison import compare
from bench.measuring.question import Question
from tests.services import API, BEN, GRAPH, Service

SHARED_TEMPLATE = "7e000000-0000-4000-8000-000000000001"
SCOPE = f"{API}/mail/App.ReadWrite.All"


def is_retrievable(service: Service, request_id: str) -> bool:
    """Whether the API shows the mailbox of a request as active, and the directory shows it under the request's id."""
    result = service.request(request_id)["result"]
    if not isinstance(result, dict):
        return False
    mailbox = service.get(f"/mail/v1/mailboxes/{result['id']}/", scope=SCOPE).json()
    condition = f"chamberlain_mailbox/requestId eq '{request_id}'"
    found = service.get(f"/graph/v1.0/users?$filter={condition}", "automation", f"{GRAPH}/.default").json()["value"]
    return mailbox["provisioningState"] == "active" and [each["mail"] for each in found] == [result["mail"]]


QUESTION = Question(
    name="submit_mailbox",
    scope=SCOPE,
    environment={"BENCH_TEMPLATE": SHARED_TEMPLATE, "BENCH_USER": BEN},
    # A mailbox is active when its request has succeeded.
    made="SELECT count(*) FROM chamberlain.request WHERE state = 'succeeded'",
    unfinished="SELECT count(*) FROM chamberlain.job WHERE kind = 'mailboxProvision'",
    is_retrievable=is_retrievable,
)

if __name__ == "__main__":
    compare(QUESTION, __doc__)
