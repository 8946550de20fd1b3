"""Groups and sites of the directory: discovery and import.

Their assignments and findings do not belong here.
"""
