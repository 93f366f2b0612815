"""Rows of the catalogue as shapes and machines."""

import math

import pytest

from data.catalogue import load_catalogue
from data.errors import UserError
from data.shapes import llm_of, machine_of

CATALOGUE = load_catalogue()


def test_units_are_units():
    llm = llm_of(CATALOGUE, "deepseek-ai/DeepSeek-V3")
    assert llm.params_total == 671e9 and llm.kv_bytes_per_token(1.0) == 61 * 576
    h100 = machine_of(CATALOGUE, "h100-sxm")
    assert h100.flops_at("bf16") == 989e12 and h100.hbm_bytes_per_s == 3.35e12
    assert h100.hbm_bytes == 80 * 2**30 and h100.link_bytes_per_s == 450e9 and h100.domain_gpus == 8


def test_every_model_has_a_shape_that_holds_together():
    for row in CATALOGUE.llms():
        llm = llm_of(CATALOGUE, row.model_id)
        assert llm.weights_touched(1) == pytest.approx(llm.params_active - llm.params_looked_up)
        assert 0 < llm.params_multiplied <= llm.params_active
        assert llm.tied_embeddings == (row.model_id == "gemma-3-1b")


def test_windows_come_from_bytes():
    assert llm_of(CATALOGUE, "gpt-oss-120b").window_tokens == 128
    assert llm_of(CATALOGUE, "gemma-3-1b").window_tokens == 512


def test_what_was_not_published_stays_unknown():
    rubin_ultra = machine_of(CATALOGUE, "rubin-ultra-nvl576")
    assert math.isnan(rubin_ultra.flops_at("bf16")) and rubin_ultra.link_bytes_per_s is None
    assert machine_of(CATALOGUE, "h20").missing("bf16", "hbm_bytes") == ("bf16_dense_flops", "hbm_bytes")
    assert machine_of(CATALOGUE, "tpu7x").hbm_bytes_per_s is None


def test_unknown_names_are_refused():
    with pytest.raises(UserError, match="No shape"):
        llm_of(CATALOGUE, "no-such-model")
    with pytest.raises(UserError, match="not known"):
        machine_of(CATALOGUE, "no-such-platform")
