#!/usr/bin/env python3
"""Fetches the documents of a file of questions from Debian packages, with apt-get and dpkg-deb. Installs nothing."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

QUESTIONS = Path(__file__).with_name("questions.json")


def download(package: str, version: str, folder: Path) -> Path:
    """Downloads a package, unpacks it and returns its folder."""
    name = f"{package}={version}"
    done = subprocess.run(["apt-get", "download", name], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        offered = subprocess.run(["apt-cache", "policy", package], capture_output=True, text=True, check=False).stdout
        sys.exit(
            f"apt does not offer {name}, for which the questions were written.\n{offered or done.stderr}"
            "The versions are those of Debian 12. Older versions are at https://snapshot.debian.org."
        )
    unpacked = folder / package
    subprocess.run(["dpkg-deb", "-x", str(next(folder.glob(f"{package}_*.deb"))), str(unpacked)], check=True)
    return unpacked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the documents go")
    parser.add_argument("--questions", type=Path, default=QUESTIONS, help="default: %(default)s")
    options = parser.parse_args()
    target: Path = options.folder
    target.mkdir(parents=True, exist_ok=True)
    documents = json.loads(options.questions.read_text("utf-8"))["documents"]
    with tempfile.TemporaryDirectory() as temporary:
        packages: dict[str, Path] = {}
        for document in documents:
            package = document["package"]
            if package not in packages:
                packages[package] = download(package, document["version"], Path(temporary))
            path = packages[package] / document["path"]
            content = path.read_bytes()
            if path.suffix == ".gz":
                content, path = gzip.decompress(content), path.with_suffix("")
            if hashlib.sha256(content).hexdigest() != document["sha256"]:
                sys.exit(f"{document['path']} of {package} {document['version']} is not the file for which the questions were written.")
            (target / f"{document['id']}{path.suffix}").write_bytes(content)
            print(f"{document['id']}{path.suffix}: {document['title']}, {package} {document['version']}")


if __name__ == "__main__":
    main()
