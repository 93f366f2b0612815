"""Tar headers that cannot fill the memory: tarfile reads the text of an extended header in one piece."""

import tarfile
from typing import Any

HEADER_LIMIT = 1 << 20
_EXTENDED = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


class CarefulTarInfo(tarfile.TarInfo):
    """Refuses an extended header above 1 MiB with ReadError before it is read."""

    def _proc_member(self, archive: tarfile.TarFile) -> Any:
        if self.type in _EXTENDED and self.size > HEADER_LIMIT:
            raise tarfile.ReadError("a name in the archive is longer than a mebibyte")
        return super()._proc_member(archive)  # type: ignore[misc]
