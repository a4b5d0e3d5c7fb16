"""Which letters the bytes of a text file mean.

UTF-8 is checked over the whole file, because other encodings almost never pass that check. Marks at the beginning
decide, if there are any; zero bytes between letters show UTF-16. What remains is Windows' Latin encoding if the bytes
beyond ASCII stand alone, and otherwise what charset-normalizer finds.
"""

import codecs
import re
from collections.abc import Iterable, Iterator

from levelhead._extras import needed
from levelhead.tables.errors import TableError

SAMPLE = 1 << 18  # bytes looked at where the whole file is not needed
# Marks, the encodings that remove them, and those of the text after the mark.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32", "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32", "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16-be"),
)
_RUN = re.compile(
    rb"[\x80-\xff]{3,}"
)  # words in other alphabets are made of such bytes, Latin ones only here and there
# Encodings of files that people exchange today, apart from Latin ones.
_COMMON = (
    "cp1251", "koi8_r", "gb18030", "big5", "shift_jis", "euc_jp", "euc_kr", "cp1253", "cp1254", "cp1255", "cp1256",
    "cp874",
)  # fmt: skip
_UTF16 = 0.15  # share of zero bytes at even or odd places, for the digits and separators of a table


def is_utf8(blocks: Iterable[bytes]) -> bool:
    """Whether all blocks together are UTF-8.

    Parameters
    ----------
    blocks : iterable of bytes
        The whole file.

    Returns
    -------
    bool
        True if they are.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for block in blocks:
            if not (block.isascii() and not decoder.getstate()[0]):
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def marked(start: bytes) -> str | None:
    """The encoding that a mark at the beginning, or zero bytes between letters, show.

    Parameters
    ----------
    start : bytes
        Beginning of the file.

    Returns
    -------
    str or None
        Name of the encoding.
    """
    for mark, name, _ in _MARKS:
        if start.startswith(mark):
            return name
    even, odd = start[0::2].count(0), start[1::2].count(0)
    half = max(len(start) // 2, 1)
    for name, zeros, others in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if zeros / half > _UTF16 and others < 0.02 * half and _has_lines(start, name):
            return name
    return None


def after_mark(content: bytes, encoding: str) -> tuple[bytes, str]:
    """The mark at the beginning of a text, and the encoding of what follows it.

    Parameters
    ----------
    content : bytes
        The text.
    encoding : str
        Its encoding, as `marked` names it.

    Returns
    -------
    tuple of bytes and str
        The mark, empty if there is none, and the encoding.
    """
    for mark, name, bare in _MARKS:
        if name == encoding and content.startswith(mark):
            return mark, bare
    return b"", encoding


def _has_lines(start: bytes, name: str) -> bool:
    text = start.decode(name, errors="ignore")
    return "\n" in text or "\r" in text


def guessed(sample: bytes) -> str:
    """The encoding of text that is neither marked nor UTF-8.

    Parameters
    ----------
    sample : bytes
        Beginning of the file.

    Returns
    -------
    str
        Name of the encoding.
    """
    beyond = len(sample) - len(sample.translate(None, bytes(range(128, 256))))
    if sum(map(len, _RUN.findall(sample))) < 0.5 * beyond:
        return _latin(sample)
    normalizer = needed("charset_normalizer", "the encoding of this file", "cli")
    text = sample[: sample.rfind(b"\n") + 1] or sample
    best = normalizer.from_bytes(text, cp_isolation=list(_COMMON)).best()
    return _latin(sample) if best is None else str(best.encoding)


def _latin(sample: bytes) -> str:
    try:
        sample.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def decoded(blocks: Iterable[bytes], encoding: str, name: str) -> Iterator[bytes]:
    """The same text in UTF-8, without a mark.

    Parameters
    ----------
    blocks : iterable of bytes
        The whole file.
    encoding : str
        Its encoding.
    name : str
        The file, for the error message.

    Yields
    ------
    bytes
        A block.

    Raises
    ------
    TableError
        If the text is not in this encoding.
    """
    if encoding == "utf-8":
        yield from blocks
        return
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
        for block in blocks:
            yield decoder.decode(block).encode()
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError as error:
        raise TableError(f"{name} is not in {encoding} ({error}); give another --encoding") from error
    except LookupError as error:
        raise TableError(
            f"--encoding is {encoding!r}, which is not the name of an encoding; give, for example, cp1252"
        ) from error
