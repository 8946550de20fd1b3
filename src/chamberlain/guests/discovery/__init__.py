"""Discovery of groups and sites, and of their deletion."""
