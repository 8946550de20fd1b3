# SPDX-License-Identifier: Apache-2.0
"""The manifests: what they name is there, and they fit together."""

import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from chamberlain.app.data_folder import open_data_folder
from tests.deploy.documented_names import (
    DEFAULT_PORT,
    DEPLOY,
    SETTINGS,
    is_endpoint,
    lines_of,
    require_command,
    settings_in,
)
from tests.docs.pages import ROOT

FOLDER = DEPLOY / "kubernetes"
PAGE = ROOT / "docs" / "how-to" / "kubernetes.md"
# A manifest, whose parts are what is tested.
Manifest = Any


KUSTOMIZATION = yaml.safe_load((FOLDER / "kustomization.yaml").read_text(encoding="utf-8"))
(SETTINGS_MADE,) = KUSTOMIZATION["configMapGenerator"]


def manifests() -> list[Manifest]:
    """All that the kustomization names."""
    resources = KUSTOMIZATION["resources"]
    return [each for name in resources for each in yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8"))]


def settings_of_all() -> dict[str, str]:
    """The settings that all processes have in common, as kustomize reads them."""
    (name,) = SETTINGS_MADE["envs"]
    return dict(line.split("=", 1) for line in lines_of(FOLDER / name))


def overlay() -> Manifest:
    """The one that the page shows."""
    (shown,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return yaml.safe_load(shown)


def of_kind(*kinds: str) -> dict[str, Manifest]:
    return {each["metadata"]["name"]: each for each in manifests() if each["kind"] in kinds}


PODS = {name: each["spec"]["template"] for name, each in of_kind("Deployment", "Job").items()}


def container(name: str) -> Manifest:
    (only,) = PODS[name]["spec"]["containers"]
    return only


def test_it_works_for_every_file() -> None:
    named = {*KUSTOMIZATION["resources"], *SETTINGS_MADE["envs"]}

    assert {*named, "kustomization.yaml"} == {path.name for path in FOLDER.iterdir()}
    assert set(PODS) == {"chamberlain-migrate", "chamberlain-api", "chamberlain-worker"}


@pytest.mark.parametrize("name", PODS)
def test_a_pod_names_commands_settings_and_files_that_there_are(name: str) -> None:
    pod, only = PODS[name]["spec"], container(name)
    files = {**settings_of_all(), **{each["name"]: each["value"] for each in only.get("env", ())}}
    mounts = {each["mountPath"]: each["name"] for each in only["volumeMounts"]}

    require_command(only["args"])
    assert set(files) <= SETTINGS
    assert set(mounts.values()) == {each["name"] for each in pod["volumes"]}
    needed = [
        path
        for key, path in files.items()
        if key.endswith("_FILE") and not (name.endswith("migrate") and "KEYS" in key)
    ]
    assert [path for path in needed if path.rpartition("/")[0] not in mounts] == []
    assert only["envFrom"] == [{"configMapRef": {"name": SETTINGS_MADE["name"]}}]


@pytest.mark.parametrize("name", PODS)
def test_a_pod_is_closed(name: str) -> None:
    pod, only = PODS[name]["spec"], container(name)

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert only["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    # Else the variables that the platform makes of services would be taken for settings.
    assert pod["enableServiceLinks"] is False
    assert pod["automountServiceAccountToken"] is False
    assert pod["terminationGracePeriodSeconds"] >= 20


@pytest.mark.parametrize("name", PODS)
def test_a_pod_starts_on_a_volume_that_its_group_and_everybody_may_write_to(name: str, tmp_path: Path) -> None:
    (mount,) = [each["mountPath"] for each in container(name)["volumeMounts"] if each["name"] == "data"]
    volume = tmp_path / "volume"
    volume.mkdir()
    # The mode of an emptyDir in a pod with an fsGroup.
    volume.chmod(0o2777)

    # The image names the mount itself.
    named = Path(settings_of_all().get("CHAMBERLAIN_DATA_DIR", mount))
    folder = open_data_folder(volume / named.relative_to(mount))

    # A restarted container finds the folder of the one before.
    assert open_data_folder(folder.path) == folder
    assert stat.S_IMODE(folder.path.stat().st_mode) & (stat.S_IRWXO | stat.S_IRWXG) & ~0o011 == 0


def test_probes_and_ports_are_those_of_the_service() -> None:
    only = container("chamberlain-api")
    probes = [only[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")]
    (service,) = of_kind("Service").values()

    assert only["ports"] == [{"name": "http", "containerPort": DEFAULT_PORT}]
    assert [each["path"] for each in probes] == ["/health/live", "/health/live", "/health/ready"]
    assert all(is_endpoint(each["path"]) for each in probes)
    assert {each["port"] for each in probes} == {"http"}
    assert all(each["httpHeaders"] == [{"name": "Host", "value": f"127.0.0.1:{DEFAULT_PORT}"}] for each in probes)
    assert [each["targetPort"] for each in service["spec"]["ports"]] == ["http"]
    assert service["spec"]["selector"] == PODS["chamberlain-api"]["metadata"]["labels"]


def test_no_pod_is_taken_out_while_another_host_of_the_database_takes_over() -> None:
    probe = container("chamberlain-api")["readinessProbe"]

    # Half a minute is the longest that a failover took. All pods fail alike, and none would be left to answer 503.
    assert probe["periodSeconds"] * probe["failureThreshold"] >= 40


def test_several_answer_and_work_and_some_are_always_left() -> None:
    deployments, budgets = of_kind("Deployment"), of_kind("PodDisruptionBudget")

    for name, deployment in deployments.items():
        labels = PODS[name]["metadata"]["labels"]
        assert deployment["spec"]["replicas"] >= 2
        assert deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
        assert deployment["spec"]["selector"]["matchLabels"] == labels
        assert budgets[name]["spec"]["selector"]["matchLabels"] == labels


def test_every_pod_is_behind_a_network_policy() -> None:
    components = {pod["metadata"]["labels"]["app.kubernetes.io/component"] for pod in PODS.values()}
    api, others = of_kind("NetworkPolicy").values()
    (expression,) = others["spec"]["podSelector"]["matchExpressions"]

    assert {
        api["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"],
        *expression["values"],
    } == components
    assert others["spec"]["ingress"] == []


def test_the_page_makes_the_secrets_that_pods_ask_for() -> None:
    page = PAGE.read_text(encoding="utf-8")
    volumes = [volume for pod in PODS.values() for volume in pod["spec"]["volumes"]]
    secrets = {each["secret"]["secretName"] for each in volumes if "secret" in each}

    assert [name for name in secrets if f"create secret generic {name} " not in page] == []
    assert settings_in(page) <= SETTINGS


def test_a_setting_that_is_changed_is_a_change_of_the_pods() -> None:
    # Generated objects have a hash of their content in the name; a plain manifest would have none.
    assert of_kind("ConfigMap") == {}
    assert KUSTOMIZATION.get("generatorOptions", {}).get("disableNameSuffixHash", False) is False

    (own,) = overlay()["configMapGenerator"]
    assert (own["name"], own["behavior"]) == (SETTINGS_MADE["name"], "merge")
    assert {each.partition("=")[0] for each in own["literals"]} <= SETTINGS


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is missing on this machine")
def test_the_overlay_of_the_page_can_be_put_together(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "kubernetes")
    (tmp_path / "overlay").mkdir()
    (tmp_path / "overlay" / "kustomization.yaml").write_text(yaml.safe_dump(overlay()))

    done = subprocess.run(
        ["kubectl", "kustomize", str(tmp_path / "overlay")], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("image: registry.example.org/chamberlain:0.1.0") == len(PODS)
    (made,) = [each for each in yaml.safe_load_all(done.stdout) if each["kind"] == "ConfigMap"]
    assert made["data"]["CHAMBERLAIN_BASE_URL"] == "https://chamberlain.green.example"
    assert made["data"]["CHAMBERLAIN_KEYS_FILE"] == settings_of_all()["CHAMBERLAIN_KEYS_FILE"]
    assert done.stdout.count(f"name: {made['metadata']['name']}\n") == 1 + len(PODS)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is missing on this machine")
def test_kubectl_puts_it_together() -> None:
    done = subprocess.run(["kubectl", "kustomize", str(FOLDER)], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert len(list(yaml.safe_load_all(done.stdout))) == len(manifests()) + 1
