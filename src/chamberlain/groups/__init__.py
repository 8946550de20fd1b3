"""Groups and teams: request them, and create them in the directory."""
