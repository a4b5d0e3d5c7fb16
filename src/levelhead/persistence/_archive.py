"""The file itself: an uncompressed zip of one JSON document and numbered numpy arrays, checked before use.

Members are stored, never compressed, so nothing in a file can grow beyond the file's own size when it is read.
Their names are compared with the expected ones and never used as paths.
"""

import io
import json
import os
import zipfile
from collections.abc import Sequence
from math import prod
from typing import IO, Any

import numpy as np
import sklearn
from numpy.typing import NDArray

import levelhead

FORMAT = "levelhead model"
VERSION = 1
DOCUMENT = "levelhead.json"
_KINDS = "biufcmMSU"  # plain numbers, dates and text; never Python objects
_LARGEST_ITEM = 2**16  # bytes: numpy makes text that is compared with such an entry as long
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same model always gives the same bytes


class ModelFileError(ValueError):
    """Raised for a file that is not a model, or not one that this version can open."""


def write(file: IO[bytes], description: Any, arrays: Sequence[NDArray[Any]]) -> None:
    """Write a description and the arrays that it numbers."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": {
            "levelhead": levelhead.__version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "arrays": len(arrays),
        "model": description,
    }
    text = json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        # Lone surrogates are legal in Python strings, column names included.
        archive.writestr(zipfile.ZipInfo(DOCUMENT, _EPOCH), text.encode("utf-8", "surrogatepass"))
        for k, array in enumerate(arrays):
            content = io.BytesIO()
            np.lib.format.write_array(content, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(_name(k), _EPOCH), content.getvalue())


def read(file: IO[bytes]) -> tuple[Any, list[NDArray[Any]], int]:
    """Description, arrays and the size of the file in bytes, or a `ModelFileError`."""
    size = os.fstat(file.fileno()).st_size
    head = file.read(4)
    if head[:1] == b"\x80":
        raise ModelFileError("this looks like a pickle, which can run code when it is opened; it is not read")
    if head != b"PK\x03\x04":
        raise ModelFileError("this is not a model file: save models with levelhead.save")
    try:
        with zipfile.ZipFile(file) as archive:
            document = _document(archive, size)
            names = [_name(k) for k in range(document["arrays"])]
            _check_members(archive, [DOCUMENT, *names], size)
            return document["model"], [array(archive.read(name), name) for name in names], size
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise ModelFileError(f"the file is damaged or cut short ({error}); get it again") from error


def array(content: bytes, name: str) -> NDArray[Any]:
    """An array from the bytes of an .npy file that holds exactly what its header declares."""
    stream = io.BytesIO(content)
    major, _ = np.lib.format.read_magic(stream)
    header = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}.get(major)
    if header is None:
        raise ModelFileError(f"{name} is in version {major} of numpy's format; versions 1 and 2 are read")
    shape, _, dtype = header(stream)
    if dtype.kind not in _KINDS or dtype.hasobject:
        raise ModelFileError(f"{name} holds {dtype}; arrays in a model are plain numbers, dates or text")
    if dtype.itemsize > _LARGEST_ITEM:
        raise ModelFileError(f"{name} holds {dtype}; an entry may have {_LARGEST_ITEM} bytes")
    if any(length < 0 for length in shape):
        raise ModelFileError(f"{name} declares the shape {shape}")
    declared, there = prod(shape) * dtype.itemsize, len(content) - stream.tell()
    if declared != there:
        raise ModelFileError(f"{name} declares {declared} bytes and has {there}")
    stream.seek(0)
    return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))


def _name(k: int) -> str:
    return f"arrays/{k}.npy"


def _document(archive: zipfile.ZipFile, size: int) -> dict[str, Any]:
    """The JSON document of a known version; checked first, because it says what else the file must hold."""
    members = [member for member in archive.infolist() if member.filename == DOCUMENT]
    if len(members) != 1:
        raise ModelFileError(f"the archive holds {len(members)} members {DOCUMENT!r}; a model has one")
    _check_stored(members[0], size)
    text = archive.read(members[0]).decode("utf-8", "surrogatepass")
    document = json.loads(text, parse_constant=_no_constant)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError(f"{DOCUMENT} does not describe a model")
    version = document.get("version")
    if version != VERSION or isinstance(version, bool):
        author = document.get("written_by")
        raise ModelFileError(
            f"the file has version {version!r} of the format (written by {author!r}); this levelhead "
            f"({levelhead.__version__}) reads version {VERSION}: install the version that wrote it, or a newer one"
        )
    count = document.get("arrays")
    if type(count) is not int or not 0 <= count <= len(archive.infolist()) or "model" not in document:
        raise ModelFileError(f"{DOCUMENT} is incomplete")
    return document


def _check_members(archive: zipfile.ZipFile, expected: list[str], size: int) -> None:
    members = archive.infolist()
    found = [member.filename for member in members]
    if sorted(found) != sorted(expected):
        strange = sorted(set(found) ^ set(expected)) or found
        raise ModelFileError(
            f"the content of the archive differs from its list: {', '.join(map(repr, strange[:5]))}"
        )
    for member in members:
        _check_stored(member, size)
    if sum(member.file_size for member in members) > size:  # members may lie on top of each other
        raise ModelFileError("the members of the archive claim to be larger than the file")


def _check_stored(member: zipfile.ZipInfo, size: int) -> None:
    plain = member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1
    if not plain or member.file_size != member.compress_size or member.file_size > size:
        raise ModelFileError(
            f"{member.filename!r} is compressed, encrypted or larger than the file; in a model, members are stored"
        )


def _no_constant(token: str) -> Any:
    raise ModelFileError(f"{DOCUMENT} holds {token}, which is not JSON")
