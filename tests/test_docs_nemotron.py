"""docs/nemotron-3-ultra.md: its tables are those of the models, and the models agree with hand-work."""

import math
import re

import numpy as np
import pytest

from data.recipes import recipe
from data.shapes import machine_of
from models.logprob import SHARE_OF_TRAINING
from models.training import MFU_PRIORS
from tests.nemotron_tables import (
    CLAIMS,
    GPUS,
    PAGE,
    RUBIN,
    STAGES,
    TABLES,
    even_draws,
    filled,
    stage_h,
    step_s,
    trainer_bound,
    whole_ratio,
)
from tests.validation.published import rows
from tests.worked_nemotron import (
    BLACKWELL,
    BOOK,
    DRAFTING,
    PRIORS,
    REFRESH,
    SUPER,
    band,
    carried,
    composed,
    draws_of,
    factor,
    middle,
    projected,
    seconds_of,
    workload_of,
)

TEXT = PAGE.read_text(encoding="utf-8")
WORDS = " ".join(TEXT.split())
ONE, TWO = STAGES
HERE, THERE = machine_of(BOOK, BLACKWELL), machine_of(BOOK, RUBIN)


def test_every_table_is_worked_out():
    assert filled(TEXT) == TEXT, "write the page: python -m tests.nemotron_tables --write"
    assert set(re.findall(r"^## (.+)$", TEXT, re.MULTILINE)) >= set(TABLES)


def test_the_published_shape():
    shape = (ONE.nodes_train, ONE.nodes_generation, ONE.nodes_sandbox)
    assert (
        "{} training, {} generation, {} sandboxes and judges: {:,} GPUs".format(*shape, ONE.gpus_total)
        in WORDS
    )
    assert (
        f"{ONE.prompts_per_step} prompts x {ONE.generations_per_prompt} responses = {ONE.global_batch:,}"
        in WORDS
    )
    for stage, name in ((ONE, "phase 1"), (TWO, "phase 2")):
        assert f"| {name} | about {stage.steps} steps, up to {stage.max_sequence_length:,} tokens |" in WORDS
    llm = BOOK.llm("nemotron-3-ultra")
    assert (
        f"{llm.params_total_b:.0f}B parameters, {llm.params_active_b:.0f}B active; {llm.layers} layers"
        in WORDS
    )
    assert f"of which {llm.attn_layers} attention" in WORDS
    assert f"({llm.experts_active} of {llm.experts})" in WORDS
    claim = {c.claim_id: c for c in BOOK.claims()}["rl-mtp-1.46"]
    assert claim.value == DRAFTING and f"{DRAFTING} times as fast" in WORDS


def test_every_prior_is_named_with_its_ends():
    scale = {"constant of a layer": 1e6}
    for name, prior in PRIORS.items():
        ends = [f"{value * scale.get(name, 1):,g}" for value in (prior.low, prior.high)]
        assert re.search(rf"^\| {name}[^|]*\| {ends[0]} \| {ends[1]} \| \w", TEXT, re.MULTILINE), name


def test_published_priors_are_published():
    shares = [r.avg_seq_len / r.seq_len_max for r in BOOK.rl_runs() if r.avg_seq_len and r.seq_len_max]
    caps = [r.seq_len_max for r in BOOK.rl_runs() if r.avg_seq_len and r.seq_len_max]
    at_longest = next(s for s, cap in zip(shares, caps, strict=True) if cap == max(caps))
    assert f"are {100 * min(shares):.0f} to {100 * max(shares):.0f} % of caps of {min(caps):,.0f} to" in WORDS
    assert f"{max(caps):,.0f} tokens, {100 * at_longest:.0f} % at the longest cap" in WORDS
    response = PRIORS["mean response"]
    cap = ONE.max_sequence_length
    assert f"{100 * response.low / cap:.0f} to {100 * response.high / cap:.0f} % of the cap" in WORDS
    low, _, high = MFU_PRIORS["moe", "bf16"]
    assert f"mixtures of experts {low} to {high}" in WORDS and PRIORS["training, share of peak"].high == high
    ratio = PRIORS["log-probs over training"]
    assert (ratio.low, ratio.high) == (SHARE_OF_TRAINING[0], SHARE_OF_TRAINING[2])
    sync = {r["row_id"]: float(r["sync_s"]) for r in rows("weight_sync")}
    assert (PRIORS["weight sync"].low, PRIORS["weight sync"].high) == (sync["W0006"], sync["W0007"])
    left = []
    for run in BOOK.rl_runs():
        parts = (run.gen_s, run.train_s, run.logprob_s, run.refit_s)
        if run.step_time_s and None not in parts and "mean length counts generated" in run.note:
            left.append(1 - sum(parts) / run.step_time_s)
    assert len(left) == 8 and "eight NeMo RL runs" in WORDS
    rest = PRIORS["everything else"]
    assert rest.low <= min(left) + 0.005 and max(left) == pytest.approx(rest.high, abs=0.005)


