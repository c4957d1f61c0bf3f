"""Which values fit, near misses and approvals, for the implementation in `reference.py`. `BREAK` breaks one point."""

import os, re, sys, unicodedata

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../clients/python/src"))
from askbox import hashes  # noqa: E402

BREAK = os.environ.get("BREAK", "")
APPROVAL = {
    "once": "allow exactly this call, one time",
    "workflow": "allow exactly this call whenever this workflow makes it, until you revoke it: relaunch approve --revoke ID",
}
BESIDE_NO_APPROVAL = ("questions", "default", "until", "asked_by", "attachments", "context")
BELOW_A_CALL = ("In the folder ", "A subagent makes this call: ", "The agent says about the subagent: ", "The agent says: ")
FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"


class Refused(Exception):
    def __init__(self, kind, message):
        self.kind, self.message = kind, message


def refuse_unless(holds, message):
    if not holds:
        raise Refused("invalid", message)


def is_blank(text):
    if BREAK == "invisible-text":
        return not text.strip()
    return all(unicodedata.category(c)[0] in "CZ" or c in FILLERS or "\ufe00" <= c <= "\ufe0f" for c in text)


def fitting(question, value):
    """The value in its final form."""
    if BREAK == "value":
        return value
    if question.get("approval"):
        return approving(question, value)
    options = hashes.options_in_form(question.get("options"))
    if isinstance(options, list):
        options = {one["label"]: one["description"] for one in options}
    kind = question.get("type") or ("choice" if options else "text")
    if isinstance(value, list) and len(value) == 1 and kind != "multi_choice":
        value = value[0]
    if value is None and BREAK == "null-value":
        value = "null"
    if isinstance(value, bool):
        value = "yes" if value else "no"
    elif isinstance(value, (int, float)):
        value = f"{value:f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    if kind == "multi_choice":
        return several(question, options, value)
    refuse_unless(isinstance(value, str) and not is_blank(value), "it does not fit")
    trimmed = value.strip()
    if kind == "choice":
        return chosen(question, options, value)
    if kind == "yes_no":
        word = {"yes": "yes", "y": "yes", "true": "yes", "no": "no", "n": "no", "false": "no"}.get(trimmed.lower())
        refuse_unless(word, "it is not yes or no")
        return word
    if kind == "number":
        return number(question.get("range") or {}, trimmed)
    return value.rstrip("\r")


def number(bounds, text):
    is_number = re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", text)
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if BREAK != "python-number":
        refuse_unless(is_number and abs(found) != float("inf"), "it is not a number")
    steps = (found - (bounds.get("min") or 0)) / bounds.get("step", 1)
    between = "step" in bounds and abs(steps - round(steps)) > 1e-9
    is_outside = found < bounds.get("min", found) or found > bounds.get("max", found)
    refuse_unless(not between and not is_outside, "it is out of range")
    return text


def meant(options, text):
    """The key of the option that a text means. None if it means none."""
    trimmed = text.strip()
    ways = [lambda key, _: key == text, lambda key, _: key.strip() == trimmed]
    if BREAK != "case-kept":
        ways.append(lambda key, _: key.strip().lower() == trimmed.lower())
        ways.append(lambda _, description: description.strip().lower() == trimmed.lower())
    for way in ways:
        found = [key for key, description in options.items() if way(key, description or "")]
        refuse_unless(len(found) < 2 or BREAK == "first-of-two", "it is more than one option")
        if found:
            return found[0]
    return None


def chosen(question, options, text, is_near=None):
    key = meant(options, text)
    if BREAK == "space-kept" and text.strip() != text:
        return text
    if key is None:
        is_own = question.get("free_text") is not False and not (is_near or near)(options, text)
        refuse_unless(is_own, "it is not an option")
    return text.rstrip("\r") if key is None else key


def several(question, options, value):
    if isinstance(value, str) and meant(options, value) is None:
        pieces = [piece for piece in value.split(",") if piece.strip()]
        if sum(meant(options, piece) is not None for piece in pieces) > 1:
            value = pieces
    items = [one for one in (value if isinstance(value, list) else [value]) if not (isinstance(one, str) and is_blank(one))]
    refuse_unless(items and all(isinstance(one, str) for one in items), "it does not fit")
    return list(dict.fromkeys(chosen(question, options, one, near_in_pieces) for one in items))


