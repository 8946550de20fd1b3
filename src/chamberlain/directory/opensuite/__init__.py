# SPDX-License-Identifier: Apache-2.0
"""The adapter of an open suite: OpenLDAP, Dovecot, Postfix, SOGo and Matrix.

Entries of the LDAP server are the source of truth for everything except content. Everything here speaks protocols of
other servers. The ports of chamberlain.directory.port are the only way in. python-ldap is loaded when a connection is
opened, so this package can be imported without it.
"""
