"""`firesteel certificates`."""

from __future__ import annotations

import os
from pathlib import Path

import click

_HOSTS = ("localhost", "127.0.0.1", "::1")


@click.command()
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Name or address of the REST API in addition to localhost; may be repeated.",
)
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
def certificates(directory: Path, hosts: tuple[str, ...]) -> None:
    """Create a private certificate authority and certificates for a test cluster in DIRECTORY.

    Prints the options that a cluster needs to use them for TLS. The authority's key is not stored: to add hosts,
    create all certificates again.
    """
    try:
        import trustme
    except ImportError:
        raise click.ClickException("certificates need the package trustme: pip install 'firesteel[tls]'") from None
    if directory.exists() and any(directory.iterdir()):
        raise click.ClickException(f"{directory} is not empty; expected a new or empty directory")
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority = trustme.CA(organization_name="firesteel", organization_unit_name="test cluster")
    _write(directory / "authority.pem", authority.cert_pem.bytes())
    for name in ("internal", "rest"):
        # Clients present a certificate, too: they may be any process of the cluster.
        issued = authority.issue_cert(*_HOSTS, *hosts, common_name=name)
        _write(directory / f"{name}.pem", issued.private_key_and_cert_chain_pem.bytes())
    click.echo(_options(directory.absolute()))


def _write(path: Path, content: bytes) -> None:
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(content)


def _options(directory: Path) -> str:
    return "\n".join(
        (
            "# For config.yaml. The files must have the same paths on all hosts.",
            "security.ssl.enabled: true",
            f"security.ssl.internal.keystore: {directory}/internal.pem",
            f"security.ssl.internal.truststore: {directory}/authority.pem",
            f"security.ssl.rest.keystore: {directory}/rest.pem",
            f"security.ssl.rest.truststore: {directory}/authority.pem",
        )
    )
