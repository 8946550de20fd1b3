# SPDX-License-Identifier: Apache-2.0
"""How many assignments of a guest template and a guest policy can be changed each second, and how many show in the
directory beside that?

A thousand groups take turns, and every call changes what its group has. In each round, at each number of connections,
in turn: pgbench with one transaction a request and the same rows, the service without a worker, the service with the
worker in its process, and with a worker in a process of its own. The cores are shared by the load, the API, the worker
and PostgreSQL. bench/README.md says what the columns mean.
"""

from bench.measuring.comparison import compare
from bench.measuring.question import BENCH, Question
from tests.services import API, GRAPH, Service

SCOPE = f"{API}/admin/Config.ReadWrite.All"


def is_retrievable(service: Service, request_id: str) -> bool:
    """Whether the request has succeeded, and the directory shows the mark of what the API says is assigned."""
    result = service.request(request_id)["result"]
    if not isinstance(result, dict):
        return False
    group = service.get(f"/admin/collab/v1/manage/groups/{result['id']}/", scope=SCOPE).json()
    found = service.get(f"/graph/v1.0/groups/{result['id']}", "automation", f"{GRAPH}/.default").json()
    return bool(found["chamberlain_group"]["templateId"] == group["templateId"])


QUESTION = Question(
    name="assign",
    scope=SCOPE,
    environment={},
    # All effects of a change are there when its request has succeeded.
    made="SELECT count(*) FROM chamberlain.request WHERE state = 'succeeded'",
    unfinished="SELECT count(*) FROM chamberlain.job WHERE kind = 'assignmentApply'",
    is_retrievable=is_retrievable,
    preparation=BENCH / "assign.groups.sql",
)

if __name__ == "__main__":
    compare(QUESTION, __doc__)
