"""The part of the hub's API that a commit needs: a revision, how files are to be stored, large files, the commit."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Literal, Self, TypeVar

import aiohttp
from pydantic import BaseModel, ConfigDict, ValidationError

from hellofresh import __version__
from hellofresh.errors import ReleaseError
from hellofresh.files import Json, canonical_json

__all__ = ["Change", "HubApi", "Stored", "git_blob_id"]

_MOST_BYTES = 20_000_000
_AT_ONCE = 250
_BRANCH = "main"
_LFS = {"Accept": "application/vnd.git-lfs+json", "Content-Type": "application/vnd.git-lfs+json"}


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class _Lfs(_Answer):
    sha256: str


class _Sibling(_Answer):
    rfilename: str
    size: int | None = None
    blobId: str = ""  # noqa: N815 - as the hub spells it
    lfs: _Lfs | None = None


class _Revision(_Answer):
    sha: str
    siblings: list[_Sibling] = []


class _Mode(_Answer):
    path: str
    uploadMode: Literal["regular", "lfs"]  # noqa: N815


class _Modes(_Answer):
    files: list[_Mode]


class _Action(_Answer):
    href: str
    header: dict[str, str] = {}


class _Actions(_Answer):
    upload: _Action | None = None
    verify: _Action | None = None


class _Object(_Answer):
    oid: str
    actions: _Actions | None = None
    error: dict[str, Json] | None = None


class _Batch(_Answer):
    objects: list[_Object]


class _Commit(_Answer):
    commitOid: str  # noqa: N815


_A = TypeVar("_A", bound=_Answer)


@dataclass(frozen=True, slots=True)
class Stored:
    """What a repository says of one of its files: size, and either the SHA-256 (a large file) or git's hash."""

    size: int | None
    sha256: str
    blob_id: str


@dataclass(slots=True)
class Change:
    """A file to be committed; `large` once the hub has said that it is to be stored apart."""

    path: str
    content: bytes
    large: bool = False

    @staticmethod
    def sha256_of(content: bytes) -> str:
        """Hex SHA-256."""
        return hashlib.sha256(content).hexdigest()

    @property
    def sha256(self) -> str:
        """Hex SHA-256 of the content."""
        return self.sha256_of(self.content)


