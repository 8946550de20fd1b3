# SPDX-License-Identifier: Apache-2.0
"""Compare the answers to submissions with the database, where no full history of a round is recorded."""

import json
from collections.abc import Sequence

from bench.histories.checker import check_keys, check_requests
from bench.histories.records import FinalRequest, Submission, Violation
from tests.services import look_up

REQUESTS = """
SELECT coalesce(json_agg(json_build_array(r.request_id, r.display_name, r.state, (
    SELECT count(*) FROM directory.extension_values v
    WHERE v.tenant_id = r.tenant_id AND v.name = 'chamberlain_group' AND v.member = 'requestId'
        AND v.value = r.request_id::text
))), '[]') FROM chamberlain.request r WHERE r.kind = 'group'
"""


def violations(address: str, submissions: Sequence[Submission]) -> list[Violation]:
    """List the broken promises, given all submissions that the database has ever received.

    `address` is that of the worker's role.
    """
    rows = json.loads(str(look_up(address, REQUESTS)))
    requests = [FinalRequest(id_, name, state, groups=groups) for id_, name, state, groups in rows]
    return [*check_requests(submissions, requests), *check_keys(submissions, requests)]
