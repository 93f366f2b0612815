"""How sure a projected step is: noise floor, bands, few steps, lengths and engines that nobody described."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from analysis.pairfactors import pair_factor
from data.catalogue import load_catalogue
from data.shapes import machine_of
from models.calibration import calibrate
from models.projection import FLOOR_FRAC, FLOOR_SIGMA, PHASES, Band, project
from models.step_time import MODES
from models.workload import Pool
from tests.models.llms import DENSE, ROUND, TWICE
from tests.models.measured_runs import measured, middle, over_steps, point, projected, target, workload

JITTER = np.array([0.9, 1.0, 1.05, 1.1, 0.95])
TENTHS = Band(1.0, math.exp(-0.5), math.exp(0.5))
TWIN = replace(ROUND, platform_id="twin")


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_surer_than_the_noise_floor(mode):
    run = workload(mode=mode)
    found = projected(run, target(TWIN), target(TWICE, decode=TENTHS), draws=20_000).breakdown()
    names = [name for name in (*PHASES[:-1], "step_s", "whole_step_s") if found[name][1, 0] > 0]
    assert {"rollout_work", "train", "logprob", "env", "step_s"} <= set(names)
    for name in names:
        low, usual, high = found[name][:, 0]
        assert low / usual == pytest.approx(1 - FLOOR_FRAC, abs=0.01), name
        assert high / usual == pytest.approx(1 / (1 - FLOOR_FRAC), abs=0.015), name
    widths = np.log(found["step_s"][2] / found["step_s"][0])
    assert (widths >= 0.97 * 2 * math.log(1 / 0.85)).all()  # sampling error of two percentiles


def test_a_wider_band_is_a_wider_step():
    run = workload()
    wide = Band(1.0, math.exp(-0.8), math.exp(0.8))
    found = projected(run, *(target(TWICE, decode=b, training=b) for b in (TENTHS, wide)), draws=20_000)
    low, _, high = np.log(found.breakdown()["step_s"])
    assert high[1] - low[1] > 1.3 * (high[0] - low[0])


def test_sides_of_a_band_have_their_own_spread():
    lopsided = Band(1.0, math.exp(-1.0), math.exp(0.3))
    run = workload()
    found = projected(run, target(TWICE, training=lopsided), draws=50_000)
    low, usual, high = found.breakdown()["train"][:, 0] / middle(found, "train")
    assert np.log(high) == pytest.approx(1.0, rel=0.08) and np.log(low) < -0.3
    assert usual == pytest.approx(1, rel=1e-3)


def test_a_platform_without_pairs_carries_the_wider_band_of_left_out_ones():
    catalogue = load_catalogue()

    def carried(name):
        found = {phase: pair_factor(catalogue, phase, "h100-sxm", name) for phase in ("decode", "training")}
        bands = {
            phase: Band(1.0, one.low / one.factor, one.high / one.factor) for phase, one in found.items()
        }
        pools = target(machine_of(catalogue, name), prefill=bands["training"], **bands)
        return {one.basis for one in found.values()}, pools

    h100 = machine_of(catalogue, "h100-sxm")
    run = workload(engines=Pool(h100, 64, "fp8"), trainer=Pool(h100, 64, "bf16"))
    seen_basis, seen = carried("b200-hgx")
    unseen_basis, unseen = carried("vera-rubin-nvl72")
    assert seen_basis == {"published pairs"} and unseen_basis == {"left-out platforms"}
    found = projected(run, seen, unseen, draws=50_000).breakdown()
    for name in ("rollout_work", "rollout_tail", "prefill", "train", "step_s"):
        low, _, high = np.log(found[name])
        assert high[1] - low[1] > 1.02 * (high[0] - low[0]), name


def test_percentiles_of_one_log_normal():
    """Training and scoring share the chip, so quantiles of their sum are sums of quantiles."""
    wide = math.hypot(0.6, math.log(1 / (1 - FLOOR_FRAC)))
    run = workload()
    band = Band(1.0, math.exp(-0.6), math.exp(0.6))
    seen = measured(run)
    seen = replace(seen, sync_s=None, env_s=None, other_s=None, step_s=None)
    found = projected(run, target(TWIN, training=band, prefill=band), seen=seen, draws=200_000)
    both = found.phases["train"][:, 0] + found.phases["logprob"][:, 0]
    want = (seen.mean("train_s") + seen.mean("logprob_s")) * np.exp([-wide, 0, wide])
    assert np.percentile(both, [10, 50, 90]) == pytest.approx(want, rel=0.01)


def test_percentiles_of_a_sum_of_independent_log_normals():
    """P(N (X + Y) <= t) by integration over two normals, the third in closed form."""
    run = workload()
    decode, training = Band(1.0, math.exp(-0.7), math.exp(0.7)), Band(1.0, math.exp(-0.5), math.exp(0.5))
    seen = replace(
        measured(run), logprob_s=None, sync_s=None, env_s=None, other_s=None, step_s=None,
        train_s=np.array([70.0]),
    )  # fmt: skip
    found = projected(run, target(TWIN, decode=decode, training=training, prefill=decode), seen=seen,
                      draws=200_000)  # fmt: skip
    split = calibrate(run, seen).split
    x_s, y_s = split.work_s + split.tail_s, 70.0
    z = np.linspace(-6, 6, 801)
    weight = norm.pdf(z) * (z[1] - z[0])
    sigma = {"x": 0.7 / 1.28155, "y": 0.5 / 1.28155}
    total = x_s * np.exp(sigma["x"] * z)[:, None] + y_s * np.exp(sigma["y"] * z)[None, :]
    for share, drawn in zip((0.1, 0.5, 0.9), np.percentile(found.step_s[:, 0], [10, 50, 90]), strict=True):
        below = norm.cdf(np.log((drawn - split.prefill_s) / total) / FLOOR_SIGMA)
        assert float(weight @ below @ weight) == pytest.approx(share, abs=0.005)
    mean = math.exp(FLOOR_SIGMA**2 / 2) * (
        x_s * math.exp(sigma["x"] ** 2 / 2) + y_s * math.exp(sigma["y"] ** 2 / 2)
    )
    assert found.step_s.mean() == pytest.approx(mean, rel=0.01)


def test_few_steps_widen_the_step():
    run = workload()
    spread = np.exp(np.linspace(-1, 1, 4))
    calm = projected(run, target(TWIN), seen=over_steps(measured(run), np.ones(4)), draws=20_000)
    rough = projected(run, target(TWIN), seen=over_steps(measured(run), spread), draws=20_000)
    widths = [
        np.log(one.breakdown()["train"][2, 0] / one.breakdown()["train"][0, 0]) for one in (calm, rough)
    ]
    sigma = math.hypot(FLOOR_SIGMA, spread.std(ddof=1) / spread.mean() / 2)
    assert widths[1] == pytest.approx(2 * 1.2816 * sigma, rel=0.03) and widths[1] > 1.5 * widths[0]


def test_a_lopsided_band_keeps_the_central_value():
    run = workload()
    bands = (Band(0.943, 0.850, 1.210), Band(1.0, 0.7, 1.02))
    found = projected(run, *(target(TWICE, training=band, step=band) for band in bands), draws=20_000)
    for at in (0, 1):
        got = found.breakdown()["train"][1, at], found.breakdown()["whole_step_s"][1, at]
        want = middle(found, "train", at), found.whole_step_ratio[at] * measured(run).mean("step_s")
        assert got == pytest.approx(want, rel=0.002)


def test_a_tail_nobody_measured_is_drawn_over_its_range():
    run = workload(lengths=point(3000.0), tail_known=False)
    seen = replace(measured(workload()), step_s=None)
    found = projected(run, target(TWIN), seen=seen, draws=20_000)
    work, tail = (
        found.phases[name][:, 0] / found.software[:, 0] for name in ("rollout_work", "rollout_tail")
    )
    more = (projected(one, target(TWIN, gpus=512), seen=seen, draws=20_000) for one in (run, workload()))
    widths = [np.ptp(np.log(one.breakdown()["step_s"][:, 0])) for one in more]
    decode_s = calibrate(run, seen).split
    share = tail / (decode_s.work_s + decode_s.tail_s)
    assert share.min() == pytest.approx(0.2, abs=0.01) and share.max() == pytest.approx(0.8, abs=0.01)
    assert np.corrcoef(work, tail)[0, 1] == pytest.approx(-1) and widths[0] > widths[1]


def test_drivers_add_up_and_name_the_phase_that_is_unsure():
    run = workload()
    seen = measured(run, train_s=200.0, rollout_s=60.0)
    found = projected(run, target(ROUND), target(TWICE, training=TENTHS), seen=seen, draws=20_000)
    drivers = found.drivers()
    shares = np.array([variance for variance, _ in drivers.values()])
    seconds = np.array([part for _, part in drivers.values()])
    assert shares[:, 1].sum() == pytest.approx(1, abs=1e-6) and seconds.sum(axis=0) == pytest.approx(1)
    assert np.isnan(shares[:, 0]).all()
    assert max(drivers, key=lambda phase: drivers[phase][0][1]) == "train"
    floor = np.log(found.software[:, 1]).var()
    assert drivers["software"][0][1] == pytest.approx(floor / np.log(found.step_s[:, 1]).var(), rel=0.05)


def test_draws_are_those_of_the_seed():
    run = workload()
    first, again, other = (projected(run, target(TWICE), draws=100, seed=seed).step_s for seed in (1, 1, 2))
    assert (first == again).all() and (first != other).any()
    with pytest.raises(ValueError, match="target"):
        projected(run)
    with pytest.raises(ValueError, match="draws"):
        projected(run, target(TWICE), draws=10)


def test_another_precision_is_less_sure_than_the_same_and_comes_back():
    """Twice the peak on paper: 2^0.5 with p10 and p90 at 2^0.2 and 2^0.8, next to the band of the chip."""
    run = workload()
    found = projected(run, target(ROUND, precisions=("fp8", "fp8")), draws=50_000)
    low, usual, high = np.log(found.breakdown()["train"][:, 0])
    assert middle(found, "train") == pytest.approx(measured(run).mean("train_s") / 2**0.5)
    both = 2 * norm.ppf(0.9) * math.hypot(FLOOR_SIGMA, 0.3 * math.log(2) / norm.ppf(0.9))
    assert high - low == pytest.approx(both, rel=0.02) and usual == pytest.approx((low + high) / 2, abs=0.01)
    eighth = replace(run, trainer=Pool(ROUND, 64, "fp8"))
    back = projected(eighth, target(ROUND), seen=measured(run)).moves[0]
    assert back.seconds["train"] == pytest.approx(measured(run).mean("train_s") * 2**0.5)


def test_an_engine_that_nobody_described_is_drawn_between_the_sizes_it_could_have():
    """Decode seconds at the smallest and largest replica that could give the measured ones: p90 and p10."""
    told = workload(DENSE)
    guessed = replace(told, replica_gpus=None)
    seen = measured(told)
    fit = calibrate(guessed, seen)
    sizes = {at.replica_gpus for _, at in fit.layouts}
    assert sizes and fit.operating.replica_gpus not in sizes
    aim = target(TWICE)
    (move,) = project(guessed, seen, fit, [aim], 100).moves
    here = move.seconds["rollout_work"] + move.seconds["rollout_tail"]
    logs = [0.0]
    for split, at in fit.layouts:
        (one,) = project(guessed, seen, replace(fit, split=split, operating=at), [aim], 100).moves
        logs.append(math.log((one.seconds["rollout_work"] + one.seconds["rollout_tail"]) / here))
    below, above = max(logs) / norm.ppf(0.9), -min(logs) / norm.ppf(0.9)
    assert below + above > 0.01
    grid = project(guessed, seen, replace(fit, layouts=()), [aim], 100).moves[0].sigmas["rollout_work"]
    hand = (math.hypot(grid[0], below), math.hypot(grid[1], above))
    assert move.sigmas["rollout_work"] == pytest.approx(hand)
    assert calibrate(told, seen).layouts == ()
    (twin,) = project(guessed, seen, fit, [target(TWIN)], 100).moves
    plain = project(guessed, seen, replace(fit, layouts=()), [target(TWIN)], 100).moves[0]
    assert twin.sigmas["rollout_work"] == pytest.approx(plain.sigmas["rollout_work"], abs=1e-6)
