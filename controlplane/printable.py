"""How is other people's text shown without control over the reader's terminal?"""


def harmless(text: str) -> str:
    r"""Text without terminal control characters; lines stay lines.

    >>> harmless("nightly \x1b[2J report")
    'nightly �[2J report'
    """
    return "".join(each if each.isprintable() or each == "\n" else "\N{REPLACEMENT CHARACTER}" for each in text)
