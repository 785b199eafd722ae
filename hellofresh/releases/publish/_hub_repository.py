"""One dataset repository on the Hugging Face hub, read and committed to through the library `huggingface_hub`.

The library asks the given endpoint and the storage that it names, and nobody else: no telemetry, no redirect, no
second way of storing (Xet), and nothing printed, since what it prints can hold addresses with signatures.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hellofresh import __version__
from hellofresh.core.errors import HelloFreshError, ReleaseError, UsageError

if TYPE_CHECKING:
    from httpx2 import Client
    from huggingface_hub import HfApi

__all__ = ["HubRepository", "StoredFile", "git_blob_id"]

_BRANCH = "main"
_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class StoredFile:
    """What a repository says of one of its files: size, and either the SHA-256 (a large file) or git's hash."""

    size: int | None
    sha256: str
    blob_id: str


def git_blob_id(content: bytes) -> str:
    """The hash by which git names a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class HubRepository:
    """A dataset repository's branch `main`.

    Raises:
        UsageError: if huggingface_hub is not installed.
        ReleaseError: from every method, if the hub refuses, fails, or answers something else.
    """

    def __init__(self, endpoint: str, repository: str, token: str) -> None:
        self._repository = repository
        self._api = _api(endpoint, token)

    def revision(self) -> tuple[str, Mapping[str, StoredFile]]:
        """The newest commit and its files by path."""
        with self._named_errors():
            found = self._api.dataset_info(self._repository, revision=_BRANCH, files_metadata=True)
            if not isinstance(found.sha, str):
                raise TypeError("a revision without its hash")
            return found.sha, {
                item.rfilename: StoredFile(item.size, item.lfs.sha256 if item.lfs else "", item.blob_id or "")
                for item in found.siblings or ()
            }

    def commit(self, parent: str, title: str, changed: Mapping[str, Path], gone: Sequence[str]) -> str:
        """Commit files on the parent, the large ones stored beforehand; returns the new commit."""
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

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Have whatever the library raises come as an error that says what to do, and shows no token or signature."""
        from huggingface_hub.errors import HfHubHTTPError

        try:
            with warnings.catch_warnings():
                # The library still calls its HTTP client in a way that is to go; that is for its makers to see.
                warnings.simplefilter("ignore", DeprecationWarning)
                yield
        except HelloFreshError:
            raise
        except HfHubHTTPError as error:
            ours = str(error.response.url).startswith(f"{self._api.endpoint}/")
            raise self._refused(error.response.status_code if ours else 0) from None
        except Exception as error:
            # The library reads answers without checking their form first; messages can hold signed addresses.
            raise self._failed(f"the connection or the answer broke ({type(error).__name__})") from None

    def _refused(self, status: int) -> ReleaseError:
        where = f"hub:{self._repository}"
        if status in (401, 403):
            fix = "Give HF_TOKEN a token that may write to it. (The hub answers so for a missing repository, too.)"
            return ReleaseError(f"the token is not accepted ({status})", where=where, fix=fix, code="hub-token")
        if status == 404:
            fix = "Make it on the hub first, as a dataset; it can stay private until you have looked at it."
            return ReleaseError("there is no such dataset repository", where=where, fix=fix, code="no-repository")
        if status in (409, 412):
            what = f"somebody else has changed it since ({status})"
            fix = "Nothing was published. Review their change, then publish again."
            return ReleaseError(what, where=where, fix=fix, code="hub-conflict")
        return self._failed(f"it answers with status {status}" if status else "its storage refuses a file")

    def _failed(self, what: str) -> ReleaseError:
        fix = "The repository is unchanged or fully updated. Publish again later: uploaded files are not sent twice."
        return ReleaseError(what, where=f"hub:{self._repository}", fix=fix, code="hub-failed")


def _api(endpoint: str, token: str) -> HfApi:
    if importlib.util.find_spec("huggingface_hub") is None:
        raise UsageError(
            "publishing to a hub needs huggingface_hub",
            fix="Install it with: python -m pip install 'hellofresh[publish]'",
            code="missing-extra",
        )
    from huggingface_hub import HfApi, constants, set_client_factory
    from huggingface_hub import logging as hub_logging
    from huggingface_hub.utils import _http
    from huggingface_hub.utils.tqdm import disable_progress_bars

    def client() -> Client:
        made = _http.default_client_factory()
        made.follow_redirects, made.timeout = False, _TIMEOUT_S
        return made

    # The environment variables of these names are read once, when the library is imported, perhaps by somebody else.
    constants.HF_HUB_DISABLE_TELEMETRY = constants.HF_HUB_DISABLE_XET = True
    disable_progress_bars()
    hub_logging.set_verbosity(logging.CRITICAL)
    set_client_factory(client)
    return HfApi(endpoint=endpoint, token=token, library_name="hellofresh", library_version=__version__)
