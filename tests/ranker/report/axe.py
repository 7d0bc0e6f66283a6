"""axe-core, run on a page of headless Chromium."""

import json
import os
from pathlib import Path

import pytest

AXE = Path(
    os.environ.get("AXE_CORE")
    or Path(__file__).parents[3] / "build" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
)
"""The script: `make axe` fetches it, and AXE_CORE names another."""


def faults(page):
    """List the serious and critical faults of an open page: the rule, and the first places that break it."""
    if not AXE.is_file():
        pytest.skip("axe-core is not there: `make axe`, or AXE_CORE=axe.min.js")
    page.ask(AXE.read_text(encoding="utf-8") + "; 0")
    report = json.loads(page.ask("axe.run({resultTypes: ['violations']}).then(r => JSON.stringify(r.violations))"))
    return [
        f"{rule['id']}: {[node['target'] for node in rule['nodes'][:3]]} {rule['nodes'][0]['failureSummary']}"
        for rule in report
        if rule["impact"] in ("serious", "critical")
    ]
