"""Which addresses are refused and which are not, in every way that they can be written."""

import ipaddress
import re

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.errors import InvalidInput
from registerwatch.platform.net.addresses import MAX_URL_LENGTH, Target, is_public, target

PRIVATE_HOSTS = [
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "a.b.LocalHost.",
    "printer.local",
    "printer.LOCAL.",
    "metadata.google.internal",
    "db.internal.",
    "host.localdomain",
    "router.home.arpa",
    "service.onion",
    "intranet",
    "intranet.",
    "0.0.0.0",
    "10.0.0.1",
    "10.0.0.1.",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[100::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[4000::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[ff0e::1]",
]
"""Private, loopback, link-local, shared, reserved, for documents, multicast, broadcast."""
PRIVATE_IN_IPV6 = [
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:10.0.0.1]",
    "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b:1::10.0.0.1]",
    "[2002:7f00:1::]",
    "[2002:0a00:0001::1]",
    "[2001:0:7f00:1::]",
    "[2001:470::5efe:127.0.0.1]",
    "[2001:470::200:5efe:10.0.0.1]",
]
OTHER_SPELLINGS = [
    "127.1",
    "127.0.1",
    "0",
    "2130706433",
    "017700000001",
    "0x7f000001",
    "0X7F.0.0.1",
    "0x7f.1",
    "0177.0.0.1",
    "00000000177.0.0.01",
    "10.1",
    "0xa9fea9fe",
    "１２７.０.０.１",
    "127。0。0。1",
    "127．0．0．1",
    "127｡0｡0｡1",
    "①②⑦.0.0.1",
    "ｌｏｃａｌｈｏｓｔ",
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
    "ⓛocalhost。",
    "printer．local",
    "ℓocalhost",
    "loca\u212a.internal",
]
NO_NAMES = [
    "",
    ".",
    "..",
    ".example.org",
    "a..example.org",
    "example.org..",
    f"{'a' * 64}.example.org",
    f"{'a.' * 127}org",
    "-a.example.org",
    "a-.example.org",
    "exa%6dple.org",
    "8.8.8.8%2eexample.org",
    "127.0.0.1%2eexample.org",
    "exam<ple.org",
    "ex*mple.org",
    "exam,ple.org",
    "1.2.3.4.5",
    "08.8.8.8",
    "256.1.1.1",
    "example.123",
    "l\u043ecalhost",
    "[v1.x]",
    "[::1%25lo]",
    "[::1%lo]",
    "[2606:4700::1%25eth0]",
    "[2606:4700::1",
    "2606:4700::1",
    "xn--\u0430",
]
NO_ADDRESSES = [
    "",
    " ",
    "example.org",
    "//example.org",
    "https:",
    "https:example.org",
    "https:/example.org",
    "https:///example.org",
    "http://example.org/",
    "HTTP://example.org/",
    "ftp://example.org/",
    "file:///etc/passwd",
    "gopher://example.org/",
    "javascript:alert(1)",
    "data:text/plain,x",
    "ws://example.org/",
    "wss://example.org/",
    "https+unix://example.org/",
    "https://user@example.org/",
    "https://user:password@example.org/",
    "https://@example.org/",
    "https://example.org@127.0.0.1/",
    "https://127.0.0.1\\@example.org/",
    "https://example.org\\@127.0.0.1/",
    "https:\\\\example.org",
    "https://exa mple.org/",
    "https://example.org/a b",
    "https://exa\tmple.org/",
    "https://example.org/\r\nX-Evil: 1",
    "https://example.org/\x00",
    "https://example.org/\x7f",
    "https://example.org/\u202e",
    "https://example.org/\ud800",
    "https://loca\u00adlhost/",
    "https://loca\u200dlhost/",
    "https://example.org:0/",
    "https://example.org:22/",
    "https://example.org:25/",
    "https://example.org:1023/",
    "https://example.org:65536/",
    "https://example.org:-1/",
    "https://example.org:+443/",
    "https://example.org:4４3/",
    "https://example.org:https/",
    "https://example.org:443:443/",
    "https://[/",
    "https://]/",
    "https://example.org/" + "a" * 10_000,
    "https://" + "a." * 5_000 + "org/",
    "https://" + "1" * 10_000 + "/",
]
ALLOWED = {
    "https://example.org": ("example.org", 443),
    "https://example.org/": ("example.org", 443),
    "https://example.org./": ("example.org.", 443),
    "https://EXAMPLE.org/Hook": ("example.org", 443),
    "HTTPS://example.org/": ("example.org", 443),
    " https://example.org/ ": ("example.org", 443),
    "https://example.org:443/": ("example.org", 443),
    "https://example.org:1024/": ("example.org", 1024),
    "https://example.org:8443/": ("example.org", 8443),
    "https://example.org:65535/": ("example.org", 65535),
    "https://hooks.example.org/a/b%20c;d?e=f&g=%2F": ("hooks.example.org", 443),
    "https://example.org/?url=http://127.0.0.1/": ("example.org", 443),
    "https://example.org/@127.0.0.1": ("example.org", 443),
    "https://my_hook.example.org/": ("my_hook.example.org", 443),
    "https://localhost.example.org/": ("localhost.example.org", 443),
    "https://mylocalhost.org/": ("mylocalhost.org", 443),
    "https://internal.example.org/": ("internal.example.org", 443),
    "https://127.example.org/": ("127.example.org", 443),
    "https://m\u00fcnchen.example/\u00e4": ("xn--mnchen-3ya.example", 443),
    "https://xn--mnchen-3ya.example/": ("xn--mnchen-3ya.example", 443),
    "https://\u4f8b\u3048.\u30c6\u30b9\u30c8/": ("xn--r8jz45g.xn--zckzah", 443),
    "https://8.8.8.8/": ("8.8.8.8", 443),
    "https://0x08080808/": ("8.8.8.8", 443),
    "https://01.01.01.01/": ("1.1.1.1", 443),
    "https://8.8.8.8.:8443/": ("8.8.8.8", 8443),
    "https://[2606:4700::1111]/": ("2606:4700::1111", 443),
    "https://[2606:4700:0::0:1111]:8443/": ("2606:4700::1111", 8443),
    "https://[64:ff9b::8.8.8.8]/": ("64:ff9b::808:808", 443),
    "https://[::ffff:8.8.8.8]/": (str(ipaddress.ip_address("::ffff:8.8.8.8")), 443),
}


@pytest.mark.parametrize("host", [*PRIVATE_HOSTS, *PRIVATE_IN_IPV6, *OTHER_SPELLINGS, *NO_NAMES])
def test_a_host_that_is_private_or_none_is_refused(host: str) -> None:
    for url in (f"https://{host}", f"https://{host}/hook?a=b", f"https://{host}:8443/"):
        with pytest.raises(InvalidInput):
            target(url, allow_private=False)


@pytest.mark.parametrize("url", NO_ADDRESSES)
def test_what_is_no_public_https_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        target(url, allow_private=False)
    assert re.fullmatch(r"[A-Z][^\n]*\.", str(refused.value))


@pytest.mark.parametrize("url", ALLOWED)
def test_public_addresses_are_allowed(url: str) -> None:
    allowed = target(url, allow_private=False)
    assert (allowed.host, allowed.port) == ALLOWED[url]
    assert allowed.scheme == "https"


def test_the_address_that_is_kept_names_the_host_that_was_checked() -> None:
    kept = target("https://\uff25xample.ORG:8443/\u00c4?b=%20#part", allow_private=False)
    assert kept.url == "https://example.org:8443/\u00c4?b=%20"
    assert target("https://[2606:4700:0::1]:8443/x", allow_private=False).url == "https://[2606:4700::1]:8443/x"


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8080/",
        "http://receiver/hook",
        "http://my_receiver:9000/",
        "https://10.0.0.1:22/",
        "http://[::1]:8080/",
        "http://127.1:8080/",
    ],
)
def test_private_networks_and_http_are_open_to_those_who_say_so(url: str) -> None:
    assert target(url, allow_private=True).url
    with pytest.raises(InvalidInput):
        target(url, allow_private=False)


