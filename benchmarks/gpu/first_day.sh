#!/usr/bin/env bash
# A first day on a bare GPU machine: Linux on x86-64, Python 3.12, no Ray and no package index. It has torch, transformers,
# sentence-transformers, attrs, hypothesis, matplotlib, msgpack, pandas, protobuf, pyarrow, pytest, requests and xxhash.
#     benchmarks/gpu/first_day.sh prepare   at home: what that machine lacks, into build/gpu (two minutes, 40 MB)
#     benchmarks/gpu/first_day.sh PART      there, in a checkout with that folder: tests, objectives, studies, peer
# A part ends within ten minutes; its files are in $OUT (default: build/gpu-results). Without a GPU it is a small rehearsal.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${OUT:-build/gpu-results} failed=0
unset PYTHONDONTWRITEBYTECODE # or each process compiles all of Ray again
export PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=true

prepare() {
  local scratch lacking=(alembic annotated-types colorlog datasets dill jsonschema jsonschema-specifications mako
    multiprocess optuna platformdirs pooch pydantic pydantic-core referencing rpds-py sqlalchemy tensorboardx
    typing-inspection)
  rm -rf build/gpu build/gpu-site
  mkdir -p build/gpu
  scratch=$(mktemp -d)
  fetch build/gpu "${lacking[@]}"
  fetch "$scratch" ray
  python3 -m zipfile -e "$scratch"/ray-*.whl "$scratch"
  chmod +x "$scratch"/ray/core/src/ray/{gcs/gcs_server,raylet/raylet}
  (cd "$scratch" && rm -rf ray/{jars,llm,rllib,serve} && tar cJf ray.tar.xz ray ray-*.dist-info)
  mv "$scratch/ray.tar.xz" build/gpu/
  rm -rf "$scratch"
  du -sh build/gpu
}

fetch() { # FOLDER NAME...
  local glibc platforms=(--platform manylinux1_x86_64 --platform manylinux2014_x86_64)
  for glibc in 17 24 27 28; do platforms+=(--platform "manylinux_2_${glibc}_x86_64"); done
  python3 -m pip download --quiet --no-deps --only-binary=:all: --constraint constraints.txt --python-version 3.12 \
    --implementation cp "${platforms[@]}" --dest "$@"
}

begin() { # installs what was prepared, and sees whether there is a GPU
  mkdir -p "$out"
  export PYTHONPATH=$PWD/build/gpu-site:$PWD
  if [ ! -f build/gpu-site/complete ]; then
    python3 -m pip install --quiet --no-index --no-deps --no-compile --upgrade --target build/gpu-site build/gpu/*.whl
    tar xJf build/gpu/ray.tar.xz -C build/gpu-site
    touch build/gpu-site/complete
  fi
  small=(--smoke) shape=tiny quarter=(--set optimisation.max_steps=10) half=("${quarter[@]}")
  if python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
    small=() shape=BERT-base quarter=(--gpus-per-worker 0.25)
    half=(--gpus-per-worker 0.5 --set optimisation.batch_size=512)
  else
    echo 'no GPU here: a rehearsal on tiny shapes'
  fi
}

run() { # SECONDS FILE COMMAND...: for so long at most; what it prints goes into that file, too
  timeout "$1" "${@:3}" 2>&1 | tee "$out/$2" || { failed=1 && echo "FAILED, or took more than $1 s: ${*:3}"; }
}

tests() {
  local packages='torch transformers sentence_transformers datasets pyarrow optuna ray ray.train.torch'
  run 20 machine.txt bash -c 'nvidia-smi; nproc; free -g; df -h . /tmp /dev/shm'
  run 60 versions.txt python3 -c "
for name in '$packages'.split():
    print(name, getattr(__import__(name), '__version__', ''))"
  run 400 tests.txt python3 -m pytest -m gpu tests/project/test_gpu.py --tb=short --durations=5 -p no:cacheprovider
}

objectives() {
  run 330 objectives.log python3 -m benchmarks gpu --rows objectives --out "$out/objectives.md" "${small[@]}"
  run 200 objectives-4096.log python3 -m benchmarks gpu --rows objectives --batches 4096 --steps 4 \
    --out "$out/objectives-4096.md" "${small[@]}"
}

studies() { # two of Ray: a search on quarters of the card, and a BERT-base with big batches on halves
  local space=(--space scl_ablation --scale laptop) utilisation folder=build/gpu-studies
  rm -rf "$folder"
  mkdir -p "$folder"
  python3 -c "import pathlib, benchmarks.gpu._models as m; m.write_model('$shape', pathlib.Path('$folder/encoder'))"
  timeout 580 nvidia-smi dmon -s u -d 1 > "$out/utilisation.txt" 2>&1 &
  utilisation=$!
  run 300 search.log python3 study/run.py "${space[@]}" --only 'SBERT baseline' --search optuna --trials 6 --finals 2x3 \
    --limit minutes=4 "${quarter[@]}" --results "$folder/search"
  run 200 big.log python3 study/run.py "${space[@]}" --only 'allpalln-lambda0.5-SCL' --seeds 2 \
    --set encoder.name="$folder/encoder" "${half[@]}" --results "$folder/big"
  kill "$utilisation" 2> /dev/null || true
  tar cJf "$out/studies.tar.xz" -C "$folder" --exclude=models --exclude=encoder .
}

peer() {
  run 540 peer.log python3 -m benchmarks gpu --rows training encoding --steps 5 --out "$out/peer.md" "${small[@]}"
}

case "${1:-}" in
  prepare) prepare ;;
  tests) begin; tests ;;
  objectives) begin; objectives ;;
  studies) begin; studies ;;
  peer) begin; peer ;;
  *) sed -n 's/^#     //p' benchmarks/gpu/first_day.sh >&2; exit 2 ;;
esac
exit "$failed"
