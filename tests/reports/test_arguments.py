"""Paths, folders and patterns of the command line."""

from pathlib import Path

from reports.arguments import found_files, telling_names


def lay(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")


def test_patterns_are_expanded_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    lay(tmp_path, "run_10/m.log", "run_2/m.log", "run_2/x.csv", "odd[1].log")
    paths, errors = found_files(
        [f"{tmp_path}/run_*/m.log", f"{tmp_path}/odd[1].log", f"{tmp_path}/run_2/m.log"]
    )
    assert [str(p.relative_to(tmp_path)) for p in paths] == ["run_2/m.log", "run_10/m.log", "odd[1].log"]
    assert errors == []


def test_a_pattern_of_any_depth_does_not_name_a_file_twice(tmp_path: Path) -> None:
    lay(tmp_path, "a/b/m.log", "top.log")
    paths, _ = found_files([f"{tmp_path}/**"])
    assert [p.resolve() for p in paths] == [tmp_path.resolve()]


def test_an_empty_pattern_is_an_error_and_a_missing_file_is_left_to_the_import(tmp_path: Path) -> None:
    paths, errors = found_files([f"{tmp_path}/*.log", f"{tmp_path}/none.csv"])
    assert paths == [tmp_path / "none.csv"]
    assert [error["file"] for error in errors] == [f"{tmp_path}/*.log"]
    assert errors[0]["what"] == "No file matches this pattern"


def test_names_that_several_files_share_get_their_folders(tmp_path: Path) -> None:
    lay(tmp_path, "exp1/logs/m.log", "exp2/logs/m.log", "x/one.csv")
    paths = [tmp_path / "exp1/logs/m.log", tmp_path / "exp2/logs/m.log", tmp_path / "x/one.csv"]
    assert telling_names(paths) == ["exp1/logs/m.log", "exp2/logs/m.log", "one.csv"]
    assert telling_names(paths[:1]) == ["m.log"] and telling_names([]) == []
