"""Guest rules of groups and sites: subjects, discovery, assignments, policies and findings."""