@pytest.mark.parametrize(
    "url", ["ftp://10.0.0.1/", "http://u:p@10.0.0.1/", "http://a b/", "http://:80/", "http://x:0/"]
)
def test_what_is_no_web_address_stays_refused_where_private_networks_are_open(url: str) -> None:
    with pytest.raises(InvalidInput):
        target(url, allow_private=True)


PRIVATE_NETWORKS = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/4",
    "240.0.0.0/4",
]
private_ipv4 = st.one_of(*(st.ip_addresses(v=4, network=network) for network in PRIVATE_NETWORKS))


@given(private_ipv4, st.data())
def test_no_private_address_passes_in_any_spelling(address: ipaddress.IPv4Address, data: st.DataObject) -> None:
    host = data.draw(st.sampled_from(_spellings(address)))
    with pytest.raises(InvalidInput):
        target(f"https://{host}/hook", allow_private=False)


@given(private_ipv4)
def test_no_address_that_holds_a_private_one_is_public(address: ipaddress.IPv4Address) -> None:
    for network in ("::ffff:0:0", "::", "64:ff9b::", "2001:470::5efe:0:0", "2001:470::200:5efe:0:0"):
        assert not is_public(ipaddress.IPv6Address(int(ipaddress.IPv6Address(network)) | int(address)))
    assert not is_public(ipaddress.IPv6Address((0x2002 << 112) | (int(address) << 80)))
    assert not is_public(address)


