# SPDX-License-Identifier: Apache-2.0
"""The directory of users and groups: ports and adapters.

`port.py` has the interfaces that every directory implements. Each adapter has its own folder. Adapters do not know each
other. Rules and tables of the service may not live here.
"""
