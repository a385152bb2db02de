# SPDX-License-Identifier: Apache-2.0
"""Files in and out: paths, both kinds of upload, ranges, links, signatures (providers.md §2.3)."""
import base64
import hashlib
import os
import time
import unittest
import urllib.parse

from host_under_test import Host


def multipart(parts, boundary="----a-boundary-0123456789"):
    body = b""
    for filename, content in parts:
        body += ('--%s\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n'
                 "Content-Type: application/octet-stream\r\n\r\n" % (boundary, filename)).encode()
        body += content + b"\r\n"
    return body + ("--%s--\r\n" % boundary).encode(), {
        "Content-Type": "multipart/form-data; boundary=" + boundary}


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.host = Host()
        cls.sandbox = cls.host.create(timeout=3600)

    @classmethod
    def tearDownClass(cls):
        cls.host.done()

    def read(self, path, **headers):
        return self.host.data(self.sandbox, "GET", self.host.file_path(path), headers=headers)

    def write(self, path, content, **headers):
        return self.host.data(self.sandbox, "POST", self.host.file_path(path), content,
                              dict({"Content-Type": "application/octet-stream"}, **headers))

    def rpc(self, method, **message):
        return self.host.rpc(self.sandbox, "filesystem.Filesystem/" + method, message)

    def shell(self, command):
        return self.host.run(self.sandbox, command).stdout

    def test_what_is_written_is_read_and_is_there_for_commands(self):
        answer = self.write("/home/user/a.txt", b"hello")
        self.assertEqual(200, answer.status)
        self.assertEqual([{"path": "/home/user/a.txt", "name": "a.txt", "type": "file"}], answer.json)
        self.assertEqual(b"hello", self.read("/home/user/a.txt").body)
        self.assertEqual(b"hello", self.shell("cat ~/a.txt"))
        self.assertEqual(b"user user 644\n", self.shell("stat -c '%U %G %a' ~/a.txt"))

    def test_paths_are_home_relative_tilde_and_absolute(self):
        for path, place in (("rel/a b.txt", "/home/user/rel/a b.txt"),
                            ("~/tilde.txt", "/home/user/tilde.txt"),
                            ("/tmp/x/../abs.txt", "/tmp/abs.txt")):
            self.assertEqual(200, self.write(path, path.encode()).status)
            self.assertEqual(path.encode(), self.read(place).body)
            self.assertEqual(path.encode(), self.read(path).body)

    def test_parents_are_made_and_files_overwritten_whole(self):
        self.write("/home/user/deep/er/still/f", b"long content")
        self.shell("chmod 755 ~/deep/er/still/f")
        self.write("/home/user/deep/er/still/f", b"short")
        self.assertEqual(b"short", self.read("/home/user/deep/er/still/f").body)
        self.assertEqual(b"755\n", self.shell("stat -c %a ~/deep/er/still/f"))
        self.assertEqual(b"f\n", self.shell("ls -A ~/deep/er/still"))

    def test_multipart_takes_one_file_by_the_query_and_many_by_their_names(self):
        body, headers = multipart([("/ignored", b"one")])
        answer = self.host.data(self.sandbox, "POST", self.host.file_path("/home/user/one"), body,
                                headers)
        self.assertEqual("/home/user/one", answer.json[0]["path"])
        body, headers = multipart([("/home/user/m1", b"1\r\n--x"), ("m2", b""), ("/tmp/m3", b"3" * 99999)])
        answer = self.host.data(self.sandbox, "POST", "/files", body, headers)
        self.assertEqual(["/home/user/m1", "/home/user/m2", "/tmp/m3"],
                         [one["path"] for one in answer.json])
        for path, content in (("/home/user/one", b"one"), ("/home/user/m1", b"1\r\n--x"),
                              ("/home/user/m2", b""), ("/tmp/m3", b"3" * 99999)):
            self.assertEqual(content, self.read(path).body)

    def test_multipart_that_is_wrong_changes_nothing(self):
        body, headers = multipart([("/home/user/twice", b"1"), ("/home/user/./twice", b"2")])
        answer = self.host.data(self.sandbox, "POST", "/files", body, headers)
        self.assertEqual((400, 400), (answer.status, answer.json["code"]))
        self.assertEqual(404, self.read("/home/user/twice").status)
        body, headers = multipart([("/home/user/cut", b"1" * 100)])
        answer = self.host.data(self.sandbox, "POST", "/files", body[:150], headers)
        self.assertIn(answer.status, (200, 400))
        for headers in ({"Content-Type": "multipart/form-data"}, {"Content-Type": "text/plain"}, {}):
            answer = self.host.data(self.sandbox, "POST", self.host.file_path("/tmp/x"), b"x", headers)
            self.assertEqual(400, answer.status, headers)

    def test_large_files_come_and_go_in_chunks(self):
        content = os.urandom(1 << 20) * 12
        digest = hashlib.sha256(content).hexdigest()

        def pieces():
            for at in range(0, len(content), 100000):
                yield content[at:at + 100000]

        connection = self.host.connection()
        connection.request("POST", self.host.file_path("/home/user/large"), body=pieces(),
                           headers=dict(self.host.data_headers(self.sandbox),
                                        **{"Content-Type": "application/octet-stream"}),
                           encode_chunked=True)
        self.assertEqual(200, connection.getresponse().status)
        connection.close()
        self.assertEqual(digest, hashlib.sha256(self.read("/home/user/large").body).hexdigest())
        self.assertIn(digest.encode(), self.shell("sha256sum ~/large"))

    def test_an_empty_file_says_its_length(self):
        self.write("/home/user/empty", b"")
        answer = self.read("/home/user/empty")
        self.assertEqual((200, "0", b""), (answer.status, answer.headers["Content-Length"], answer.body))

    def test_ranges(self):
        self.write("/home/user/digits", b"0123456789")
        for header, status, body in (("bytes=2-4", 206, b"234"), ("bytes=7-", 206, b"789"),
                                     ("bytes=-3", 206, b"789"), ("bytes=0-99", 200, b"0123456789"),
                                     ("bytes=10-", 416, None), ("odd", 200, b"0123456789")):
            answer = self.read("/home/user/digits", Range=header)
            self.assertEqual(status, answer.status, header)
            if body is not None:
                self.assertEqual(body, answer.body)
        self.assertEqual("bytes 2-4/10",
                         self.read("/home/user/digits", Range="bytes=2-4").headers["Content-Range"])

    def test_errors_of_reading_and_writing(self):
        self.shell("mkfifo /tmp/pipe; mkdir -p /tmp/folder; ln -s loop /tmp/loop")
        for path, status in (("/nowhere", 404), ("/tmp", 400), ("/tmp/pipe", 400), ("", 400),
                             ("/tmp/loop", 400)):
            answer = self.read(path)
            self.assertEqual((status, status), (answer.status, answer.json["code"]), path)
        for path, status in (("/usr/bin/x", 403), ("/tmp/folder", 400), ("/tmp/pipe", 400),
                             ("/etc/passwd", 403), ("/x", 403)):
            answer = self.write(path, b"x")
            self.assertEqual((status, status), (answer.status, answer.json["code"]), path)

    def test_files_whose_size_reads_zero_have_content(self):
        self.assertIn(b"processor", self.read("/proc/cpuinfo").body)

    def test_links_lead_where_the_sandbox_says(self):
        self.shell("ln -sfn /etc /home/user/etc-link; ln -sfn /home/user/target /home/user/link")
        self.assertIn(b"user:x:1000", self.read("/home/user/etc-link/passwd").body)
        self.assertNotIn(b"daemon", self.read("/home/user/etc-link/passwd").body)
        self.assertEqual(404, self.read("/home/user/etc-link/shadow").status)
        self.write("/home/user/target", b"old")
        self.write("/home/user/link", b"through")
        self.assertEqual(b"through", self.read("/home/user/target").body)
        self.assertEqual(b"/home/user/target\n", self.shell("readlink ~/link"))

    def test_stat_and_list_tell_what_is_there(self):
        self.shell("mkdir -p ~/d/sub; echo -n 12345 > ~/d/f; chmod 640 ~/d/f; ln -sfn f ~/d/l; touch ~/d/sub/deep")
        entry = self.rpc("Stat", path="/home/user/d/f").json["entry"]
        self.assertEqual(("f", "FILE_TYPE_FILE", "/home/user/d/f", "5", 0o640, "-rw-r-----", "user",
                          "user"),
                         tuple(entry[n] for n in ("name", "type", "path", "size", "mode",
                                                  "permissions", "owner", "group")))
        self.assertRegex(entry["modifiedTime"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$")
        entries = self.rpc("ListDir", path="d", depth=1).json["entries"]
        self.assertEqual([("f", "FILE_TYPE_FILE"), ("l", "FILE_TYPE_FILE"),
                          ("sub", "FILE_TYPE_DIRECTORY")],
                         [(one["name"], one["type"]) for one in entries])
        self.assertEqual("/home/user/d/f", entries[1]["symlinkTarget"])
        deep = self.rpc("ListDir", path="/home/user/d", depth=2).json["entries"]
        self.assertIn("/home/user/d/sub/deep", [one["path"] for one in deep])
        for method, path, status, code in (("Stat", "/missing", 404, "not_found"),
                                           ("ListDir", "/missing", 404, "not_found"),
                                           ("ListDir", "/home/user/d/f", 400, "invalid_argument"),
                                           ("Stat", "", 400, "invalid_argument")):
            answer = self.rpc(method, path=path)
            self.assertEqual((status, code), (answer.status, answer.json["code"]), method + path)

    def test_folders_are_made_moved_and_removed(self):
        self.assertEqual(200, self.rpc("MakeDir", path="/home/user/n/e/w").status)
        again = self.rpc("MakeDir", path="/home/user/n/e/w")
        self.assertEqual((409, "already_exists"), (again.status, again.json["code"]))
        self.write("/home/user/n/e/w/file", b"x")
        over = self.rpc("MakeDir", path="/home/user/n/e/w/file")
        self.assertEqual((400, "invalid_argument"), (over.status, over.json["code"]))
        moved = self.rpc("Move", source="/home/user/n/e", destination="/tmp/moved/e")
        self.assertEqual("/tmp/moved/e", moved.json["entry"]["path"])
        self.assertEqual(b"x", self.read("/tmp/moved/e/w/file").body)
        self.assertEqual(404, self.rpc("Move", source="/gone", destination="/tmp/y").status)
        self.assertEqual({}, self.rpc("Remove", path="/tmp/moved").json)
        self.assertEqual({}, self.rpc("Remove", path="/tmp/moved").json)
        self.assertEqual(404, self.read("/tmp/moved/e/w/file").status)

    def test_signed_addresses_open_one_path_for_a_while(self):
        token = self.sandbox["envdAccessToken"]
        self.write("/home/user/signed", b"secret")
        only_id = {"E2b-Sandbox-Id": self.sandbox["sandboxID"]}

        def sign(path, operation, user="", expiry=None):
            text = ":".join([path, operation, user, token] + ([str(expiry)] if expiry else []))
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
            query = {"path": path, "signature": "v1_" + digest}
            query.update({"username": user} if user else {})
            query.update({"signature_expiration": expiry} if expiry else {})
            return "/files?" + urllib.parse.urlencode(query)

        def get(address):
            return self.host.call("GET", address, headers=only_id, key=False)

        later, earlier = int(time.time()) + 100, int(time.time()) - 100
        self.assertEqual(b"secret", get(sign("/home/user/signed", "read")).body)
        self.assertEqual(b"secret", get(sign("/home/user/signed", "read", "user", later)).body)
        for address in (sign("/home/user/signed", "read", "", earlier),
                        sign("/home/user/signed", "write"),
                        sign("/home/user/other", "read").replace("other", "signed"),
                        "/files?path=/home/user/signed"):
            self.assertEqual(401, get(address).status, address)
        body, headers = multipart([("ignored", b"new")])
        answer = self.host.call("POST", sign("/home/user/signed", "write"), body,
                                dict(only_id, **headers), key=False)
        self.assertEqual(200, answer.status)
        self.assertEqual(b"new", self.read("/home/user/signed").body)

    def test_uploads_above_the_limit_are_refused_and_leave_nothing(self):
        with Host("--max-upload-mb", "1") as host:
            sandbox = host.create()
            answer = host.data(sandbox, "POST", host.file_path("/home/user/big"), b"x" * (2 << 20),
                               {"Content-Type": "application/octet-stream"})
            self.assertEqual((413, 413), (answer.status, answer.json["code"]))
            self.assertEqual(404, host.data(sandbox, "GET", host.file_path("/home/user/big")).status)


if __name__ == "__main__":
    unittest.main()
