# SPDX-License-Identifier: Apache-2.0
"""Groups and teams: request them, and create them in the directory."""
