"""Checks references within deploy/kubernetes.yaml, which the schemas of Kubernetes do not cover.

usage: kubernetes.py FILE
"""

import ipaddress
import re
import sys

import yaml


def secrets_of(pod, container):
    """Maps the mount paths of a container to secrets."""
    volumes = {v["name"]: v["secret"]["secretName"] for v in pod["volumes"] if "secret" in v}
    return {m["mountPath"]: volumes[m["name"]] for m in container["volumeMounts"] if m["name"] in volumes}


def main(path):
    text = open(path, encoding="utf-8").read()
    documents = list(yaml.safe_load_all(text))
    settings = next(d["data"] for d in documents if d["kind"] == "ConfigMap")
    pod = next(d["spec"]["template"]["spec"] for d in documents if d["kind"] == "StatefulSet")

    # The comment in the file must create exactly the secrets and keys that the containers use.
    created = {name: set(re.findall(r"--from-literal=([\w-]+)=", rest)) for name, rest in
               re.findall(r"^#\s+kubectl create secret generic (\S+) (.*)$", text, re.MULTILINE)}
    used = {}
    for container in pod["initContainers"] + pod["containers"]:
        for folder, secret in secrets_of(pod, container).items():
            files = {v for k, v in settings.items() if k.endswith("_FILE") and v.startswith(folder + "/")}
            used.setdefault(secret, set()).update(f.removeprefix(folder + "/") for f in files)
    assert created == used, f"secrets that the comment creates: {created}; secrets that containers use: {used}"

    # Migrations run as the owner. Servers run as a role that cannot disable row-level security.
    (migrate,), (server,) = pod["initContainers"], pod["containers"]
    owner, role = secrets_of(pod, migrate), secrets_of(pod, server)
    assert set(owner.values()).isdisjoint(role.values()), f"{owner} and {role} are the same database role"
    assert migrate["args"] == ["migrate"] and settings["RECALL_MIGRATE"] == "false"

    # Without trusted proxies, rate limits would count the ingress as one client.
    proxies = [ipaddress.ip_network(p.strip()) for p in settings["RECALL_TRUSTED_PROXIES"].split(",")]
    assert proxies and all(p.is_private and p.prefixlen >= 8 for p in proxies), proxies


if __name__ == "__main__":
    main(*sys.argv[1:])
