"""Certificates of authorities made for one test, by openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path

_EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2")


class Authority:
    """An authority in a directory of its own; `certificate` is its own one."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory / name
        self._directory.mkdir()
        self.certificate = self._directory / "ca.pem"
        self._key = self._directory / "ca.key"
        _openssl("req", "-x509", *_EC, "-nodes", "-keyout", self._key, "-out", self.certificate, "-subj", f"/CN={name}")

    def issue(self, name: str, host: str = "IP:127.0.0.1", password: str | None = None) -> Path:
        """A PEM file with a certificate and its key, encrypted if there is a password."""
        key, request, certificate = (self._directory / f"{name}.{end}" for end in ("key", "csr", "crt"))
        encryption = ("-nodes",) if password is None else ("-passout", f"pass:{password}")
        _openssl("req", *_EC, *encryption, "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        extensions = self._directory / "extensions"
        extensions.write_text(f"subjectAltName={host}\n")
        signed = ("-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial", "-extfile", extensions)
        _openssl("x509", "-req", "-in", request, *signed, "-days", "2", "-out", certificate)
        store = self._directory / f"{name}.pem"
        store.write_text(certificate.read_text() + key.read_text())
        return store


def keystore(pem: Path) -> Path:
    """The same as PKCS12, as Java has it."""
    store = pem.with_suffix(".p12")
    _openssl("pkcs12", "-export", "-in", pem, "-out", store, "-passout", "pass:changeit")
    return store


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
