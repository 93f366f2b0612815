"""Every format of exporters, panels and cluster traces goes to its own reader, and to no other."""

import json
from pathlib import Path

import pytest

from data.readers import choose, sniff_all
from data.readers.base import Choices
from tests.data.verl_files import spooled

UTIL = "DCGM_FI_DEV_GPU_UTIL"
T0 = 1767225600
POINT = {"metric": {"__name__": UTIL, "gpu": "0"}, "values": [[T0, "1"]]}
FILES = {
    "prometheus_text": f'{UTIL}{{gpu="0",Hostname="a"}} 97\n{UTIL}{{gpu="1",Hostname="a"}} 3\n',
    "prometheus_query_range": json.dumps({"data": {"resultType": "matrix", "result": [POINT]}}),
    "victoriametrics_jsonl": json.dumps(
        {"metric": {"__name__": UTIL, "gpu": "0"}, "values": [1, 2], "timestamps": [T0 * 1000, T0 * 1000 + 1]}
    ),
    "grafana_joined_csv": f'"Time","{UTIL}{{gpu=""0""}}","b"\n{T0}000,1,2\n',
    "grafana_single_csv": f'"Time","{UTIL}"\n{T0}000,1\n',
    "grafana_series_csv": f"Series;Time;Value\n{UTIL} GPU 0;2026-01-01T00:00:00Z;1\n",
    "wide_metric_by_node": "Time,10.0.0.1-0,10.0.0.1-1\n2026-01-01 08:00:00+08:00,1,2\n",
    "wide_gpu_util_by_machine": "time,machineId,gpu0_util,gpu1_util,\n2017-10-03 01:00:00 PDT,m1,20,NA,\n",
    "long_metric_by_container": "value,timestamp_anon,container_ip\n0.0,1662858720.0,aa\n",
    "gpu_node_inventory": "gpu_model,gpu_capacity_num,cpu_num,node_name\nH800,8,192,0\n",
    "pod_request_table": (
        "name,num_gpu,gpu_milli,pod_phase,creation_time,deletion_time,scheduled_time\np,1,500,Running,0,9,1\n"
    ),
    "cluster_summary": "id,job_num,complete_gpu_time,cancel_gpu_time,fail_gpu_time\nA,3,3600,3600,0\n",
}


@pytest.mark.parametrize("name", FILES)
def test_each_file_goes_to_its_reader(name: str, tmp_path: Path) -> None:
    source = spooled(FILES[name].rstrip("\n") + "\n", tmp_path, "upload.txt")
    assert choose(source, Choices()).format == name
    assert all(sniff.confidence <= 0.5 for _, sniff in sniff_all(source)[1:])
