"""Translation of Flink's AWS and Kinesis properties to arguments of boto3."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Mapping
from typing import Any

from firesteel.errors import InvalidProgramError

logger = logging.getLogger(__name__)

REGION, ENDPOINT = "aws.region", "aws.endpoint"
CREDENTIALS = "aws.credentials.provider"
INITIAL_POSITION = "flink.stream.initpos"
INITIAL_TIMESTAMP = "flink.stream.initpos.timestamp"
TIMESTAMP_FORMAT = "flink.stream.initpos.timestamp.format"
MOST_RECORDS = "flink.shard.getrecords.maxrecordcount"
POLLING_INTERVAL = "flink.shard.getrecords.intervalmillis"
DISCOVERY_INTERVAL = "flink.shard.discovery.intervalmillis"
TRUST_ALL = "aws.trust.all.certificates"

_ACCESS_KEY, _SECRET_KEY = f"{CREDENTIALS}.basic.accesskeyid", f"{CREDENTIALS}.basic.secretkey"
_PROFILE_NAME, _PROFILE_PATH = f"{CREDENTIALS}.profile.name", f"{CREDENTIALS}.profile.path"
_ROLE, _ROLE_SESSION, _EXTERNAL_ID = (f"{CREDENTIALS}.role.{name}" for name in ("arn", "sessionName", "externalId"))
AWS_PROPERTIES = (
    *(REGION, ENDPOINT, TRUST_ALL, CREDENTIALS, _ACCESS_KEY, _SECRET_KEY, _PROFILE_NAME, _PROFILE_PATH),
    *(_ROLE, _ROLE_SESSION, _EXTERNAL_ID),
)
"""Properties that take effect in each connector of Amazon's services."""

REFUSED_PROPERTIES = {
    f"{CREDENTIALS}.role.stsEndpoint": "STS is found by the region",
    f"{CREDENTIALS}.role.provider": "a role is assumed with the credentials that boto3 finds",
    f"{CREDENTIALS}.webIdentityToken.file": "boto3 finds it by the environment variable AWS_WEB_IDENTITY_TOKEN_FILE",
    f"{CREDENTIALS}.custom.class": "it names a class of Java",
}
"""Flink's other properties, each with the reason why tables refuse it."""

_KNOWN = {
    *AWS_PROPERTIES,
    *(INITIAL_POSITION, INITIAL_TIMESTAMP, TIMESTAMP_FORMAT, MOST_RECORDS, POLLING_INTERVAL, DISCOVERY_INTERVAL),
}
_AMBIENT = ("AUTO", "ENV_VAR", "SYS_PROP", "WEB_IDENTITY_TOKEN")
_PROVIDERS = (*_AMBIENT, "BASIC", "PROFILE", "ASSUME_ROLE")


def checked(properties: Mapping[str, Any], connector: str) -> dict[str, str]:
    """Return the properties as text, and log a warning with those that have no effect.

    Raises:
        InvalidProgramError: region and endpoint are both missing, or the credentials are incomplete.
    """
    texts = {str(key): str(value) for key, value in properties.items()}
    if REGION not in texts and ENDPOINT not in texts:
        raise InvalidProgramError(f"{connector}: set the property {REGION}, or {ENDPOINT}")
    provider = _provider(texts)
    if provider not in _PROVIDERS:
        raise InvalidProgramError(
            f"{connector}: {CREDENTIALS} must be one of {', '.join(_PROVIDERS)}, found {provider!r}"
        )
    required = {"BASIC": (_ACCESS_KEY, _SECRET_KEY), "ASSUME_ROLE": (_ROLE,)}
    for name in required.get(provider, ()):
        if name not in texts:
            raise InvalidProgramError(f"{connector}: {CREDENTIALS} {provider} needs the property {name}")
    unknown = sorted(texts.keys() - _KNOWN)
    if unknown:
        logger.warning("%s: properties without effect: %s", connector, ", ".join(unknown))
    return texts


def _provider(properties: Mapping[str, str]) -> str:
    has_keys = _ACCESS_KEY in properties and _SECRET_KEY in properties
    return properties.get(CREDENTIALS, "BASIC" if has_keys else "AUTO")


def session_settings(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments of `boto3.Session`."""
    provider = _provider(properties)
    settings = {"region_name": properties.get(REGION, "us-east-1")}
    if provider == "BASIC":
        settings["aws_access_key_id"] = properties[_ACCESS_KEY]
        settings["aws_secret_access_key"] = properties[_SECRET_KEY]
    if provider == "PROFILE":
        settings["profile_name"] = properties.get(_PROFILE_NAME, "default")
    return settings


def profile_path(properties: Mapping[str, str]) -> str | None:
    """Return the path of the profiles file, or None for the default one."""
    return properties.get(_PROFILE_PATH) if _provider(properties) == "PROFILE" else None


def role_settings(properties: Mapping[str, str]) -> dict[str, str] | None:
    """Return the arguments of STS's AssumeRole, or None if no role is assumed."""
    if _provider(properties) != "ASSUME_ROLE":
        return None
    settings = {"RoleArn": properties[_ROLE], "RoleSessionName": properties.get(_ROLE_SESSION, "firesteel")}
    return settings | ({"ExternalId": properties[_EXTERNAL_ID]} if _EXTERNAL_ID in properties else {})


def client_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of `Session.client`."""
    settings: dict[str, Any] = {}
    if ENDPOINT in properties:
        settings["endpoint_url"] = properties[ENDPOINT]
    if properties.get(TRUST_ALL, "false").lower() == "true":
        settings["verify"] = False
    return settings


def initial_time_ms(properties: Mapping[str, str], now_ms: int) -> int:
    """Return the arrival time (ms since the epoch) from which records are read; 0 reads from the oldest one.

    `LATEST` is the start time of the job, so that a job restored from a checkpoint loses nothing.

    Raises:
        InvalidProgramError: the position or its timestamp is invalid.
    """
    position = properties.get(INITIAL_POSITION, "LATEST")
    if position == "TRIM_HORIZON":
        return 0
    if position == "LATEST":
        return now_ms
    if position != "AT_TIMESTAMP":
        raise InvalidProgramError(
            f"FlinkKinesisConsumer: {INITIAL_POSITION} must be LATEST, TRIM_HORIZON or AT_TIMESTAMP, found {position!r}"
        )
    text = properties.get(INITIAL_TIMESTAMP)
    if text is None:
        raise InvalidProgramError(f"FlinkKinesisConsumer: AT_TIMESTAMP needs the property {INITIAL_TIMESTAMP}")
    try:
        return int(float(text) * 1000)
    except ValueError:
        return _parsed_ms(text)


def _parsed_ms(text: str) -> int:
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise InvalidProgramError(
            f"FlinkKinesisConsumer: {INITIAL_TIMESTAMP} must be seconds since the epoch or a time such as "
            f"2024-01-31T12:00:00.000+01:00, found {text!r}; {TIMESTAMP_FORMAT} has no effect"
        ) from None
    return int(moment.timestamp() * 1000)
