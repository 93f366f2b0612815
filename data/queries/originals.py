"""Where the untouched bytes of an upload are."""

from data.view import View


def sha256_and_name(view: View, upload_id: str) -> tuple[str, str] | None:
    """Return the hash and the file name of an upload, None when there is none."""
    rows = view.frame("select sha256, name from uploads where upload_id = ?", [upload_id])
    if rows.empty:
        return None
    return str(rows["sha256"].iloc[0]), str(rows["name"].iloc[0])
