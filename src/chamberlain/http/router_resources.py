"""Which endpoint a path and a method mean."""

import re
from collections.abc import Mapping, Sequence

from starlette.routing import compile_path

from chamberlain.http.problems import MethodNotAllowed
from chamberlain.http.router import ServedEndpoint


class Resource:
    """A path template with its methods. HEAD is there wherever GET is, OPTIONS everywhere."""

    def __init__(self, path: str, served: Sequence[ServedEndpoint]) -> None:
        self.path = path
        self._endpoints = {each.endpoint.method: each for each in served}
        if "GET" in self._endpoints:
            self._endpoints["HEAD"] = self._endpoints["GET"]
        self.allow = ", ".join((*self._endpoints, "OPTIONS")).encode("ascii")

    def endpoint(self, method: str) -> ServedEndpoint:
        """Find the endpoint of a method. Raises MethodNotAllowed."""
        endpoint = self._endpoints.get(method)
        if endpoint is None:
            raise MethodNotAllowed(self.allow)
        return endpoint


class Resources:
    """All paths. Those without parameters are looked up at once; of the others those that begin alike are matched one
    by one."""

    def __init__(self, served: Sequence[ServedEndpoint]) -> None:
        self._exact: dict[str, Resource] = {}
        # By what their paths begin with, which is no parameter in any of them.
        self._templates: dict[str, list[_Template]] = {}
        for path in dict.fromkeys(each.endpoint.path for each in served):
            resource = Resource(path, [each for each in served if each.endpoint.path == path])
            # The slash at the end is optional everywhere.
            for spelling in (path.rstrip("/"), f"{path.rstrip('/')}/"):
                if "{" in path:
                    self._templates.setdefault(_first_part(path), []).append((compile_path(spelling)[0], resource))
                else:
                    self._exact[spelling] = resource

    def find(self, path: str) -> tuple[Resource | None, Mapping[str, str]]:
        """The resource that a path names, if there is one, with the texts of its parameters."""
        resource = self._exact.get(path)
        if resource is not None:
            return resource, _NO_TEXTS
        for pattern, templated in self._templates.get(_first_part(path), ()):
            match = pattern.match(path)
            if match is not None:
                return templated, match.groupdict()
        return None, _NO_TEXTS


def _first_part(path: str) -> str:
    return path[1:].partition("/")[0]


_Template = tuple[re.Pattern[str], Resource]
_NO_TEXTS: Mapping[str, str] = {}
