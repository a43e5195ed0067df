#!/bin/bash
# Workers on nodes of a Slurm cluster: `sbatch --array=1-8 slurm.sh`, with RBENCH_SHARED in the environment. Each has a whole
# node, and ends when nothing is queued. Slurm sends SIGTERM before the time is over, and the worker gives its job back.
#SBATCH --job-name=rbench-worker
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --time=06:00:00
#SBATCH --signal=B:TERM@120
set -euo pipefail
: "${CLASS:=epyc}" "${REPOSITORY:?the address of the repository}"
# On a disk of the node: what is compiled stays there for the next worker.
clone="${SCRATCH:-/var/tmp}/rbench-$(id -un)/$(basename "$REPOSITORY" .git)"
[ -d "$clone" ] || git clone --quiet "$REPOSITORY" "$clone"
export RBENCH_CACHE_DIR="${clone%/*}/cache"
cd "$clone"
exec cargo-rbench rbench worker --class "$CLASS" --until-empty --for 5h
