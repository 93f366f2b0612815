"""Published shapes of training and RL stages: nodes by role, batch, mode. Few durations are published."""

import functools
from dataclasses import dataclass
from pathlib import Path

from data.catalogue import FOLDER, Catalogue
from data.catalogue_rows import Line, read_rows, unique
from data.errors import UserError


@dataclass(frozen=True)
class Recipe:
    """One stage as its maker printed it; None: not printed.

    `nodes_sandbox` are GPU nodes that also hold judge models. Nodes of a colocated recipe are the same nodes
    twice: then only `nodes_total` counts. `step_minutes` of one step.
    """

    recipe_id: str
    model: str
    stage: str
    variant: str
    platform_id: str
    nodes_train: int | None
    nodes_generation: int | None
    nodes_sandbox: int | None
    nodes_teacher_or_judge: int | None
    nodes_total: int | None
    gpus_per_node: int | None
    gpus_total: int | None
    prompts_per_step: int | None
    generations_per_prompt: int | None
    global_batch: int | None
    steps: int | None
    epochs: int | None
    max_sequence_length: int | None
    step_minutes: float | None
    mode: str
    placement: str
    concurrent_tasks: int | None
    sandbox_cores_per_task: float | None
    source: str
    source_date: str
    status: str
    note: str


def recipe(catalogue: Catalogue, recipe_id: str) -> Recipe:
    """One published stage. Raises UserError for an id that is not there, naming those that are."""
    found = _recipes(FOLDER, tuple(p.platform_id for p in catalogue.platforms()))
    if recipe_id not in found:
        raise UserError(
            f"The recipe {recipe_id!r} is not known",
            "nemotron3_recipes.csv",
            f"Use one of {', '.join(found)}.",
        )
    return found[recipe_id]


def recipes(catalogue: Catalogue) -> tuple[Recipe, ...]:
    """Every published stage in file order."""
    return tuple(_recipes(FOLDER, tuple(p.platform_id for p in catalogue.platforms())).values())


@functools.cache
def _recipes(folder: Path, platforms: tuple[str, ...]) -> dict[str, Recipe]:
    seen: dict[tuple[str, ...], str] = {}

    def check(line: Line, row: Recipe) -> None:
        for column in ("recipe_id", "source", "status"):
            line.need(column)
        unique(seen, (row.recipe_id,), line, "recipe")
        if row.platform_id and row.platform_id not in platforms:
            raise line.refuse(f"platform {row.platform_id!r} is not in platforms.csv", "Add it there first.")
        _add_up(line, row)

    return {r.recipe_id: r for r in read_rows(folder / "nemotron3_recipes.csv", Recipe, check)}


def _add_up(line: Line, row: Recipe) -> None:
    """Nodes, GPUs and batch must follow from their parts where all of them were printed."""
    roles = (row.nodes_train, row.nodes_generation, row.nodes_sandbox)
    if row.placement == "disaggregated" and row.nodes_total is not None and None not in roles:
        nodes = sum(n or 0 for n in (*roles, row.nodes_teacher_or_judge))
        if nodes != row.nodes_total:
            raise line.refuse(f"{nodes} nodes by role, {row.nodes_total} in all", "Correct one of them.")
    for total, parts, what in (
        (row.gpus_total, (row.nodes_total, row.gpus_per_node), "GPUs"),
        (row.global_batch, (row.prompts_per_step, row.generations_per_prompt), "rollouts"),
    ):
        one, other = parts
        if total is not None and one is not None and other is not None and one * other != total:
            raise line.refuse(f"{one} x {other} {what} are not {total}", "Correct one of them.")
