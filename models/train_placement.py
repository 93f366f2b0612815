"""Model parallelism of a trainer: the smallest that fits the memory, tensor ranks inside the link domain."""

from dataclasses import dataclass

from models.decode import USABLE_HBM
from models.machine import Machine
from models.shapes import Llm

WEIGHT_AND_GRADIENT_BYTES = 6.0
"""A parameter on every data-parallel rank: BF16 weight and FP32 gradient."""
OPTIMISER_BYTES = 12.0
"""A parameter over all data-parallel ranks: FP32 master weight, two Adam moments (ZeRO, 1910.02054)."""


@dataclass(frozen=True)
class TrainPlacement:
    """Ranks of a trainer, bytes of a GPU without activations; tensor x pipeline x data = GPUs in use."""

    tensor: int
    pipeline: int
    data: int
    bytes_per_gpu: float

    @property
    def model_ranks(self) -> int:
        """GPUs that hold one copy of the weights."""
        return self.tensor * self.pipeline


@dataclass(frozen=True)
class TrainChoice:
    """The placement with the fewest model ranks, None when none fits or facts are `unknown`."""

    best: TrainPlacement | None
    unknown: tuple[str, ...] = ()


def state_bytes_per_gpu(llm: Llm, model_ranks: int, data_ranks: int) -> float:
    """Bytes of a GPU: N x 6 / model ranks + N x 12 / (model x data ranks); mixed precision, sharded Adam."""
    return llm.params_total / model_ranks * (WEIGHT_AND_GRADIENT_BYTES + OPTIMISER_BYTES / data_ranks)


def train_placement(
    llm: Llm, machine: Machine, gpus: int, activation_bytes: float, most_tensor: int = 8
) -> TrainChoice:
    """Fewest model ranks (powers of two) whose states and `activation_bytes` a GPU fit in 0.9 of its memory.

    Tensor ranks (experts or matrices) first, up to the link domain and `most_tensor`; pipeline ranks are the
    rest. Fewer ranks mean less communication and smaller bubbles, so more memory buys efficiency. Raises
    ValueError for no GPU.
    """
    if gpus < 1:
        raise ValueError(f"a trainer needs a GPU: {gpus}")
    unknown = machine.missing(None, "hbm_bytes", "domain_gpus")
    if machine.hbm_bytes is None or machine.domain_gpus is None:
        return TrainChoice(None, unknown)
    ranks, room = 1, USABLE_HBM * machine.hbm_bytes - activation_bytes
    while ranks <= gpus:
        held = state_bytes_per_gpu(llm, ranks, gpus // ranks)
        if held <= room:
            tensor = min(ranks, _power_below(min(machine.domain_gpus, most_tensor)))
            return TrainChoice(TrainPlacement(tensor, ranks // tensor, gpus // ranks, held))
        ranks *= 2
    return TrainChoice(None)


def _power_below(value: int) -> int:
    return 1 << (value.bit_length() - 1)
