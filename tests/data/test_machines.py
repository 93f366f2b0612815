"""GPUs of machine types, GPU models in words, and GPU-seconds of the quantities that bills write."""

import pytest

from data.catalogue import load_catalogue
from data.money.machines import _rows, gpu_model, gpu_seconds, machine


def test_every_machine_names_a_platform_of_the_catalogue() -> None:
    book = load_catalogue()
    for _, row in _rows():
        assert not row["platform_id"] or book.platform(row["platform_id"]) is not None, row


def test_the_number_of_gpus_stands_in_the_name_of_some() -> None:
    for name, gpus, gpu in (
        ("p5.48xlarge", 8, "h100"), ("a3-highgpu-2g", 2, "h100"), ("BM.GPU.H100.8", 8, "h100"),
        ("Standard_ND96isr_H200_v5", 8, "h200"), ("p6e-gb200.36xlarge", 4, "gb200"),
    ):  # fmt: skip
        found = machine(name)
        assert found is not None
        assert (found.gpus, found.gpu) == (gpus, gpu)
    assert machine("m7i.large") is None


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("NVIDIA H100 80GB HBM3", "h100"), ("gb300-nvl72", "gb300"), ("8xH100", "h100"),
        ("A100-SXM4", "a100"),
        ("Nvidia H200 141GB GPU running in Iowa", "h200"), ("mi300x", "mi300x"), ("p5en.48xlarge", "h200"),
        ("n2-standard-8", None), ("gpu_1x_h100_pcie", "h100"),
    ],
)  # fmt: skip
def test_gpu_models_in_words(text: str, model: str | None) -> None:
    assert gpu_model(text) == model


@pytest.mark.parametrize(
    ("quantity", "unit", "instance", "gpus", "words", "seconds"),
    [
        (2.0, "GPU-h", None, None, None, 7200.0),
        (2.0, "GPU-Hours", "p5.48xlarge", None, None, 7200.0),
        (2.0, "Hours", "p5.48xlarge", None, None, 57600.0),
        (1.0, "1 Hour", "Standard_ND96isr_H100_v5", None, None, 28800.0),
        (1.0, "Hours", "p5.48xlarge", 4.0, None, 14400.0),
        (1.0, "Instance-Hours", "p5.48xlarge", None, None, 28800.0),
        (3600.0, "seconds", None, None, "Nvidia H100 80GB GPU running in Iowa", 3600.0),
        (1.0, "Hours", "unknown.large", None, None, None),
        (1.0, "100 Hours", "p5.48xlarge", None, None, None),
        (1.0, "GB-Hours", "p5.48xlarge", None, None, None),
        (1.0, None, "p5.48xlarge", None, None, None),
        (None, "Hours", "p5.48xlarge", None, None, None),
        (-1.0, "Hours", "p5.48xlarge", None, None, -28800.0),
    ],
)  # fmt: skip
def test_gpu_seconds(quantity, unit, instance, gpus, words, seconds) -> None:
    assert gpu_seconds(quantity, unit, instance, gpus, words) == seconds
