"""The telemetry page: a file becomes a card, what is missing is asked for, all of it can be taken back."""

import json
from collections.abc import Callable

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from data.queries import uploads as queries
from data.run_details import current_details, missing_for_cost
from data.store import Store
from pages.parts import run_form
from pages.parts.upload_actions import Card
from tests.examples import in_turn

App = Callable[..., AppTest]


def verl_log(steps: int = 6) -> bytes:
    """A small log of verl's file logger: 8 GPUs can be inferred from its rates."""
    lines = []
    for step in range(1, steps + 1):
        data = {
            "training/global_step": step,
            "critic/rewards/mean": 0.25 + 0.01 * step,
            "response_length/mean": 500.0,
            "prompt_length/mean": 100.0,
            "timing_s/gen": 30.0,
            "timing_s/old_log_prob": 5.0,
            "timing_s/update_actor": 12.0,
            "timing_s/step": 50.0,
            "perf/total_num_tokens": 76_800,
            "perf/time_per_step": 50.0,
            "perf/throughput": 192.0,
        }
        lines.append(json.dumps({"step": step, "data": data}))
    return ("\n".join(lines) + "\n").encode()


def _text(at: AppTest) -> str:
    parts = [e.value for kind in ("markdown", "caption", "error", "warning", "info") for e in at.get(kind)]
    return "\n".join(str(p).replace("\\", "") for p in parts)


def _upload(app: App, name: str, content: bytes) -> AppTest:
    at = app("telemetry.py")
    at.file_uploader[0].upload(name, content)
    return at.run()


def _only_upload(store: Store) -> str:
    with store.view() as view:
        listing = queries.listing(view)
    assert len(listing) == 1
    return str(listing["upload_id"].iloc[0])


def test_an_empty_home_shows_the_way_in(app: App) -> None:
    at = app("telemetry.py")
    assert not at.exception
    assert len(at.file_uploader) == 1
    assert any(b.label == "Load the example" for b in at.button)
    assert "Nothing has been loaded yet" in _text(at)


def test_a_file_becomes_a_card_whose_books_balance(app: App, store: Store) -> None:
    at = _upload(app, "run-a.jsonl", verl_log())
    assert not at.exception
    text = _text(at)
    assert "run-a.jsonl" in text
    assert "verl file logger" in text
    assert "**6 records** = 6 stored + 0 set aside + 0 ignored" in text
    assert "steps 1 to 6 (6)" in text
    assert at.multiselect(key="runs").options == ["run-a"]
    at.run()
    with store.view() as view:
        assert len(queries.listing(view)) == 1


def test_what_is_missing_for_dollars_is_asked_with_a_proposal_and_its_reason(app: App, store: Store) -> None:
    at = _upload(app, "run-a.jsonl", verl_log())
    text = _text(at)
    assert "Still needed for dollars: run-a" in text
    assert "how many GPUs" in text
    assert "**GPUs: 8" in text
    assert "tokens/s/GPU" in text
    pools = next(e for e in at.data_editor if e.key.startswith("pools_"))
    assert pools.value["gpus"].tolist() == [8.0]


def _pools(at: AppTest) -> pd.DataFrame:
    return next(e for e in at.data_editor if e.key.startswith("pools_")).value


def test_what_the_scheduler_gave_is_proposed_with_a_badge_and_not_taken(app: App, store: Store) -> None:
    at = _upload(app, "run-a.jsonl", verl_log())
    jobs = "JobID|JobName|State|Start|End|AllocTRES|NNodes\n"
    jobs += "9|run-a|COMPLETED|2026-03-02T00:00:00|2026-03-02T10:00:00|gres/gpu:h100=16|2\n"
    at.file_uploader[0].upload("jobs.txt", jobs.encode())
    text = _text(at.run())
    assert "**GPUs: 16** :blue-badge[from the scheduler] job 9 held 16 GPUs (h100) on 2 nodes" in text
    assert "**platform: H100 SXM** :blue-badge[from the scheduler]" in text
    assert "the log says 8" in text
    assert _pools(at)[["platform", "gpus"]].values.tolist() == [["h100-sxm", 16.0]]
    with store.view() as view:
        assert view.rows("select count(*) from allocations") == [(0,)]