def git_blob_id(content: bytes) -> str:
    """The hash by which git names a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class HubApi:
    """Asks the hub about one dataset repository, on its branch `main`; follows no redirect, keeps the token to the hub.

    Raises:
        ReleaseError: from every method, if the hub refuses, fails, or answers something else.
    """

    def __init__(self, endpoint: str, repository: str, token: str) -> None:
        self.repository = repository
        self._endpoint, self._token = endpoint, token
        self._base = f"{endpoint}/api/datasets/{repository}"

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=1800, sock_connect=30, sock_read=300)
        headers = {"User-Agent": f"hellofresh/{__version__}"}
        self._session = aiohttp.ClientSession(timeout=timeout, headers=headers, trust_env=True)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def revision(self) -> tuple[str, Mapping[str, Stored]]:
        """The newest commit and its files by path."""
        reply = await self._ask(_Revision, "GET", f"{self._base}/revision/{_BRANCH}?blobs=true")
        files = {
            item.rfilename: Stored(item.size, item.lfs.sha256 if item.lfs else "", item.blobId)
            for item in reply.siblings
        }
        return reply.sha, files

    async def modes(self, changes: Sequence[Change]) -> Mapping[str, str]:
        """How each file is to be stored, by path: `regular` or `lfs`."""
        modes: dict[str, str] = {}
        for start in range(0, len(changes), _AT_ONCE):
            files = [
                {
                    "path": change.path,
                    "size": len(change.content),
                    "sample": base64.b64encode(change.content[:512]).decode(),
                }
                for change in changes[start : start + _AT_ONCE]
            ]
            body = json.dumps({"files": files}).encode()
            reply = await self._ask(_Modes, "POST", f"{self._base}/preupload/{_BRANCH}", body)
            modes |= {item.path: item.uploadMode for item in reply.files}
        return modes

    async def store(self, changes: Sequence[Change]) -> None:
        """Store large files; those that are there already are not sent."""
        by_hash = {change.sha256: change for change in changes}
        hashes = sorted(by_hash)
        for start in range(0, len(hashes), _AT_ONCE):
            some = hashes[start : start + _AT_ONCE]
            objects = [{"oid": sha256, "size": len(by_hash[sha256].content)} for sha256 in some]
            batch = {"operation": "upload", "transfers": ["basic"], "hash_algo": "sha256", "objects": objects}
            url = f"{self._endpoint}/datasets/{self.repository}.git/info/lfs/objects/batch"
            reply = await self._ask(_Batch, "POST", url, canonical_json(batch).encode(), _LFS)
            answered = {item.oid: item for item in reply.objects}
            for sha256 in some:
                await self._store_one(by_hash[sha256], answered.get(sha256))

    async def _store_one(self, change: Change, answer: _Object | None) -> None:
        if answer is None or answer.error is not None:
            raise self._failed(f"it does not take {change.path}")
        if answer.actions is None or answer.actions.upload is None:
            return
        upload, verify = answer.actions.upload, answer.actions.verify
        await self._send("PUT", upload.href, change.content, upload.header, known=False)
        if verify is not None:
            body = json.dumps({"oid": answer.oid, "size": len(change.content)}).encode()
            ours = verify.href.startswith(f"{self._endpoint}/")
            await self._send("POST", verify.href, body, {**_LFS, **verify.header}, known=ours)

    async def commit(self, parent: str, title: str, changes: Sequence[Change], gone: Sequence[str]) -> str:
        """Commit changes on the parent; returns the new commit."""
        header = {"summary": title, "description": "", "parentCommit": parent}
        lines: list[Json] = [{"key": "header", "value": header}]
        lines += [_line(change) for change in changes]
        lines += [{"key": "deletedFile", "value": {"path": path}} for path in gone]
        body = "".join(f"{canonical_json(line)}\n" for line in lines).encode()
        headers = {"Content-Type": "application/x-ndjson"}
        reply = await self._ask(_Commit, "POST", f"{self._base}/commit/{_BRANCH}", body, headers)
        return reply.commitOid

    async def _ask(
        self, kind: type[_A], method: str, url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> _A:
        answer = await self._send(method, url, body, headers or {"Content-Type": "application/json"}, known=True)
        try:
            return kind.model_validate_json(answer)
        except ValidationError as error:
            raise self._failed("it answers in another form than the hub's") from error

    async def _send(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str], *, known: bool
    ) -> bytes:
        """One request; with the token where the address is the hub's own."""
        own = {"Authorization": f"Bearer {self._token}"} if known else {}
        try:
            async with self._session.request(
                method, url, data=body, headers={**headers, **own}, allow_redirects=False
            ) as reply:
                if reply.status not in (HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.NO_CONTENT):
                    raise self._refused(reply.status) if known else self._failed(f"storing answers {reply.status}")
                answer = await reply.content.read(_MOST_BYTES)
                while chunk := await reply.content.read(_MOST_BYTES - len(answer)):
                    answer += chunk
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            # Messages of these can hold addresses with signatures; their kind says enough.
            raise self._failed(f"the connection broke ({type(error).__name__})") from None
        if len(answer) >= _MOST_BYTES:
            raise self._failed("it answers more than can be taken")
        return answer

    def _refused(self, status: int) -> ReleaseError:
        where = f"hub:{self.repository}"
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            fix = "Give HF_TOKEN a token that may write to it. (The hub answers so for a missing repository, too.)"
            return ReleaseError(f"the token is not accepted ({status})", where=where, fix=fix, code="hub-token")
        if status == HTTPStatus.NOT_FOUND:
            fix = "Make it on the hub first, as a dataset; it can stay private until you have looked at it."
            return ReleaseError("there is no such dataset repository", where=where, fix=fix, code="no-repository")
        if status in (HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED):
            what = f"somebody else has changed it in the meantime ({status})"
            fix = "Nothing was changed. Look at what they did, then publish again."
            return ReleaseError(what, where=where, fix=fix, code="hub-conflict")
        return self._failed(f"it answers with status {status}")

    def _failed(self, what: str) -> ReleaseError:
        fix = "It has its old revision or the new one, whole. Publish again later: what is there is not sent twice."
        return ReleaseError(what, where=f"hub:{self.repository}", fix=fix, code="hub-failed")


def _line(change: Change) -> Json:
    if change.large:
        value = {"path": change.path, "algo": "sha256", "oid": change.sha256, "size": len(change.content)}
        return {"key": "lfsFile", "value": value}
    content = base64.b64encode(change.content).decode()
    return {"key": "file", "value": {"path": change.path, "content": content, "encoding": "base64"}}
