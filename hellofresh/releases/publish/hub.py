"""Write a publication to a dataset repository on the Hugging Face hub, as one commit on a known revision.

Large files are uploaded first, which is not visible; then one commit adds, changes and deletes files. Its parent is
the revision that was compared, so that the hub refuses it after a concurrent commit.

The library `huggingface_hub` may contact only the given endpoint and the storage that it names: telemetry, redirects
and Xet storage are off. So is its output, which can contain signed addresses.
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from hellofresh import __version__
from hellofresh.core.editions import Edition
from hellofresh.core.errors import HelloFreshError, ReleaseError, UsageError
from hellofresh.core.files import sha256_file
from hellofresh.core.net import may_carry_key
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.manifest import MANIFEST, PREVIOUS
from hellofresh.releases.life.record import another_published, name_of, record_publication
from hellofresh.releases.publish._parts import PublishedPart, opened_parts, searched_corpora
from hellofresh.releases.publish.folder import IS_MANIFEST, Publication, build, outcome, refuse_to_lose

if TYPE_CHECKING:
    from httpx2 import Client
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoSibling

_BRANCH = "main"
_TIMEOUT_S = 300.0  # the hub checks large files before it answers
ENDPOINT, TOKEN = "HF_ENDPOINT", "HF_TOKEN"
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_TOKEN = re.compile(r"[\x21-\x7e]{1,500}")
_OURS = re.compile(r"(data|releases)/.*|README\.md|eval\.yaml|croissant\.json|publication\.json")


class HubRepository:
    """A dataset repository's branch `main`.

    Raises:
        ReleaseError: from every method, if the hub refuses, fails, or answers something else.
    """

    def __init__(self, hub: Hub) -> None:
        self._repository = hub.repository
        self._api = _api(hub.endpoint, hub.token)

    def revision(self) -> tuple[str, Mapping[str, RepoSibling]]:
        """The latest commit and its files by path."""
        with self._named_errors():
            found = self._api.dataset_info(self._repository, revision=_BRANCH, files_metadata=True)
            if not isinstance(found.sha, str):
                raise TypeError("a revision without its hash")
            return found.sha, {item.rfilename: item for item in found.siblings or ()}

    def commit(self, parent: str, title: str, changed: Mapping[str, Path], gone: Sequence[str]) -> str:
        """Upload large files, then commit all on the parent; returns the new commit."""
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        with self._named_errors():
            added = [CommitOperationAdd(name, str(path)) for name, path in changed.items()]
            done = self._api.create_commit(
                self._repository,
                [*added, *(CommitOperationDelete(name) for name in gone)],
                commit_message=title,
                repo_type="dataset",
                revision=_BRANCH,
                parent_commit=parent,
            )
            return str(done.oid)

    def download(self, revision: str, name: str, folder: Path) -> None:
        """Download a file of a revision to its path below a folder."""
        with self._named_errors():
            self._api.hf_hub_download(
                self._repository, name, repo_type="dataset", revision=revision, local_dir=str(folder)
            )

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Turn the library's errors into ReleaseError, with advice and without tokens or signatures."""
        from huggingface_hub.errors import HfHubHTTPError

        try:
            with warnings.catch_warnings():
                # The library uses a deprecated call of its HTTP client, which its maintainers have to fix.
                warnings.simplefilter("ignore", DeprecationWarning)
                yield
        except HelloFreshError:
            raise
        except HfHubHTTPError as error:
            ours = str(error.response.url).startswith(f"{self._api.endpoint}/")
            raise self._refused(error.response.status_code if ours else 0) from None
        except Exception as error:
            # The library does not validate responses, hence these errors; their messages can contain signed addresses.
            raise self._failed(f"the connection or the answer broke ({type(error).__name__})") from None

    def _refused(self, status: int) -> ReleaseError:
        where = f"hub:{self._repository}"
        if status in (401, 403):
            fix = "Give HF_TOKEN a token that may write to it. (The hub answers so for a missing repository, too.)"
            return ReleaseError(f"the token is not accepted ({status})", where=where, fix=fix, code="hub-token")
        if status == 404:
            fix = "Make it on the hub first, as a dataset; it can stay private until you have looked at it."
            return ReleaseError("the dataset repository does not exist", where=where, fix=fix, code="no-repository")
        if status in (409, 412):
            what = f"somebody else has changed it since ({status})"
            fix = "Nothing was published. Review their change, then publish again."
            return ReleaseError(what, where=where, fix=fix, code="hub-conflict")
        return self._failed(f"it answers with status {status}" if status else "its storage refuses a file")

    def _failed(self, what: str) -> ReleaseError:
        fix = "The repository is unchanged or fully updated. Publish again later: uploaded files are not sent twice."
        return ReleaseError(what, where=f"hub:{self._repository}", fix=fix, code="hub-failed")