@given(
    st.one_of(
        st.text(),
        st.text().map("https://{}".format),
        st.text(alphabet="0123456789abcx.:[]%@/\\").map("https://{}/".format),
    )
)
def test_any_text_is_a_target_or_refused(text: str) -> None:
    for allow_private in (False, True):
        try:
            allowed = target(text, allow_private=allow_private)
        except InvalidInput:
            continue
        _agrees_with_the_client(allowed)
        assert target(allowed.url, allow_private=allow_private).host == allowed.host


def _agrees_with_the_client(allowed: Target) -> None:
    """Two readers of one address that disagree about its host are how guards are got around."""
    read = httpx2.URL(allowed.url)
    assert len(allowed.url) <= MAX_URL_LENGTH * 10
    assert read.raw_host.decode() == allowed.host
    assert (read.port or {"https": 443, "http": 80}[read.scheme]) == allowed.port
    assert read.copy_with(host="192.0.2.7").host == "192.0.2.7"


def _spellings(address: ipaddress.IPv4Address) -> list[str]:
    number, parts = int(address), str(address).split(".")
    wide = str.maketrans("0123456789.", "０１２３４５６７８９．")
    return [
        str(address),
        f"{address}.",
        str(number),
        hex(number),
        hex(number).upper(),
        f"0{number:o}",
        ".".join(f"0x{int(part):x}" for part in parts),
        ".".join(f"0{int(part):o}" for part in parts),
        f"{parts[0]}.{number & 0xFFFFFF}",
        f"{parts[0]}.{parts[1]}.{number & 0xFFFF}",
        f"0x{int(parts[0]):x}.{number & 0xFFFFFF}",
        str(address).translate(wide),
        str(address).replace(".", "。"),
        f"[::ffff:{address}]",
        f"[::{address}]",
        f"[64:ff9b::{address}]",
        f"[2002:{number >> 16:x}:{number & 0xFFFF:x}::1]",
        f"[2001:0:{number >> 16:x}:{number & 0xFFFF:x}::1]",
        f"[2001:470::5efe:{address}]",
    ]
