"""Guest policies over HTTP."""

from chamberlain.cli.calls_service import Service
from chamberlain.cli.names import id_of_name
from chamberlain_client import operations


def _id(service: Service, written: str) -> str:
    return id_of_name(service, written, (operations.LIST_POLICIES,), "policy")
