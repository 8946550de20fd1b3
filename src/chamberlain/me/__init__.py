# SPDX-License-Identifier: Apache-2.0
"""The caller, as the service knows them: name, tenant, language, open decisions."""
