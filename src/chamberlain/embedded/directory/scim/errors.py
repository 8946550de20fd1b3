# SPDX-License-Identifier: Apache-2.0
"""The permanent error of SCIM calls."""

from chamberlain.embedded.directory.errors import DirectoryFault


class ScimFault(DirectoryFault):
    """A refused call: HTTP status, sentence and `scimType` (RFC 7644, 3.12).

    `scim_type` is None where the standard has none.
    """

    def __init__(self, status: int, detail: str, scim_type: str | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.scim_type = scim_type


def invalid_value(detail: str) -> ScimFault:
    """Build the fault of a value that an attribute cannot have."""
    return ScimFault(400, detail, "invalidValue")
