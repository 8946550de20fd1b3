# SPDX-License-Identifier: Apache-2.0
"""Connect the example tenant of a service to a suite."""

import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2

from deploy.suite.folder import HOST, TENANT, Suite
from deploy.suite.processes import run
from deploy.suite.servers import HERE

# The file with the settings, in the folder of the tenant.
FILE = "open-suite.toml"


def environment_of(suite: Suite) -> Mapping[str, str]:
    """Write the settings of the tenant, and return the environment of a service that may use the suite."""
    files = Path(suite.values["CONNECTION_FILES"])
    run(HERE / "fill", suite.settings, HERE / "tenant", files / TENANT)
    ports = ("LDAP", "DOVEADM", "SUBMISSION", "SMTP", "SOGO", "MEMCACHED", "MATRIX")
    return {
        "CHAMBERLAIN_CONNECTION_FILES": str(files),
        "CHAMBERLAIN_CONNECTION_HOSTS": ",".join(f"{HOST}:{suite.port(name)}" for name in ports),
    }


def connect(suite: Suite, url: str, token: str, *, authorities: Path | None = None) -> dict[str, Any]:
    """Add the connection of the tenant and check it. Returns it with its state."""
    verify = True if authorities is None else ssl.create_default_context(cafile=os.fspath(authorities))
    body = {"adapter": "opensuite", "address": suite.values["LDAP_URL"], "credentialFile": FILE}
    headers = {"Authorization": f"Bearer {token}"}
    with httpx2.Client(base_url=f"{url}/admin/v1", headers=headers, verify=verify, timeout=60) as client:
        # Without force, objects of a data directory that was used before would keep the tenant where it is.
        added = client.post("/connections/", params={"force": "true"}, json=body)
        if added.status_code == 409:
            [present] = client.get("/connections/").json()["items"]
            path = f"/connections/{present['id']}/"
            del body["adapter"]
            added = client.patch(path, params={"force": "true"}, json=body)
        added.raise_for_status()
        checked = client.post(f"/connections/{added.json()['id']}/check/")
        checked.raise_for_status()
    found: dict[str, Any] = checked.json()
    return found
