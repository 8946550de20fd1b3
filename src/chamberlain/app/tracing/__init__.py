# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry traces: wrappers around the parts of a process.

Only `traces` is imported without a configured receiver. The rest needs the OpenTelemetry packages.
"""
