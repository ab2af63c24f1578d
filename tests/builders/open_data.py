"""Small copies of the open data's forms: enough to see which papers a layout takes."""

import gzip
import json


def write(folder, name, rows):
    """Write a file of JSON lines, gzipped, such as `cls_ohsumed/train`."""
    path = folder / f"{name}.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def write_table(folder, name, rows):
    """Write a tab-separated file with a header."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in [("one", "other", "grade"), *rows]))


def paper(name, title, **more):
    return {"id": name, "title": title, "abstract": f"All about {title}, told at length.", **more}
