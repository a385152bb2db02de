#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh <decoder> <venv>: the property test of schemas/. Takes the Python that ./dev setup made; without
# one it makes its own in <venv>, once.
set -euo pipefail

decoder=$1
own_venv=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

python=${SLUICE_CACHE:-$root/.cache}/venv/bin/python
if ! "$python" -c 'import hypothesis_jsonschema, jsonschema' 2>/dev/null; then
    python=$own_venv/bin/python
    if [[ ! -x $python ]] || ! cmp -s "$root/tests/requirements.txt" "$own_venv/requirements.txt"; then
        rm -rf "$own_venv"
        python3 -m venv "$own_venv"
        "$python" -m pip install -q --disable-pip-version-check -r "$root/tests/requirements.txt"
        cp "$root/tests/requirements.txt" "$own_venv/requirements.txt"
    fi
fi
exec "$python" -B "$here/test_schemas.py" "$decoder"
