"""Files appear whole or not at all, and nothing but a regular file is ever replaced."""

import os
import socket
from pathlib import Path

import numpy as np
import pytest

import levelhead
from levelhead._files import refuse, whole


def write(*paths: Path, texts: tuple[str, ...] = ("new",), overwrite: bool = True) -> None:
    with whole(*paths, overwrite=overwrite, make_folders=True) as partial:
        for path, text in zip(partial, texts, strict=True):
            path.write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_all_files_or_none(tmp_path: Path) -> None:
    one, two = tmp_path / "deep" / "er" / "one", tmp_path / "deep" / "two"
    with pytest.raises(ValueError, match="shorter"):
        write(one, two, texts=("half way",))
    assert names(tmp_path) == []
    write(one, two, texts=("1", "2"))
    assert (one.read_text(), two.read_text()) == ("1", "2")
    assert names(tmp_path / "deep") == ["er", "two"]


def test_folders_that_others_use_meanwhile_stay(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"

    def fail() -> None:
        with whole(out, overwrite=False, make_folders=True) as (partial,):
            partial.write_text("ours")
            (tmp_path / "deep" / "theirs").write_text("theirs")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert names(tmp_path / "deep") == ["theirs"]


def test_a_file_that_appears_meanwhile_is_spared(tmp_path: Path) -> None:
    path = tmp_path / "out"

    def fail() -> None:
        with whole(path, overwrite=False) as (partial,):
            partial.write_text("ours")
            path.write_text("theirs")

    with pytest.raises(FileExistsError, match="exists; give another path, or overwrite=True to replace it"):
        fail()
    assert path.read_text() == "theirs"
    assert names(tmp_path) == ["out"]


def test_the_longest_names_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 251 + ".csv")
    write(path)
    assert path.read_text() == "new"


@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("folder", "is a folder; give the name of a file"),
        ("link", "is a link, which is neither followed nor replaced; give the path of the file itself"),
        ("dangling", "is a link"),
        ("link to a folder", "is a link"),
        ("fifo", "is a device, pipe or socket, which is never replaced; give another path"),
        ("socket", "is a device, pipe or socket"),
        ("file/out", "file is not a folder; give another path"),
        ("dangling/out", "dangling is not a folder"),
    ],
)
def test_only_regular_files_are_replaced(kind: str, words: str, overwrite: bool, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "link to a folder").symlink_to("folder")
    (tmp_path / "dangling").symlink_to("nowhere")
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(os.path.relpath(tmp_path / "socket"))  # the path of a socket must be short
    before = {path.name: path.lstat() for path in tmp_path.iterdir()}
    with pytest.raises(OSError, match=words):
        refuse(tmp_path / kind, overwrite=overwrite)
    with pytest.raises(OSError, match=words):
        write(tmp_path / kind, overwrite=overwrite)
    after = {path.name: path.lstat() for path in tmp_path.iterdir()}
    assert {name: one[:9] for name, one in after.items()} == {name: one[:9] for name, one in before.items()}
    assert (tmp_path / "file").read_text() == "precious"


def test_models_and_reports_follow_no_link(tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    from levelhead.report import audit_report

    (tmp_path / "file").write_text("precious")
    (tmp_path / "link").symlink_to("file")
    y = np.random.default_rng(0).normal(size=60)
    audit = levelhead.Audit.from_residuals(y, np.zeros(60), np.ones(60))
    with pytest.raises(FileExistsError, match="is a link"):
        levelhead.save(levelhead.GCPRegressor(), tmp_path / "link", overwrite=True)
    with pytest.raises(FileExistsError, match="is a link"):
        audit_report(audit, tmp_path / "link", overwrite=True)
    assert (tmp_path / "file").read_text() == "precious"
    assert names(tmp_path) == ["file", "link"]
