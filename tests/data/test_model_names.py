"""Names of models as people type them."""

import pytest

from data.catalogue import load_catalogue
from data.model_names import model_labels, models_like


@pytest.mark.parametrize(
    "typed", ["Qwen3 32B", "qwen3-32b", "Qwen3-32", "Qwen/Qwen3-32B", "qwen_3 32b", " QWEN3 - 32B "]
)
def test_every_spelling_finds_the_same_model(typed: str) -> None:
    assert models_like(load_catalogue(), typed) == ("qwen3-32b",)


def test_a_beginning_that_fits_several_names_them_all_and_nothing_fits_nothing() -> None:
    book = load_catalogue()
    assert {"qwen3-30b-a3b", "qwen3-32b"} <= set(models_like(book, "qwen3 3"))
    assert models_like(book, "no such model") == models_like(book, "  ") == ()


def test_a_model_without_a_shape_is_marked_or_left_out() -> None:
    book = load_catalogue()
    every, shaped = model_labels(book), model_labels(book, shaped_only=True)
    assert set(shaped) == {m.model_id for m in book.llms()}
    assert (
        {m for m, label in every.items() if label.endswith("no shape")} == set(every) - set(shaped) != set()
    )
    assert "qwen3-32b" in every["qwen3-32b"] and "Qwen3 32B" in every["qwen3-32b"]
