# SPDX-License-Identifier: Apache-2.0
"""Configuration files of tenants: plan, apply and export them."""
