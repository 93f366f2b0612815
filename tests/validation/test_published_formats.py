"""What another precision brings on one platform: published rows that differ in nothing else."""

import math
from collections import defaultdict

import numpy as np
import pytest

from data.catalogue import load_catalogue
from data.published import shipped
from data.shapes import machine_of
from models.moved_decode import REACHED_RANGE, format_gain, reached
from models.shapes import precision_class
from models.workload import Pool

BOOK = load_catalogue()


def speeds():
    """(platform, slower, faster precision, speed-up) of the fastest published rows of one training job."""
    jobs = defaultdict(dict)
    for row in shipped(BOOK).training.values():
        if not row.tokens_per_s_per_gpu or not row.precision:
            continue
        key = (row.kind, row.model, row.platform_id, row.n_gpus, row.global_batch, row.seq_len, row.release)
        found = jobs[key]
        name = precision_class(row.precision)
        found[name] = max(found.get(name, 0.0), row.tokens_per_s_per_gpu)
    for key, found in jobs.items():
        for slow, fast in (("bf16", "fp8"), ("fp8", "fp4")):
            if slow in found and fast in found:
                yield key[2], slow, fast, found[fast] / found[slow]


def test_training_rows_lie_around_what_is_reached_and_far_from_paper():
    rows = list(speeds())
    assert len(rows) >= 30
    gaps, inside, paper = [], [], []
    for platform, slow, fast, speed in rows:
        machine = machine_of(BOOK, platform)
        own, pool = Pool(machine, 8, slow), Pool(machine, 8, fast)
        gain, share = math.log(format_gain(own, pool)), reached(own, pool)
        gaps.append(share * gain - math.log(speed))
        paper.append(gain - math.log(speed))
        inside.append((share - REACHED_RANGE) * gain <= math.log(speed) <= (share + REACHED_RANGE) * gain)
    assert np.mean(inside) >= 0.8
    assert abs(np.median(gaps)) < 0.15 and np.median(paper) > 0.5


@pytest.mark.parametrize(("slow", "fast"), [("bf16", "fp8"), ("fp8", "fp4"), ("bf16", "fp4")])
def test_there_and_back_is_nothing(slow, fast):
    machine = machine_of(BOOK, "gb200-nvl72")
    own, pool = Pool(machine, 8, slow), Pool(machine, 8, fast)
    assert format_gain(own, pool) * format_gain(pool, own) == pytest.approx(1)
    assert reached(own, pool) == reached(pool, own) and reached(own, own) == 1
