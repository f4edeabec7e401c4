"""A digest inside an ONNX file, over all of its bytes but its own digits: damage is noticed.

It guards against damage, not against forgery: whoever edits a file can compute it anew.
"""

from __future__ import annotations

import hashlib

from crank.errors import ModelFileError

KEY = "crank_digest"
_DIGITS = 64
BLANK = "sha256:" + "0" * _DIGITS
"""What stands for the digest until the bytes are known."""
# how protocol buffers write the entry: the tag and length of the key, those of the value
_BEFORE = b"\n" + bytes([len(KEY)]) + KEY.encode() + b"\x12" + bytes([len(BLANK)]) + b"sha256:"


def sealed(content: bytes) -> bytes:
    """Fill in the digest of a file that was written with a blank one."""
    at = _place(content)
    assert at is not None
    return content[:at] + _digest(content, at) + content[at + _DIGITS :]


def check_digest(content: bytes) -> bool:
    """Raise `ModelFileError` if a file is not as it was written; False if it has no digest."""
    at = _place(content)
    if at is None:
        return False
    if content[at : at + _DIGITS] != _digest(content, at):
        raise ModelFileError(
            "its digest does not match its content: it was damaged or edited after it was "
            "written. Export the model again."
        )
    return True


def _place(content: bytes) -> int | None:
    """Find where the digits stand."""
    before = content.rfind(_BEFORE)
    return None if before < 0 else before + len(_BEFORE)


def _digest(content: bytes, at: int) -> bytes:
    found = hashlib.sha256(content[:at])
    found.update(content[at + _DIGITS :])
    return found.hexdigest().encode()
