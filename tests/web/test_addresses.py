"""No notation of an address leads to a machine that is not public: directly, by redirects, or by changing names."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.errors import ConfigError
from hellofresh.core.net.addresses import AddressError, PageAddress, is_public, links_in
from hellofresh.evidence.web import PageStatus
from tests.web import conftest as net

PRIVATE = [
    "127.0.0.1", "127.1.2.3", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
    "169.254.169.254",
    "169.254.170.2", "100.64.0.1", "100.100.100.200", "100.127.255.255", "168.63.129.16", "192.0.0.1", "192.0.0.192",
    "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::7f00:1", "100::1", "2001::1",
    "2001:0:4136:e378::1",
    "2001:10::1", "2001:20::1", "2001:2::1", "2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "3fff::1", "3ffe::1",
    "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::5efe:7f00:1", "2a00:1450:4001::5efe:7f00:1",
    "2a00:1450:4001::200:5efe:a00:1", "fec0::1", "feff::1", "ff02::1", "ff0e::1", "4000::1", "1000::1",
]  # fmt: skip
FORMS = [
    *(f"http://{f'[{a}]' if ':' in a else a}/" for a in PRIVATE),
    "http://0177.0.0.1/", "http://0x7f.0.0.1/", "http://0x7f000001/", "http://2130706433/", "http://017700000001/",
    "http://127.1/", "http://127.0.1/", "http://0/", "http://0x0/", "http://127.0.0.1./", "http://0x7f.1/", "http://010.0.0.1/",
    "http://00000000000000000000000127.0.0.1/", "http://256.256.256.256/", "http://127.0.0.0x1/", "http://1.2.3.08/",
    "http://\uff11\uff12\uff17.0.0.1/", "http://127\u30020\u30020\u30021/", "http://\u2460\u2461\u2466.0.0.1/",
    "http://%31%32%37.0.0.1/", "http://[::1%25eth0]/", "http://[::1%eth0]/", "http://[127.0.0.1]/", "http://[::1/", "http://[v1.x]/",
    "http://user@127.0.0.1/", "http://good.example@127.0.0.1/", "http://user:word@good.example/", "http://good.example:x@10.0.0.1/",
    "http://good.example\\@127.0.0.1/", "http://127.0.0.1\\@good.example/", "http://127.0.0.1#@good.example/",
    "http://good.example:22/", "http://good.example:6379/", "http://good.example:0/", "http://good.example:65536/",
    "http://good.example:-1/", "http://good.example:8o/", "http://127.0.0.1:80/", "https://127.0.0.1/", "HTTP://127.0.0.1/",
    "file:///etc/passwd", "gopher://127.0.0.1:70/_x", "data:text/html,hello", "ftp://good.example/",
    "javascript:alert(1)",
    "ws://good.example/", "jar:http://good.example!/", "dict://127.0.0.1:11211/", "http:127.0.0.1", "http:/127.0.0.1/",
    "http:///127.0.0.1/", "http://", "http://./", "http://../", "http://good.example\t.evil/",
    "http://good.example\n/", " http://127.0.0.1/",
    "http://local\u00adhost/", "http://localhost/", "http://localhost.localdomain/", "http://inside.example/",
    "http://both.example/", "http://mapped.example/", f"http://{'a.' * 2100}example/", f"http://{'a' * 64}.example/",
]  # fmt: skip
NAMES = {
    "localhost": [["127.0.0.1"]],
    "localhost.localdomain": [["::1"]],
    "inside.example": [["10.1.2.3"]],
    "both.example": [["93.184.215.14", "10.1.2.3"]],
    "mapped.example": [["::ffff:169.254.169.254"]],
    "good.example": [["93.184.215.14"]],
}
NOT_READ = {PageStatus.UNSAFE, PageStatus.DEAD}


async def test_no_form_is_reached_directly() -> None:
    async with net.Site({}).serving() as site:
        fetcher, sockets = net.outside(site, NAMES)
        for form in FORMS:
            fetched = await fetcher.fetch(form)
            assert fetched.status is PageStatus.UNSAFE, (form, fetched)
            assert sockets.opened == [], form
        await fetcher.close()
        assert site.requests == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_form_is_reached_by_a_redirect(status: int) -> None:
    forms = [form for form in FORMS if form.isascii() and form.isprintable() and form.strip() == form]
    assert len(forms) >= 60
    pages = {f"/{k}": net.reply(status=status, Location=form) for k, form in enumerate(forms)}
    async with net.Site(pages).serving() as site:
        fetcher, sockets = net.outside(site, NAMES)
        for k, form in enumerate(forms):
            fetched = await fetcher.fetch(f"http://good.example/{k}")
            assert fetched.status in NOT_READ, (form, fetched)
            assert set(sockets.opened) == {net.PUBLIC}, form
        await fetcher.close()
        # Forms without a host of their own stay on the site; they reach no further than it.
        assert {request.headers["host"] for request in site.requests} == {"good.example"}


async def test_a_name_that_turns_private_after_its_first_use_is_not_followed() -> None:
    async with net.Site({"/": net.reply(b"<p>secret</p>")}).serving() as site:
        for address in PRIVATE:
            # The first answer serves robots.txt; the second is the attack.
            for attack in ([address], [net.PUBLIC, address], [address, net.PUBLIC]):
                fetcher, sockets = net.outside(site, {"turn.example": [[net.PUBLIC], attack]})
                fetched = await fetcher.fetch("http://turn.example/")
                await fetcher.close()
                assert fetched.status is PageStatus.UNSAFE, (address, fetched)
                assert sockets.opened == [net.PUBLIC], address
    assert site.asked("/") == 0


async def test_what_is_public_is_read_with_every_rule_in_force() -> None:
    async with net.Site({"/": net.reply(b"<p>hello</p>")}).serving() as site:
        fetcher, sockets = net.outside(site, NAMES)
        fetched = await fetcher.fetch("http://good.example/")
        await fetcher.close()
        assert (fetched.status, fetched.body) == (PageStatus.OK, b"<p>hello</p>")
        assert sockets.opened == [net.PUBLIC, net.PUBLIC]


async def test_ones_own_server_is_reached_only_where_its_address_and_port_are_named() -> None:
    async with net.Site({"/": net.reply(b"<p>hello</p>")}).serving() as site, net.Site({}).serving() as other:
        fetcher = net.fetcher(site)
        assert (await fetcher.fetch(f"{site.base}/")).status is PageStatus.OK
        assert (await fetcher.fetch(f"{other.base}/")).status is PageStatus.UNSAFE
        for name in ("127.1", "0x7f.0.0.1", "2130706433", "[::ffff:127.0.0.1]", "127.0.0.2"):
            assert (await fetcher.fetch(f"http://{name}:{site.port}/")).status is PageStatus.UNSAFE
        await fetcher.close()
        assert other.requests == []


@pytest.mark.parametrize("address", PRIVATE)
def test_private_space_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "93.184.215.14", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450:4001::1"],
)
def test_public_space_is(address: str) -> None:
    assert is_public(address)


@given(st.ip_addresses())
def test_nothing_is_public_that_the_standard_library_calls_private(address: object) -> None:
    if is_public(str(address)):
        assert ip_address(str(address)).is_global
        assert not ip_address(str(address)).is_multicast


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_has_one_notation(address: IPv4Address) -> None:
    number = int(address)
    first, *rest = str(address).split(".")
    for form in (
        str(number),
        hex(number),
        f"0{number:o}",
        f"0x{int(first):x}.{'.'.join(rest)}",
        f"{first}.{number & 0xFFFFFF}",
    ):
        with pytest.raises(AddressError):
            PageAddress.parse(f"http://{form}/")
    assert PageAddress.parse(f"http://{address}/").host == str(address)


@given(st.text(max_size=30))
def test_any_text_is_an_address_in_one_spelling_or_refused(text: str) -> None:
    for url in (text, f"http://{text}", f"https://a.example/{text}"):
        try:
            parsed = PageAddress.parse(url)
        except AddressError:
            continue
        assert parsed.url.isascii()
        assert PageAddress.parse(parsed.url) == parsed


def test_spellings_of_one_address_are_one() -> None:
    spellings = ["HTTPS://B\u00dccher.Example./a b", "https://xn--bcher-kva.example:443/a%20b#part"]
    with pytest.raises(AddressError):
        PageAddress.parse(spellings[0])
    assert PageAddress.parse("HTTPS://B\u00dccher.Example./a%20b").url == "https://xn--bcher-kva.example/a%20b"
    assert PageAddress.parse(spellings[1]).url == "https://xn--bcher-kva.example/a%20b"


def test_links_of_a_text_keep_their_own_brackets_and_no_punctuation_around_them() -> None:
    said = "(https://en.example/wiki/Mill_(river)), https://a.example/x?y=1. [https://b.example/z] https://b.example/z!"
    assert links_in(said) == ("https://en.example/wiki/Mill_(river)", "https://a.example/x?y=1", "https://b.example/z")


def test_networks_that_a_setting_names_are_not_public_from_here(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_public("2606:4700:64::1")
    monkeypatch.setenv("HELLOFRESH_CLOSED_NETWORKS", "2606:4700:64::/96 93.184.216.0/24")
    assert not is_public("2606:4700:64::1") and not is_public("93.184.216.34") and is_public("8.8.8.8")
    monkeypatch.setenv("HELLOFRESH_CLOSED_NETWORKS", "elsewhere")
    with pytest.raises(ConfigError, match="not a network"):
        is_public("8.8.8.8")
