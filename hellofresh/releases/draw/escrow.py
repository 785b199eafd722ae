"""Commitments to labels: published with the samples, they prove later that no label was changed.

A commitment is the SHA-256 of the canonical JSON of `{"id", "label", "salt"}`. The salt is 256 unguessable bits: the
HMAC-SHA256 of the id under the workspace's escrow key. Salts can be recomputed instead of stored, and a release built
twice in one workspace has the same bytes.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

from hellofresh.core.errors import ReleaseError, UsageError
from hellofresh.core.files import canonical_json, sha256_text, write_bytes
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.record import real_releases
from hellofresh.tasks.samples import Label

SAMPLE_KEY = hashlib.sha256(b"the bundled sample's labels are public, and so is this key").digest()
"""Key for the bundled sample sources, whose labels are public; it makes their releases the same on every machine."""


@dataclass(frozen=True, slots=True)
class Escrow:
    """Makes salts and commitments under a secret key of 32 bytes."""

    _key: bytes = field(repr=False)

    @classmethod
    def of_workspace(cls, workspace: Workspace) -> Escrow:
        """The escrow with the workspace's own key, made at first use; only its owner may read the file.

        Raises:
            ReleaseError: if the key file is not 64 hexadecimal digits, or is gone and releases were drawn with it.
        """
        path = workspace.escrow_key
        if not path.exists():
            if name := next(real_releases(workspace), None):
                raise ReleaseError(
                    f"the escrow key is missing, and {name} was drawn with it",
                    where=str(path),
                    fix="Restore it from a backup. If there is none: hellofresh quarter restore --new-key",
                    code="no-escrow-key",
                )
            cls.make_key(workspace)
        text = path.read_text(encoding="ascii", errors="replace").strip()
        try:
            key = bytes.fromhex(text)
        except ValueError:
            key = b""
        if len(key) != 32:
            raise ReleaseError(
                "not an escrow key",
                where=str(path),
                expected="64 hexadecimal digits",
                fix="Restore it from a backup: without it, salts of open quarters cannot be revealed.",
                code="bad-escrow-key",
            )
        return cls(key)

    @classmethod
    def replace_lost_key(cls, workspace: Workspace) -> None:
        """Make a new key if none exists; raises UsageError if one does."""
        if workspace.escrow_key.exists():
            raise UsageError("an escrow key exists already", where=str(workspace.escrow_key), code="escrow-key-exists")
        cls.make_key(workspace)

    @staticmethod
    def make_key(workspace: Workspace) -> None:
        """Write a new key; labels of opened quarters keep their salts in `private/`."""
        write_bytes(workspace.escrow_key, f"{secrets.token_hex(32)}\n".encode(), mode=0o600)

    def salt(self, sample_id: str) -> str:
        """The salt of a sample, 64 hexadecimal digits."""
        return hmac.new(self._key, sample_id.encode(), hashlib.sha256).hexdigest()

    def draw_key(self, quarter: Quarter, task: str, seed: str) -> str:
        """The key of the draw of a quarter's samples, 64 hexadecimal digits.

        It is secret until the reveal, since labels could be inferred from it, see `hellofresh.releases.draw.release`.
        """
        return hmac.new(self._key, f"draw:{task}:{quarter}:{seed}".encode(), hashlib.sha256).hexdigest()

    def commitment(self, label: Label) -> str:
        """The commitment to a label, 64 hexadecimal digits."""
        return commitment_of(label.id, label.label, self.salt(label.id))


def commitment_of(sample_id: str, label: int, salt: str) -> str:
    """The commitment that id, label and salt must have, 64 hexadecimal digits."""
    return sha256_text(canonical_json({"id": sample_id, "label": label, "salt": salt}))
