"""From pairs to decisions: requests made, answers read, what failed asked again, batches checked by known pairs."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from math import ceil
from typing import Any

from sgeval.judges.endpoint import Endpoint
from sgeval.judges.prompt import instructions, response_format, user_message, with_canaries, with_ids
from sgeval.judges.replies import Message, Reply, read_message, read_verdicts
from sgeval.judges.tally import Tally
from sgeval.judges.verdict_cache import Finding, Question
from sgeval.judges.verdicts import Kind, Pair

ROUNDS = 3  # of asking for one pair, as long as the answer cannot be read
REFUSALS = 2  # the same, where the model refuses or says nothing
TOKENS_BASE, TOKENS_EACH = 40, 40  # of an answer, and of each verdict in it, with room to spare
BYTES_A_TOKEN = 3  # of English, JSON and ids; tokenizers make fewer tokens than this says
UNREADABLE = ("not json", "schema", "word", "ids", "missing")
SPEECHLESS = ("refused", "empty")
TOO_MUCH = ("truncated", "too large")
REJECTED = ("http 400", "http 422")  # perhaps for the sake of one pair


@dataclass(frozen=True, slots=True)
class Decision:
    """What was found on a pair, or the reason for nothing. `is_for_all` unless others' labels may have moved it."""

    finding: Finding | None = None
    reason: str = ""
    is_for_all: bool = True


@dataclass(frozen=True)
class Exchange:
    """An answer to one request: what was read for each id, or one fault of the whole."""

    message: Message
    reply: Reply
    fault: str = ""

    def finding(self, name: str, n_pairs: int, attempts: int) -> Finding:
        """The verdict on an id that has one."""
        message = self.message
        return Finding(
            category=self.reply.found[name],
            is_repaired=self.reply.is_mended or attempts > 1,
            model=message.model,
            fingerprint=message.fingerprint,
            reply=sha256(message.text.encode("utf-8", "surrogatepass")).hexdigest(),
            prompt_tokens=message.prompt_tokens,
            completion_tokens=message.completion_tokens,
            n_pairs=n_pairs,
            attempts=attempts,
        )


