"""Guest policies: administer them, and simulate their effect."""