def _api(endpoint: str, token: str) -> HfApi:
    from huggingface_hub import HfApi, constants, set_client_factory
    from huggingface_hub import logging as hub_logging
    from huggingface_hub.utils import _http
    from huggingface_hub.utils.tqdm import disable_progress_bars

    def client() -> Client:
        made = _http.default_client_factory()
        made.follow_redirects, made.timeout = False, _TIMEOUT_S
        return made

    # The environment variables are read only on the library's first import, which may have happened elsewhere.
    constants.HF_HUB_DISABLE_TELEMETRY = constants.HF_HUB_DISABLE_XET = True
    disable_progress_bars()
    hub_logging.set_verbosity(logging.CRITICAL)
    set_client_factory(client)
    return HfApi(endpoint=endpoint, token=token, library_name="hellofresh", library_version=__version__)


@dataclass(frozen=True, slots=True)
class Hub:
    """The dataset repository `OWNER/NAME` on the hub at an endpoint, with a token to write to it."""

    repository: str
    endpoint: str
    token: str = field(repr=False)

    @classmethod
    def from_environment(cls, repository: str) -> Hub:
        """The repository, with the token in HF_TOKEN, on the hub that HF_ENDPOINT names.

        Raises:
            UsageError: if the token is missing, the name is invalid, or the token would be sent unencrypted.
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
    """Update a dataset repository to the opened quarters' public data, in one commit.

    Other files in the repository stay. After any failure the repository has either its old revision or the whole new
    one.

    Raises:
        UsageError: if the bundled sample would go to a repository whose name does not contain `sample`.
        ReleaseError: if no quarter has opened, a release is damaged, or the hub refuses or fails.
    """
    parts = opened_parts(workspace, moment, quarters)
    if any(part.bundled for part in parts) and "sample" not in hub.repository.split("/")[1].lower():
        raise UsageError(
            "the bundled sample in a repository whose name does not say so",
            where=f"hub:{hub.repository}",
            expected="a name with 'sample' in it",
            fix="Publish it under another name, or only quarters from real sources, with --edition.",
            code="unmarked-sample",
        )
    with tempfile.TemporaryDirectory(prefix="hellofresh-publish-") as name:
        folder = Path(name) / "new"
        files = build(parts, searched_corpora(workspace, parts), folder)
        revision, changed = _commit(hub, folder, parts)
    record_publication(workspace, f"hub:{hub.repository}", [part.folder for part in parts], moment)
    return outcome(f"hub:{hub.repository}", parts, files, skipped=not changed, revision=revision)


def ask_hub(workspace: Workspace, hub: Hub) -> None:
    """Raise ReleaseError if a repository holds a release that the workspace lacks or has in another version."""
    _, stored = HubRepository(hub).revision()
    for name in filter(IS_MANIFEST.fullmatch, sorted(stored)):
        folder = (workspace.root / name).parent
        versions = [folder / MANIFEST, *folder.glob(f"{PREVIOUS}/*.json")]
        if not any(path.is_file() and _is_stored(path, stored[name]) for path in versions):
            raise another_published(name_of(workspace, folder), f"hub:{hub.repository}")


def download_releases(hub: Hub, folder: Path) -> None:
    """Download the released files of a repository into a folder; raises ReleaseError if the hub fails."""
    repository = HubRepository(hub)
    revision, stored = repository.revision()
    for name in sorted(stored):
        if name.startswith("releases/") and ".." not in PurePosixPath(name).parts:
            repository.download(revision, name, folder)


def _commit(hub: Hub, folder: Path, parts: Sequence[PublishedPart]) -> tuple[str, bool]:
    """Commit the changes; returns the repository's revision and whether it is new."""
    repository = HubRepository(hub)
    revision, stored = repository.revision()
    refuse_to_lose(stored, lambda name, path: _is_stored(path, stored.get(name)), parts, f"hub:{hub.repository}")
    paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    changed = {name: path for name, path in paths.items() if not _is_stored(path, stored.get(name))}
    gone = sorted(name for name in stored if _OURS.fullmatch(name) and name not in paths)
    if not changed and not gone:
        return revision, False
    title = f"Publish {', '.join(sorted({str(part.edition) for part in parts}))}"
    return repository.commit(revision, title, changed, gone), True


def _is_stored(path: Path, stored: RepoSibling | None) -> bool:
    from huggingface_hub.utils.sha import git_hash

    if stored is None or stored.size not in (None, path.stat().st_size):
        return False
    return sha256_file(path) == stored.lfs.sha256 if stored.lfs else git_hash(path.read_bytes()) == stored.blob_id
