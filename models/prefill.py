"""Time to read prompts: matrices, causal attention and the weights read once a chunk. Seconds."""

from dataclasses import dataclass

import numpy as np

from models.machine import Rates
from models.shapes import Llm, Num, at_least, num

CHUNK_TOKENS = 8192.0
"""Prompt tokens an engine takes in one pass: a usual max_num_batched_tokens on large GPUs."""


@dataclass(frozen=True)
class PrefillLoad:
    """Prompts that one replica of `gpus` GPUs reads: `prompts` different ones, each sampled `group` times.

    `hit_frac`: share of a prompt already cached (a system prompt, earlier turns). `prefix_cache`: whether the
    samples of a group share one prefill.
    """

    prompts: Num
    prompt_tokens: Num
    gpus: Num
    weight_bytes: Num
    group: Num = 1.0
    hit_frac: Num = 0.0
    prefix_cache: bool = True
    chunk_tokens: Num = CHUNK_TOKENS


@dataclass(frozen=True)
class Prefill:
    """Prompt tokens computed and the parts of their time in seconds."""

    tokens: Num
    matrices_s: Num
    attention_s: Num
    memory_s: Num

    @property
    def compute_s(self) -> Num:
        """Matrices and attention."""
        return self.matrices_s + self.attention_s

    @property
    def total_s(self) -> Num:
        """The longer of computing and reading the weights."""
        return at_least(self.compute_s, self.memory_s)


def prompt_tokens_computed(load: PrefillLoad) -> Num:
    """Prompt tokens that are computed, not found: prompts x S x (1 - hits), x group without a prefix cache.

    With one, a group of n samples prefills its prompt once an engine (vLLM automatic prefix caching, SGLang
    RadixAttention, arXiv 2312.07104), if the group stays on that engine.
    """
    times = num(1.0) if load.prefix_cache else num(load.group)
    return num(load.prompts) * load.prompt_tokens * (1 - num(load.hit_frac)) * times


def prefill(
    llm: Llm, load: PrefillLoad, rates: Rates, eta_flops: Num = 0.5, eta_bandwidth: Num = 0.9
) -> Prefill:
    """Prefill time: max((2 N_active T + attention) / (G F eta), chunks x weights / (G BW eta)).

    Attention of the tokens behind a cached prefix P in a prompt of S: forward FLOP of S^2 less those of P^2.
    Etas are achieved shares of the peaks at the precision of `rates`.
    """
    tokens = prompt_tokens_computed(load)
    prompt, cached = num(load.prompt_tokens), num(load.prompt_tokens) * load.hit_frac
    whole = prompt * llm.attention_flops_forward(prompt)
    found = cached * llm.attention_flops_forward(at_least(cached, 1.0))
    samples = num(load.prompts) * (num(1.0) if load.prefix_cache else num(load.group))
    speed = num(load.gpus) * rates.flops * eta_flops
    chunk = np.minimum(tokens, load.chunk_tokens)
    passes = tokens / np.maximum(chunk, 1.0)
    read = passes * llm.weight_bytes_read(chunk, load.weight_bytes)
    return Prefill(
        tokens=tokens,
        matrices_s=2 * llm.params_multiplied * tokens / speed,
        attention_s=samples * (whole - found) / speed,
        memory_s=read / (num(load.gpus) * rates.hbm_bytes_per_s * eta_bandwidth),
    )


def turn_hit_frac(turns: Num, first_tokens: Num, tokens_per_turn: Num) -> Num:
    """Share of prompt tokens found in the cache over a dialogue whose every turn sends all that came before.

    Turn i sends first + (i-1) x per turn and only its last part is new: 1 - last context / sum of contexts.
    """
    n = num(turns)
    last = num(first_tokens) + (n - 1) * tokens_per_turn
    sent = n * first_tokens + n * (n - 1) / 2 * tokens_per_turn
    return 1 - last / sent
