"""Configuration files of tenants: plan, apply and export them."""
