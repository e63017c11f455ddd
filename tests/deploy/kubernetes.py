"""Checks what the schemas of Kubernetes cannot know of deploy/kubernetes.yaml: that its parts name each other.

usage: kubernetes.py FILE
"""

import ipaddress
import re
import sys

import yaml


def secrets_of(pod, container):
    """Which secret each path of a container comes from."""
    volumes = {v["name"]: v["secret"]["secretName"] for v in pod["volumes"] if "secret" in v}
    return {m["mountPath"]: volumes[m["name"]] for m in container["volumeMounts"] if m["name"] in volumes}


def main(path):
    text = open(path, encoding="utf-8").read()
    documents = list(yaml.safe_load_all(text))
    settings = next(d["data"] for d in documents if d["kind"] == "ConfigMap")
    pod = next(d["spec"]["template"]["spec"] for d in documents if d["kind"] == "StatefulSet")

    # Whoever follows the comment makes these secrets with these keys: no more, no fewer than are used.
    made = {name: set(re.findall(r"--from-literal=([\w-]+)=", rest)) for name, rest in
            re.findall(r"^#\s+kubectl create secret generic (\S+) (.*)$", text, re.MULTILINE)}
    used = {}
    for container in pod["initContainers"] + pod["containers"]:
        for folder, secret in secrets_of(pod, container).items():
            files = {v for k, v in settings.items() if k.endswith("_FILE") and v.startswith(folder + "/")}
            used.setdefault(secret, set()).update(f.removeprefix(folder + "/") for f in files)
    assert made == used, f"secrets that the comment makes: {made}; secrets that containers use: {used}"

    # Migrations run as the owner, servers as a role that cannot switch row-level security off.
    (migrate,), (server,) = pod["initContainers"], pod["containers"]
    owner, role = secrets_of(pod, migrate), secrets_of(pod, server)
    assert set(owner.values()).isdisjoint(role.values()), f"{owner} and {role} are one database role"
    assert migrate["args"] == ["migrate"] and settings["RECALL_MIGRATE"] == "false"

    # Limits count people and not the ingress.
    proxies = [ipaddress.ip_network(p.strip()) for p in settings["RECALL_TRUSTED_PROXIES"].split(",")]
    assert proxies and all(p.is_private and p.prefixlen >= 8 for p in proxies), proxies


if __name__ == "__main__":
    main(*sys.argv[1:])
