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
merge=$(sbatch --parsable --dependency="afterok:$array" --export=ALL "$here/merge.sbatch")
echo "array job $array embeds $PARTS parts; job ${merge%%;*} merges them when all are done"
