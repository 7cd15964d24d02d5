from __future__ import annotations

import subprocess
import sys
import uuid

import pytest

from firesteel.common.files.file_system_options import fsspec_options
from firesteel.common.files.file_systems import Files, scheme_of
from firesteel.common.files.remote_files import RemoteFileError, RemoteFileNotFoundError
from firesteel.errors import InvalidProgramError
from tests.objects.server import Bucket

pytestmark = [pytest.mark.libraries, pytest.mark.slow]


@pytest.mark.parametrize("path", ["in", "/in", "file:///in", "file:/in", "./a:b", "C:/in"])
def test_local_paths_have_no_scheme(path):
    assert scheme_of(path) is None
    assert Files({}).remote(path) is None


def test_an_unknown_scheme_is_refused_with_the_known_ones():
    with pytest.raises(InvalidProgramError, match=r"no file system for ftpx://; allowed: .*s3://.*hdfs://"):
        Files({}).remote("ftpx://host/in")


def test_a_missing_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(ModuleNotFoundError, match=r"gs://bucket/in' needs .* pip install 'firesteel\[gcs\]'"):
        Files({}).remote("gs://bucket/in")


def test_the_default_scheme_applies_to_absolute_paths_without_scheme():
    files = Files({"fs.default-scheme": "s3://bucket/"})
    paths = ["/in", "in", "file:///in", "hdfs://host/in"]
    assert [files.resolve(path) for path in paths] == ["s3://bucket/in", "in", "file:///in", "hdfs://host/in"]


def test_options_of_s3_have_flinks_keys():
    found = fsspec_options(
        "s3",
        "s3://bucket/in",
        {
            "fs.s3a.access.key": "me",
            "s3.secret-key": "secret",
            "s3.endpoint": "store:9000",
            "fs.s3a.connection.ssl.enabled": "false",
            "s3.path.style.access": "true",
        },
    )
    assert [found["key"], found["secret"], found["endpoint_url"]] == ["me", "secret", "http://store:9000"]
    assert found["config_kwargs"]["s3"] == {"addressing_style": "path"}
    azure = fsspec_options(
        "abfs", "abfss://c@me.dfs.core.windows.net/in", {"fs.azure.account.key.me.dfs.core.windows.net": "k"}
    )
    assert [azure["account_name"], azure["account_key"]] == ["me", "k"]
    hdfs = fsspec_options("hdfs", "hdfs://namenode:9000/in", {})
    assert [hdfs["host"], hdfs["port"]] == ["namenode", 9000]


def test_local_files_import_no_fsspec(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    program = (
        "import sys; from firesteel.connectors.files.splits import FileReader\n"
        "from firesteel.common.files.file_systems import Files\n"
        f"Files({{}}).open({str(tmp_path / 'a.txt')!r}).read(); print('fsspec' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("scheme", ["s3", "memory"])
def test_files_are_written_listed_read_and_removed(bucket: Bucket, scheme, tmp_path):
    root = bucket.uri("dir") if scheme == "s3" else f"memory:///{uuid.uuid4().hex}"
    remote = Files(bucket.options).remote(root)
    assert remote is not None
    remote.write(f"{root}/b/2", b"two")
    remote.write(f"{root}/1", b"one")
    assert remote.files_below(root) == [(f"{root}/1", 3), (f"{root}/b/2", 3)]
    assert remote.files_below(f"{root}/1") == [(f"{root}/1", 3)]
    assert [remote.size(f"{root}/1"), remote.size(f"{root}/0"), remote.size(f"{root}/b")] == [3, None, None]
    remote.download(f"{root}/b/2", tmp_path / "2")
    remote.upload(tmp_path / "2", f"{root}/3")
    assert remote.read(f"{root}/3") == b"two"
    remote.remove([f"{root}/1", f"{root}/0", f"{root}/b/2"])
    assert remote.files_below(root) == [(f"{root}/3", 3)]


def test_a_file_is_created_by_one_of_several(bucket: Bucket):
    remote, path = Files(bucket.options).remote(bucket.uri()), bucket.uri("chk-1", "_metadata")
    assert remote is not None
    remote.create(path, b"mine")
    remote.create(path, b"mine")
    with pytest.raises(FileExistsError):
        remote.create(path, b"theirs")
    assert remote.read(path) == b"mine"


def test_a_creation_whose_answer_is_lost_is_not_a_rejection(bucket: Bucket):
    remote, lost = Files(bucket.options).remote(bucket.uri()), ["lost"]
    assert remote is not None
    with bucket.server.failing(lambda method, path, query: lost.pop() if method == "PUT" and lost else None):
        remote.create(bucket.uri("once"), b"mine")
    assert bucket.read("once") == b"mine"
    assert not lost


def test_errors_name_the_request_and_the_reason(bucket: Bucket):
    missing = Files(bucket.options).remote("s3://no-such-bucket/in")
    assert missing is not None
    with pytest.raises(RemoteFileNotFoundError, match="cannot list s3://no-such-bucket/in: The specified bucket"):
        missing.files_below("s3://no-such-bucket/in")
    denied = Files(bucket.options | {"s3.access-key": "wrong"}).remote(bucket.uri())
    assert denied is not None
    with pytest.raises(RemoteFileError, match=r"access was denied .*The key does not exist.*s3.access-key"):
        denied.files_below(bucket.uri("in"))
    with pytest.raises(RemoteFileNotFoundError, match=r"cannot read s3://.*/nothing: it does not exist"):
        Files(bucket.options).open(bucket.uri("nothing"))
