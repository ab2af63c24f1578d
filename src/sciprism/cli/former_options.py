"""Options of version 0.1 under their former names."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from sciprism.deprecation import warn_renamed

FORMER_OPTIONS: dict[str, dict[str, str]] = {
    "compare": {"--format": "--output-format"},
    "evaluate": {"--as-format": "--format"},
    "reproduce": {"--kept": "--from-results"},
}
"""Command -> former option -> today's."""


class Command(TyperCommand):
    """A command that reads former names of its options too, each with a warning."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Replace former names, then read the arguments as ever."""
        former = FORMER_OPTIONS.get(ctx.info_name or "", {})
        return super().parse_args(ctx, [_current(arg, former) for arg in args])


def _current(arg: str, former: dict[str, str]) -> str:
    """Return an argument with the option's name of today; values after `=` stay."""
    option, mark, value = arg.partition("=")
    if option not in former:
        return arg
    warn_renamed("the option", option, former[option])
    return former[option] + mark + value
