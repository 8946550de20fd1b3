# SPDX-License-Identifier: Apache-2.0
"""The job queue: jobs, worker loops and held jobs.

Job handlers are in the folders of their nouns.
"""
