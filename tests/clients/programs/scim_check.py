# SPDX-License-Identifier: Apache-2.0
"""Check the SCIM surface against the RFCs with scim2-tester, and print one list of results."""

import json
import os

from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import check_server

with Client(
    base_url=os.environ["SCIM_URL"], headers={"Authorization": f"Bearer {os.environ['TOKEN']}"}, timeout=60
) as client:
    results = check_server(SyncSCIMClient(client))
print(
    json.dumps(
        [
            {
                "status": result.status.name,
                "check": result.title,
                "resourceType": result.resource_type,
                "reason": result.reason,
            }
            for result in results
        ]
    )
)
