# SPDX-License-Identifier: Apache-2.0
"""Templates: values, naming rules, stored revisions and their cache.

They are templates of groups, teams, guests and mailboxes. Administration of templates is in `template_admin`.
"""
