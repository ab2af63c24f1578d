"""Plots of a run's metrics."""

from __future__ import annotations

from collections import defaultdict

from sciprism.training.run_folder import StageFolder

WINDOW = 20
"""Losses of a source in the running mean."""


def plot_curves(folder: StageFolder) -> None:
    """Plot the losses and the dev scores of each source of a stage to `curve.png`."""
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
    axes = figure.subplots(1, 2 if dev else 1, squeeze=False)[0]
    panels = zip(axes, (losses, dev), ("loss (running mean)", "score on dev examples"), strict=False)
    for axis, lines, title in panels:
        for name, points in sorted(lines.items()):
            steps, values = zip(*points, strict=True)
            shown = _running_mean(values) if lines is losses else values
            mark = "." if lines is dev or len(steps) < WINDOW else ""
            axis.plot(steps, shown, label=name, color=colours[name], marker=mark, linewidth=1)
        axis.set_title(title)
        axis.set_xlabel("step")
        axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(folder.folder / "curve.png", dpi=120)


def _running_mean(values: tuple[float, ...]) -> list[float]:
    windows = (values[max(0, end - WINDOW) : end] for end in range(1, len(values) + 1))
    return [sum(window) / len(window) for window in windows]
