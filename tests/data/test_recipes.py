"""Published stages: every row adds up, and what was not printed stays empty."""

import csv
import shutil

import pytest

from data import recipes
from data.catalogue import FOLDER, load_catalogue
from data.claim_scopes import claim_scopes
from data.errors import CatalogueError, UserError
from data.recipes import recipe

BOOK = load_catalogue()
PLATFORMS = tuple(p.platform_id for p in BOOK.platforms())


@pytest.fixture
def broken(tmp_path):
    def do(change):
        path = tmp_path / "nemotron3_recipes.csv"
        shutil.copy(FOLDER / path.name, path)
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        rows[0] |= change
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        with pytest.raises(CatalogueError) as found:
            recipes._recipes(tmp_path, PLATFORMS)
        return found.value

    return do


def test_a_stage_as_printed():
    one, two = (recipe(BOOK, f"ultra-rlvr-phase{n}") for n in (1, 2))
    for stage in (one, two):
        assert (stage.nodes_train, stage.nodes_generation, stage.nodes_sandbox) == (64, 172, 20)
        assert stage.gpus_total == 1024 and stage.global_batch == 8192 and stage.step_minutes is None
    assert (one.steps, two.steps) == (128, 50)


def test_an_unknown_stage_is_refused():
    with pytest.raises(UserError, match="ultra-rlvr-phase1"):
        recipe(BOOK, "ultra-rlvr-phase9")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"nodes_train": "65"}, "257 nodes by role, 256 in all"),
        ({"gpus_per_node": "8"}, "GPUs are not 1024"),
        ({"global_batch": "8191"}, "rollouts are not 8191"),
        ({"platform_id": "gb999"}, "platforms.csv"),
        ({"source": ""}, "source"),
        ({"recipe_id": "ultra-rlvr-phase2"}, "already given"),
    ],
)
def test_rows_that_contradict_themselves_are_refused(broken, change, word):
    error = broken(change)
    assert word in f"{error.what} {error.remedy}" and "nemotron3_recipes.csv, line" in error.where


def test_every_claim_has_a_scope():
    scopes = claim_scopes(BOOK)
    assert set(scopes) == {c.claim_id for c in BOOK.claims()}
    for claim in BOOK.claims():
        scope = scopes[claim.claim_id]
        assert bool(scope.acts_on) != bool(scope.why_not)
        assert (scope.params_b is not None) == (claim.quantity == "seconds")
