#!/usr/bin/env bash
# Embed papers in parts with SLURM, then merge: INPUT and OUT on the shared disk, PARTS tasks, at most RUNNING at once.
#
#   ./submit.sh INPUT OUT PARTS [RUNNING]
#
# The same command again continues: tasks whose part is done encode nothing. MODEL and SKIP_BAD are taken from the
# environment.

set -euo pipefail

if (($# < 3 || $# > 4)); then
    sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
export INPUT=$1 OUT=$2 PARTS=$3
running=${4:-$PARTS}

array=$(sbatch --parsable --array="1-$PARTS%$running" --export=ALL "$here/embed.sbatch")
array=${array%%;*}
# One collection of all parts, each file compared with its checksum. Then "$OUT-parts" can be deleted: its bytes are linked.
merge=$(sbatch --parsable --dependency="afterok:$array" --export=ALL --requeue --job-name=sciprism-merge \
    --output=%x.log --open-mode=append --cpus-per-task=2 --mem=32G --time=04:00:00 \
    --wrap='{ [ -e "$OUT" ] || sciprism merge "$OUT-parts" -o "$OUT" ${SKIP_BAD:+--skip-bad}; } && sciprism verify "$OUT"')
echo "array job $array embeds $PARTS parts; job ${merge%%;*} merges them when all are done"
