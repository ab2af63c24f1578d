"""The tables of a recipe that state how weights are updated: the optimizer and the learning rate."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sciprism.training.recipe_tables import RecipeTable

Beta = Annotated[float, Field(ge=0, lt=1)]


class OptimizerSettings(RecipeTable):
    """AdamW, or Muon for matrices of blocks (Jordan 2024) with updates scaled to AdamW's length."""

    name: Literal["adamw", "muon"] = Field(
        "adamw", description="With `muon`, AdamW updates all but matrices of blocks."
    )
    lr: float = Field(gt=0, description="Learning rate after the warm-up.")
    method_lr: float | None = Field(
        None, gt=0, description="That of what the method adds (tokens, maps, adapters), which begins untrained."
    )
    weight_decay: float = Field(0.01, ge=0, description="Not of biases and norms.")
    betas: tuple[Beta, Beta] = Field((0.9, 0.999), description="AdamW's decay of gradient moments.")
    eps: float = Field(1e-8, gt=0, description="AdamW's epsilon.")
    max_grad_norm: float = Field(1.0, ge=0, description="Longer gradients are clipped to this norm. 0: no clipping.")
    layer_decay: float = Field(
        1.0, gt=0, le=1, description="Factor of the learning rate from a layer to the one below."
    )


class Schedule(RecipeTable):
    """The learning rate over the steps."""

    name: Literal["linear", "inverse-square-root", "constant"] = Field(
        "linear", description="How the learning rate falls after the warm-up."
    )
    warmup: float = Field(0.05, ge=0, description="Steps in which the rate rises; below 1 a fraction of all steps.")
    start_lr: float = Field(0.0, ge=0, description="Learning rate where the warm-up starts.")
    min_lr: float = Field(0.0, ge=0, description="Lowest learning rate after the warm-up.")
    end_step: int = Field(0, ge=0, description="Step at which a linear rate reaches 0. 0: the stage's last step.")
