"""A run as a picture."""

from __future__ import annotations

from collections import defaultdict

from sciprism.training.run_folder import StageFolder


def draw(folder: StageFolder) -> None:
    """Write the losses of each source, the learning rate and the dev scores of a stage to `curve.png`."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    losses: dict[str, list[tuple[int, float]]] = defaultdict(list)
    dev: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row in folder.rows():
        if "loss" in row:
            losses[row["source"]].append((row["step"], row["loss"]))
        for name, score in row.get("dev_scores", {}).items():
            dev[name].append((row["step"], score))
    figure, axes = plt.subplots(1, 2 if dev else 1, figsize=(11 if dev else 6, 4), squeeze=False)
    for name, points in sorted(losses.items()):
        steps, values = zip(*points, strict=True)
        axes[0, 0].plot(steps, _smooth(values), label=name, linewidth=1)
    for name, points in sorted(dev.items()):
        axes[0, 1].plot(*zip(*points, strict=True), label=name, marker="o", markersize=3, linewidth=1)
    for axis, title in zip(axes[0], ("loss (running mean)", "reciprocal rank on dev examples"), strict=False):
        axis.set_title(title)
        axis.set_xlabel("step")
        axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(folder.folder / "curve.png", dpi=120)
    plt.close(figure)


def _smooth(values: tuple[float, ...], width: int = 20) -> list[float]:
    found = []
    for end in range(1, len(values) + 1):
        part = values[max(0, end - width) : end]
        found.append(sum(part) / len(part))
    return found
