"""Addresses of pages: which are public, and how to parse a URL unambiguously.

The rule is an allow list: an address passes only if it lies in publicly routed space and in none of the
blocks of the IANA special-purpose registries, nor in IPv6 space that carries an IPv4 address inside (6to4, Teredo,
NAT64, ISATAP, mapped and compatible forms), since such an address may lead anywhere.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, quote, urljoin, urlsplit

import idna

from hellofresh.core.errors import ConfigError

PORTS = frozenset({80, 443, 8080, 8443})
"""Ports for pages; others belong to other services."""
LONGEST_URL = 4096

_V4_CLOSED = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        # At these addresses, public by the registries, clouds serve secrets of the machine.
        "168.63.129.16/32", "100.100.100.200/32",
    )
)  # fmt: skip
_V6_OPEN = IPv6Network("2000::/3")
_V6_CLOSED = tuple(
    IPv6Network(block)
    for block in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3ffe::/16", "3fff::/20")
)
_ISATAP = frozenset({0x0000_5EFE, 0x0200_5EFE, 0x0100_5EFE, 0x0300_5EFE})
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f-\xa0\\<>\"^`{|}]")
_SCHEME = re.compile(r"(?i)https?://[^/]")
_LINK = re.compile(r"https?://(?:[^\s<>{}|\[\]\"'()]|\([^\s<>{}|\[\]\"'()]*\))+")
_NUMBER = re.compile(r"(?:[0-9]+|0[xX][0-9a-fA-F]*)\Z")
_PATH_SAFE = "/%:@!$&'()*+,;=-._~[]"


class AddressError(ValueError):
    """An address that must not be fetched, with the reason."""


def links_in(text: str) -> tuple[str, ...]:
    """The distinct page addresses in a text, without trailing punctuation and closing brackets.

    Brackets that open within an address belong to it, as in addresses of Wikipedia.
    """
    return tuple(dict.fromkeys(link.rstrip(".,;:!?") for link in _LINK.findall(text)))


@cache
def _closed_here(networks: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Networks that are not public from this machine, such as the NAT64 prefix of its own network."""
    try:
        return tuple(ip_network(network) for network in networks.split())
    except ValueError as error:
        where, expected = "HELLOFRESH_CLOSED_NETWORKS", "networks such as 2001:db8:64::/96, separated by spaces"
        raise ConfigError(f"not a network ({error})", where=where, expected=expected, code="bad-network") from None


def is_public(address: str) -> bool:
    """Whether a text is a numeric IP address of the public internet; False for anything else."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if any(parsed in block for block in _closed_here(os.environ.get("HELLOFRESH_CLOSED_NETWORKS", ""))):
        return False
    if isinstance(parsed, IPv4Address):
        return not any(parsed in block for block in _V4_CLOSED)
    if parsed.scope_id is not None or parsed not in _V6_OPEN:
        return False
    interface = (int(parsed) >> 32) & 0xFFFF_FFFF
    return interface not in _ISATAP and not any(parsed in block for block in _V6_CLOSED)


@dataclass(frozen=True, slots=True)
class PageAddress:
    """A page's URL, parsed unambiguously.

    Attributes:
        scheme: `http` or `https`.
        host: lower case, ASCII (punycode), without a trailing dot; an IPv6 address without brackets.
        port: the number, also where the URL names none.
        path: with its leading slash, escaped.
        query: escaped, without the question mark; empty if absent.
    """

    scheme: str
    host: str
    port: int
    path: str
    query: str

    @classmethod
    def parse(cls, url: str) -> PageAddress:
        """Read a URL strictly.

        Raises:
            AddressError: if it is not an http(s) URL, names a user, hides an IP address in another notation, or has
                characters that URL parsers treat differently.
        """
        if len(url) > LONGEST_URL:
            raise AddressError(f"a URL of {len(url):,} characters")
        if _FORBIDDEN.search(url):
            raise AddressError("a URL with characters that URLs never have")
        if not _SCHEME.match(url):
            raise AddressError("not an http or https URL")
        try:
            parts = urlsplit(url)
            port = parts.port
            name = _host(parts)
        except ValueError as error:
            raise AddressError(f"not a URL ({error})") from None
        scheme = parts.scheme.lower()
        default = 443 if scheme == "https" else 80
        path = quote(parts.path or "/", safe=_PATH_SAFE)
        return cls(scheme, name, default if port is None else port, path, quote(parts.query, safe=_PATH_SAFE + "?"))

    def joined(self, location: str) -> PageAddress:
        """The target of a redirect from here.

        Raises:
            AddressError: as `parse`.
        """
        try:
            return PageAddress.parse(urljoin(self.url, location.strip(" \t")))
        except AddressError:
            raise
        except ValueError as error:
            raise AddressError(f"not a URL ({error})") from None

    @property
    def is_numeric(self) -> bool:
        """Whether the host is an IP address."""
        return ":" in self.host or _NUMBER.match(self.host.rpartition(".")[2]) is not None

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = 443 if self.scheme == "https" else 80
        return f"{self.scheme}://{host}" + ("" if self.port == default else f":{self.port}")

    @property
    def target(self) -> str:
        """Path and query."""
        return self.path + (f"?{self.query}" if self.query else "")

    @property
    def url(self) -> str:
        """The URL in canonical form, without a fragment."""
        return self.origin + self.target


def _host(parts: SplitResult) -> str:
    if "@" in parts.netloc:
        raise AddressError("a URL that names a user")
    if parts.netloc.startswith("["):
        return _bracketed(parts)
    named = parts.hostname or ""
    if "%" in named:
        raise AddressError("an escaped host")
    return host_name(named)


def _bracketed(parts: SplitResult) -> str:
    inside, _, rest = parts.netloc[1:].partition("]")
    if rest and not re.fullmatch(r":[0-9]*", rest):
        raise AddressError("no host")
    try:
        address = IPv6Address(inside)
    except ValueError:
        raise AddressError("no IPv6 address") from None
    if address.scope_id is not None:
        raise AddressError("an IPv6 address with a zone")
    return str(address)


def host_name(name: str) -> str:
    """A host's name in network form: lower case, punycode, no trailing dot.

    Raises:
        AddressError: if it is not a name of a host, or an IPv4 address in another notation than four decimal numbers.
    """
    plain = name[:-1] if name.endswith(".") else name
    try:
        # Names with underscores exist, although the rules for host names forbid them.
        ascii_name = plain.lower() if plain.isascii() else idna.encode(plain, uts46=True).decode()
    except (idna.IDNAError, UnicodeError) as error:
        raise AddressError(f"no host ({error})") from None
    if not re.fullmatch(r"[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?", ascii_name) or ".." in ascii_name:
        raise AddressError("no host")
    if any(len(label) > 63 for label in ascii_name.split(".")):
        raise AddressError("no host")
    if _NUMBER.match(ascii_name.rpartition(".")[2]):
        # Some parsers take octal, hexadecimal, short and single-number forms for addresses, others for names.
        try:
            if str(IPv4Address(ascii_name)) != ascii_name:
                raise ValueError
        except ValueError:
            raise AddressError("an IPv4 address in disguise") from None
    return ascii_name
