"""Time of one decode step: memory or compute, a constant per layer, links, prefill in between. Seconds."""

from dataclasses import dataclass

import numpy as np

from models.machine import Rates
from models.shapes import Llm, Num, at_least, num, where

LAYER_S = (70e-6, 80e-6, 90e-6)
"""Constant per layer: low, usual, high. Fitted on Llama 3.1 70B FP8, 80 layers: H100 7.2 ms, B200 5.6."""
USABLE_HBM = 0.9
"""Share of the memory an engine may fill: the default of vLLM's gpu_memory_utilization."""
_BF16, _FP8 = 2, 1


@dataclass(frozen=True)
class DecodeLoad:
    """What one replica of `gpus` GPUs does in a step: `batch` sequences with `context` tokens on average.

    `weight_bytes` and `kv_bytes` are bytes a value. `attention_tp`: GPUs that share one sequence's cache (1
    with data-parallel attention). `tokens_per_seq`: above 1 when drafted tokens are verified.
    `prefill_tokens`: prompt tokens computed by the same GPUs between two steps, out of prompts of
    `prompt_tokens` (None: as long as the context). `expert_parallel`: experts sit on different GPUs, so
    tokens travel instead of sums, and everything else is copied to each attention group.
    """

    batch: Num
    context: Num
    gpus: Num
    weight_bytes: Num
    kv_bytes: Num
    attention_tp: Num = 1.0
    tokens_per_seq: Num = 1.0
    prefill_tokens: Num = 0.0
    prompt_tokens: Num | None = None
    expert_parallel: bool = False


@dataclass(frozen=True)
class DecodeFactors:
    """Achieved shares of the peaks (0..1] and the constant of one layer in seconds.

    Defaults are usual values of fits on published serving points (Llama 3.1 70B: bandwidth 0.86 to 1.03,
    prefill 0.32 to 0.50; mixtures of experts reach 0.06 to 0.18 in prefill); calibrate them.

    The constant holds what does not scale with the chip (launches, latency of all-reduces, sampling), so
    links are charged for bytes only.
    """

    eta_bandwidth: Num = 0.90
    eta_flops: Num = 0.60
    eta_prefill: Num = 0.40
    eta_link: Num = 0.70
    layer_s: Num = LAYER_S[1]


@dataclass(frozen=True)
class DecodeStep:
    """Parts of one step in seconds; memory and compute overlap, the rest adds up."""

    weights_s: Num
    kv_s: Num
    compute_s: Num
    constant_s: Num
    link_s: Num
    prefill_s: Num

    @property
    def memory_s(self) -> Num:
        """Reading weights and cache."""
        return self.weights_s + self.kv_s

    @property
    def bound_s(self) -> Num:
        """The longer of memory and compute (roofline; Williams et al. 2009)."""
        return at_least(self.memory_s, self.compute_s)

    @property
    def total_s(self) -> Num:
        """Time per output token of a sequence."""
        return self.bound_s + self.constant_s + self.link_s + self.prefill_s


def decode_step(llm: Llm, load: DecodeLoad, rates: Rates, factors: DecodeFactors) -> DecodeStep:
    """Parts of one decode step: max(bytes / (G BW eta), FLOP / (G F eta)) + c0 + links + prefill.

    bytes = weights touched + batch x cache of a sequence (a recurrent state is read and written); FLOP = 2
    N_active + attention, a token; c0 = layers x `layer_s`. Links: two ring all-reduces a layer, 2 (g-1)/g of
    tokens x hidden x 2 bytes each; with experts spread, k copies of a token in one byte and back in two. The
    terms go to other chips apart: only the first scales with bandwidth, only prefill with FLOP/s, c0 with
    neither (fits on published Llama 3.1 70B points: 10 to 17 % against 27 to 36 % for one factor). `rates` at
    the precision of the matrices. NaN where a peak was not published.
    """
    tokens = num(load.batch) * load.tokens_per_seq
    bandwidth = num(load.gpus) * rates.hbm_bytes_per_s * factors.eta_bandwidth
    flop = 2 * llm.params_multiplied + llm.attention_flops_decode(load.context)
    cache = num(load.batch) * (held_bytes(llm, load) + llm.recurrent_bytes)
    prompt = load.context if load.prompt_tokens is None else load.prompt_tokens
    prefill = num(load.prefill_tokens) * llm.flops_per_token_forward(prompt)
    return DecodeStep(
        weights_s=(llm.weights_touched(tokens) + _copies(load) * (llm.params_shared - llm.params_looked_up))
        * load.weight_bytes
        / bandwidth,
        kv_s=cache / bandwidth,
        compute_s=tokens * flop / (num(load.gpus) * rates.flops * factors.eta_flops),
        constant_s=llm.layers * num(factors.layer_s) + 0 * bandwidth,
        link_s=_link_s(llm, load, rates, factors),
        prefill_s=where(prefill > 0, prefill / (num(load.gpus) * rates.flops * factors.eta_prefill), 0.0),
    )


