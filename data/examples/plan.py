"""The made-up campaign: three runs, two platforms, one failure. Constants are close to published figures.

Everything here is synthetic. The machine numbers are vendor figures (dense BF16, HBM), so that the example is
physically possible; the run names, dates and results are invented.
"""

from dataclasses import dataclass
from datetime import datetime

CAMPAIGN = "math-example"
LLM = "qwen2.5-32b"
BASELINE = "qwen2.5-32b-start"
PARAMS = 32.76e9
LAYERS = 64
WEIGHT_BYTES = 2 * PARAMS
KV_BYTES_PER_TOKEN = 262_144
LAYER_OVERHEAD_S = 78e-6
PROMPTS_PER_STEP = 128
SAMPLES_PER_PROMPT = 16
ROLLOUTS_PER_STEP = PROMPTS_PER_STEP * SAMPLES_PER_PROMPT
LENGTH_CAP = 8_192
LENGTH_SIGMA = 0.62
CHECKPOINT_EVERY = 20
EVAL_EVERY = 40
TASKS_EVERY = 120
NOTE = "synthetic example, not a measurement"


@dataclass(frozen=True)
class Machine:
    """A platform as the example's physics needs it; rates per GPU, dense BF16."""

    platform: str
    name: str
    flops: float
    hbm_bytes_per_s: float
    hbm_bytes: int
    tdp_w: float
    idle_w: float
    sm_clock_mhz: int
    gpus_per_node: int


H100 = Machine("h100-sxm", "NVIDIA H100 80GB HBM3", 989e12, 3.35e12, 81_559 << 20, 700, 72, 1_980, 8)
GB200 = Machine("gb200-nvl72", "NVIDIA GB200", 2_500e12, 8.0e12, 189_471 << 20, 1_200, 150, 1_965, 4)


@dataclass(frozen=True)
class Plan:
    """One run: machine, pools, software efficiencies (0..1), clock, and what goes wrong."""

    run: str
    machine: Machine
    mode: str
    gpus: int
    gpus_train: int
    gpus_rollout: int
    tensor_parallel: int
    steps: int
    start: datetime
    train_mfu: float
    logprob_mfu: float
    bandwidth_frac: float
    token_handicap: float
    first_node: int
    fails_in_step: int | None = None
    sandbox_cores: int = 192
    startup_s: float = 410.0
    shutdown_s: float = 55.0
    hang_s: float = 1_830.0
    repair_s: float = 2_460.0

    @property
    def colocated(self) -> bool:
        """True when one pool does both jobs in turn."""
        return self.mode == "sync"


RUNS = (
    Plan(
        run="h100-sync",
        machine=H100,
        mode="sync",
        gpus=64,
        gpus_train=64,
        gpus_rollout=64,
        tensor_parallel=4,
        steps=240,
        start=datetime(2026, 10, 5, 8, 12, 31),
        train_mfu=0.385,
        logprob_mfu=0.43,
        bandwidth_frac=0.88,
        token_handicap=1.0,
        first_node=1,
        fails_in_step=138,
    ),
    Plan(
        run="gb200-sync",
        machine=GB200,
        mode="sync",
        gpus=32,
        gpus_train=32,
        gpus_rollout=32,
        tensor_parallel=2,
        steps=240,
        start=datetime(2026, 10, 19, 7, 40, 2),
        train_mfu=0.355,
        logprob_mfu=0.40,
        bandwidth_frac=0.90,
        token_handicap=1.0,
        first_node=1,
    ),
    Plan(
        run="gb200-async",
        machine=GB200,
        mode="async",
        gpus=32,
        gpus_train=20,
        gpus_rollout=12,
        tensor_parallel=2,
        steps=280,
        start=datetime(2026, 11, 2, 9, 5, 47),
        train_mfu=0.385,
        logprob_mfu=0.42,
        bandwidth_frac=0.90,
        token_handicap=1.10,
        first_node=11,
        startup_s=520.0,
    ),
)
