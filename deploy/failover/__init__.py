"""A trial of high availability: a cluster under Patroni with the service on it, whose primary is killed under load.

It stands on the service's own commands and nothing inside of them, as an operator does.
"""
