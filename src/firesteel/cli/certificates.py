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
    help="Name or address of the REST API, beside localhost; may be given more than once.",
)
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
def certificates(directory: Path, hosts: tuple[str, ...]) -> None:
    """Make a private authority and certificates for a test cluster in DIRECTORY.

    Prints the options that a cluster needs to speak TLS with them. The authority's key is not kept: for other hosts
    make all anew.
    """
    try:
        import trustme
    except ImportError:
        raise click.ClickException("certificates need the package trustme: pip install 'firesteel[tls]'") from None
    if directory.exists() and any(directory.iterdir()):
        raise click.ClickException(f"{directory} has files in it; certificates go into a new or empty directory")
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority = trustme.CA(organization_name="firesteel", organization_unit_name="test cluster")
    _write(directory / "authority.pem", authority.cert_pem.bytes())
    for name in ("internal", "rest"):
        # Clients show theirs, too: they may be any process of the cluster.
        issued = authority.issue_cert(*_HOSTS, *hosts, common_name=name)
        _write(directory / f"{name}.pem", issued.private_key_and_cert_chain_pem.bytes())
    click.echo(_options(directory.absolute()))


def _write(path: Path, content: bytes) -> None:
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(content)


def _options(directory: Path) -> str:
    return "\n".join(
        (
            "# For config.yaml. The files must be at the same place on all hosts.",
            "security.ssl.enabled: true",
            f"security.ssl.internal.keystore: {directory}/internal.pem",
            f"security.ssl.internal.truststore: {directory}/authority.pem",
            f"security.ssl.rest.keystore: {directory}/rest.pem",
            f"security.ssl.rest.truststore: {directory}/authority.pem",
        )
    )
