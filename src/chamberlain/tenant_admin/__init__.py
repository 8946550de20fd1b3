"""Administration of tenants by operators: list, suspend, resume, export and delete them."""