@dataclass
class Asker:
    """Asks about pairs of one kind, as many at once as the question says.

    `known` holds the labels that no submission made up. `prices` are dollars for a million tokens, in and out; no
    request is made whose cost, by the estimate, would lead over `max_cost`.
    """

    question: Question
    endpoint: Endpoint
    tally: Tally
    known: Container[str]
    prices: tuple[float, float] | None
    max_cost: float | None
    _under_way: float = 0.0

    async def decide(self, pairs: Sequence[Pair]) -> dict[Pair, Decision]:
        """A decision on each pair. In batches, accepted pairs of unknown labels are looked at again, exchanged."""
        if self.question.batch == 1:
            return {pair: await self._alone(pair) for pair in pairs}
        decisions = await self._together(pairs, 1)
        doubtful = [pair for pair in pairs if self._is_doubtful(pair, decisions[pair].finding)]
        if doubtful:
            self.tally.swapped += len(doubtful)
            looks = await self._together([_swapped(pair) for pair in doubtful], 1)
            decisions |= {pair: _both(decisions[pair], looks[_swapped(pair)]) for pair in doubtful}
        return decisions

    def _is_doubtful(self, pair: Pair, finding: Finding | None) -> bool:
        return finding is not None and finding.category != "mismatch" and not self._is_known(pair)

    def _is_known(self, pair: Pair) -> bool:
        return pair.reference in self.known and pair.prediction in self.known

    async def _together(self, pairs: Sequence[Pair], attempts: int) -> dict[Pair, Decision]:
        """One request with two known pairs among the others; what comes back without a verdict is asked again.

        Wrong verdicts on the known pairs void all, and each pair is asked alone; so is each when the model refuses.
        Otherwise what failed is asked again in halves.
        """
        if len(pairs) == 1:
            return {pairs[0]: await self._alone(pairs[0], attempts)}
        mixed, places = with_canaries(pairs)
        named = with_ids(mixed)
        got = await self._exchange(pairs[0].kind, named)
        if got.fault in TOO_MUCH or got.fault in UNREADABLE:
            return await self._halves(pairs, attempts + 1)
        if got.fault in SPEECHLESS or (got.fault in REJECTED and not self.endpoint.stop):
            return {pair: await self._alone(pair, attempts + 1) for pair in pairs}
        if got.fault:
            return dict.fromkeys(pairs, Decision(reason=got.fault))
        names = list(named)
        if not all(_holds(got.reply, names[place], is_synonym) for place, is_synonym in places.items()):
            self.tally.voided += 1
            return {pair: await self._alone(pair, attempts + 1) for pair in pairs}
        is_for_all = all(map(self._is_known, pairs))
        asked = {name: pair for place, (name, pair) in enumerate(named.items()) if place not in places}
        decisions = {
            pair: Decision(got.finding(name, len(mixed), attempts), is_for_all=is_for_all)
            for name, pair in asked.items()
            if name in got.reply.found
        }
        if failed := [pair for name, pair in asked.items() if name in got.reply.faults]:
            decisions |= await self._halves(failed, attempts + 1)
        return decisions

    async def _halves(self, pairs: Sequence[Pair], attempts: int) -> dict[Pair, Decision]:
        middle = ceil(len(pairs) / 2)
        decisions: dict[Pair, Decision] = {}
        for part in (pairs[:middle], pairs[middle:]):
            decisions |= await self._together(part, attempts) if part else {}
        return decisions

    async def _alone(self, pair: Pair, attempts: int = 1) -> Decision:
        """Ask about one pair, and again while the answer cannot be read."""
        fault = ""
        for round_ in range(ROUNDS):
            named = with_ids([pair])
            (name,) = named
            got = await self._exchange(pair.kind, named)
            if name in got.reply.found:
                return Decision(got.finding(name, 1, attempts + round_))
            fault = got.fault or got.reply.faults[name]
            if not (fault in UNREADABLE or (fault in SPEECHLESS and round_ + 1 < REFUSALS)):
                break
        return Decision(reason=fault)

    async def _exchange(self, kind: Kind, named: Mapping[str, Pair]) -> Exchange:
        """One request and its answer. Money is set aside before it is sent."""
        if lack := self.endpoint.server.lacks_key:
            self.endpoint.halt("no key", lack, is_set_up=True)
        user = user_message(kind, named)
        budget = self.question.max_tokens or answer_tokens(len(named))
        cost = self._cost(prompt_tokens(user), budget)
        if self.max_cost is not None and (self.tally.usd or 0.0) + self._under_way + cost > self.max_cost:
            self.endpoint.halt("budget", f"the next request may cost {cost:.6f} USD, which max_cost does not allow")
        if self.endpoint.stop:
            return Exchange(Message(), Reply(), self.endpoint.stop.reason)
        self._under_way += cost
        try:
            answer = await self.endpoint.ask(self._body(user, budget))
        finally:
            self._under_way -= cost
        if answer.fault:
            return Exchange(Message(), Reply(), answer.fault)
        message = read_message(answer.body)
        hide = self.endpoint.server.key.hide
        message = replace(message, model=hide(message.model), fingerprint=hide(message.fingerprint))
        self._count(message, user)
        if message.fault:
            return Exchange(message, Reply(), message.fault)
        reply = read_verdicts(message.text, named.keys())
        faults = set(reply.faults.values())
        return Exchange(message, reply, "" if reply.found or len(faults) != 1 else faults.pop())

    def _body(self, user: str, budget: int) -> dict[str, Any]:
        question, kind = self.question, self.endpoint.server.kind
        body: dict[str, Any] = {
            **question.extra,
            "model": self.endpoint.server.model,
            "messages": [{"role": "system", "content": instructions()}, {"role": "user", "content": user}],
            "temperature": question.temperature,
            "top_p": question.top_p,
            kind.budget: budget,
            "response_format": response_format(question.reply_format),
            **({kind.seed: question.seed} if kind.seed else {}),
        }
        return {name: value for name, value in body.items() if value is not None}

    def _count(self, message: Message, user: str) -> None:
        """Tokens and money of an answer: as the server says, else by the estimate."""
        asked = message.prompt_tokens if message.prompt_tokens is not None else prompt_tokens(user)
        said = message.completion_tokens
        said = said if said is not None else ceil(len(message.text.encode("utf-8", "surrogatepass")) / BYTES_A_TOKEN)
        self.tally.prompt_tokens += asked
        self.tally.completion_tokens += said
        self.tally.cached_tokens += message.cached_tokens
        if self.prices is not None:
            self.tally.usd = (self.tally.usd or 0.0) + self._cost(asked, said)

    def worth(self, finding: Finding) -> float:
        """What the part of an answer cost that a verdict was read from."""
        tokens = (finding.prompt_tokens or 0, finding.completion_tokens or 0)
        return self._cost(*tokens) / max(1, finding.n_pairs)

    def _cost(self, asked: int, said: int) -> float:
        return dollars(self.prices, asked, said) or 0.0


def answer_tokens(n_pairs: int) -> int:
    """How many tokens an answer may have."""
    return TOKENS_BASE + TOKENS_EACH * n_pairs


def prompt_tokens(user: str) -> int:
    """About how many tokens a request has, rather more than fewer."""
    return ceil((len(instructions().encode()) + len(user.encode("utf-8", "surrogatepass"))) / BYTES_A_TOKEN)


def dollars(prices: tuple[float, float] | None, asked: int, said: int) -> float | None:
    """What tokens cost at prices for a million, in and out; nothing where no price is known."""
    return None if prices is None else (prices[0] * asked + prices[1] * said) / 1e6


def _holds(reply: Reply, name: str, is_synonym: bool) -> bool:
    found = reply.found.get(name)
    return found in ("identical", "synonym") if is_synonym else found == "mismatch"


def _swapped(pair: Pair) -> Pair:
    return Pair(pair.kind, pair.prediction, pair.reference)


def _both(first: Decision, second: Decision) -> Decision:
    """The first decision, if the second says nothing else about being accepted, strictly or leniently."""
    if first.finding is None or second.finding is None:
        return Decision(reason=second.reason)
    one, two = first.finding.category, second.finding.category
    if (one == "identical", one == "mismatch") != (two == "identical", two == "mismatch"):
        return Decision(reason="swap")
    return replace(first, is_for_all=first.is_for_all and second.is_for_all)
