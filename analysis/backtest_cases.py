"""Published pairs as the models see them: what is known of both sides, and why a pair cannot be predicted."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from data.catalogue import Catalogue
from data.errors import UserError
from data.published import DecodePoint, Pair, Tables, TrainingPoint, resolve
from data.shapes import llm_of, machine_of
from models.machine import Machine
from models.shapes import Llm, precision_class
from models.transfer import Chip, DecodeCase, StepCase, TrainingCase

BYTES_PER_WEIGHT = {"bf16": 2.0, "fp8": 1.0, "fp4": 0.5625}
"""FP4 formats keep one scale for 16 or 32 weights: about 4.5 bits."""
KV_BYTES = {"bf16": 2.0, "fp8": 1.0, "fp4": 1.0}
USUAL = {"gpus": 8.0, "batch": 64.0, "prompt": 1024.0, "output": 1024.0}
"""What is taken where a row does not say it."""
MINUTES_PRECISION = "fp8"
PRINTED = re.compile(r"TP(\d+).*?PP(\d+)")
AGREE = 0.01
BETWEEN = "between vendors"


@dataclass(frozen=True)
class Case:
    """A pair with what the models need; logs of the ratio as it is published.

    `group`: the model, under one name in every table. `why`: reason that nothing is predicted, else empty.
    `body`: what the model of the set is given. `rules`: logs of the naive ratios, NaN where a peak is
    missing. `kin`: class and generations, by which pairs of other models teach decode. `layout_known`:
    the size of a replica is published.
    """

    pair: Pair
    group: str
    measured: float
    why: str
    body: DecodeCase | TrainingCase | StepCase | None
    rules: dict[str, float]
    kin: str
    layout_known: bool

    @property
    def sign(self) -> int:
        """Turns the log of the published ratio into that of a speed."""
        return -1 if self.pair.lower_is_faster else 1

    @property
    def pair_name(self) -> str:
        """Platform a -> platform b."""
        return f"{self.pair.platform_a} -> {self.pair.platform_b}"


def cases_of(catalogue: Catalogue, tables: Sequence[Tables]) -> list[Case]:
    """Cases of the pairs of the first table; their rows are looked up in all of them, in order."""
    return [_case(catalogue, tables, pair) for pair in tables[0].pairs]


def _case(catalogue: Catalogue, tables: Sequence[Tables], pair: Pair) -> Case:
    a, b = resolve(tables, pair)
    machines = [_machine(catalogue, name) for name in (pair.platform_a, pair.platform_b)]
    why, body, rules = _unusable(pair, a, b) or _known_precision(pair, a, b), None, {}
    if not why:
        precisions = _precisions(pair, a, b)
        rules = _rules(pair, machines, precisions, _gpu_ratio(pair, a, b))
        why, body = _body(catalogue, pair, a, b, machines, precisions)
    return Case(
        pair=pair,
        group=group_of(catalogue, pair.model_id, a.model if a is not None else ""),
        measured=math.log(pair.ratio),
        why=why,
        body=body,
        rules=rules,
        kin=_kin(catalogue, pair),
        layout_known=pair.set != "decode" or a is None or bool(a.n_gpus or a.tp),
    )


def _kin(catalogue: Catalogue, pair: Pair) -> str:
    """Pairs that share what a chip gains or loses: all between vendors, else by class and generations."""
    kin = kin_of(catalogue, pair.platform_a, pair.platform_b)
    return kin if kin == BETWEEN else f"{kin} {'moe' if pair.moe else 'dense'}"


def kin_of(catalogue: Catalogue, platform_a: str, platform_b: str) -> str:
    """`generation -> generation`, or that the platforms are of two vendors."""
    platforms = [catalogue.platform(name) for name in (platform_a, platform_b)]
    if len({p.vendor for p in platforms if p}) > 1:
        return BETWEEN
    return " -> ".join([p.generation if p else "?" for p in platforms])


def group_of(catalogue: Catalogue, *names: str) -> str:
    """One name of a model in every table: the catalogue's id, else the printed name without its owner."""
    for name in filter(None, names):
        known = catalogue.llm(name)
        if known is not None:
            return known.model_id
    return next(filter(None, names)).rpartition("/")[2].casefold()


def _unusable(pair: Pair, a: Any, b: Any) -> str:
    if a is None or b is None:
        return "a row of the pair is in no table"
    values = [float(getattr(row, pair.metric, None) or 0) for row in (a, b)]
    if min(values) <= 0:
        return f"{pair.metric} is not published on both sides"
    if abs(values[1] / values[0] / pair.ratio - 1) > AGREE:
        return "the ratio differs from that of its rows"
    return ""


def _machine(catalogue: Catalogue, platform_id: str) -> Machine:
    try:
        return machine_of(catalogue, platform_id)
    except UserError:
        return Machine(platform_id)


def _precisions(pair: Pair, a: Any, b: Any) -> tuple[str, str]:
    """Precision class of both sides; minutes to train are taken at FP8, the submitter's choice is unknown."""
    if pair.metric == "time_to_train_min":
        return MINUTES_PRECISION, MINUTES_PRECISION
    name = "train_precision" if pair.set == "rl_step" else "precision"
    return precision_class(getattr(a, name)), precision_class(getattr(b, name))


def _known_precision(pair: Pair, a: Any, b: Any) -> str:
    """Reason when a precision is none that a peak is published for, else empty."""
    try:
        _precisions(pair, a, b)
    except ValueError as error:
        return str(error)
    return ""


