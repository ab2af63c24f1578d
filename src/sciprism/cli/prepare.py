"""`sciprism prepare`: make training and test data out of published files or your papers."""

import typer

from sciprism.cli.prepare_benchmarks import ir, lexical, multi_scidocs, s2and_mini, scimult
from sciprism.cli.prepare_training import citations, open_sets, pairs, patients, scirepeval, text

prepare = typer.Typer(no_args_is_help=True, help="Make training and test data.")
prepare.command("open")(open_sets)
for command in (citations, pairs, text, patients, scirepeval, scimult, ir, multi_scidocs, s2and_mini, lexical):
    prepare.command(command.__name__.replace("_", "-"))(command)
