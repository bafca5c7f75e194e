"""How do properties become one of Hadoop's XML files?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape


def property_elements(properties: Mapping[str, object]) -> str:
    """`<property>` elements, one under the other, as written inside `<configuration>`.

    >>> print(property_elements({"yarn.acl.enable": True}))
      <property>
        <name>yarn.acl.enable</name>
        <value>true</value>
      </property>
    """
    return "\n".join(
        f"  <property>\n    <name>{escape(name)}</name>\n    <value>{escape(text(value))}</value>\n  </property>"
        for name, value in properties.items()
    )


def text(value: object) -> str:
    """A value as Hadoop writes it.

    >>> text(False), text(0.5), text(100)
    ('false', '0.5', '100')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def write_site_file(path: Path, properties: Mapping[str, object]) -> None:
    """A whole configuration file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'<?xml version="1.0"?>\n<configuration>\n{property_elements(properties)}\n</configuration>\n')