def _gpu_ratio(pair: Pair, a: Any, b: Any) -> float:
    """GPUs of b over those of a: counts for a whole step, whose GPUs differ; else 1."""
    if pair.set != "rl_step" or pair.metric != "step_time_s":
        return 1.0
    return float(b.n_gpus / a.n_gpus) if a.n_gpus and b.n_gpus else math.nan


def _ratio(b: float | None, a: float | None) -> float:
    return math.nan if b is None or a is None or not a > 0 else b / a


def _rules(
    pair: Pair, machines: Sequence[Machine], precisions: tuple[str, str], gpus: float
) -> dict[str, float]:
    """Logs of the naive ratios as README of the published tables defines them."""
    a, b = machines
    flops = _ratio(b.flops_at(precisions[1]), a.flops_at(precisions[0])) * gpus
    bandwidth = _ratio(b.hbm_bytes_per_s, a.hbm_bytes_per_s) * gpus
    times = {"peak_flops": 1 / flops, "bandwidth": 1 / bandwidth}
    if pair.set == "decode":
        times["half_fixed"] = 0.5 + 0.5 / bandwidth
    if pair.set == "rl_step":
        times["phase_mix"] = 0.5 / bandwidth + 0.4 / flops + 0.1
    sign = 1 if pair.lower_is_faster else -1
    return {name: sign * math.log(value) for name, value in times.items()}


def _body(
    catalogue: Catalogue, pair: Pair, a: Any, b: Any, machines: Sequence[Machine], precisions: tuple[str, str]
) -> tuple[str, DecodeCase | TrainingCase | StepCase | None]:
    if pair.set == "decode":
        return _decode(catalogue, pair, a, machines, precisions[0])
    lacks = [m.platform_id for m in machines if not m.flops_at("bf16") > 0]
    if pair.set == "rl_step":
        lacks += [m.platform_id for m in machines if m.hbm_bytes_per_s is None]
    if lacks:
        return f"no published peaks of {' and '.join(sorted(set(lacks)))}", None
    if pair.set == "rl_step":
        return _step(pair, a, b, machines, precisions)
    return "", _training(catalogue, pair, a, machines, precisions[0])


def _decode(
    catalogue: Catalogue, pair: Pair, a: DecodePoint, machines: Sequence[Machine], precision: str
) -> tuple[str, DecodeCase | None]:
    lacks = [m.platform_id for m in machines if m.hbm_bytes_per_s is None]
    if lacks:
        return f"no published bandwidth of {' and '.join(lacks)}", None
    chips = [_chip(machine, precision) for machine in machines]
    llm = _shape(catalogue, pair.model_id, a.model)
    known = all(math.isfinite(chip.flops) and math.isfinite(chip.hbm_bytes) for chip in chips)
    case = DecodeCase(
        llm=llm if known else None,
        a=chips[0],
        b=chips[1],
        gpus=a.n_gpus or a.tp or USUAL["gpus"],
        batch=a.concurrency or USUAL["batch"],
        prompt=a.isl or USUAL["prompt"],
        output=a.osl or USUAL["output"],
        tpot_s=(a.tpot_ms or math.nan) / 1e3,
        bytes_per_weight=BYTES_PER_WEIGHT[precision],
        kv_bytes=KV_BYTES[precision],
        gpus_known=bool(a.n_gpus or a.tp),
    )
    return "", case


def _chip(machine: Machine, precision: str) -> Chip:
    """Peaks; a chip without FP4 (or FP8) units unpacks the weights and multiplies in BF16."""
    rate = machine.flops_at(precision)
    flops = rate if math.isfinite(rate) else machine.flops_at("bf16")
    memory = math.nan if machine.hbm_bytes is None else machine.hbm_bytes
    return Chip(flops, machine.hbm_bytes_per_s or math.nan, memory)


def _shape(catalogue: Catalogue, *names: str) -> Llm | None:
    for name in filter(None, names):
        if catalogue.llm(name) is not None:
            return llm_of(catalogue, name)
    return None


def _training(
    catalogue: Catalogue, pair: Pair, a: TrainingPoint, machines: Sequence[Machine], precision: str
) -> TrainingCase:
    base = math.log(_ratio(machines[1].flops_at("bf16"), machines[0].flops_at("bf16")))
    peaks = math.log(_ratio(machines[1].flops_at(precision), machines[0].flops_at(precision)))
    printed = PRINTED.search(a.parallelism)
    return TrainingCase(
        platform_a=pair.platform_a,
        platform_b=pair.platform_b,
        precision=precision,
        moe=pair.moe,
        base=base,
        format_gain=peaks - base if math.isfinite(peaks) else 0.0,
        cross=pair.set == "training_cross_generation",
        minutes=pair.metric == "time_to_train_min",
        model_parallel=float(int(printed[1]) * int(printed[2])) if printed else None,
        cell="|".join(
            (
                group_of(catalogue, pair.model_id, a.model),
                pair.platform_a,
                pair.platform_b,
                precision,
                pair.metric,
            )
        ),
    )


def _step(
    pair: Pair, a: Any, b: Any, machines: Sequence[Machine], precisions: tuple[str, str]
) -> tuple[str, StepCase | None]:
    flops = _ratio(machines[1].flops_at(precisions[1]), machines[0].flops_at(precisions[0]))
    gpus = _gpu_ratio(pair, a, b)
    if not (math.isfinite(flops) and math.isfinite(gpus)):
        return "the GPU counts or the peaks at its precision are not published", None
    return "", StepCase(_ratio(machines[1].hbm_bytes_per_s, machines[0].hbm_bytes_per_s), flops, gpus)
