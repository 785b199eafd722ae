"""Writing a publication to a dataset repository on the Hugging Face hub: one commit on the revision that was seen.

Large files are stored first, which changes nothing that anybody sees; then one commit names all that is new, changed
or gone. Its parent is the revision from which the difference was taken: where somebody else was faster, it is refused.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from hellofresh.core.editions import Edition
from hellofresh.core.errors import UsageError
from hellofresh.core.files import sha256_file
from hellofresh.core.net.keys import may_carry_key
from hellofresh.core.workspace import Workspace
from hellofresh.releases.publish._hub_repository import HubRepository, StoredFile, git_blob_id
from hellofresh.releases.publish._parts import PublishedPart, opened_parts, searched_corpora
from hellofresh.releases.publish.folder import Publication, build, refuse_to_lose

ENDPOINT, TOKEN = "HF_ENDPOINT", "HF_TOKEN"
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_TOKEN = re.compile(r"[\x21-\x7e]{1,500}")
_OURS = re.compile(r"(data|releases)/.*|README\.md|eval\.yaml|croissant\.json|publication\.json")


@dataclass(frozen=True, slots=True)
class Hub:
    """A dataset repository and the right to write to it.

    Attributes:
        repository: `OWNER/NAME`.
        endpoint: address of the hub.
    """

    repository: str
    endpoint: str
    token: str = field(repr=False)

    @classmethod
    def from_environment(cls, repository: str) -> Hub:
        """The repository, with the token in HF_TOKEN, on the hub that HF_ENDPOINT names.

        Raises:
            UsageError: if there is no token, the name is none, or the token would travel unencrypted.
        """
        if not _REPOSITORY.fullmatch(repository) or ".." in repository or "--" in repository:
            raise UsageError(
                f"not a repository: {repository[:100]!r}", expected="OWNER/NAME, as on the hub", code="bad-repository"
            )
        endpoint = (os.environ.get(ENDPOINT) or "https://huggingface.co").rstrip("/")
        if not may_carry_key(endpoint):
            raise UsageError(
                "the token would be sent unencrypted", where=ENDPOINT, expected="an https address", code="bad-endpoint"
            )
        token = os.environ.get(TOKEN, "").strip()
        if not _TOKEN.fullmatch(token):
            raise UsageError(
                "no token for the hub",
                where=f"environment variable {TOKEN}",
                expected=f"a token that may write to {repository}",
                fix="Make one on the hub under Settings, Access Tokens; or publish to a folder: --to DIR.",
                code="no-token",
            )
        return cls(repository, endpoint, token)


def publish_to_hub(workspace: Workspace, hub: Hub, moment: datetime, quarters: Sequence[Edition] = ()) -> Publication:
    """Bring a dataset repository to what the opened quarters have made public, in one commit.

    Files that the repository has and that are none of ours stay. Whatever fails, the repository has its old revision
    or the new one, whole.

    Raises:
        UsageError: if the bundled sample would go to a repository whose name does not say so.
        ReleaseError: if no quarter has opened, a release is damaged, or the hub refuses or fails.
    """
    parts = opened_parts(workspace, moment, quarters)
    _refuse_unmarked(hub.repository, parts)
    with tempfile.TemporaryDirectory(prefix="hellofresh-publish-") as name:
        folder = Path(name) / "new"
        files = build(parts, searched_corpora(workspace, parts), folder)
        revision, changed = _commit(hub, folder, parts)
    size = sum(entry.size for entry in files.values())
    found = tuple(sorted({part.edition for part in parts}))
    bundled = any(part.bundled for part in parts)
    return Publication(f"hub:{hub.repository}", found, len(files), size, bundled, not changed, revision)


def _refuse_unmarked(repository: str, parts: Sequence[PublishedPart]) -> None:
    if any(part.bundled for part in parts) and "sample" not in repository.split("/")[1].lower():
        raise UsageError(
            "the bundled sample in a repository whose name does not say so",
            where=f"hub:{repository}",
            expected="a name with 'sample' in it",
            fix="Publish it under another name, or only quarters from real sources, with --edition.",
            code="unmarked-sample",
        )


def _commit(hub: Hub, folder: Path, parts: Sequence[PublishedPart]) -> tuple[str, bool]:
    """The repository's revision afterwards, and whether it is a new one."""
    repository = HubRepository(hub.endpoint, hub.repository, hub.token)
    revision, stored = repository.revision()
    published = {name.split("/")[1] for name in stored if name.startswith("releases/") and name.count("/") > 2}
    refuse_to_lose(published, parts, f"hub:{hub.repository}")
    paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    changed = {name: path for name, path in paths.items() if not _is_stored(path, stored.get(name))}
    gone = sorted(name for name in stored if _OURS.fullmatch(name) and name not in paths)
    if not changed and not gone:
        return revision, False
    title = f"Publish {', '.join(sorted({str(part.edition) for part in parts}))}"
    return repository.commit(revision, title, changed, gone), True


def _is_stored(path: Path, stored: StoredFile | None) -> bool:
    if stored is None or stored.size not in (None, path.stat().st_size):
        return False
    return sha256_file(path) == stored.sha256 if stored.sha256 else git_blob_id(path.read_bytes()) == stored.blob_id
