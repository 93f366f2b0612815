"""CR2 variance of a weighted mean over clusters and its Satterthwaite degrees of freedom, in closed form."""

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def cr2_se(parts: Floats, weights: Floats) -> float:
    """CR2 standard error of sum_g parts_g, parts_g = w_g m_g, shape (clusters,).

    sqrt(sum_g r_g^2 / (1 - w_g)), r_g = parts_g - w_g sum(parts): Bell and McCaffrey 2002 (Survey Methodology
    28:169) for a mean, working model of independent tasks. With equal clusters it is s / sqrt(G).
    """
    return math.sqrt(cr2_covariance(parts, parts, weights))


def cr2_covariance(one: Floats, two: Floats, weights: Floats) -> float:
    """CR2 covariance of two weighted means over the same clusters; see `cr2_se`."""
    first, second = one - weights * one.sum(), two - weights * two.sum()
    return float((first * second / (1 - weights)).sum())


def satterthwaite_df(weights: Floats, inflation: Floats | None = None) -> float:
    """Degrees of freedom of the CR2 variance of a mean, weights of shape (clusters,) that add up to 1.

    tr(B)^2 / tr(B^2) of Bell and McCaffrey 2002. Independent tasks: 1 / (sum w^2 + (sum u)^2 - sum u^2), u =
    w^2 / (1 - w); G equal clusters give G - 1. `inflation`, (clusters,): 1 + (n_g - 1) r with r the
    correlation within clusters, by which few large ones count for less (Imbens and Kolesar 2016, REStat
    98:701).
    """
    spread = weights**2 / (1 - weights)
    if inflation is None or (inflation == inflation[0]).all():
        return float(1 / ((weights**2).sum() + spread.sum() ** 2 - (spread**2).sum()))
    each = weights * inflation
    both = np.outer(each, weights)
    b = np.diag(each) - both - both.T + each.sum() * np.outer(weights, weights)
    b /= np.sqrt(np.outer(1 - weights, 1 - weights))
    return float(np.trace(b) ** 2 / (b * b).sum())


def intraclass(values: Floats, index: npt.NDArray[np.intp]) -> float:
    """Correlation of tasks of one cluster by analysis of variance, within 0..1 (Imbens and Kolesar 2016)."""
    sizes: Floats = np.bincount(index).astype(np.float64)
    groups, count = len(sizes), sizes.sum()
    if groups == count:
        return 0.0
    means = np.bincount(index, values) / sizes
    between = (sizes * (means - values.mean()) ** 2).sum() / (groups - 1)
    within = ((values - means[index]) ** 2).sum() / (count - groups)
    shared = max(0.0, (between - within) * (groups - 1) / (count - (sizes**2).sum() / count))
    return float(shared / (shared + within)) if shared > 0 else 0.0
