"""Wire types of proofs that something was in the log when it was sealed."""

from __future__ import annotations

from umbriel._wire import Reply, Request

__all__ = ["ProofReply", "ProofRequest", "SealInfo"]


class ProofRequest(Request, frozen=True):
    """Prove a memory (its id: the event that stated it), a message (its id), or an event (its position or id)."""

    id: str


class SealInfo(Reply, frozen=True, omit_defaults=False):
    """A seal: the Merkle ``root`` over the positions ``first`` to ``last`` of a stream, and who signed it.

    Hashes, ``public_key`` and ``signature`` (Ed25519) are hexadecimal; ``previous`` is the hash of the seal before.
    """

    stream: str
    number: int
    first: int
    last: int
    root: str
    previous: str
    public_key: str
    signature: str


class ProofReply(Reply, frozen=True, omit_defaults=False):
    """A proof that holds all that is needed to check it: the message as stored, the path to the root, and the seal.

    ``body`` is base64 of what is stored: without the key nobody reads it, and the proof holds all the same.
    """

    format: str
    position: int
    subject: str
    headers: dict[str, str]
    body: str
    leaf: str
    path: list[str]
    seal: SealInfo
