# SPDX-License-Identifier: Apache-2.0
"""Guest policies: administration, timers, evaluation, reminders and reports, and simulation."""
