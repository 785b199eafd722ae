"""Runs a program that has no network and passes its connections on to the endpoint's socket; a script of its own.

It is started within the program's container, where it shares the program's fate and limits: a program that ends it
harms only itself. It needs the standard library alone.

Usage: relay.py SOCKET PORT COMMAND...
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress


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

    async with await asyncio.start_server(connected, "127.0.0.1", port):
        process = await asyncio.create_subprocess_exec(*command)
        return await process.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(_run(sys.argv[1], int(sys.argv[2]), sys.argv[3:])))  # noqa: TID251  # imports nothing