def test_a_count_that_is_not_whole_is_told_and_not_filled_in(app: App) -> None:
    log = verl_log().replace(b'"perf/throughput": 192.0', b'"perf/throughput": 202.461')
    at = _upload(app, "run-a.jsonl", log)
    assert "**GPUs: 7.59, not a whole number, so type what was held**" in _text(at)
    assert _pools(at)["gpus"].isna().all()


def test_a_price_list_is_sent_to_the_price_book(app: App, store: Store) -> None:
    at = _upload(app, "vms.csv", b"InstanceType,AcceleratorName,AcceleratorCount,Price\nx8,H200,8,24.0\n")
    assert not at.exception
    assert "cli.py prices import FILE" in _text(at)
    assert "prices" in [one.proto.page for one in at.get("page_link")]
    assert not any(b.label == "Map its columns" for b in at.button)
    with store.view() as view:
        assert queries.listing(view).empty


def test_saved_details_complete_the_run(app: App, store: Store) -> None:
    at = _upload(app, "run-a.jsonl", verl_log())
    pools = next(e for e in at.data_editor if e.key.startswith("pools_"))
    at.session_state[pools.key] = {
        "edited_rows": {0: {"platform": "h100-sxm"}},
        "added_rows": [],
        "deleted_rows": [],
    }
    next(s for s in at.selectbox if s.label == "Model").select("qwen2.5-7b")
    next(b for b in at.button if b.label == "Save run details").click().run()
    assert not at.exception
    details = current_details(store, "run-a")
    assert details.llm == "qwen2.5-7b"
    assert [(p.gpus, p.platform) for p in details.pools] == [(8.0, "h100-sxm")]
    assert missing_for_cost(store, "run-a") == []
    assert "Still needed for dollars" not in _text(at)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    in_turn(
        [
            ("empty.csv", b"", "empty"),
            ("noise.bin", bytes(range(256)) * 40, "noise.bin"),
            ("header.csv", b"timestamp, utilization.gpu [%], power.draw [W]\n", "header.csv"),
            ("letter.txt", b"Dear all,\nplease find attached nothing.\n", "letter.txt"),
            ("http.jsonl", b'{"path":"/a","status":200,"latency_ms":3}\n' * 5, "http.jsonl"),
        ],
        of=2,
    ),
)
def test_bad_input_gets_an_answer_with_the_file_and_a_remedy(
    app: App, store: Store, name: str, content: bytes, words: str
) -> None:
    at = _upload(app, name, content)
    assert not at.exception
    text = _text(at)
    assert "not loaded" in text or "which format?" in text
    assert words in text
    assert "Nothing of this file was stored." in text
    with store.view() as view:
        assert queries.listing(view).empty
        assert view.rows("select count(*) from runs") == [(0,)]


def test_the_same_bytes_twice_are_recognised(app: App, store: Store) -> None:
    at = _upload(app, "run-a.jsonl", verl_log())
    at.file_uploader[0].upload("copy.jsonl", verl_log())
    at.run()
    assert not at.exception
    assert "nothing was written" in _text(at)
    _only_upload(store)


def test_undo_and_bring_back(app: App, store: Store) -> None:
    at = _upload(app, "run-a.jsonl", verl_log())
    upload_id = _only_upload(store)
    next(b for b in at.button if b.label == "Undo this upload").click().run()
    assert not at.exception
    with store.view() as view:
        assert queries.listing(view).empty
    assert at.multiselect(key="runs").options == []
    next(b for b in at.button if b.label == "Bring it back").click().run()
    assert not at.exception
    assert _only_upload(store) == upload_id
    assert at.multiselect(key="runs").options == ["run-a"]


def test_reading_again_with_another_run_name(app: App, store: Store) -> None:
    at = _upload(app, "run-a.jsonl", verl_log())
    next(t for t in at.text_input if t.label == "Run" and t.key != "say_run").set_value("renamed")
    next(b for b in at.button if b.label == "Read again").click().run()
    assert not at.exception
    assert at.multiselect(key="runs").options == ["renamed"]


