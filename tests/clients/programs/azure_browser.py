# SPDX-License-Identifier: Apache-2.0
"""A person with a browser, by azure-identity."""

import json
import os

from azure.identity import InteractiveBrowserCredential

with InteractiveBrowserCredential(
    client_id=os.environ["CLIENT_ID"],
    tenant_id=os.environ["TENANT_ID"],
    authority=os.environ["AUTHORITY_HOST"],
    disable_instance_discovery=True,
) as credential:
    token = credential.get_token("https://api.estate.example/mail/App.ReadWrite.All")
    print(json.dumps(token._asdict()), flush=True)
