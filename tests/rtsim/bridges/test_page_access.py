"""Who may look at the page."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rtsim.bridges.page_access import Access, PageAddress, access_for, place_of, read_token, tls_context
from rtsim.errors import ConfigError

ROOT = Path(__file__).resolve().parents[3]
GUARD_S = 120.0


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("5580", ("127.0.0.1", 5580)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:80", ("::1", 80)),
        ("0.0.0.0", ("0.0.0.0", 5580)),
        ("[::]", ("::", 5580)),
    ],
)
def test_places(text: str, place: tuple[str, int]) -> None:
    """Protects every way in which a place may be written."""
    assert place_of(text) == place


@pytest.mark.parametrize(
    "text", ["", ":5580", "host:", "a b:1", "::1", "127.0.0.1:65536", "h:-1", "http://h:1", "h:٣"]
)
def test_what_is_no_place(text: str) -> None:
    """Protects from being served anywhere else than was meant."""
    with pytest.raises(ConfigError, match="--page"):
        place_of(text)


def test_the_network_needs_tls_and_a_token() -> None:
    """Protects the person who is measured: no page in the open, and each start another token."""
    with pytest.raises(ConfigError, match="--certificate"):
        access_for(PageAddress("0.0.0.0", 5580), None, secured=False)
    first, second = (access_for(PageAddress("0.0.0.0", 5580), None, secured=True).token for _ in range(2))
    assert len(first) >= 30
    assert first != second
    assert access_for(PageAddress("127.0.0.1", 5580), None, secured=False).token == ""


def test_pages_of_strangers_cannot_ask_here() -> None:
    """Protects against a web page whose name is made to lead to this machine."""
    access = Access("")
    for host in ("127.0.0.1:5580", "LOCALHOST:5580", "[::1]:5580", "localhost"):
        assert access.allows_host(host)
    for host in ("evil.example:5580", "", "127.0.0.1.evil.example", "127.0.0.1:5580@evil"):
        assert not access.allows_host(host)
    other = access_for(PageAddress("127.0.0.2", 5580), None, secured=False)
    for host, allowed in (("127.0.0.2:5580", True), ("127.0.0.3", False), ("127x0.0.2", False)):
        assert other.allows_host(host) is allowed


def test_cookies() -> None:
    """Protects the token: the right one alone admits, whatever else a header holds."""
    access = Access("a" * 32)
    assert access.has_cookie(f"x=1; rtsim_page={'a' * 32}")
    for header in ("", "rtsim_page=", f"rtsim_page={'a' * 31}", "rtsim_page=ä", ";;;=", "rtsim_page"):
        assert not access.has_cookie(header)


def test_token_files(tmp_path: Path) -> None:
    """Protects from tokens that others may read, and from files that hold none."""
    path = tmp_path / "token"
    path.write_text("0123456789_abcdefghij-XYZ\n")
    path.chmod(0o600)
    assert read_token(path) == "0123456789_abcdefghij-XYZ"
    for text in ("short", "x" * 5000, "two words and more letters here", "ümlautümlautümlautümlaut", ""):
        path.write_text(text)
        with pytest.raises(ConfigError, match="contains no token"):
            read_token(path)
    path.write_text("0123456789_abcdefghij-XYZ\n")
    path.chmod(0o644)
    for bad in [tmp_path, tmp_path / "missing", *([path] if os.name == "posix" else [])]:
        with pytest.raises(ConfigError, match="cannot be used"):
            read_token(bad)


def test_certificates(tmp_path: Path) -> None:
    """Protects with a sentence whoever names one file of two, or files that are no certificate."""
    paths = [tmp_path / "page.crt", tmp_path / "page.key"]
    for path in paths:
        path.write_text("no certificate")
        path.chmod(0o600)
    assert tls_context(None, None) is None
    with pytest.raises(ConfigError, match="go together"):
        tls_context(paths[0], None)
    with pytest.raises(ConfigError, match="cannot be used"):
        tls_context(*paths)
    with pytest.raises(ConfigError, match="cannot be used"):
        tls_context(paths[0], tmp_path / "missing")


def test_a_cookie_of_a_stranger_is_read_at_once() -> None:
    """Protects the page from a request without a token that keeps it busy: in quotes and backslashes the
    library's reader takes a time that grows with the square of the length, hours for this one."""
    code = (
        "from rtsim.bridges.page_access import Access\n"
        "for piece in ('\\\\' * 2, '\\\\\"', 'a', ';', '='):\n"
        "    assert not Access('a' * 32).has_cookie('x=\"' + piece * 500_000 + '\"; rtsim_page=b')\n"
    )
    subprocess.run(
        [sys.executable, "-c", code], timeout=GUARD_S, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
