"""Shape of a language model: bytes it reads and floating point operations it costs. Numbers may be arrays."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Num = float | np.float64 | npt.NDArray[np.float64]
"""One number or an array of draws, platforms or both (they broadcast). NaN: not known."""

BYTES_PER_WEIGHT = {
    "fp32": 4.0,
    "bf16": 2.0,
    "fp8": 1.0,
    "mxfp8": 33 / 32,
    "mxfp4": 17 / 32,
    "nvfp4": 9 / 16,
    "fp4": 9 / 16,
}
"""Bytes a value takes. Block formats carry a one-byte scale: 32 values in MX (OCP MX v1.0), 16 in NVFP4."""
PRECISION_CLASS = {
    "bf16": "bf16",
    "fp16": "bf16",
    "fp8": "fp8",
    "mxfp8": "fp8",
    "mxfp4": "fp4",
    "nvfp4": "fp4",
    "fp4": "fp4",
}
RECOMPUTE = {"none": 3.0, "full": 4.0}
"""Forward passes that one token costs in training: forward, backward (two), and once more when recomputed."""


def num(value: float | Num | None) -> Num:
    """`value` as float64, None as NaN: not known stays not known through every sum and product."""
    known: Num = np.asarray(math.nan if value is None else value, dtype=np.float64)[()]
    return known


def at_most(value: Num, limit: Num) -> Num:
    """The smaller of both; NaN when either is not known."""
    least: Num = np.minimum(value, limit)
    return least


def at_least(value: Num, floor: Num) -> Num:
    """The larger of both; NaN when either is not known."""
    most: Num = np.maximum(value, floor)
    return most


def precision_class(precision: str) -> str:
    """bf16, fp8 or fp4: the tensor core rate a format runs at. Raises ValueError for a name it does not know.

    >>> precision_class("NVFP4"), precision_class("FP8-CS")
    ('fp4', 'fp8')
    """
    name = precision.strip().lower().replace("_", "-")
    found = PRECISION_CLASS.get(name) or PRECISION_CLASS.get(name.partition("-")[0])
    if found is None:
        raise ValueError(f"unknown precision: {precision!r}; known are {', '.join(PRECISION_CLASS)}")
    return found


def where(known: Any, then: Num, otherwise: Num) -> Num:
    """`then` where the condition holds, else `otherwise`; a NaN that is not chosen does not spread."""
    chosen: Num = np.where(known, then, otherwise)[()]
    return chosen


@dataclass(frozen=True)
class Llm:
    """Shape of one model; parameters and bytes in units (not billions).

    `kv_bytes_per_token_bf16` counts layers whose cache grows with the context; `state_bytes_per_seq` is what
    a sequence holds besides (recurrent state, or the windows of sliding layers at BF16). Counts of experts
    are None for a dense model. Parameters include the embeddings.
    """

    model_id: str
    params_total: float
    params_active: float
    layers: int
    hidden: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    attention: str
    kv_bytes_per_token_bf16: float
    vocab: int
    max_context: int
    attn_layers: int
    experts: int | None = None
    experts_active: int | None = None
    shared_experts: int | None = None
    expert_ffn_hidden: int | None = None
    dense_layers: int | None = None
    dense_ffn_hidden: int | None = None
    kv_lora_rank: int | None = None
    qk_rope_head_dim: int | None = None
    moe_latent_size: int | None = None
    state_bytes_per_seq: float | None = None
    tied_embeddings: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.params_active <= self.params_total:
            raise ValueError(f"active parameters must lie in (0, total]: {self.params_active}")
        if self.experts is not None and not 0 < (self.experts_active or 0) <= self.experts:
            raise ValueError(f"{self.experts_active} of {self.experts} experts cannot be active")

    @property
    def is_moe(self) -> bool:
        """True when a token uses some of the experts only."""
        return self.experts is not None and (self.experts_active or 0) < self.experts

    @property
    def is_recurrent(self) -> bool:
        """True when layers without a growing cache hold a recurrent state (Mamba), not a sliding window."""
        return "mamba" in self.attention

    @property
    def moe_layers(self) -> int:
        """Layers with experts; a hybrid model has them on half of the layers without attention."""
        if self.experts is None:
            return 0
        if self.is_recurrent:
            return (self.layers - self.attn_layers) // 2
        return self.layers - (self.dense_layers or 0)

    @property
    def recurrent_bytes(self) -> float:
        """Bytes of recurrent state a sequence holds, 0 without one. A decode step reads and writes it."""
        return (self.state_bytes_per_seq or 0.0) if self.is_recurrent else 0.0

    @property
    def window_tokens(self) -> float:
        """Tokens a sliding-window layer keeps, 0 without such layers: from the bytes a sequence holds."""
        sliding = self.layers - self.attn_layers
        if self.is_recurrent or not self.state_bytes_per_seq or sliding <= 0:
            return 0.0
        return self.state_bytes_per_seq / (2 * sliding * self.n_kv_heads * self.head_dim * 2)

    @property
    def params_looked_up(self) -> float:
        """Input embedding, a row of which a token reads: vocabulary x hidden; 0 if tied to the output."""
        return 0.0 if self.tied_embeddings else self.vocab * self.hidden

    @property
    def params_multiplied(self) -> float:
        """Active parameters that a token is multiplied with: all but the input embedding.

        So counted, FLOP of training agree with those printed in Megatron-Bridge tables: median ratio 1.000
        for dense models, 1.005 Kimi-K2, 0.88 to 0.93 Nemotron 3 hybrids, whose scans are not counted here.
        """
        return self.params_active - self.params_looked_up

    @property
    def one_expert(self) -> float:
        """Parameters of a routed expert over all layers, (N_total - N_active) / (E - k); 0 if dense."""
        if not self.is_moe or self.experts is None or self.experts_active is None:
            return 0.0
        return (self.params_total - self.params_active) / (self.experts - self.experts_active)

    @property
    def params_shared(self) -> float:
        """Parameters outside routed experts: attention, embeddings, shared experts, dense layers."""
        return self.params_total - (self.experts or 0) * self.one_expert

    def weight_bytes(self, bytes_per_weight: Num) -> Num:
        """Bytes of all weights: N_total x bytes."""
        return self.params_total * num(bytes_per_weight)

    def experts_hit(self, tokens: Num) -> Num:
        """Experts of a layer that `tokens` touch: E (1 - (1 - k/E)^B), k at B = 1, E at B -> inf.

        Expected count when every token picks k of E evenly (occupancy; balanced routing). Uneven routing hits
        fewer. 1 for a dense model.
        """
        if self.experts is None or self.experts_active is None:
            return num(1.0)
        share = self.experts_active / self.experts
        log_missed = math.log1p(-share) if share < 1 else -math.inf
        hit: Num = -self.experts * np.expm1(num(tokens) * log_missed)
        return hit

    def weights_touched(self, tokens: Num) -> Num:
        """Parameters a forward pass of `tokens` reads: no expert that no token picked, no input embedding.

        N_total - V h - (E - E_hit) x one expert, which N_total and N_active fix because they differ in E - k
        of them: no shape of the expert is needed (two or three matrices, latent width). Below one token the
        batch of one is read.
        """
        if self.experts is None:
            return self.params_total - self.params_looked_up + 0 * num(tokens)
        hit = self.experts_hit(at_least(num(tokens), 1.0))
        return self.params_total - self.params_looked_up - (self.experts - hit) * self.one_expert

    def weight_bytes_read(self, batch_tokens: Num, bytes_per_weight: Num) -> Num:
        """Bytes of weights one forward pass of `batch_tokens` reads (see `weights_touched`)."""
        return self.weights_touched(batch_tokens) * num(bytes_per_weight)

    def kv_bytes_per_token(self, bytes_per_value: Num) -> Num:
        """Cache bytes a token adds: 2 x layers x KV heads x head size x bytes.

        MLA: layers x (rank + rope) x bytes, 576 values a layer in DeepSeek-V3.
        """
        return self.kv_bytes_per_token_bf16 / 2 * num(bytes_per_value)

    def kv_bytes(self, context: Num, bytes_per_value: Num) -> Num:
        """Bytes one sequence of `context` tokens holds: growing cache, sliding windows, recurrent state.

        Windows fill up to their length and follow the precision of the cache; a recurrent state is whole from
        the first token and keeps the precision it was given in.
        """
        grows = num(context) * self.kv_bytes_per_token(bytes_per_value)
        fixed = self.state_bytes_per_seq or 0.0
        if self.window_tokens:
            filled = at_most(num(context) / self.window_tokens, 1.0)
            return grows + fixed / 2 * num(bytes_per_value) * filled
        return grows + fixed

    def attention_flops_decode(self, context: Num) -> Num:
        """FLOP of attention for a new token over `context`: 4 x layers x heads x head size x context.

        MLA in absorbed form works in the latent space: 2 x layers x heads x (2 x rank + rope) x context
        (DeepSeek-V2, arXiv 2405.04434, section 2.1). Sliding layers look back one window.
        """
        if self.kv_lora_rank:
            per_token = 2 * self.n_heads * (2 * self.kv_lora_rank + (self.qk_rope_head_dim or 0))
            return self.attn_layers * per_token * num(context)
        near = at_most(num(context), self.window_tokens) * self._sliding_layers
        return 4 * self.n_heads * self.head_dim * (self.attn_layers * num(context) + near)

    def attention_flops_forward(self, seq_len: Num) -> Num:
        """FLOP of causal attention a token costs on average in a forward pass over `seq_len` tokens.

        2 x layers x heads x head size x S: half of 4 x ... x S, because a token sees S/2 others on average;
        query-key and value sizes are averaged (MLA has a smaller value). A window w sees w - w^2 / 2S.
        """
        seq = num(seq_len)
        window = self.window_tokens
        with np.errstate(divide="ignore", invalid="ignore"):
            seen: Num = np.where(seq > window, window - window**2 / (2 * seq), seq / 2)
        near = self._sliding_layers * seen
        return 4 * self.n_heads * self._mean_head_dim * (self.attn_layers * seq / 2 + near)

    def flops_per_token_forward(self, seq_len: Num) -> Num:
        """FLOP a token of a forward pass: 2 (N_active - V h) + causal attention."""
        return 2 * self.params_multiplied + self.attention_flops_forward(seq_len)

    def flops_per_token_train(self, seq_len: Num, recompute: str = "none") -> Num:
        """FLOP a token of a training step: 6 (N_active - V h) + 6 x layers x heads x head size x S.

        PaLM appendix B (arXiv 2204.02311) with causal halving, without the looked-up input embedding V h;
        full recompute adds a forward pass, 8 N_active (Korthikanti et al., arXiv 2205.05198).
        """
        if recompute not in RECOMPUTE:
            raise ValueError(f"recompute must be one of {', '.join(RECOMPUTE)}: {recompute!r}")
        return RECOMPUTE[recompute] * self.flops_per_token_forward(seq_len)

    @property
    def _sliding_layers(self) -> int:
        return self.layers - self.attn_layers if self.window_tokens else 0

    @property
    def _mean_head_dim(self) -> float:
        return self.head_dim - (self.qk_rope_head_dim or 0) / 2
