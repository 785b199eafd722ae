"""Runs a program without a network but for one address, and without some folders; run as a script of its own.

It starts within namespaces that `unshare` made (user, network, mounts, processes; Linux). Their network has nothing but
a loopback of their own, on which this script passes connections to a socket of the endpoint's server. What is *not*
confined: the program runs as the same user, reads every other file that this user reads, and uses processor and disk.

Usage: confined.py SOCKET PORT HIDDEN... -- COMMAND... (only the standard library: nothing of the project is needed)
"""

from __future__ import annotations

import asyncio
import fcntl
import socket
import struct
import subprocess
import sys
from contextlib import suppress

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1


def _raise_loopback() -> None:
    """Bring up `lo`, which is down in a new network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(any_socket, _GET_FLAGS, request))
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    with suppress(OSError, RuntimeError):
        writer.write_eof()


async def _run(path: str, port: int, command: list[str]) -> int:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            there, back = await asyncio.open_unix_connection(path)
            await asyncio.gather(_pass_on(reader, back), _pass_on(there, writer))
            back.close()
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", port)
    async with server:
        # In a user namespace below this one nothing can be mounted or unmounted here, so that folders stay hidden.
        process = await asyncio.create_subprocess_exec("unshare", "--user", "--map-current-user", "--", *command)
        return await process.wait()


def main(arguments: list[str]) -> int:
    at = arguments.index("--")
    path, port, *hidden = arguments[:at]
    _raise_loopback()
    for folder in hidden:
        mount = ["mount", "-t", "tmpfs", "-o", "ro,size=4k", "none", folder]
        subprocess.run(mount, check=True)  # noqa: S603 - no shell, and a folder of our own
    return asyncio.run(_run(path, int(port), arguments[at + 1 :]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
