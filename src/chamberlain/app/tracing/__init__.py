"""OpenTelemetry traces: wrappers around the parts of a process.

Only `wiring` is imported without a configured receiver. The rest needs the OpenTelemetry packages.
"""
