"""Checks of an installation for its operator. Nothing here writes."""
