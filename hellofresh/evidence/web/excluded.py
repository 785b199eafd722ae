"""Sources that must not be read: those with the decisions themselves, their mirrors, archives and proxies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pydantic import Field, ValidationError

from hellofresh.core.errors import ConfigError
from hellofresh.core.files import canonical_json, parse_toml, sha256_text
from hellofresh.core.net.addresses import AddressError, PageAddress, host_name
from hellofresh.core.strict import Strict

if TYPE_CHECKING:
    from tldextract import TLDExtract

_HOST_IN_TEXT = re.compile(
    r"""(?P<scheme>https?:/{0,2}|//|^/?|[/=?&,;])       # what makes it an address rather than a word
        (?:[^/?&=@\s]{0,64}@)?
        (?P<host>[\w-]+(?:\.[\w-]+)+)\.?(?::\d+)?
        (?P<rest>[/?\#].)?                              # a path of its own""",
    re.VERBOSE,
)
_MOST_DECODINGS = 4  # services that pass addresses on encode them in one another
_CHOSEN = "excluded by the settings"
_ANYWAY = ("archives", "proxies", "hubs")


class _Group(Strict):
    reason: str = Field(min_length=1)
    domains: tuple[str, ...] = Field(default=(), strict=False)
    names: tuple[str, ...] = Field(default=(), strict=False)


class _File(Strict):
    groups: dict[str, _Group]


@dataclass(frozen=True)
class ExcludedSources:
    """Domains that are not read, each with its reason.

    Attributes:
        domains: a domain in ASCII and the reason; its subdomains are meant too.
        passed_on: domains that a provider's search must leave out: of the task's groups and of the settings.
        names: labels such as `nitter` that stand for a whole family: a host of that registered name under any public
            suffix, or with that name as its first label.
    """

    domains: Mapping[str, str]
    names: Mapping[str, str]
    passed_on: tuple[str, ...] = ()

    @classmethod
    def load(cls, more: Iterable[str] = (), *, groups: Iterable[str] | None = None) -> ExcludedSources:
        """The project's list and further domains.

        Args:
            more: further domains.
            groups: names of the groups that hold a task's own answers; all groups if left out. Archives and proxies
                show any page, hubs hold any data set, and they are always among them.

        Raises:
            ConfigError: if one of `more` is not a domain.
        """
        content = resources.files("hellofresh.evidence.web").joinpath("excluded.toml").read_bytes()
        try:
            listed = _File.model_validate(parse_toml(content)).groups
        except (ValueError, ValidationError) as error:
            raise ConfigError(
                "the list of excluded sources is damaged", where="excluded.toml", code="config"
            ) from error
        chosen = [group for name, group in listed.items() if groups is None or name in {*groups, *_ANYWAY}]
        domains = {host_name(domain): group.reason for group in chosen for domain in group.domains}
        names = {name: group.reason for group in chosen for name in group.names}
        for domain in more:
            try:
                domains[host_name(domain)] = _CHOSEN
            except AddressError:
                raise ConfigError(
                    f"{domain!r} is not a domain", where="excluded sources", expected="example.org", code="config"
                ) from None
        own = {host_name(domain) for name in groups or () if name in listed for domain in listed[name].domains}
        return cls(domains, names, tuple(sorted({*own, *(name for name, why in domains.items() if why == _CHOSEN)})))

    @cached_property
    def sha256(self) -> str:
        return sha256_text(canonical_json([sorted(self.domains), sorted(self.names)]))

    def reason(self, url: str) -> str:
        """Why a URL may not be read, empty if it may; the fetcher refuses malformed ones."""
        try:
            address = PageAddress.parse(url)
        except AddressError:
            return ""
        return self.reason_of_address(address)

    def reason_of_address(self, address: PageAddress) -> str:
        """Why an address may not be read, empty if it may."""
        found = self._of_host(address.host)
        if found:
            return f"{address.host}: {found}"
        for host in (*_hosts_written_in(address.target), *_hosts_within(address.host)):
            found = self._of_host(host)
            if found:
                return f"{host} through {address.host}: {found}"
        return ""

    def _of_host(self, host: str) -> str:
        labels = host.split(".")
        for start in range(len(labels)):
            found = self.domains.get(".".join(labels[start:]))
            if found:
                return found
        below, name = _registered(host)
        return self.names.get(name, "") or self.names.get([*below, name][0], "")


def _hosts_written_in(target: str) -> Iterator[str]:
    """Hosts of addresses that a path or query carries, however often escaped."""
    target = target.lower()
    for _ in range(_MOST_DECODINGS):
        for match in _HOST_IN_TEXT.finditer(target):
            # A bare name is an address only with a path of its own: `?source=x.com` and `/tag/x.com` are none.
            if match["rest"] or "/" in match["scheme"].strip("/") or match["scheme"].startswith("http"):
                try:
                    yield host_name(match["host"])
                except AddressError:
                    continue
        decoded = unquote(target).lower()
        if decoded == target:
            return
        target = decoded


def _hosts_within(host: str) -> Iterator[str]:
    """Hosts that proxies write into their own: `en.wikipedia.org.proxy.example`, `en-wikipedia-org.proxy.example`."""
    labels, _ = _registered(host)
    for end in range(2, len(labels) + 1):
        yield ".".join(labels[:end])
    for label in labels:
        if "-" in label and not label.startswith("xn--"):
            yield label.replace("--", "\0").replace("-", ".").replace("\0", "-")


def _registered(host: str) -> tuple[Sequence[str], str]:
    """The labels below a host's registered domain, and that domain's own label."""
    found = _by_public_suffix()(host)
    if found.suffix:
        return found.subdomain.split(".") if found.subdomain else [], found.domain
    # An unknown suffix is taken for one label.
    *below, name = host.split(".")[:-1] or [host]
    return below, name


@cache
def _by_public_suffix() -> TLDExtract:
    from tldextract import TLDExtract

    # No addresses and no cache: only the list that comes with the package is read, nothing is fetched or written.
    return TLDExtract(suffix_list_urls=(), cache_dir=None)
