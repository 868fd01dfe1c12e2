#!/usr/bin/env bash
# A Ray worker on a spot machine of AWS: spot_worker.sh HEAD:PORT
#
# AWS says two minutes ahead that it takes the machine away. Ray is then told to end, which drains the node: its workers
# get a notice and take a checkpoint at once.
# This file is checked against stand-ins; it has not been run on AWS, nor on a GPU.
set -euo pipefail

metadata=${METADATA:-http://169.254.169.254/latest}

ask() {
    local token
    token=$(wget --quiet --output-document=- --timeout=2 --tries=1 --method=PUT \
        --header='X-aws-ec2-metadata-token-ttl-seconds: 60' "$metadata/api/token") || return 1
    wget --quiet --output-document=/dev/null --timeout=2 --tries=1 \
        --header="X-aws-ec2-metadata-token: $token" "$metadata/meta-data/spot/instance-action"
}

ray start --address="$1" --block &
worker=$!
trap 'kill -TERM "$worker" 2>/dev/null || true' TERM INT

while kill -0 "$worker" 2>/dev/null; do
    if ask; then
        echo "this machine is about to be taken away"
        kill -TERM "$worker"
        break
    fi
    sleep "${SECONDS_BETWEEN:-5}"
done
wait "$worker"
