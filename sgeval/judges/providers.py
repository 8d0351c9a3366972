"""Who serves a model: addresses, the variables that hold keys, and what a token costs."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from sgeval.errors import SgevalError, one_of, shown
from sgeval.judges.prompt import ReplyFormat

OWN_ADDRESS, OWN_KEY = "SGEVAL_JUDGE_BASE_URL", "SGEVAL_JUDGE_API_KEY"


@dataclass(frozen=True)
class Provider:
    """A server of chat completions, as its own documentation describes it. `keys` and `addresses` name variables."""

    base_url: str
    keys: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    reply_format: ReplyFormat = "json_schema"
    budget: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    seed: Literal["seed", "random_seed", ""] = "seed"


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        ("OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_API_URL"),
        budget="max_completion_tokens",
    ),
    "openrouter": Provider("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "together": Provider("https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
    "groq": Provider("https://api.groq.com/openai/v1", ("GROQ_API_KEY",), reply_format="json_object"),
    "mistral": Provider("https://api.mistral.ai/v1", ("MISTRAL_API_KEY",), seed="random_seed"),
    "deepseek": Provider("https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",), reply_format="json_object", seed=""),
    "gemini": Provider("https://generativelanguage.googleapis.com/v1beta/openai", ("GEMINI_API_KEY",), seed=""),
    "huggingface": Provider("https://router.huggingface.co/v1", ("HF_TOKEN",)),
    "local": Provider("http://127.0.0.1:8000/v1"),
    "ollama": Provider("http://127.0.0.1:11434/v1"),
}

# US dollars for a million tokens of input and of output, list prices of 2025-04. Others are given by `prices=`.
PRICES: Mapping[str, tuple[float, float]] = {
    "openai/gpt-4o-mini": (0.15, 0.60),
    "openai/gpt-4o": (2.50, 10.00),
    "openai/gpt-4.1": (2.00, 8.00),
    "openai/gpt-4.1-mini": (0.40, 1.60),
    "openai/gpt-4.1-nano": (0.10, 0.40),
}


class Secret:
    """A key that does not show itself.

    >>> Secret("sk-1"), str(Secret("sk-1"))
    (***, '***')
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "***"

    def __reduce__(self) -> str:
        raise TypeError("a key is not written anywhere")

    def reveal(self) -> str:
        """The key itself, for the header of a request."""
        return self._value

    def hide(self, text: str) -> str:
        """The text without the key, wherever it stood.

        >>> Secret("sk-1").hide("no such key: sk-1")
        'no such key: ***'
        """
        return text.replace(self._value, "***") if self._value else text


LEAST_KEY = 8
"""Characters of a key that is looked for in other texts; a shorter one ("EMPTY", "none") stands there by chance."""


def keys_at_hand(own: Secret) -> list[Secret]:
    """A judge's own key, and those that the environment holds for any provider."""
    names = {OWN_KEY, *(name for kind in PROVIDERS.values() for name in kind.keys)}
    found = {own.reveal(), *(os.environ.get(name, "") for name in names)}
    return [Secret(key) for key in found if len(key) >= LEAST_KEY]


@dataclass(frozen=True)
class Server:
    """Where a model is asked for, and what was found where. `origin` names the option, variable or table of the address."""

    model: str
    provider: str
    base_url: str
    address: str
    """The same as verdicts are kept under: scheme, host, port and path."""
    key: Secret
    origin: str

    @property
    def kind(self) -> Provider:
        """The provider's entry in the table."""
        return PROVIDERS[self.provider]

    @property
    def host(self) -> str:
        """The host alone, for messages."""
        return urlsplit(self.address).hostname or ""

    @property
    def lacks_key(self) -> str:
        """What to say where the server wants a key and none was found."""
        if self.key.reveal() or not self.kind.keys:
            return ""
        return f"expected a key in {' or '.join((*self.kind.keys, OWN_KEY))}, got none"


def find_server(name: str, base_url: str | None = None, api_key: str | None = None) -> Server:
    """The server of a `provider/model`. An argument beats our own variables, those beat the provider's, those the table.

    Raises `SgevalError` for a name of another form, an unknown provider, and an address that is none or that holds a key. A
    key that is missing is missed when the first request is made (`Server.lacks_key`): kept verdicts need none.

    >>> find_server("local/qwen", base_url="HTTP://LocalHost:80/v1/").address
    'http://localhost/v1'
    """
    provider, _, model = name.partition("/")
    if not model:
        raise SgevalError(f"judge: expected provider/model, such as openai/gpt-4o-mini, got {shown(name)}")
    one_of("judge, provider", provider, PROVIDERS)
    kind = PROVIDERS[provider]
    addresses = {variable: os.environ.get(variable, "") for variable in (OWN_ADDRESS, *kind.addresses)}
    origin = next((variable for variable, value in addresses.items() if value), "")
    address = base_url or addresses.get(origin, "") or kind.base_url
    origin = "base_url" if base_url else origin or "table"
    plain = _address(address, origin)
    key = api_key or next((value for variable in (OWN_KEY, *kind.keys) if (value := os.environ.get(variable))), "")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SgevalError(
            f"judge {name}: expected a key of ASCII characters without blanks, got other characters in it"
        )
    return Server(model, provider, address, plain, Secret(key), origin)


def _address(address: str, origin: str) -> str:
    """Scheme, host, port and path of an address in one spelling: small letters, no usual port, no slash at the end."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
        has_more = bool(parts.username or parts.password or parts.query or parts.fragment)
    except ValueError:
        host = port = None
        has_more = any(mark in address for mark in "@?#")
        parts = urlsplit("")
    if has_more:  # not shown: it may be a key
        raise SgevalError(
            f"judge, {origin}: expected an address without user, password and query, got one that has them"
        )
    if parts.scheme not in ("http", "https") or not host:
        raise SgevalError(f"judge, {origin}: expected an address such as https://host/v1, got {shown(address)}")
    host = f"[{host}]" if ":" in host else host
    at = "" if port in (None, {"http": 80, "https": 443}[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{host}{at}{parts.path.rstrip('/')}"
