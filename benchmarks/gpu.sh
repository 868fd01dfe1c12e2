#!/usr/bin/env bash
# Measures this machine's GPU, and runs the tests that need one. See `usage`.
set -uo pipefail

usage() {
    cat <<'TEXT'
usage: benchmarks/gpu.sh [TABLE] [options of `python -m benchmarks gpu`]

Runs the tests that need a GPU (pytest -m gpu), then `python -m benchmarks gpu`, which prints a table and writes it to
the file TABLE (default: gpu.md). No network, no Ray. Paths are those of the folder where this is typed. Where a test
fails it still measures, and ends with exit status 1. PYTHON names another interpreter than .venv's.

TEXT
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 1
python=${PYTHON:-$root/.venv/bin/python}
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=true PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"

smoke=
for option in "$@"; do
    case $option in
        -h | --help)
            usage
            exec "$python" -m benchmarks gpu --help
            ;;
        --smoke) smoke=yes ;;
    esac
done
if [[ -z $smoke ]] && ! "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
    echo "error: there is no GPU here that $python can use; --smoke runs all of it on the CPU, with tiny shapes" >&2
    exit 2
fi

table=gpu.md
if [[ $# -gt 0 && $1 != -* ]]; then
    table=$1
    shift
fi
"$python" -m pytest -m gpu "$root/tests/project/test_gpu.py"
tests=$?
"$python" -m benchmarks gpu --out "$table" "$@" || exit
if [[ $tests -ne 0 ]]; then
    echo "error: the table is in $table, but the tests that ran before it did not pass" >&2
    exit 1
fi