def test_a_step_by_hand_at_the_medians():
    """Training, memory and the tail, from the shape alone."""
    at = middle()
    workload, seconds = workload_of(ONE, at), seconds_of(workload_of(ONE, at), at, 1.0)
    tokens = 8192 * (workload.lengths.mean + at["prompt"])
    assert workload.lengths.mean == pytest.approx(math.sqrt(8000 * 24000), rel=1e-6)
    multiplied = 55e9 - 131072 * 8192
    attention = 4 * 64 * 128 * 12 * (workload.lengths.mean + at["prompt"]) / 2
    flop = tokens * 4 * (2 * multiplied + attention)
    assert seconds["train"] == pytest.approx(flop / (256 * 2.5e15 * math.sqrt(0.12 * 0.25)), rel=1e-6)
    weights = 550e9 * 2 / (8 * 8e12 * math.sqrt(0.5 * 0.9))
    constant = 108 * math.sqrt(35e-6 * 90e-6)
    token_s = seconds["token_s"]
    assert 0.8 * (weights + constant) < token_s < 1.2 * (weights + constant)
    longest = (49152 - at["prompt"]) * token_s
    assert seconds["rollout_work"] == pytest.approx(longest / 2, rel=1e-6)
    assert composed(seconds).engines_s == pytest.approx(longest / 2, rel=1e-2)
    rate = 8192 / 86 / seconds["rollout_work"]
    assert seconds["in_flight"] == pytest.approx(rate * workload.lengths.mean * token_s, rel=1e-6)
    assert 1 < seconds["in_flight"] < 256


def test_the_step_is_the_longer_pool():
    for stage, share in zip(STAGES, trainer_bound(), strict=True):
        seconds = draws_of(stage)
        pool = np.maximum(composed(seconds).engines_s, seconds["train"] + seconds["logprob"])
        assert step_s(seconds) == pytest.approx(pool + seconds["weight_sync"] + seconds["other"])
        assert 0 < share < 1


def test_the_check_from_outside():
    printed = recipe(BOOK, "gym-non-swe-step")
    assert printed.step_minutes == 7 and "names neither model nor cluster" in WORDS
    low, high = np.percentile(step_s(draws_of(SUPER, 1.0)) / 60, [10, 90])
    assert low < printed.step_minutes < high
    assert (
        f"{SUPER.prompts_per_step} prompts x {SUPER.generations_per_prompt}, {SUPER.gpus_total} GPUs" in WORDS
    )


def test_dollars_are_gpu_hours_times_a_named_price():
    stage = stage_h([draws_of(one) for one in STAGES]) * GPUS
    usd = BOOK.price(BLACKWELL, "reserved_3y", "neocloud").usd_per_gpu_h
    by_hand = (128 * step_s(draws_of(ONE)) + 50 * step_s(draws_of(TWO))) / 3600 * 1024 * usd
    assert stage * usd == pytest.approx(by_hand)
    listed = BOOK.price(BLACKWELL, "on_demand", "neocloud").usd_per_gpu_h
    owned = BOOK.price(BLACKWELL, "own_tco", "owned").usd_per_gpu_h
    assert f"list price over cost of owning is a factor of {listed / owned:.1f}" in WORDS
    low, high = np.percentile(stage, [10, 90])
    assert high / low < listed / owned


def test_rubin_gains_no_more_than_its_peaks():
    flops, bandwidth = (
        THERE.flops_at("bf16") / HERE.flops_at("bf16"),
        THERE.hbm_bytes_per_s / HERE.hbm_bytes_per_s,
    )
    assert f"BF16 peaks differ by {flops:g}, bandwidths by {bandwidth:g}" in WORDS
    own, there = draws_of(ONE), carried(ONE, RUBIN)
    decode = float(np.median(own["rollout_work"] / there["rollout_work"]))
    assert 1 < decode < bandwidth
    training = float(np.median(own["train"] / there["train"]))
    ends = band("training", RUBIN)
    assert flops * ends.low < training < flops * ends.high
    found, projection = projected(ONE, RUBIN)
    assert not found.refusals and all(not move.unknown for move in projection.moves)
    own_s = composed(seconds_of(workload_of(ONE, middle()), middle(), 1.0)).total_s
    assert projection.step_s[:, 0] == pytest.approx(own_s)


def test_a_platform_without_pairs_has_the_wider_band():
    for phase in ("training", "decode"):
        seen, unseen = factor(phase, REFRESH), factor(phase, RUBIN)
        assert seen.pairs > 0 and seen.basis == "published pairs"
        assert unseen.pairs == 0 and unseen.basis == "left-out platforms"
        assert unseen.high / unseen.low > seen.high / seen.low


def test_the_break_even_price_is_the_price_times_the_speed_up():
    own, there = step_s(draws_of(ONE)), step_s(carried(ONE, RUBIN))
    assert even_draws(4.0) == pytest.approx(4.0 * own / there)
    assert float(np.median(whole_ratio())) < float(np.median(own / there))
    assert BOOK.price(RUBIN, "on_demand", "neocloud") is None


def test_what_is_said_of_claims():
    lines = [line for line in TEXT.splitlines() if line.startswith("| `")]
    cells = {line.split("`")[1]: [c.strip() for c in line.strip("|").split("|")] for line in lines}
    assert set(CLAIMS) <= set(cells)
    quarter, tokens, vera = (cells[n] for n in ("rubin-quarter-gpus", "rubin-token-cost-10x", "vera-plus-30"))
    assert float(quarter[2]) == 4 and 1 < float(quarter[5]) < 2
    assert f"mean {float(tokens[2]):.0f} times the tokens a GPU" in WORDS and float(
        tokens[5]
    ) == pytest.approx(1, abs=0.05)
    assert vera[5].startswith("It compares with x86") and "sit on Grace" in WORDS


def test_what_would_change_the_answer():
    low, high = (workload_of(ONE, middle() | {"mean response": n, "prompt": 500.0}) for n in (8e3, 24e3))
    ends = [seconds_of(w, middle(), DRAFTING) for w in (low, high)]
    assert ends[1]["train"] / ends[0]["train"] == pytest.approx(3, rel=0.1)
    longest = [float(composed(e).engines_s) for e in ends]
    assert longest[1] / longest[0] == pytest.approx(4 / 3, rel=0.1)
