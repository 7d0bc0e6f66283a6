"""README as the package's page at an index shows it: the workflow that builds it makes links absolute."""

import re
import subprocess
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORKFLOW = (ROOT / ".github" / "workflows" / "package.yml").read_text(encoding="utf-8")
TARGETS = re.compile(r"\]\(([^)]*)\)")


def test_links_lead_somewhere_outside_of_the_repository(tmp_path):
    """Each link into the repository becomes that of the commit that is built, and the picture that of its file."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    relative = [target for target in TARGETS.findall(readme) if "://" not in target]
    assert all((ROOT / target.partition("#")[0]).is_file() for target in relative)
    (script,) = re.findall(r"(?ms)^ +- name: Links of README.*?run: \|\n(.*?)\n +- ", WORKFLOW)
    (tmp_path / "README.md").write_text(readme, encoding="utf-8")
    place = {"GITHUB_REPOSITORY": "org/name", "GITHUB_SHA": "abc", "PATH": "/usr/bin:/bin"}
    subprocess.run(["bash", "-ec", textwrap.dedent(script)], cwd=tmp_path, env=place, check=True)
    published = TARGETS.findall((tmp_path / "README.md").read_text(encoding="utf-8"))
    site = "https://github.com/org/name"
    links = [f"{site}/{'raw' if target.endswith('.png') else 'blob'}/abc/{target}" for target in relative]
    assert [target for target in published if target.startswith(site)] == links
    assert len(links) > 15
    assert [target for target in published if "://" not in target] == []
