# SPDX-License-Identifier: Apache-2.0
"""A person with a browser, by MSAL: it opens the browser and waits for it on an address of this machine."""

import json
import os

import msal

SCOPES = ["https://api.estate.example/admin/Config.ReadWrite.All"]

app = msal.PublicClientApplication(
    os.environ["CLIENT_ID"],
    authority=f"{os.environ['AUTHORITY_HOST']}/{os.environ['TENANT_ID']}",
    instance_discovery=False,
)
result = app.acquire_token_interactive(SCOPES, timeout=60)
print(json.dumps(result), flush=True)
(account,) = app.get_accounts()
print(json.dumps(app.acquire_token_silent(SCOPES, account, force_refresh=True)), flush=True)
