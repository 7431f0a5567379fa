"""``python -m gateways.cli`` is ``umbriel``."""

from __future__ import annotations

from gateways.cli import main

if __name__ == "__main__":
    main()
