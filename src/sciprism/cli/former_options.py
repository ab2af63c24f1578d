"""Options of version 0.1 under their former names."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from sciprism.deprecation import warn_renamed
from sciprism.errors import InputError

FORMER_OPTIONS: dict[str, dict[str, str]] = {
    "inspect": {"--near": "--near-duplicates", "--no-near": "--no-near-duplicates"},
    "evaluate": {"--as-format": "--format"},
    "compare": {"--format": "--output-format"},
    "reproduce": {"--kept": "--from-results"},
    "overlap": {"--near": "--near-duplicates"},
    "prepare open": {"--most": "--max-queries"},
    "prepare scirepeval": {"--most": "--max-examples", "--most-dev": "--max-dev-examples"},
    "prepare citations": {
        "--ties": "--link-strengths",
        "--triples": "--triplets",
        "--smoothing": "--sampling-exponent",
        "--cap": "--max-per-field",
        "--crossing": "--min-multi-field",
        "--without": "--exclude",
        "--abstracts": "--require-abstract",
        "--no-abstracts": "--no-require-abstract",
    },
    "prepare multi-scidocs": {"--most": "--max-queries"},
    "prepare text": {
        "--vocabulary": "--vocab-size",
        "--across": "--across-documents",
        "--no-across": "--no-across-documents",
        "--near": "--near-duplicates",
        "--without": "--exclude",
    },
    "prepare pairs": {"--without": "--exclude"},
    "prepare lexical": {"--most": "--max-examples"},
    "prepare ir": {"--fillers": "--distractors", "--by": "--split-by"},
    "tokenizer train": {"--size": "--vocab-size", "--least": "--min-frequency"},
    "tokenizer compare": {"--lower": "--lowercase"},
}
"""Command -> former option -> current one."""


class Command(TyperCommand):
    """A command that also reads former names of its options, each with one warning, and refuses empty values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments with former names replaced: `--old value` and `--old=value`, up to `--`."""
        _refuse_empty(args)
        renamed = FORMER_OPTIONS.get(ctx.command_path.partition(" ")[2], {})
        end = args.index("--") if "--" in args else len(args)
        options = [arg.partition("=") for arg in args[:end]]
        for name in dict.fromkeys(name for name, _, _ in options if name in renamed):
            warn_renamed("the option", name, renamed[name])
        current = [renamed.get(name, name) + equals + value for name, equals, value in options]
        return super().parse_args(ctx, current + args[end:])


def _refuse_empty(args: list[str]) -> None:
    """Raise InputError for an empty argument or option: it would stand for a default, or for this folder."""
    for before, arg in zip(["", *args], args, strict=False):
        option, equals, value = arg.partition("=")
        if not arg or (option.startswith("--") and equals and not value):
            name = (option or before) if (option or before).startswith("-") else "an argument"
            raise InputError(f"{name} is empty; give it a value, or leave it out (is a variable of your shell unset?)")
