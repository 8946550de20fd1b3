"""The version of the SDK, where building it finds it too."""

__version__ = "0.1.0"
