"""Time of a policy update: useful FLOP, attention, recomputation, pipeline bubble and optimiser. Seconds."""

from dataclasses import dataclass

from models.machine import Rates
from models.shapes import RECOMPUTE, Llm, Num, num

MFU_PRIORS = {
    ("dense", "fp8"): (0.32, 0.39, 0.50),
    ("dense", "fp4"): (0.20, 0.23, 0.29),
    ("moe", "bf16"): (0.18, 0.21, 0.25),
    ("moe", "fp8"): (0.11, 0.15, 0.22),
    ("moe", "fp4"): (0.04, 0.05, 0.05),
}
"""p10, p50, p90 MFU of pretraining by class of model and precision, of the dense peak at that precision.

From the tables of Megatron-Bridge (docs/performance-summary.md @067f987 and release tables): 102, 18, 30, 51
and 16 rows of Llama 3.1, gpt-oss-120b, Kimi-K2 and Nemotron 3, Hopper to GB300. Dense BF16 has no rows.
"""


@dataclass(frozen=True)
class TrainLoad:
    """One training phase: `tokens` that count in `updates` optimiser steps on `gpus` GPUs.

    `seq_len` is the mean length attention sees; `pad_frac` the share of computed tokens that are padding.
    Pipeline: `stages`, `virtual` chunks a stage, `microbatches` a stage.
    """

    tokens: Num
    seq_len: Num
    gpus: Num
    updates: Num = 1.0
    recompute: str = "none"
    pad_frac: Num = 0.0
    stages: Num = 1.0
    virtual: Num = 1.0
    microbatches: Num = 1.0


@dataclass(frozen=True)
class Train:
    """Parts of a training phase in seconds, and the FLOP that count as the model's."""

    matrices_s: Num
    attention_s: Num
    recompute_s: Num
    padding_s: Num
    bubble_s: Num
    optimiser_s: Num
    model_flop: Num
    peak_flops: Num

    @property
    def total_s(self) -> Num:
        """Sum of the parts."""
        return self._compute_s + self.padding_s + self.bubble_s + self.optimiser_s

    @property
    def mfu(self) -> Num:
        """Model FLOP utilisation 0..1; recomputed and padded FLOP do not count (PaLM, appendix B)."""
        return self.model_flop / (self.peak_flops * self.total_s)

    @property
    def _compute_s(self) -> Num:
        return self.matrices_s + self.attention_s + self.recompute_s


def training(llm: Llm, load: TrainLoad, rates: Rates, eta: Num, optimiser_s: Num = 0.0) -> Train:
    """Training time: tokens x (6 N_active + attention) / (G F eta) x bubble + optimiser.

    `eta` is the achieved share of the dense peak over all FLOP that are executed, between bubbles and
    optimiser steps: with full recompute it lies above the MFU. Bubble: 1 + (p - 1) / (v m) (Narayanan et
    al., arXiv 2104.04473, section 2.2). `optimiser_s`: seconds an update, exposed communication included.
    """
    speed = num(load.gpus) * rates.flops * eta
    matrices = 6 * llm.params_multiplied * num(load.tokens) / speed
    attention = 3 * llm.attention_flops_forward(load.seq_len) * num(load.tokens) / speed
    again = (matrices + attention) * (_recompute(load.recompute) / 3 - 1)
    useful = matrices + attention + again
    padding = useful * num(load.pad_frac) / (1 - num(load.pad_frac))
    bubble = (num(load.stages) - 1) / (num(load.virtual) * load.microbatches)
    return Train(
        matrices_s=matrices,
        attention_s=attention,
        recompute_s=again,
        padding_s=padding,
        bubble_s=(useful + padding) * bubble,
        optimiser_s=num(load.updates) * optimiser_s,
        model_flop=num(load.tokens) * llm.flops_per_token_train(load.seq_len),
        peak_flops=num(load.gpus) * rates.flops,
    )


def implied_mfu(llm: Llm, tokens_per_s_per_gpu: Num, seq_len: Num, rates: Rates) -> Num:
    """MFU behind a rate: tokens/s/GPU x (6 N_active + attention) / peak; above 1: wrong peak or count."""
    return num(tokens_per_s_per_gpu) * llm.flops_per_token_train(seq_len) / rates.flops


def _recompute(name: str) -> float:
    if name not in RECOMPUTE:
        raise ValueError(f"recompute must be one of {', '.join(RECOMPUTE)}: {name!r}")
    return RECOMPUTE[name]
