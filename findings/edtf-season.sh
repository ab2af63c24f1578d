#!/usr/bin/env bash
# Guess: "2020-21" as a date of a volume means the years 2020 to 2021, or is refused.
# Behaviour: in EDTF, the date format of biblatex, it is spring 2020; "2019-20" is refused.
# Matters: years of volumes in `date` fields of .bib files.
# Source: Extended Date/Time Format (ISO 8601-2), level 1, seasons 21 to 24.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund "edtf@4.11.1"
cat > season.mjs <<'EOF'
import { readFileSync } from 'node:fs'
import edtf from 'edtf'

console.log('edtf', JSON.parse(readFileSync('node_modules/edtf/package.json')).version)
const date = edtf('2020-21')
const end = new Date(date.max).getUTCFullYear()
let refused = false
try {
  edtf('2019-20')
} catch {
  refused = true
}
console.log('guess: an interval that ends in 2021')
console.log('seen:', date.type, 'that ends in', end, '; 2019-20 is refused:', refused)
process.exit(date.type === 'Season' && end === 2020 && refused ? 0 : 1)
EOF
node season.mjs
