#!/usr/bin/env bash
# Measures this machine's GPU, and runs the tests that need one. No network, no Ray.
#
#   benchmarks/gpu.sh [TABLE] [options of `python -m benchmarks gpu`]
#
# TABLE is the file for the table (default: gpu.md). PYTHON names another interpreter than .venv's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

table=gpu.md
if [[ $# -gt 0 && $1 != -* ]]; then
    table=$1
    shift
fi
python=${PYTHON:-.venv/bin/python}
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=true

"$python" -m pytest -m gpu tests/test_gpu.py
"$python" -m benchmarks gpu --out "$table" "$@"
