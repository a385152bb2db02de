# SPDX-License-Identifier: Apache-2.0
"""Conformance: the e2b SDKs as published, pinned and unmodified, pointed at a sluice-host. Installed
once below the build folder; without a way to install them the test says so and is skipped."""
import os
import subprocess
import sys
import unittest

from host_under_test import Host

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.environ.get("SLUICE_SDK_DIR") or os.path.join(
    os.path.dirname(os.environ["SLUICE_HOST"]), "sdk")
PYTHON, JS = "2.63.0", "2.51.0"


def install(arguments, done, folder):
    """Runs the installer unless an earlier run has finished."""
    mark = os.path.join(folder, done)
    if os.path.exists(mark):
        return
    os.makedirs(folder, exist_ok=True)
    result = subprocess.run(arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            timeout=240)
    if result.returncode:
        raise unittest.SkipTest("cannot install: " + result.stdout.decode(errors="replace")[-500:])
    open(mark, "w").close()


class Conformance(unittest.TestCase):
    def run_against_a_host(self, arguments):
        with Host() as host:
            environment = dict(os.environ, E2B_API_KEY=host.key, E2B_API_URL=host.url,
                               E2B_SANDBOX_URL=host.url, SLUICE_SDK_DIR=FOLDER + "/js",
                               PYTHONWARNINGS="ignore")
            result = subprocess.run(arguments, env=environment, timeout=240,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(0, result.returncode, result.stdout.decode(errors="replace"))

    def test_the_sdk_from_pypi_works_unmodified(self):
        folder = FOLDER + "/python"
        install(["sh", "-c", "%s -m venv . && bin/pip install -q e2b==%s" % (sys.executable, PYTHON)],
                "e2b-" + PYTHON, folder)
        self.run_against_a_host([folder + "/bin/python", "-B", HERE + "/sdk_python.py"])

    def test_the_sdk_from_npm_works_unmodified(self):
        install(["npm", "install", "--silent", "--no-audit", "--prefix", ".", "e2b@" + JS],
                "e2b-" + JS, FOLDER + "/js")
        self.run_against_a_host(["node", "--test", HERE + "/sdk_js.mjs"])


if __name__ == "__main__":
    unittest.main()