def near_in_pieces(options, text):
    if BREAK == "near-pieces":
        return near(options, text)
    fits = lambda piece: meant(options, piece) is not None or near(options, piece)
    split = [[piece for piece in text.split(by) if piece.strip()] for by in (",", None)]
    return near(options, text) or all(map(fits, split[0])) or all(meant(options, word) is not None for word in split[1])


def near(options, text):
    """True if a text is close to an option, or counts the options."""
    bare = text.strip().strip("#().:").strip()
    if BREAK != "near-letter" and re.fullmatch(r"[A-Za-z]|[-+]?[0-9]+(\.[0-9]+)?", bare):
        return True
    return BREAK != "near-miss" and any(close(text, key, description or "") for key, description in options.items())


def close(text, key, description):
    form = lambda words: unicodedata.normalize("NFC", words if BREAK == "case-kept" else words.lower())
    letters = lambda words: "".join(c for c in form(words) if c.isalnum())
    said, key, both, description = letters(text), letters(key), letters(key + description), letters(description)
    if not said or not key:
        return form(text).strip() == form(key).strip()
    longer, errors = max(len(said), len(key)), wrong(said, key)
    if BREAK != "near-prefix" and key.startswith(said):
        return True
    if BREAK != "near-spelling" and errors <= longer / 3:
        return True
    if BREAK != "near-order" and errors == 2 and longer >= 4 and min(extra(said, key), extra(key, said)) == 0 and abs(len(said) - len(key)) <= 1:
        return True
    if BREAK == "near-description":
        return False
    allowed = max(int(len(description) >= 4), max(len(said), len(description)) // 5)
    return said in (description, both) or wrong(said, description) <= allowed


def extra(one, other):
    """How many characters of one text the other one lacks."""
    rest = list(other)
    return sum(c not in rest or rest.remove(c) is not None for c in one)


def wrong(one, other):
    """How many characters are inserted, removed, replaced, or swapped with a neighbour."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            row.append(min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b)))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                row[-1] = min(row[-1], rows[-2][j - 2] + 1)
        rows.append(row)
    return rows[-1][-1]


def approving(question, value):
    if BREAK == "approval-spelling" and isinstance(value, str):
        value = value.strip().lower()
    if BREAK == "approval-description":
        value = {description: key for key, description in APPROVAL.items()}.get(str(value), value)
    if BREAK == "approval-declined" and value in ("no", "decline"):
        return value
    if BREAK == "approval-edited" and value == "edited":
        return value
    # The harness has no new text for a changed call.
    refuse_unless(isinstance(value, str) and value in APPROVAL, "it is not an approval")
    return value


def check_approval(question):
    approval = question["approval"]
    if BREAK == "approval":
        return
    if BREAK != "approval-options":
        refuse_unless(hashes.options_in_form(question.get("options")) == APPROVAL, "an option lies")
    if BREAK != "approval-free-text":
        refuse_unless(question.get("type") == "choice" and question.get("free_text") is False, "it is not a choice of two")
    if BREAK != "approval-beside":
        refuse_unless(not any(question.get(name) for name in BESIDE_NO_APPROVAL), "somebody else speaks beside the call")
        refuse_unless(question.get("on_expiry") != "default", "only a person approves")
    is_right = isinstance(approval, dict) and re.fullmatch("[0-9a-f]{64}", str(approval.get("sha256"))) and approval.get("tool")
    refuse_unless(is_right, "the call is not named")
    if BREAK != "approval-lines":
        check_lines(question["question"], approval)


def check_lines(text, approval):
    first, *lines = text.split("\n")
    tool, names = approval["tool"], [approval["tool"]]
    if tool.startswith("mcp__"):
        server, _, tool = tool[5:].partition("__")
        names.append(f"{tool} of server {server}")
    again = [rf"May the agent call {re.escape(name)}( once more\? Allowed .*; it may have run\.|\?)" for name in names]
    refuse_unless(any(re.fullmatch(one, first) for one in [*again, r"May the agent carry out this plan\?"]), "the first line is another one")
    while lines and lines[0].startswith("    "):
        lines.pop(0)
    places = [next((n for n, begin in enumerate(BELOW_A_CALL) if line.startswith(begin)), -1) for line in lines]
    refuse_unless(-1 not in places and sorted(set(places)) == places, "a line is not one of askbox's")
    shown = (approval.get("editable") or {}).get("text", "")
    refuse_unless(all(line in text for line in shown.split("\n")), "the text that may be changed is not shown")
