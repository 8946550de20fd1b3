# SPDX-License-Identifier: Apache-2.0
"""Serves users and groups of the directory by SCIM 2.0.

The standard is RFC 7643 and RFC 7644.

Schemas, filters and patches are pure. A resource is a JSON object. It consists of the document that a SCIM client wrote
last, and of the properties that the directory has now.
"""
