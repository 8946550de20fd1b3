# SPDX-License-Identifier: Apache-2.0
"""Parts of every measurement: a running service, a load, a limit to compare with, a report.

This package has the method. The files of bench/ itself have the questions, one each.
"""
