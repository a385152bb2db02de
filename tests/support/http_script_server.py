#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A web server that misbehaves on request: the path says how. Prints its port, serves until its standard
input closes. Every request that was read to its end counts as executed, whatever comes of its answer;
GET /log tells them, one line each: "<number> <connection> <ms> <method> <path>"."""

import asyncio
import json
import struct
import sys
import socket
import time
import urllib.parse

START = time.monotonic()
LOG = []
ACTIVE, PEAK = {}, {}  # Of /gather, by group.
GATHERED = {}  # How many of a group have come, and who waits for the next full round.


class Connection:
    """One client connection; `served` counts its requests."""

    count = 0

    def __init__(self, reader, writer):
        Connection.count += 1
        self.number = Connection.count
        self.reader = reader
        self.writer = writer
        self.served = 0

    async def read_request(self):
        line = await self.reader.readline()
        if not line:
            return None
        method, target, _ = line.decode("latin-1").split(" ", 2)
        headers = []
        while True:
            line = await self.reader.readline()
            if line in (b"\r\n", b""):
                break
            name, value = line.decode("latin-1").rstrip("\r\n").split(":", 1)
            headers.append((name.lower(), value.strip()))
        size = int(dict(headers).get("content-length", "0"))
        body = await self.reader.readexactly(size) if size else b""
        return method, target, headers, body

    async def send(self, status, body=b"", headers=()):
        head = [f"HTTP/1.1 {status} Scripted"]
        head += [f"{name}: {value}" for name, value in headers]
        head.append(f"Content-Length: {len(body)}")
        self.writer.write("\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body)
        await self.writer.drain()

    def reset(self):
        """RST instead of FIN."""
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


async def ok(connection, query, request):
    await connection.send(200, query.get("body", "ok").encode())


async def status(connection, query, request):
    headers = [("Retry-After", query["retry-after"])] if "retry-after" in query else []
    await connection.send(int(query["code"]), query.get("body", "").encode(), headers)


async def echo(connection, query, request):
    method, target, headers, body = request
    text = json.dumps({"method": method, "target": target, "headers": headers,
                       "body": body.decode("latin-1")})
    await connection.send(200, text.encode(), [("Content-Type", "application/json"),
                                              ("X-Next-Token", "next"), ("Slu-Epoch", "7"),
                                              ("X-Other", "uninteresting")])


async def wait(connection, query, request):
    await asyncio.sleep(int(query["ms"]) / 1000)
    await connection.send(200, b"waited")


async def gather(connection, query, request):
    """Answers when `size` requests of the group are here at once: fewer would wait for ever."""
    group, size = query["group"], int(query["size"])
    ACTIVE[group] = ACTIVE.get(group, 0) + 1
    PEAK[group] = max(PEAK.get(group, 0), ACTIVE[group])
    came, full = GATHERED.get(group) or (0, asyncio.Event())
    GATHERED[group] = (came + 1, full)
    if came + 1 == size:
        GATHERED[group] = None
        await asyncio.sleep(0.05)  # One too many would come now, and count.
        full.set()
    await full.wait()
    ACTIVE[group] -= 1
    await connection.send(200, b"gathered")


async def peak(connection, query, request):
    await connection.send(200, str(PEAK.get(query["group"], 0)).encode())


async def slow_body(connection, query, request):
    """The head at once, then a byte every so often."""
    size, pause_s = int(query["bytes"]), int(query["ms"]) / 1000
    connection.writer.write(f"HTTP/1.1 200 Scripted\r\nContent-Length: {size}\r\n\r\n".encode())
    for _ in range(size):
        connection.writer.write(b"x")
        await connection.writer.drain()
        await asyncio.sleep(pause_s)


async def cut_body(connection, query, request):
    connection.writer.write(b"HTTP/1.1 200 Scripted\r\nContent-Length: 1000\r\n\r\nonly this")
    await connection.writer.drain()
    connection.writer.close()


async def cut_chunks(connection, query, request):
    connection.writer.write(b"HTTP/1.1 200 Scripted\r\nTransfer-Encoding: chunked\r\n\r\n"
                            b"9\r\nonly this\r\n")
    await connection.writer.drain()
    connection.writer.close()


async def reset_body(connection, query, request):
    connection.writer.write(b"HTTP/1.1 200 Scripted\r\nContent-Length: 1000\r\n\r\nonly this")
    await connection.writer.drain()
    await asyncio.sleep(0.05)
    connection.reset()


async def die_when_kept(connection, query, request):
    """Answers the first request of a connection. Executes a later one, and closes without a word."""
    if connection.served == 1:
        await connection.send(200, b"first")
    else:
        connection.writer.close()


async def die(connection, query, request):
    connection.writer.close()


async def big(connection, query, request):
    size = int(query["bytes"])
    if query.get("chunked"):
        connection.writer.write(b"HTTP/1.1 200 Scripted\r\nTransfer-Encoding: chunked\r\n\r\n")
        while size > 0:
            part = min(size, 65536)
            connection.writer.write(f"{part:x}\r\n".encode() + b"x" * part + b"\r\n")
            await connection.writer.drain()
            size -= part
        connection.writer.write(b"0\r\n\r\n")
        await connection.writer.drain()
    else:
        await connection.send(200, b"x" * size)


async def redirect(connection, query, request):
    await connection.send(302, b"", [("Location", query["to"])])


async def long_token(connection, query, request):
    await connection.send(200, b"[]", [("X-Next-Token", "t" * int(query["bytes"]))])


async def informed(connection, query, request):
    connection.writer.write(b"HTTP/1.1 103 Early Hints\r\nX-Next-Token: early\r\n\r\n")
    await connection.send(200, b"final", [("X-Next-Token", "late")])


async def garbage(connection, query, request):
    connection.writer.write(b"\x00\x01\x02 this is no HTTP\r\n\r\n")
    await connection.writer.drain()
    connection.writer.close()


async def log(connection, query, request):
    lines = [line for line in LOG if query.get("of", "") in line]
    await connection.send(200, "\n".join(lines).encode())


PATHS = {
    "/ok": ok, "/status": status, "/echo": echo, "/wait": wait, "/gather": gather, "/peak": peak,
    "/slow-body": slow_body, "/cut-body": cut_body, "/cut-chunks": cut_chunks,
    "/reset-body": reset_body, "/die-when-kept": die_when_kept, "/die": die, "/big": big,
    "/redirect": redirect, "/long-token": long_token, "/informed": informed, "/garbage": garbage,
    "/log": log,
}


async def serve(reader, writer):
    connection = Connection(reader, writer)
    try:
        while not writer.is_closing():
            request = await connection.read_request()
            if request is None:
                break
            connection.served += 1
            method, target = request[0], request[1]
            if not target.startswith("/log"):
                ms = int((time.monotonic() - START) * 1000)
                LOG.append(f"{len(LOG) + 1} {connection.number} {ms} {method} {target}")
            parts = urllib.parse.urlsplit(target)
            query = dict(urllib.parse.parse_qsl(parts.query))
            await PATHS[parts.path](connection, query, request)
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