def prefill_tokens_per_step(batch: Num, prompt_tokens: Num, output_tokens: Num, hit_frac: Num = 0.0) -> Num:
    """Prompt tokens an engine prefills between two decode steps when finished sequences are replaced.

    (batch - 1) x prompt x (1 - hits) / output: while one sequence decodes, each of the others is replaced
    once. Its own prompt is over before it decodes.
    """
    return at_least(num(batch) - 1, 0.0) * prompt_tokens * (1 - num(hit_frac)) / output_tokens


def kv_copies(llm: Llm, load: DecodeLoad) -> Num:
    """Copies of the cache inside a replica: tensor parallelism beyond the KV heads repeats them.

    A latent cache (MLA) has no heads to split, so each of `attention_tp` GPUs holds all of it.
    """
    heads = 1 if llm.kv_lora_rank else llm.n_kv_heads
    return at_least(num(load.attention_tp) / heads, 1.0)


def held_bytes(llm: Llm, load: DecodeLoad) -> Num:
    """Bytes one sequence holds in a replica: its cache in every copy, a recurrent state once."""
    grown = llm.kv_bytes(load.context, load.kv_bytes) - llm.recurrent_bytes
    return grown * kv_copies(llm, load) + llm.recurrent_bytes


@dataclass(frozen=True)
class Capacity:
    """Memory of one replica in bytes, and the sequences that fit in what the weights leave."""

    usable_bytes: Num
    weight_bytes: Num
    other_bytes: Num
    bytes_per_seq: Num

    @property
    def cache_bytes(self) -> Num:
        """Room for caches, 0 when the weights do not fit."""
        return at_least(self.usable_bytes - self.weight_bytes - self.other_bytes, 0.0)

    @property
    def batch(self) -> Num:
        """Whole sequences that fit; 0 when the weights do not fit, NaN when the memory is not published."""
        whole: Num = np.floor(self.cache_bytes / self.bytes_per_seq)
        return whole


def capacity(llm: Llm, load: DecodeLoad, rates: Rates, other_bytes: Num = 0.0) -> Capacity:
    """Memory of a replica: (0.9 C G - weights - `other_bytes`) over the cache of a sequence.

    `other_bytes`: activations and graphs.

    `load.context` is the length to hold: the mean for an engine that pages its cache, the cap for a static
    one. The batch of `load` is not used.
    """
    return Capacity(
        usable_bytes=USABLE_HBM * num(rates.hbm_bytes) * load.gpus,
        weight_bytes=(llm.params_total + _copies(load) * llm.params_shared) * load.weight_bytes,
        other_bytes=num(other_bytes),
        bytes_per_seq=held_bytes(llm, load),
    )


def _copies(load: DecodeLoad) -> Num:
    """Further copies of all but the experts, where attention is data parallel beside spread experts."""
    return at_least(num(load.gpus) / load.attention_tp - 1, 0.0) if load.expert_parallel else num(0.0)


def _link_s(llm: Llm, load: DecodeLoad, rates: Rates, factors: DecodeFactors) -> Num:
    """Seconds on the links: ring all-reduce of sums (TP), all-to-all of tokens to their experts (EP)."""
    gpus, shared = num(load.gpus), num(load.attention_tp)
    vectors = num(load.batch) * load.tokens_per_seq * llm.hidden
    mixers = llm.layers - llm.moe_layers if llm.is_recurrent else llm.layers
    feeds = llm.moe_layers if llm.is_recurrent else llm.layers
    routed = llm.moe_layers if load.expert_parallel else 0
    sums = mixers * (shared - 1) / gpus + (feeds - routed) * (gpus - 1) / gpus
    sent = routed * (llm.experts_active or 0) * (gpus - 1) / gpus**2
    moved = vectors * (sums * 2 * _BF16 + sent * (_BF16 + _FP8))
    return where(gpus > 1, moved / (num(rates.link_bytes_per_s) * factors.eta_link), 0.0)