@pytest.mark.full
def test_reading_again_from_the_list_of_uploads(app: App, store: Store) -> None:
    at = _upload(app, "run-a.jsonl", verl_log())
    at.selectbox(key="open_upload").set_value(_only_upload(store)).run()
    assert not at.exception
    for name in ("renamed", "renamed-again"):
        at.text_input(key=f"run_open_{_only_upload(store)}").set_value(name)
        form = f"choices_form_open_{_only_upload(store)}"
        next(b for b in at.button if b.label == "Read again" and b.form_id == form).click().run()
        assert not at.exception
        assert at.multiselect(key="runs").options == [name]
        assert sum(b.label == "Undo this upload" for b in at.button) == 2


@pytest.mark.full
def test_two_files_of_one_priced_run_have_a_card_each(app: App, loaded: Store) -> None:
    at = app("telemetry.py")
    with loaded.view() as view:
        ids = [str(i) for i in queries.listing(view)["upload_id"]]
    at.session_state["upload_cards"] = [Card(f"card{i}", "file", upload_id=u) for i, u in enumerate(ids)]
    at.run()
    assert not at.exception
    told = [b.key.split("_", 3)[-1] for b in at.button if b.label == "Overview of this run"]
    assert told
    assert len(told) == len(set(told))


def test_what_a_run_of_several_files_needs_is_asked_once(app: App, store: Store) -> None:
    at = app("telemetry.py")
    at.text_input(key="say_run").set_value("said").run()
    for name, steps in (("first.jsonl", 6), ("longer.jsonl", 8)):
        at.file_uploader[0].upload(name, verl_log(steps))
        at.run()
    text = _text(at)
    assert "first.jsonl" in text and "longer.jsonl" in text
    assert text.count("Still needed for dollars: said") == 1
    assert "2 of the files just loaded are of this run: first.jsonl, longer.jsonl" in text


def test_a_refused_rereading_leaves_the_old_one(app: App, store: Store) -> None:
    at = _upload(app, "run-a.jsonl", verl_log())
    before = _only_upload(store)
    form = next(s for s in at.selectbox if (s.key or "").startswith("format_"))
    form.select("wandb_chart_export")
    next(b for b in at.button if b.label == "Read again").click().run()
    assert not at.exception
    assert at.error
    assert _only_upload(store) == before
    assert at.multiselect(key="runs").options == ["run-a"]


def test_what_is_said_beforehand_names_the_run(app: App, store: Store) -> None:
    at = app("telemetry.py")
    at.text_input(key="say_run").set_value("said").run()
    at.file_uploader[0].upload("x.jsonl", verl_log())
    at.run()
    assert at.multiselect(key="runs").options == ["said"]


def test_run_details_table_can_be_edited_for_all_runs(app: App, store: Store) -> None:
    at = _upload(app, "run-a.jsonl", verl_log())
    at.session_state["telemetry_tab"] = "Run details"
    at.run()
    assert not at.exception
    at.session_state["details_table"] = {
        "edited_rows": {0: {"llm": "qwen2.5-7b", "note": "*mine*"}},
        "added_rows": [],
        "deleted_rows": [],
    }
    at.button(key="save_details_table").click().run()
    assert not at.exception
    details = current_details(store, "run-a")
    assert (details.llm, details.note) == ("qwen2.5-7b", "*mine*")


def test_templates_can_be_downloaded_and_are_explained(app: App) -> None:
    at = app("telemetry.py")
    at.session_state["telemetry_tab"] = "Templates"
    at.run()
    assert not at.exception
    assert len(at.get("download_button")) >= 7


def test_blank_rows_of_the_pool_editor_are_left_out() -> None:
    frame = pd.DataFrame(
        [
            {"pool": "all", "role": "colocated", "platform": "h100-sxm", "gpus": 8.0, "cores": None},
            {"pool": "all", "role": "colocated", "platform": None, "gpus": float("nan"), "cores": None},
        ]
    )
    pools = run_form.pools_of(frame)
    assert [(p.platform, p.gpus, p.cores) for p in pools] == [("h100-sxm", 8.0, None)]


def test_run_details_show_names_and_keep_ids(app: App, store: Store) -> None:
    at = _upload(app, "run.log", verl_log())
    boxes = {s.label: s for s in at.selectbox}
    models = boxes["Model"].options
    assert "Qwen2.5 7B (qwen2.5-7b)" in models and "qwen2.5-7b" not in models
    assert "H100 SXM" in boxes["Platform"].options
    assert {"GRPO", "distillation"} <= set(boxes["Algorithm"].options)
    assert "one step off" in boxes["Mode"].options
