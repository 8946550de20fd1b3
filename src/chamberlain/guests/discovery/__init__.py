"""Discovery: find the groups and sites of the directory, and notice when they are gone."""
