"""What a longer response does to the phases of a step: factors on seconds, 1 at today's length."""

from dataclasses import replace

from models.decode import DecodeFactors, DecodeLoad, capacity, decode_step
from models.machine import Rates
from models.operating import Operating, engine_load
from models.shapes import Num
from models.workload import Pool, Workload


def longer_decode(workload: Workload, pool: Pool, at: Operating, times: float) -> tuple[float, float]:
    """Factors on seconds of rollout work and tail when every response is `times` as long.

    Tokens grow by `times`; a token costs more as well, since each sequence holds a longer cache: work at the
    batch that then still fits in memory, tail with one sequence a replica. Prompts stay. Steps by
    `models.decode` with usual factors: only their ratio counts. Raises ValueError for `times` not above 0.
    """
    if not times > 0:
        raise ValueError(f"a length is a positive multiple of today's: {times}")
    if times == 1:
        return 1.0, 1.0
    rates = Rates.of(pool.machine, pool.precision)
    now = engine_load(workload, pool, at)
    context = workload.prompt_tokens + (float(now.context) - workload.prompt_tokens) * times
    then = replace(now, context=context)
    fits = float(capacity(workload.llm, replace(then, batch=1.0), rates).batch)
    then = replace(then, batch=min(at.batch, max(fits, 1.0)))
    work = _token_s(workload, then, rates) / _token_s(workload, now, rates)
    alone = [_token_s(workload, replace(load, batch=1.0), rates) for load in (then, now)]
    return times * work, times * alone[0] / alone[1]


def longer_training(workload: Workload, times: float) -> float:
    """Factor on seconds of training and log-probs: more tokens, each attending over a longer sequence."""
    now, llm = workload.lengths.mean, workload.llm
    before, after = workload.prompt_tokens + now, workload.prompt_tokens + now * times
    flops = llm.flops_per_token_train(after) / llm.flops_per_token_train(before)
    return float(after / before * flops)


def _token_s(workload: Workload, load: DecodeLoad, rates: Rates) -> float:
    """Seconds a token of one sequence takes out of the replica's step."""
    step: Num = decode_step(workload.llm, load, rates, DecodeFactors()).total_s
    return float(step / load.batch)
