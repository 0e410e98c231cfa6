"""Settings of stored files."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from headgate.kernel.section import Section

GIB = 2**30


class FilesSettings(Section):
    """Where stored files go, and how much room stays free."""

    url: str = Field(
        default="",
        description="A folder, or `s3://bucket/prefix` for S3 and compatible stores. Empty: `blobs` in the"
        " data folder.",
    )
    s3_endpoint: str = Field(
        default="", description="Address of an S3-compatible server. Empty: the one of Amazon."
    )
    s3_region: str = Field(default="us-east-1", min_length=1, description="Region of the bucket.")
    s3_access_key: SecretStr | None = Field(
        default=None,
        description="Access key of the bucket. Empty: from the `AWS_…` variables or the machine's role.",
    )
    s3_secret_key: SecretStr | None = Field(default=None, description="Secret key of the bucket.")
    keep_free_percent: float = Field(
        default=10, ge=0, le=95, allow_inf_nan=False, description="Share of the disk to leave free."
    )
    keep_free_gib: float = Field(
        default=5, ge=0, le=1_000_000, allow_inf_nan=False, description="GiB to leave free at least."
    )
    keep_unused_h: float = Field(
        default=24,
        ge=1,
        le=8760,
        allow_inf_nan=False,
        description="Hours to keep content that nothing uses any more. Its file is deleted a day later.",
    )

    downloads_at_once: int = Field(
        default=4,
        ge=0,
        le=100,
        description="Downloads that a process runs in parallel; 0: it downloads nothing.",
    )
    downloads_per_account: int = Field(
        default=2, ge=1, le=20, description="Downloads of one account in parallel, over all processes."
    )

    @field_validator("url")
    @classmethod
    def _folder_or_bucket(cls, value: str) -> str:
        if "://" not in value:
            return str(Path(value).expanduser().absolute()) if value else ""
        parts = urlsplit(value)
        if parts.scheme != "s3" or not parts.hostname:
            raise ValueError("must be a folder or begin with s3:// and a bucket")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError("must be only a bucket and a prefix; keys have settings of their own")
        return value.rstrip("/")

    @field_validator("s3_endpoint")
    @classmethod
    def _web_address(cls, value: str) -> str:
        if value and not value.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return value.rstrip("/")

    @field_validator("s3_access_key", "s3_secret_key", mode="before")
    @classmethod
    def _empty_is_none(cls, value: object) -> object:
        return None if value == "" else value

    @field_validator("s3_secret_key")
    @classmethod
    def _both_keys(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if (value is None) != (info.data.get("s3_access_key") is None):
            raise ValueError("must be set together with the access key")
        return value
