"""What comes from npm: the registry asked, the sum held, the files kept, the words of a failure."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest
import vendor
from tarballs import tarball
from vendor import Package, VendorError, registry, vendored

FILES = {"package/a.js": b"1", "package/themes/b.css": b"2", "package/c.md": b"3"}


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry with one package, `@demo/part`, which the table names; its tarball."""
    data = tarball({**FILES, "package/../../themes/out.css": b"4"})
    found = tmp_path / "registry" / "@demo" / "part" / "-" / "part-1.2.tgz"
    found.parent.mkdir(parents=True)
    found.write_bytes(data)
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    package = Package("1.2", integrity, ("a.js", "themes/*"))
    monkeypatch.setattr(vendor, "PACKAGES", {"@demo/part": package})
    monkeypatch.setattr(vendor, "VENDOR", tmp_path / "vendor")
    monkeypatch.setenv("npm_config_registry", (tmp_path / "registry").as_uri())
    return found


def test_the_files_wanted_are_kept_and_fetched_once(served: Path, tmp_path: Path) -> None:
    folder = vendored("@demo/part")
    kept = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert kept == {"a.js", "themes/b.css", vendor.LIST}, "nothing above the folder either"
    assert (folder / "a.js").read_bytes() == b"1"
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    served.unlink()
    assert vendored("@demo/part") == folder


def test_another_list_of_files_is_fetched_anew(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vendored("@demo/part")
    one = vendor.PACKAGES["@demo/part"]
    monkeypatch.setitem(vendor.PACKAGES, "@demo/part", Package("1.2", one.integrity, ("c.md",)))
    assert (vendored("@demo/part") / "c.md").is_file()


def test_what_has_another_sum_is_refused_and_not_written(served: Path, tmp_path: Path) -> None:
    served.write_bytes(tarball({"package/a.js": b"other"}))
    with pytest.raises(VendorError, match="not the one in"):
        vendored("@demo/part")
    assert not list((tmp_path / "vendor").iterdir())


def test_a_file_that_is_not_in_the_package_is_named(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = vendor.PACKAGES["@demo/part"]
    monkeypatch.setitem(vendor.PACKAGES, "@demo/part", Package("1.2", one.integrity, ("gone.js",)))
    with pytest.raises(VendorError, match=r"has no gone\.js"):
        vendored("@demo/part")


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/secret", "secret"])
def test_a_failure_names_the_way_out_and_not_the_address(
    served: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("npm_config_registry", address)
    with pytest.raises(VendorError, match="npm_config_registry=https://registry") as error:
        vendored("@demo/part")
    assert "secret" not in str(error.value)


def test_the_registry_is_the_environment_s_then_npm_s_then_the_public_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("npm_config_registry", "NPM_CONFIG_REGISTRY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert registry() == (vendor.PUBLIC, vendor.PUBLIC)
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho a warning >&2\necho https://npm.example/\n")
    npm.chmod(0o755)
    assert registry() == ("https://npm.example/", "npm's configuration")
    npm.write_text("#!/bin/sh\necho undefined\n")
    assert registry()[0] == vendor.PUBLIC
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "https://env.example/")
    assert registry() == ("https://env.example/", "NPM_CONFIG_REGISTRY")


def test_each_package_has_a_whole_sum() -> None:
    for name, package in vendor.PACKAGES.items():
        kind, _, digest = package.integrity.partition("-")
        assert kind == "sha512", name
        assert len(base64.b64decode(digest, validate=True)) == 64, name
