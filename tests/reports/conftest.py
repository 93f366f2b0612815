import pytest

from analysis.result import Result
from reports.freeze import FrozenReport
from tests.reports.samples import sample_report, sample_result


@pytest.fixture
def result() -> Result:
    return sample_result()


@pytest.fixture
def report() -> FrozenReport:
    return sample_report()
