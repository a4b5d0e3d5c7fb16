"""Writes files completely or not at all, and replaces regular files only: no devices, pipes, links or folders."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def refuse(*paths: Path, overwrite: bool, option: str = "overwrite=True") -> None:
    """Check that files can be written, before the work is done.

    Parameters
    ----------
    *paths : pathlib.Path
        Files to be written.
    overwrite : bool
        Whether regular files may be replaced.
    option : str, default="overwrite=True"
        The option that allows it, for the message.

    Raises
    ------
    FileExistsError
        If a file exists and may not be replaced.
    OSError
        If a path is a folder, or lies in something that is not a folder.
    """
    for path in paths:
        _refuse_parent(path)
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue
        if stat.S_ISLNK(mode):
            raise FileExistsError(
                f"{path} is a link, which is neither followed nor replaced; give the path of the file itself"
            )
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(f"{path} is a folder; give the name of a file")
        if not stat.S_ISREG(mode):
            raise FileExistsError(
                f"{path} is a device, pipe or socket, which is never replaced; give another path"
            )
        if not overwrite:
            raise FileExistsError(f"{path} exists; give another path, or {option} to replace it")


def _refuse_parent(path: Path) -> None:
    for folder in path.parents:
        if folder.is_dir():
            return
        if os.path.lexists(folder):
            raise NotADirectoryError(f"{folder} is not a folder; give another path")


@contextmanager
def whole(
    *paths: Path, overwrite: bool, option: str = "overwrite=True", make_folders: bool = False
) -> Iterator[list[Path]]:
    """Yield temporary paths to write to; at the end of the block all files get their real names together.

    If anything fails, the files, and the folders that were created for them, are removed.

    Parameters
    ----------
    *paths : pathlib.Path
        Files to be written.
    overwrite : bool
        Whether regular files may be replaced.
    option : str, default="overwrite=True"
        The option that allows it, for the message.
    make_folders : bool, default=False
        Whether to create missing folders.

    Yields
    ------
    list of pathlib.Path
        One temporary path per file.
    """
    refuse(*paths, overwrite=overwrite, option=option)
    token = secrets.token_hex(8)
    partial = [path.with_name(f".levelhead-{token}-{k}{path.suffix}") for k, path in enumerate(paths)]
    made: list[Path] = []
    try:
        if make_folders:
            for path in paths:
                _make_folder(path.parent, made)
        yield partial
        for path in partial:
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        refuse(*paths, overwrite=overwrite, option=option)
        for written, path in zip(partial, paths, strict=True):
            written.replace(path)
    except BaseException:
        for path in partial:
            path.unlink(missing_ok=True)
        for folder in reversed(made):
            with suppress(OSError):  # somebody else has put a file there
                folder.rmdir()
        raise


def _make_folder(folder: Path, made: list[Path]) -> None:
    """Create a folder and its parents, and add those that were missing to `made`."""
    for each in [*reversed(folder.parents), folder]:
        if not each.is_dir():
            made.append(each)
            each.mkdir(exist_ok=True)
