# SPDX-License-Identifier: Apache-2.0
"""The HTTP layer: pipeline, router, problems, ETags, pages, idempotency, streams and OpenAPI.

Handlers and wire models of a noun are in its folder.
"""
