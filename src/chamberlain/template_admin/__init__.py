# SPDX-License-Identifier: Apache-2.0
"""Administration of templates, in both areas: mail and collaboration.

It writes templates and offers them to requesters. Requests read templates by revision from `templates`.
"""
