# SPDX-License-Identifier: Apache-2.0
"""Authenticate the caller by a bearer token that the identity platform has signed."""

import os
from pathlib import Path
from typing import Annotated
from uuid import UUID

import jwt
from fastapi import Depends, HTTPException, status
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel

AUDIENCE = "https://api.estate.example"
PERMISSION = "collab/App.ReadWrite.All"

keys = {each.key_id: each for each in jwt.PyJWKSet.from_json(Path(os.environ["ORDINARY_KEYS"]).read_text()).keys}
bearer = HTTPBearer()


class Caller(BaseModel):
    """The claims of a verified token."""

    user_id: UUID
    tenant_id: UUID
    client_id: str


def get_caller(credentials: Annotated[HTTPAuthorizationCredentials, Depends(bearer)]) -> Caller:
    """The caller, who may ask for groups."""
    token = credentials.credentials
    try:
        key = keys[jwt.get_unverified_header(token)["kid"]]
        claims = jwt.decode(
            token, key.key, algorithms=["RS256"], audience=AUDIENCE, issuer=os.environ["ORDINARY_ISSUER"]
        )
    except (jwt.InvalidTokenError, KeyError) as error:
        raise HTTPException(status.HTTP_401_UNAUTHORIZED, "The token is not valid.") from error
    if PERMISSION not in claims["scp"].split():
        raise HTTPException(status.HTTP_403_FORBIDDEN, f"This needs {PERMISSION}.")
    return Caller(user_id=claims["oid"], tenant_id=claims["tid"], client_id=claims["azp"])


CallerOfRequest = Annotated[Caller, Depends(get_caller)]
