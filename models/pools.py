"""Prefill and decode on pools of their own: matched rates, and the cache that travels between them."""

from dataclasses import dataclass

import numpy as np

from models.shapes import Llm, Num, at_least, at_most, num


@dataclass(frozen=True)
class PoolRates:
    """Requests a second that both pools can take, and the seconds a cache travels."""

    prefill_per_s: Num
    decode_per_s: Num
    transfer_s: Num

    @property
    def requests_per_s(self) -> Num:
        """Rate of the slower pool."""
        return at_most(self.prefill_per_s, self.decode_per_s)

    @property
    def slack_frac(self) -> Num:
        """Share 0..1 of the faster pool that waits for the other one."""
        return 1 - self.requests_per_s / at_least(self.prefill_per_s, self.decode_per_s)


@dataclass(frozen=True)
class RequestCost:
    """GPU-seconds of one request in each pool, and the bytes of cache that move between them."""

    prefill_gpu_s: Num
    decode_gpu_s: Num
    cache_bytes: Num = 0.0


def request_cost(
    llm: Llm,
    prefill_s: Num,
    prefill_gpus: Num,
    step_s: Num,
    decode_gpus: Num,
    *,
    batch: Num,
    prompt_tokens: Num,
    output_tokens: Num,
    kv_bytes: Num,
) -> RequestCost:
    """Cost of a request: prefill seconds x GPUs; output x step x GPUs / batch; cache of the prompt.

    The decode step must come from a load without prefill tokens: pools do not disturb each other.
    """
    return RequestCost(
        prefill_gpu_s=num(prefill_s) * prefill_gpus,
        decode_gpu_s=num(output_tokens) * step_s * decode_gpus / batch,
        cache_bytes=llm.kv_bytes(prompt_tokens, kv_bytes),
    )


def pool_rates(
    cost: RequestCost, prefill_gpus: Num, decode_gpus: Num, link_bytes_per_s: Num = np.inf
) -> PoolRates:
    """Requests a second: GPUs / GPU-seconds of a request, for each pool; the slower one sets the rate.

    DistServe (OSDI 2024, arXiv 2401.09670). `link_bytes_per_s` carries one request's cache.
    """
    return PoolRates(
        prefill_per_s=num(prefill_gpus) / cost.prefill_gpu_s,
        decode_per_s=num(decode_gpus) / cost.decode_gpu_s,
        transfer_s=cost.cache_bytes / num(link_bytes_per_s),
    )


def matched_prefill_frac(cost: RequestCost) -> Num:
    """Share of GPUs for prefill at which both pools are busy: prefill / (prefill + decode) GPU-seconds."""
    return num(cost.prefill_gpu_s) / (cost.prefill_gpu_s + num(cost.decode_gpu_s))


def whole_pools(cost: RequestCost, total_gpus: int, prefill_unit: int, decode_unit: int) -> tuple[int, int]:
    """GPUs for prefill and decode in whole replicas with the highest rate; ties keep fewer prefill GPUs.

    Raises ValueError when a replica of each does not fit.
    """
    if total_gpus < prefill_unit + decode_unit or min(prefill_unit, decode_unit) < 1:
        raise ValueError(f"{total_gpus} GPUs hold no replica of {prefill_unit} and one of {decode_unit}")
    prefill = np.arange(prefill_unit, total_gpus - decode_unit + 1, prefill_unit, dtype=np.float64)
    decode = (total_gpus - prefill) // decode_unit * decode_unit
    rate = np.asarray(pool_rates(cost, prefill, decode).requests_per_s)
    at = int(rate.argmax())
    return int(prefill[at]), int(decode[at])
