# SPDX-License-Identifier: Apache-2.0
"""A program without a person, by azure-identity."""

import json
import os

from azure.identity import ClientSecretCredential

with ClientSecretCredential(
    os.environ["TENANT_ID"],
    os.environ["AUTOMATION_ID"],
    os.environ["AUTOMATION_SECRET"],
    authority=os.environ["AUTHORITY_HOST"],
    disable_instance_discovery=True,
) as credential:
    print(json.dumps(credential.get_token(os.environ["SCOPE"])._asdict()), flush=True)
