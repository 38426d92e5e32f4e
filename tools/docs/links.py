"""Checks that every local link of a folder of HTML leads to a file, and to a heading that is there where it names one:

    python3 tools/docs/links.py FOLDER

Exits with 1 if one does not.
"""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.names = [], set()

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if value and (name == "href" and tag == "a" or name == "src" and tag in ("img", "script")):
                self.found.append(value)
            if value and (name == "id" or name == "name" and tag == "a"):
                self.names.add(value)


@cache
def read(page):
    parser = Links()
    parser.feed(page.read_text(errors="replace"))
    return parser


def dead(root, page, link):
    """Why a link of a page leads nowhere, or nothing; links to other sites are not followed."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    base = root if parts.path.startswith("/") else page.parent
    target = base / unquote(parts.path).lstrip("/") if parts.path else page
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return "no such file"
    fragment = unquote(parts.fragment)
    # The API of the crates makes some of its names by a script.
    if fragment and target.suffix == ".html" and "/api/rust/" not in target.as_posix() and fragment not in read(target).names:
        return "no such heading"
    return None


def main():
    root = Path(sys.argv[1]).resolve()
    count, faults = 0, []
    # Pages that cargo doc writes are checked by itself.
    pages = [p for p in root.rglob("*.html") if not p.relative_to(root).as_posix().startswith("api/rust/")]
    for page in pages:
        for link in read(page).found:
            count += 1
            if why := dead(root, page, link):
                faults.append(f"{page.relative_to(root)}: {link}: {why}")
    # A check that cannot fail is none.
    assert dead(root, pages[0], "nothing.html") and dead(root, pages[0], "#nothing-of-that-name")
    print(f"{len(pages)} pages, {count} links, {len(faults)} dead")
    print("\n".join(faults), end="")
    sys.exit(1 if faults or not count else 0)


if __name__ == "__main__":
    main()
