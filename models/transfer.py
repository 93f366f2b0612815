"""How a published figure carries to another platform: decode, training and a whole RL step, as log ratios."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from models.shapes import Llm

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
ANCHOR = "gb200-nvl72"
"""Platform whose own factor is 1: the others' stand relative to it (its precision and class still count)."""
USABLE_HBM = 0.9
REFERENCE_FLOPS = 2e15
FLOPS_PER_PARAM = 2
UNKNOWN_SHARES = (0.2, 0.35, 0.5, 0.65, 0.8)
HALF = 0.5
FREE = 0.1
"""Ridge penalty of a platform's own factor."""

DECODE_GRID = tuple(itertools.product((0.6, 0.7, 0.8, 0.9, 1.0), (0.2, 0.3, 0.5, 0.7), (0.5, 0.75, 1.0),
                                      (0.7, 0.8, 0.9, 1.0)))  # fmt: skip
"""Share of the bandwidth and of the FLOP/s reached, power of the FLOP/s ratio that reaches kernels, largest
share of a step that memory and compute may explain. Averaged evenly: none is picked by looking at pairs.
"""
_GRID_COLUMNS = np.array(DECODE_GRID).T
TRAINING_GRID = tuple(itertools.product((1.0, 4.0), (4.0, 16.0), (1.0, 4.0), (0.5, 2.0), (0.4, 0.6)))
"""Ridge penalties (precision, class, generation, model parallelism), share reached of what a format adds."""


@dataclass(frozen=True)
class Chip:
    """Peaks of one GPU: FLOP/s at the precision, bytes a second, bytes of memory."""

    flops: float
    hbm_bytes_per_s: float
    hbm_bytes: float


@dataclass(frozen=True)
class Moved:
    """What differs on `b` beside the chip: GPUs and batch of a replica, bytes of a weight and a value."""

    gpus: float
    batch: float
    bytes_per_weight: float
    kv_bytes: float


@dataclass(frozen=True)
class DecodeCase:
    """A measured point and the chip it is carried to.

    `llm` None: no shape is known. `gpus` of a replica, `tpot_s` measured on `a`, `bytes_per_weight`; the
    cache is kept at `kv_bytes` a value. `moved` None: the same replica and batch on `b`.
    """

    llm: Llm | None
    a: Chip
    b: Chip
    gpus: float
    batch: float
    prompt: float
    output: float
    tpot_s: float
    bytes_per_weight: float
    kv_bytes: float
    gpus_known: bool = True
    moved: Moved | None = None


def decode_terms(case: DecodeCase, chip: Chip) -> tuple[float, float]:
    """Bytes over bandwidth and FLOP over peak of one step on `chip`, in seconds at efficiency 1.

    Batch: what was sent, at most what (0.9 C G - weights) holds at the mean context prompt + output / 2; no
    such cap where the GPUs of a replica are not published.
    Bytes: weights of the experts that the batch hits + caches. FLOP: 2 N_active x batch x (1 + prompt /
    output), the second part being prefill that replaces finished sequences.
    """
    llm = case.llm
    if llm is None:
        raise ValueError("terms need the shape of the model")
    context = case.prompt + case.output / 2
    cache = float(llm.kv_bytes(context, case.kv_bytes))
    room = USABLE_HBM * chip.hbm_bytes * case.gpus - float(llm.weight_bytes(case.bytes_per_weight))
    capped = case.gpus_known and np.isfinite(room)
    batch = min(case.batch, max(room / cache, 1.0)) if capped else case.batch
    read = float(llm.weight_bytes_read(batch, case.bytes_per_weight)) + batch * cache
    flop = FLOPS_PER_PARAM * llm.params_active * batch * (1 + case.prompt / case.output)
    return read / (case.gpus * chip.hbm_bytes_per_s), flop / (case.gpus * chip.flops)


