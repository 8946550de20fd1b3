"""Templates of groups, teams, guests and mailboxes: values, naming rules, stored revisions and their cache.

Administration of templates is in `template_admin`.
"""
