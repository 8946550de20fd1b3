# SPDX-License-Identifier: Apache-2.0
"""Figures: ended requests and time to ready, counted by the hour.

A job in the worker counts them. Requests are never counted on the path of a call.
"""
