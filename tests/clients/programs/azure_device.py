# SPDX-License-Identifier: Apache-2.0
"""A person at a terminal, by azure-identity, who signs in with a code."""

import json
import os
from datetime import datetime

from azure.identity import DeviceCodeCredential

SCOPES = "https://api.estate.example/collab/App.ReadWrite.All", "https://graph.estate.example/Group.Read.All"


def say(what: object) -> None:
    print(json.dumps(what), flush=True)


def prompt(verification_uri: str, user_code: str, _: datetime) -> None:
    say({"verification_uri": verification_uri, "user_code": user_code})


with DeviceCodeCredential(
    os.environ["CLIENT_ID"],
    tenant_id=os.environ["TENANT_ID"],
    authority=os.environ["AUTHORITY_HOST"],
    disable_instance_discovery=True,
    prompt_callback=prompt,
) as credential:
    record = credential.authenticate(scopes=SCOPES[:1])
    say([credential.get_token(scope)._asdict() for scope in SCOPES])
    say([record.username, record.tenant_id, record.authority, record.client_id])
