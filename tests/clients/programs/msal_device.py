# SPDX-License-Identifier: Apache-2.0
"""A person at a terminal, by MSAL: signs in with a code, and is known from then on without being asked."""

import json
import os
import sys
import time

import msal

API, GRAPH = ["https://api.estate.example/collab/App.ReadWrite.All"], ["https://graph.estate.example/Group.Read.All"]


def say(what: object) -> None:
    print(json.dumps(what), flush=True)


def start(cache: msal.SerializableTokenCache) -> msal.PublicClientApplication:
    authority = f"{os.environ['AUTHORITY_HOST']}/{os.environ['TENANT_ID']}"
    return msal.PublicClientApplication(
        os.environ["CLIENT_ID"], authority=authority, instance_discovery=False, token_cache=cache
    )


def a_day_later(kept: str) -> str:
    """Expire the access tokens of a cache."""
    held = json.loads(kept)
    for token in held["AccessToken"].values():
        token["expires_on"] = token["extended_expires_on"] = str(int(time.time()) - 1)
    return json.dumps(held)


cache = msal.SerializableTokenCache()
app = start(cache)
flow = app.initiate_device_flow(scopes=API)
say(flow)
result = app.acquire_token_by_device_flow(flow)
say(result)
if "error" in result:
    sys.exit()

# The next time the program runs: the same token, another resource's, and a new one when it has expired.
again = msal.SerializableTokenCache()
again.deserialize(cache.serialize())
app = start(again)
(account,) = app.get_accounts()
say(account)
say([app.acquire_token_silent(API, account), app.acquire_token_silent(GRAPH, account)])

later = msal.SerializableTokenCache()
later.deserialize(a_day_later(again.serialize()))
app = start(later)
(account,) = app.get_accounts()
say(app.acquire_token_silent(API, account))

# The account is removed from the cache, so none is left.
app.remove_account(account)
say(app.get_accounts())
