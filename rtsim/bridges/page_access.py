"""Who may open the browser page with results: programs of this machine, or viewers with the token
over TLS.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import ssl
from pathlib import Path
from typing import NamedTuple

from rtsim.errors import ConfigError
from streams.access.key_files import check_private, read_small
from streams.access.ownership import check_kept
from streams.errors import StreamError

COOKIE = "rtsim_page"
TOKEN_LEAST, TOKEN_MOST = 20, 200  # characters
HERE = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)
PORT_USUAL = 5580
CERTIFICATE = (
    "openssl req -x509 -newkey rsa:2048 -nodes -days 365 -subj /CN=rtsim -keyout page.key -out page.crt"
)


class PageAddress(NamedTuple):
    """Address of the browser page: interface and port, 0 = any free one."""

    host: str
    port: int

    @property
    def is_here(self) -> bool:
        """Return whether only this machine can reach the address."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def place_of(text: str, where: str = "--page") -> PageAddress:
    """Parse interface and port from HOST:PORT, PORT or HOST, with [..] around an IPv6 address; ConfigError
    for any other text.
    """
    allowed = f"HOST:PORT, as 127.0.0.1:{PORT_USUAL}, or a port alone"
    host, colon, port = text.rpartition(":")
    if text.startswith("[") and text.endswith("]"):
        host, port = text, str(PORT_USUAL)
    elif not colon:
        host, port = ("127.0.0.1", text) if text.isdigit() else (text, str(PORT_USUAL))
    inside = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    bad_host = not inside or any(letter.isspace() or letter in "/@?#[]" for letter in inside)
    if bad_host or (":" in inside and inside == host) or not (port.isascii() and port.isdigit()):
        raise ConfigError(f"{text!r} is not an address for a page", where=where, allowed=allowed)
    if len(port) > 5 or int(port) > 65_535:
        raise ConfigError(f"{text!r} has the port {port}", where=where, allowed="ports from 0 to 65535")
    return PageAddress(inside, int(port))


class Access:
    """Decides which requests to the browser page are allowed.

    token : token that a viewer must send; "" = none is needed, and only this machine can reach the page
    host : further address of this machine at which the page is served, such as 127.0.0.2; "" = none
    """

    def __init__(self, token: str, host: str = "") -> None:
        self.token = token
        self._named = re.compile(re.escape(host) + "(:[0-9]{1,5})?") if host else HERE

    def has_cookie(self, header: str) -> bool:
        """Return whether the cookies of a request contain the token."""
        if not self.token:
            return True
        # Python's own reader of cookies takes a time that grows with the square of one in quotes
        # (CVE-2024-7592): 20 s for the 64 kB that anybody may send. No token has quotes.
        pairs = (entry.strip().partition("=") for entry in header.split(";"))
        return any(self.fits(value) for name, _, value in pairs if name == COOKIE)

    def fits(self, token: str) -> bool:
        """Return whether a text equals the token; the comparison takes the same time for every text."""
        return secrets.compare_digest(token.encode("utf-8", "replace"), self.token.encode())

    def allows_host(self, host: str) -> bool:
        """Return whether a request addresses this machine by one of its own names. This rejects web pages
        whose own host name was made to resolve to this machine (DNS rebinding). With a token any name is
        allowed.
        """
        if self.token:
            return True
        return HERE.fullmatch(host) is not None or self._named.fullmatch(host) is not None


def access_for(place: PageAddress, token_file: Path | None, secured: bool) -> Access:
    """Return the rules of access to a browser page served at an address; ConfigError if the network can reach
    it without TLS.

    token_file : file with the token, None = a random one where one is needed
    secured : whether the page is served over TLS
    """
    if not place.is_here and not secured:
        raise ConfigError(
            f"{place.host} can be reached from the network, where everybody would see the person",
            where="--page", allowed="127.0.0.1, or any interface with --certificate and --certificate-key",
            remedy=f"make a certificate of your own with: {CERTIFICATE}",
        )  # fmt: skip
    if token_file is not None:
        return Access(read_token(token_file))
    if place.is_here:
        return Access("", place.host)
    return Access(secrets.token_urlsafe(24))


def read_token(path: Path) -> str:
    """Read the token from a file, which only its owner may be able to read."""
    where = "--token-file"
    try:
        text = read_small(path).decode("ascii").strip()
        check_private(path)
        check_kept(path)
    except (OSError, StreamError) as fault:
        raise ConfigError(
            f"{path} cannot be used: {fault}", where=where, remedy="name a file of your own"
        ) from fault
    except ValueError:  # no text, empty, or far too large
        text = ""
    if not TOKEN_LEAST <= len(text) <= TOKEN_MOST or not all(c.isalnum() or c in "-_" for c in text):
        raise ConfigError(
            f"{path} contains no token", where=where,
            allowed=f"one line of {TOKEN_LEAST} to {TOKEN_MOST} letters, digits, - and _",
            remedy="python3 -c 'import secrets; print(secrets.token_urlsafe(24))' makes one",
        )  # fmt: skip
    return text


def tls_context(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """Return TLS settings with a certificate and its key in PEM; None if neither is given."""
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise ConfigError(
            "--certificate and --certificate-key go together", where="--page", remedy="give both"
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        for path in (certificate, key):
            read_small(path)  # what has no end or no answer must not come to the library
        check_private(key)
        check_kept(key)
        context.load_cert_chain(certificate, key, password=_no_password)
    except (OSError, StreamError, ValueError) as fault:
        raise ConfigError(
            f"{certificate} and {key} cannot be used: {fault}", where="--certificate",
            remedy=f"give a certificate and its key in PEM; one of your own is made with: {CERTIFICATE}",
        ) from fault  # fmt: skip
    return context


def _no_password() -> str:
    raise ValueError("the key is protected by a password, which nobody can type while rtsim runs")
