# SPDX-License-Identifier: BSD-3-Clause
"""Tables of measurements in the pages of doc/."""
import re


def put(page, name, lines):
    """Writes the lines into the page between <!-- begin NAME --> and <!-- end NAME -->."""
    with open(page, encoding="utf-8") as f:
        text = f.read()
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
    if begin not in text:
        raise SystemExit(f"{page} has no place for {name}")
    text = re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: begin + "\n".join(lines) + "\n" + end, text, flags=re.S)
    with open(page, "w", encoding="utf-8") as f:
        f.write(text)
