"""Does the built jar fit into any ResourceManager? By its class files alone."""

import zipfile

import pytest

from yarn_bridge.install_conf import plugin_jar

pytestmark = pytest.mark.integration
JAVA_8 = 52


def test_the_jar_is_bytecode_8_and_brings_no_class_of_anybody_else() -> None:
    """A ResourceManager may run on Java 8, and its own libraries must not meet others of the same names."""
    with zipfile.ZipFile(plugin_jar()) as jar:
        classes = {name: jar.read(name) for name in jar.namelist() if name.endswith(".class")}
    assert {int.from_bytes(code[6:8], "big") for code in classes.values()} == {JAVA_8}
    assert {name for name in classes if not name.startswith("io/grasshopper/")} == set()
    assert any(name.startswith("io/grasshopper/shaded/") for name in classes)
