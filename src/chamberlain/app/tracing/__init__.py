"""Traces by OpenTelemetry: wrappers around the parts of a process.

Imported only if the operator names a receiver of traces.
"""
