# SPDX-License-Identifier: Apache-2.0
"""The ordinary way: the same call, the same checks and the same rows, written as one would from FastAPI's tutorial.

FastAPI, pydantic and SQLAlchemy's ORM; one session and one transaction a request, in the threads that FastAPI runs such
functions in. It is there to be compared with. It has an environment of its own (requirements-ordinary.lock), knows
nothing of the service, and nothing of the service knows it.
"""
