"""A run as a picture."""

from __future__ import annotations

from collections import defaultdict

from sciprism.training.run_folder import StageFolder

WIDTH = 20
"""Losses of a source that a point averages."""


def draw(folder: StageFolder) -> None:
    """Write the losses and the dev scores of each source of a stage to `curve.png`."""
    from matplotlib.figure import Figure

    losses: dict[str, list[tuple[int, float]]] = defaultdict(list)
    dev: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row in folder.rows():
        for name, loss in row.get("losses", {}).items():
            losses[name].append((row["step"], loss))
        for name, score in row.get("dev_scores", {}).items():
            dev[name].append((row["step"], score))
    colours = {name: f"C{n}" for n, name in enumerate(sorted(losses.keys() | dev.keys()))}
    figure = Figure(figsize=(11 if dev else 6, 4))
    axes = figure.subplots(1, 2 if dev else 1, squeeze=False)
    for axis, lines in zip(axes[0], (losses, dev), strict=False):
        for name, points in sorted(lines.items()):
            steps, values = zip(*points, strict=True)
            shown = _smooth(values) if lines is losses else values
            mark = "." if lines is dev or len(steps) < WIDTH else ""
            axis.plot(steps, shown, label=name, color=colours[name], marker=mark, linewidth=1)
    for axis, title in zip(axes[0], ("loss (running mean)", "reciprocal rank on dev examples"), strict=False):
        axis.set_title(title)
        axis.set_xlabel("step")
        axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(folder.folder / "curve.png", dpi=120)


def _smooth(values: tuple[float, ...]) -> list[float]:
    found = []
    for end in range(1, len(values) + 1):
        part = values[max(0, end - WIDTH) : end]
        found.append(sum(part) / len(part))
    return found
