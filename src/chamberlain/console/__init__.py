# SPDX-License-Identifier: Apache-2.0
"""The console: pages for people who request, approve and administer.

Pages are rendered here, and call the services of all nouns. No page reads a table, and none imports another.
"""