def decode_log_ratios(case: DecodeCase) -> Floats:
    """Logs of time per token on b over a, one a point of `DECODE_GRID`; their mean is the prediction.

    The measured time on `a` sets the constant: t_a = s (memory / eta + compute / eta) + c0, s <= 1 so that
    the modelled part stays below its largest share; c0 is carried unchanged (it does not follow the chip).
    Without a shape 20 to 80 % of the time follow the bandwidth.
    """
    if case.llm is None:
        share = np.array(UNKNOWN_SHARES)
        blind: Floats = np.log(1 - share + share * case.a.hbm_bytes_per_s / case.b.hbm_bytes_per_s)
        return blind
    eta, eta_f, power, most = _GRID_COLUMNS
    parts = []
    on_b = case if case.moved is None else replace(case, **vars(case.moved))
    for chip, at in ((case.a, case), (case.b, on_b)):
        memory, compute = decode_terms(at, chip)
        parts.append(memory / eta + compute / eta_f * (chip.flops / REFERENCE_FLOPS) ** (1 - power))
    fits = np.minimum(1.0, most * case.tpot_s / parts[0])
    ratios: Floats = np.log((fits * parts[1] + case.tpot_s - fits * parts[0]) / case.tpot_s)
    return ratios


def shared_gap(gaps: Floats, groups: Sequence[str]) -> float:
    """What other models lost on the same step: sum of their medians / (n + 1), so 0 without any.

    `gaps`: log(measured / predicted) of pairs, `groups` their models. One model is believed by half.
    """
    names = np.array(groups)
    medians = [float(np.median(gaps[names == name])) for name in sorted(set(groups))]
    return sum(medians) / (len(medians) + 1)


@dataclass(frozen=True)
class TrainingCase:
    """Two platforms of one training job, seen as throughput.

    `base`: log ratio of BF16 peaks; `format_gain`: log of what the peaks at `precision` add to it, 0 where
    none is known. `cross`: Hopper to Blackwell. `minutes`: time to train, not tokens a second.
    `model_parallel`: TP x PP of the row on `a`, None when not published. `cell` groups rows that repeat each
    other.
    """

    platform_a: str
    platform_b: str
    precision: str
    moe: bool
    base: float
    format_gain: float
    cross: bool
    minutes: bool
    model_parallel: float | None
    cell: str


def training_log_ratio(
    cases: Sequence[TrainingCase], measured: Floats, train: Mask, test: Mask
) -> npt.NDArray[np.float64]:
    """Log throughput ratios of `test`, learned from `train`: peak ratio x learned factors.

    Factors: efficiency of a platform (also by precision, by dense or MoE, by kind of metric), of the step
    between generations, and of the model parallelism that a bigger memory frees. Ridge regression of the log
    ratio; cells of n equal rows weigh sqrt(n). Mean over `TRAINING_GRID`; an unseen platform has factor 1.
    """
    return training_rule(cases, measured)(train, test)


def training_rule(cases: Sequence[TrainingCase], measured: Floats) -> Callable[[Mask, Mask], Floats]:
    """`training_log_ratio` of these cases, to be asked with many pairs of `train` and `test`."""
    base = np.array([c.base for c in cases])
    gain = np.array([c.format_gain for c in cases])
    columns, kinds = _design(cases)
    cells = np.array([c.cell for c in cases])

    def predict(train: Mask, test: Mask) -> Floats:
        if not train.any():
            blind: Floats = base[test] + HALF * gain[test]
            return blind
        weight = _weights(cells[train])
        x = columns[train] * weight[:, None]
        square = x.T @ x
        out = np.zeros(int(test.sum()))
        for reached, penalties in _by_reach():
            prior = base + reached * gain
            y = x.T @ ((measured - prior)[train] * weight)
            ridges = square + penalties[:, kinds, None] * np.eye(len(kinds))
            for theta in np.linalg.solve(ridges, np.broadcast_to(y[:, None], (len(penalties), len(y), 1))):
                out += columns[test] @ theta[:, 0] + prior[test]
        return out / len(TRAINING_GRID)

    return predict


