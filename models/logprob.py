"""Time to score rollouts: forward passes with an efficiency of their own. Seconds."""

from dataclasses import dataclass

from models.machine import Rates
from models.shapes import Llm, Num, num

SHARE_OF_TRAINING = (0.33, 0.47, 0.67)
"""Log-prob seconds over training seconds as measured: verl 0.33 to 0.47, NeMo RL issue 959 0.60 to 0.67."""


@dataclass(frozen=True)
class LogprobLoad:
    """Tokens to score on `gpus` GPUs. `passes`: models that score them (old policy, reference)."""

    tokens: Num
    seq_len: Num
    gpus: Num
    passes: Num = 1.0
    pad_frac: Num = 0.0


@dataclass(frozen=True)
class Logprob:
    """Parts of scoring in seconds."""

    matrices_s: Num
    attention_s: Num
    padding_s: Num

    @property
    def total_s(self) -> Num:
        """Sum of the parts."""
        return self.matrices_s + self.attention_s + self.padding_s


def logprob(llm: Llm, load: LogprobLoad, rates: Rates, eta: Num) -> Logprob:
    """Scoring time: passes x tokens x (2 N_active + attention / 3 of training's) / (G F eta).

    `eta` is not the one of training: scoring took 0.33 to 0.67 of the training time where FLOP say 0.33. No
    passes (a ratio forced on policy) cost nothing.
    """
    speed = num(load.gpus) * rates.flops * eta
    tokens = num(load.tokens) * load.passes
    matrices = 2 * llm.params_multiplied * tokens / speed
    attention = llm.attention_flops_forward(load.seq_len) * tokens / speed
    padding = (matrices + attention) * num(load.pad_frac) / (1 - num(load.pad_frac))
    return Logprob(matrices_s=matrices, attention_s=attention, padding_s=padding)
