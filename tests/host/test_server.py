# SPDX-License-Identifier: Apache-2.0
"""The HTTP server under clients that send garbage, nothing, or very slowly."""
import os
import random
import socket
import threading
import time
import unittest

from host_under_test import Host, wait_until

SEED = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)


class Server(unittest.TestCase):
    def setUp(self):
        self.host = Host()

    def tearDown(self):
        self.host.done()

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.host.process.pid))

    def raw(self):
        return socket.create_connection(("127.0.0.1", self.host.port), 10)

    def answer_to(self, data):
        connection = self.raw()
        connection.settimeout(0.05)  # Half of what is sent asks for an answer that never comes.
        received = b""
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while True:
                piece = connection.recv(65536)
                if not piece:
                    return received
                received += piece
        except OSError:
            return received
        finally:
            connection.close()

    def test_garbage_never_harms_it(self):
        print("seed %d" % SEED)
        random_ = random.Random(SEED)
        before = self.descriptors()
        good = (b"POST /v2/sandboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: " + self.host.key.encode() +
                b"\r\nContent-Length: 2\r\n\r\n{}")
        for _ in range(500):
            data = bytearray(random_.choice([good, os.urandom(200), b"GET /%ff%00/../x?a=%zz HTTP/1.1\r\n\r\n",
                                             b"GET " + b"/x" * 9000 + b" HTTP/1.1\r\n\r\n",
                                             b"PUT /files HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                                             b"GET /health HTTP/1.1\r\nA: " + b"b" * 90000]))
            for _ in range(random_.randrange(4)):
                data[random_.randrange(len(data))] = random_.randrange(256)
            self.answer_to(bytes(data))
        self.assertEqual(200, self.host.call("GET", "/health", key=False).status)
        wait_until(lambda: self.descriptors() <= before + 2, "descriptors are back", 60)

    def test_silent_and_slow_clients_do_not_slow_others(self):
        before = self.descriptors()
        silent = [self.raw() for _ in range(500)]
        slow = [self.raw() for _ in range(100)]
        stop = threading.Event()

        def drip():
            text = b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 10000
            for byte in range(len(text)):
                for connection in slow:
                    connection.send(text[byte:byte + 1])
                if stop.wait(0.02):
                    return

        dripping = threading.Thread(target=drip)
        dripping.start()
        took = []
        for _ in range(200):
            started = time.monotonic()
            self.assertEqual(200, self.host.call("GET", "/health", key=False).status)
            took.append(time.monotonic() - started)
        stop.set()
        dripping.join()
        for connection in silent + slow:
            connection.close()
        self.assertLess(sorted(took)[198], 0.1, "p99 of GET /health")
        wait_until(lambda: self.descriptors() <= before + 2, "descriptors are back")

    def test_exactly_128_ready_connections_all_get_their_answer(self):
        connections = [self.raw() for _ in range(128)]
        for _ in range(20):
            for connection in connections:
                connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            for connection in connections:
                self.assertIn(b"200 OK", connection.recv(4096))
        for connection in connections:
            connection.close()

    def test_clients_that_leave_a_stream_are_noticed(self):
        sandbox = self.host.create()
        before = self.descriptors()
        for _ in range(20):
            stream = self.host.start_command(sandbox, "exec sleep 1000")
            stream.until(lambda output: output.pid)
            stream.response.close()
            stream.close()
        wait_until(lambda: self.descriptors() <= before + 2, "descriptors are back")
        listed = self.host.rpc(sandbox, "process.Process/List", {}).json["processes"]
        self.assertEqual(20, len(listed), "their commands run on")

    def test_connections_serve_one_request_after_another(self):
        connection = self.host.connection()
        for _ in range(50):
            connection.request("GET", "/v2/sandboxes", headers={"X-API-Key": self.host.key})
            response = connection.getresponse()
            self.assertEqual((200, b"[]"), (response.status, response.read()))
        connection.close()

    def test_an_expectation_is_met_and_chunks_are_decoded(self):
        connection = self.raw()
        connection.sendall(b"POST /v2/sandboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: " +
                           self.host.key.encode() +
                           b"\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n")
        self.assertIn(b"100 Continue", connection.recv(4096))
        connection.sendall(b'9\r\n{"templat\r\nd\r\neID": "base"}\r\n0\r\n\r\n')
        self.assertIn(b"201 Created", connection.recv(4096))
        connection.close()

    def test_it_idles_without_using_the_processor(self):
        sandbox = self.host.create()
        streams = [self.host.start_command(sandbox, "exec sleep 1000") for _ in range(50)]
        for stream in streams:
            stream.until(lambda output: output.pid)

        def used():
            with open("/proc/%d/stat" % self.host.process.pid) as file:
                fields = file.read().rsplit(")", 1)[1].split()
            return int(fields[11]) + int(fields[12])

        before = used()
        time.sleep(2)  # The stretch of time that is measured.
        self.assertLess(used() - before, 20, "hundredths of a second in two seconds")
        for stream in streams:
            stream.close()


if __name__ == "__main__":
    unittest.main()
