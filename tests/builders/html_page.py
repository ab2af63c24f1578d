"""What a written HTML page holds: its tags with attributes, its links and its texts."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Tags, whether they close in order, links, the whole text, and the first text of each tag by its id or name."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.open, self.is_nested, self.texts, self.text = [], [], True, {}, ""
        self.feed(page)
        self.links = [named["href"] for tag, named in self.tags if tag == "a"]

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "link", "img", "source", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        self.is_nested &= bool(self.open) and self.open.pop() == tag

    def handle_data(self, data):
        tag, named = self.tags[-1] if self.tags else ("", {})
        self.texts.setdefault(named.get("id", tag), data)
        self.text += data