def _by_reach() -> list[tuple[float, Floats]]:
    """Points of the grid by the share reached: their penalties, one row a point, one column a kind."""
    return [
        (reached, np.array([(FREE, *point[:-1]) for point in TRAINING_GRID if point[-1] == reached]))
        for reached in sorted({point[-1] for point in TRAINING_GRID})
    ]


def _weights(cells: npt.NDArray[np.str_]) -> Floats:
    _, where, counts = np.unique(cells, return_inverse=True, return_counts=True)
    weights: Floats = counts[where].astype(float) ** -0.25
    return weights


def _design(cases: Sequence[TrainingCase]) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Columns and which penalty each carries."""
    newer = sorted({c.platform_b for c in cases} | {c.platform_a for c in cases if not c.cross})
    effect = np.array(
        [[float(c.platform_b == p) - float(c.platform_a == p) for p in newer] for c in cases]
    ).reshape(len(cases), len(newer))
    cross = np.array([float(c.cross) for c in cases])
    minutes = np.array([float(c.minutes) for c in cases])
    moe = np.array([float(c.moe) - HALF for c in cases])
    parallel = np.array([_freed(c) for c in cases])
    free = np.array([p != ANCHOR for p in newer], dtype=bool)
    blocks = [(effect[:, free], 0)]
    at = {name: np.array([float(c.precision == name) for c in cases]) for name in ("bf16", "fp8", "fp4")}
    blocks += [(effect * here[:, None], 1) for here in at.values()]
    blocks += [(effect * moe[:, None], 2), (effect * minutes[:, None], 2)]
    blocks += [((cross * (1 - minutes))[:, None], 3), ((cross * minutes)[:, None], 3)]
    blocks.append(((cross * (1 - minutes) * parallel)[:, None], 4))
    kinds = np.concatenate([np.full(block.shape[1], kind) for block, kind in blocks])
    return np.concatenate([block for block, _ in blocks], axis=1), kinds


def _freed(case: TrainingCase) -> float:
    """Log of TP x PP on the source (at most 8) around 4; 0 when not published."""
    if case.model_parallel is None:
        return 0.0
    return float(np.log(min(case.model_parallel, 8.0)) - np.log(4.0))


@dataclass(frozen=True)
class StepCase:
    """Two platforms of one RL recipe: ratios b over a of bandwidth and FLOP/s a GPU, and of GPUs."""

    bandwidth: float
    flops: float
    gpus: float


@dataclass(frozen=True)
class Shares:
    """Shares of a synchronous step: generation, training with log-probs; the rest does not scale."""

    generation: float
    compute: float


PRIOR_SHARES = Shares(0.5, 0.4)


def step_ratio(case: StepCase, shares: Shares, fixed: float = 0.0) -> float:
    """Step time on b over a: phases that scale each with their own peak, plus what does not scale.

    Generation: half a serial tail and constants that neither chips nor GPUs shrink, half follows bandwidth x
    GPUs. Training and log-probs follow FLOP/s x GPUs. `fixed`: further share of the step that stays as it is.
    """
    generation = HALF + HALF / (case.bandwidth * case.gpus)
    compute = 1 / (case.flops * case.gpus)
    rest = 1 - shares.generation - shares.compute
    scaled = shares.generation * generation + shares.compute * compute + rest
    return fixed + (1 - fixed) * scaled


def fixed_share(ratios: Floats, scaled: Floats, groups: Sequence[str]) -> float:
    """Share of the step that did not scale in measured pairs, shrunk to 0 by n / (n + 1) over n models.

    Per model the median of (ratio - scaled) / (1 - scaled), inside 0..1. 0 without pairs.
    """
    names = np.array(groups)
    found = [_fixed(ratios[names == name], scaled[names == name]) for name in sorted(set(groups))]
    known = [value for value in found if np.isfinite(value)]
    return float(np.sum(known) / (len(known) + 1)) if known else 0.0


def _fixed(ratios: Floats, scaled: Floats) -> float:
    moves = np.abs(1 - scaled) > 0.02
    if not moves.any():
        return float("nan")
    return float(np.median(np.clip((ratios[moves] - scaled[moves]) / (1 - scaled[moves]), 0.0, 1.0)))
