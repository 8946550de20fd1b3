# SPDX-License-Identifier: Apache-2.0
"""Bodies of requests and responses."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]*$")]


class GroupIn(BaseModel):
    """The body of a group request."""

    model_config = ConfigDict(extra="forbid", strict=False)

    displayName: Annotated[Text, Field(min_length=1, max_length=256)]
    templateId: UUID
    description: Annotated[str, Field(max_length=1024)] | None = None
    memberShipType: Annotated[int, Field(ge=0, le=2)] | None = None
    owners: Annotated[list[UUID], Field(max_length=100)] = []
    members: Annotated[list[UUID], Field(max_length=10_000)] = []
    metadata: dict[str, str | bool] = {}
    labelId: str | None = None


class GroupOut(BaseModel):
    """That it was accepted."""

    requestId: UUID
    tenantId: UUID
    approvalRequired: bool
