# SPDX-License-Identifier: Apache-2.0
"""An open suite for tests and trials: slapd, Dovecot, Postfix, PostgreSQL, memcached, SOGo and Synapse.

The folders beside this file have the configuration of each server, with placeholders. `fill` fills them, here and on
the servers of an operator. `servers` starts each server, `processes` ends them by id, `folder` chooses ports and
secrets, `people` brings the example estate into the directory. Nothing of the service may import this package.
"""
