"""How does the command line reach a server on this machine that has no connection left? By its socket for operators."""

import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool

from controlplane.processes import is_listening, is_loopback, operators_socket

_ANY = {socket.AF_INET: "0.0.0.0", socket.AF_INET6: "::"}  # noqa: S104  # for a look-up
"""The address of a server that listens on all addresses of a family."""


def ask(method: str, address: str, **request: Any) -> requests.Response:
    """The answer by TCP or, if this machine's server takes no more connections, by its socket.

    Raises what requests raises, of TCP where there is no socket.
    """
    way = _socket_of(address)
    try:
        reply = requests.request(method, address, **request)  # noqa: S113  # `request` has it
        if reply.content or reply.status_code != requests.codes.service_unavailable or not way:
            return reply
    except requests.ConnectionError:
        if not way:
            raise
    with requests.Session() as session:
        session.mount("http://", _Adapter(way))
        return session.request(method, address, **request)


def _socket_of(address: str) -> Path | None:
    """The socket of the server that listens at an address of this machine; None if there is none."""
    try:
        parts = urlsplit(address)
        if not is_loopback(parts.hostname or ""):
            return None
        port = parts.port or 80
        found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
        hosts = (host for family, *_, place in found for host in (str(place[0]), _ANY[family]))
        return next(filter(is_listening, (operators_socket(host, port) for host in hosts)), None)
    except (ValueError, OSError):
        return None


class _Connection(HTTPConnection):
    """HTTP over a socket in the file system."""

    path = ""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout if isinstance(self.timeout, int | float) else None)
        self.sock.connect(self.path)


class _Adapter(HTTPAdapter):
    """A connection to the socket, whatever the address."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def get_connection_with_tls_context(self, *_: Any, **__: Any) -> HTTPConnectionPool:
        """A pool of connections to the socket."""
        pool = HTTPConnectionPool("localhost")
        pool.ConnectionCls = type("Connection", (_Connection,), {"path": str(self._path)})
        return pool
