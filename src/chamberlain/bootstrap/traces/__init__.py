"""Traces by OpenTelemetry: what is wrapped around the parts of a process when an operator names a receiver of traces.

Nothing here is imported otherwise, and nothing of the service knows that it is watched. Attributes hold ids, numbers,
names of steps and codes; no secret, no name of a person, no text that somebody has written.
"""
