# SPDX-License-Identifier: Apache-2.0
"""A program without a person, by MSAL: a token, and the same again out of the cache."""

import json
import os

import msal

authority = f"{os.environ['AUTHORITY_HOST']}/{os.environ['TENANT_ID']}"
# Both ways that MSAL has to name an authority which is not the vendor's.
chosen = {"authority": authority, "instance_discovery": False}
if os.environ.get("AS_OPENID"):
    chosen = {"oidc_authority": f"{authority}/v2.0"}
app = msal.ConfidentialClientApplication(
    os.environ["AUTOMATION_ID"],
    client_credential=os.environ["AUTOMATION_SECRET"],
    verify=os.environ.get("VERIFY") or True,
    **chosen,
)
scopes = [os.environ["SCOPE"]]
print(json.dumps([app.acquire_token_for_client(scopes), app.acquire_token_for_client(scopes)]), flush=True)
