# SPDX-License-Identifier: Apache-2.0
"""How many groups can be asked for each second, and how many come about beside that?

In each round, at each number of connections, in turn: pgbench with one transaction a request and the same rows, the
ordinary way to write it, the service without a worker, with the worker in its process, and with a worker in a process
of its own. The cores are shared by the load, the API, the worker and PostgreSQL. bench/README.md says what the columns
mean.
"""

from bench.measuring.comparison import compare
from bench.measuring.question import Question
from tests.services import COLLAB, GROUP_TEMPLATE, Service


def is_retrievable(service: Service, request_id: str) -> bool:
    """Whether the directory shows one group under the id of its request."""
    return len(service.find_group(request_id)) == 1


QUESTION = Question(
    name="submit_group",
    scope=COLLAB,
    environment={"BENCH_TEMPLATE": GROUP_TEMPLATE},
    # Groups that can be found by their request, and requests whose group cannot be found yet.
    made="SELECT count(*) FROM directory.extension_values WHERE member = 'requestId'",
    unfinished="SELECT count(*) FROM chamberlain.job WHERE kind = 'groupProvision'",
    is_retrievable=is_retrievable,
    has_ordinary_way=True,
)

if __name__ == "__main__":
    compare(QUESTION, __doc__)
