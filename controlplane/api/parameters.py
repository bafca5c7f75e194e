"""Does a request name only parameters that exist? A misspelt filter would otherwise return everything."""

from difflib import get_close_matches

from fastapi import Request

from controlplane.model.errors import BadSetting, BadSettings


async def only_known_parameters(request: Request) -> None:
    """Refuses a request whose route has no query parameter of that name; names the one that may have been meant."""
    known = [parameter.alias for parameter in request.scope["route"].dependant.query_params]
    unknown = {name: value for name, value in request.query_params.items() if name not in known}
    if unknown:
        raise BadSettings(tuple(BadSetting(name, value, _want(name, known)) for name, value in unknown.items()))


def _want(name: str, known: list[str]) -> str:
    """A hint at the parameter that is most like an unknown one, if any is.

    >>> _want("reson", ["reason"]), _want("nosuch", ["reason"])
    ('a name that exists, perhaps reason', 'a name that exists')
    """
    near = get_close_matches(name, known, n=1)
    return ", perhaps ".join(["a name that exists", *near])
