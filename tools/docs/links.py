"""Checks that every local link of a folder of HTML leads to a file: python3 tools/docs/links.py FOLDER. Exits with 1 if one does not."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if value and (name == "href" and tag == "a" or name == "src" and tag in ("img", "script")):
                self.found.append(value)


def main():
    root = Path(sys.argv[1]).resolve()
    count, dead = 0, []
    # Pages that cargo doc writes are checked by itself.
    pages = [p for p in root.rglob("*.html") if not p.relative_to(root).as_posix().startswith("api/rust/")]
    for page in pages:
        parser = Links()
        parser.feed(page.read_text(errors="replace"))
        for link in parser.found:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or not parts.path:
                continue
            base = root if parts.path.startswith("/") else page.parent
            target = base / unquote(parts.path).lstrip("/")
            count += 1
            if not (target.is_file() or (target / "index.html").is_file()):
                dead.append(f"{page.relative_to(root)}: {link}")
    print(f"{len(pages)} pages, {count} local links, {len(dead)} dead")
    print(*dead, sep="\n")
    sys.exit(1 if dead or not count else 0)


if __name__ == "__main__":
    main()
