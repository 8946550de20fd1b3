"""Bodies: from the bytes of a call, or of a stored row, to the JSON object that they are.

Two members of one name in an object: the last one counts, as JSON libraries do it (RFC 8259 leaves it open).
"""

import msgspec

from chamberlain.rules.errors import Malformed
from chamberlain.shapes.numbers import number


def parse_object(raw: bytes) -> dict[str, object]:
    """The JSON object that the bytes are, whole numbers as int however they are written; else Malformed."""
    value = _parse(raw)
    if not isinstance(value, dict):
        raise Malformed("notAnObject", "The body must be a JSON object: begin it with { and end it with }.")
    return value


def _parse(raw: bytes) -> object:
    if not raw.strip():
        raise Malformed("notJson", "The body is empty. Send a JSON object.")
    try:
        return _DECODER.decode(raw)
    except UnicodeDecodeError as error:
        raise Malformed("notJson", "The body is not UTF-8.") from error
    except RecursionError as error:
        raise Malformed("notJson", "The body is nested too deeply.") from error
    except msgspec.ValidationError as error:
        raise Malformed("notJson", "The body holds a number that is too large to be read.") from error
    except msgspec.DecodeError as error:
        raise Malformed("notJson", f"The body is not JSON: {_where(error)}.") from error


_DECODER = msgspec.json.Decoder(float_hook=number)


def _where(error: msgspec.DecodeError) -> str:
    """What the decoder says without its preamble: `invalid character (byte 19)`, `input data was truncated`."""
    said = str(error).removeprefix("JSON is malformed: ")
    return said[0].lower() + said[1:]
