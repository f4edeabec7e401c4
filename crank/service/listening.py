"""The addresses that a service listens at, taken before its model is read."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

ABSENT = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)
"""What a system says of addresses that it has not, such as those of IPv6 where that is off."""


@contextmanager
def bound(host: str, port: int) -> Iterator[list[socket.socket]]:
    """Take a port at all addresses of a host, or say why it cannot be had.

    Raises
    ------
    OSError
        Another program has the port, or the host is not this machine.

    Examples
    --------
    >>> with bound("127.0.0.1", 0) as taken:
    ...     [one.getsockname()[0] for one in taken]
    ['127.0.0.1']
    """
    with ExitStack() as stack:
        try:
            taken = _bound(host, port, stack)
        except OSError as error:
            raise OSError(
                error.errno,
                f"port {port} of {host!r} cannot be used: {error.strerror}. Choose another --port "
                "or --host, or stop what listens there",
            ) from error
        yield taken


def _bound(host: str, port: int, stack: ExitStack) -> list[socket.socket]:
    found: list[socket.socket] = []
    absent: OSError | None = None
    for family, address in _addresses(host, port):
        try:
            # asyncio sends answers without delay where a socket says that it is TCP
            made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            taken = stack.enter_context(made)
            _bind(taken, address)
            found.append(taken)
        except OSError as error:
            if error.errno not in ABSENT:
                raise
            absent = error
    if absent is not None and not found:
        raise absent
    return found


def _addresses(host: str, port: int) -> list[tuple[int, Any]]:
    listed = socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    return list(dict.fromkeys((int(family), address) for family, _, _, _, address in listed))


def _bind(taken: socket.socket, address: Any) -> None:
    if os.name == "posix":  # elsewhere it would let two services share a port
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if taken.family == socket.AF_INET6:
        taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    taken.bind(address)
