"""Guest rules: policies, and later subjects, assignments and findings."""
