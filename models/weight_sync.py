"""Time to bring new weights to the engines at a measured rate, never one derived from the wire. Seconds."""

from dataclasses import dataclass

from models.shapes import Num, at_least, at_most, num, where


@dataclass(frozen=True)
class SyncLoad:
    """One weight update: `params` parameters to `copies` engine replicas.

    `sent_bytes` a weight on the link: that of the trainer, or of the engine when it is converted before.
    `source_copies`: copies that leave the trainer (1 with a broadcast tree between engines).
    """

    params: Num
    sent_bytes: Num
    copies: Num = 1.0
    source_copies: Num = 1.0

    @property
    def payload_bytes(self) -> Num:
        """Bytes of one copy."""
        return num(self.params) * self.sent_bytes


@dataclass(frozen=True)
class WeightSync:
    """Stages of one update in seconds. Pipelined stages run side by side on `chunks` pieces."""

    gather_s: Num
    convert_s: Num
    transfer_s: Num
    load_s: Num
    fixed_s: Num
    chunks: Num = 1.0

    @property
    def stages_s(self) -> Num:
        """Sum of the stages, as if nothing overlapped."""
        return self.gather_s + self.convert_s + self.transfer_s + self.load_s

    @property
    def longest_s(self) -> Num:
        """The slowest stage."""
        return at_least(at_least(self.gather_s, self.convert_s), at_least(self.transfer_s, self.load_s))

    @property
    def total_s(self) -> Num:
        """Slowest stage + the others once for the first chunk + what is fixed; one chunk: the plain sum."""
        return self.longest_s + (self.stages_s - self.longest_s) / self.chunks + self.fixed_s


@dataclass(frozen=True)
class SyncRates:
    """Measured rates in bytes a second over all GPUs, None for a stage that does not exist; fixed seconds."""

    transfer_bytes_per_s: Num
    gather_bytes_per_s: Num | None = None
    convert_bytes_per_s: Num | None = None
    load_bytes_per_s: Num | None = None
    fixed_s: Num = 0.0


def weight_sync(load: SyncLoad, rates: SyncRates, chunks: Num = 1.0) -> WeightSync:
    """Stages of a weight update: bytes of all copies / measured aggregate rate, each, + fixed.

    Gather and conversion handle one copy, transfer and load all of them. Colocated engines have a load and
    no transfer beyond their node: give the rate of that copy as the transfer. `chunks` above 1: pipelined
    buckets. verl moved 61 GB at 3.9 GB/s, with its checkpoint engine at 13.9: calibrate, do not derive.
    """
    one = load.payload_bytes
    return WeightSync(
        gather_s=_stage(one, rates.gather_bytes_per_s),
        convert_s=_stage(one, rates.convert_bytes_per_s),
        transfer_s=one * load.copies / rates.transfer_bytes_per_s,
        load_s=_stage(one * load.copies, rates.load_bytes_per_s),
        fixed_s=num(rates.fixed_s),
        chunks=num(chunks),
    )


def achieved_bytes_per_s(load: SyncLoad, seconds: Num, fixed_s: Num = 0.0) -> Num:
    """Calibrated rate: bytes of all copies / (measured seconds - fixed), NaN when nothing is left for them.

    One trillion parameters sent in FP8 in 1.3 s are 769 GB/s over all links (Perplexity, 256 trainers in BF16
    to 128 engines in FP8; copies not stated).
    """
    moving = num(seconds) - fixed_s
    return where(moving > 0, load.payload_bytes * load.copies / moving, float("nan"))


@dataclass(frozen=True)
class WireBound:
    """Shortest possible transfer in seconds by side; for a plausibility check, not a projection."""

    sending_s: Num
    receiving_s: Num

    @property
    def total_s(self) -> Num:
        """The slower side."""
        return at_least(self.sending_s, self.receiving_s)


def wire_bound(load: SyncLoad, sender_gpus: Num, receiver_gpus: Num, link_bytes_per_s: Num) -> WireBound:
    """Lower bound of a transfer: source copies / (senders x link) and all copies / (receivers x link).

    `link_bytes_per_s` one way a GPU. A measured transfer below it has a wrong payload or copy count.
    """
    one = load.payload_bytes
    return WireBound(
        sending_s=one * load.source_copies / (num(sender_gpus) * link_bytes_per_s),
        receiving_s=one * load.copies / (num(receiver_gpus) * link_bytes_per_s),
    )


def scaled_rate(rate: Num, old_endpoints: Num, new_endpoints: Num, link_ratio: Num = 1.0) -> Num:
    """A measured aggregate rate on other counts of GPUs: in proportion to the scarcer side's endpoints.

    `link_ratio` is an assumption of the caller: 1 keeps the measured rate a GPU, the ratio of published link
    rates is the best case, and at most that.
    """
    return num(rate) * num(new_endpoints) / old_endpoints * at_least(num(link_ratio), 0.0)


def exposed_sync_s(sync_s: Num, hidden_s: Num) -> Num:
    """Part of a weight update that stops generation: what does not fit beside `hidden_s` of other work."""
    return num(sync_s) - at_most(num(sync_s), num(hidden_s))


def _stage(moved: Num, rate: Num | None) -> Num:
    return num(0.0) if rate is None else moved / rate
