"""The code that keeps each claim, and a way to break it: every named test must then fail.

A break is a change of text in the place that it names.  `make claims` writes the places into
docs/claims.md; `tools/execute_claims.py` makes each break in a copy of the repository and runs the
evidence of its claims there.  Evidence counts once some break of its claim makes it fail.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BREAKS", "Break"]


@dataclass(frozen=True)
class Break:
    """A change that breaks claims.

    Args:
        claims: those that the place keeps.
        file: below `src/safeselect`, or with `tools/` in front.
        function: the name of the function or method that the text is in.
        text, other: what is changed.
    """

    claims: tuple[str, ...]
    file: str
    function: str
    text: str
    other: str

    @property
    def path(self) -> str:
        """The file, from the root of the repository."""
        return self.file if self.file.startswith("tools/") else f"src/safeselect/{self.file}"


_LAW, _PRIVATE, _BOTH = ("C1",), ("C2",), ("C1", "C2")

BREAKS = (
    # -------------------------------------------------------------------------- C1, C2: ranking
    Break(
        _BOTH,
        "engine/rankings.py",
        "certified_order",
        "key=highs.__getitem__, reverse=True)",
        "key=highs.__getitem__)",
    ),
    Break(
        _BOTH,
        "engine/laws.py",
        "upper_ends",
        "    return [(noise >> cut) + 2 for",
        "    return [(noise >> cut + 1) + 2 for",
    ),
    Break(
        _LAW,
        "engine/rows.py",
        "combine_rows",
        "    np.subtract(noisy, short.view(np.int64), out=noisy)\n",
        "    np.subtract(noisy, short.view(np.int64) // 2, out=noisy)\n",
    ),
    Break(
        _LAW,
        "engine/rows.py",
        "noisy_max_rows",
        "        words = random_lanes((n, count), bits)\n",
        "        words = random_lanes((n, count), bits)\n        words[:, 1:] = words[:, :1]\n",
    ),
    Break(
        _LAW,
        "engine/tables.py",
        "read_noise",
        "    np.add(out, take(table.values, index), out=out)\n",
        "    np.add(out, take(table.values, index) // 2, out=out)\n",
    ),
    Break(
        _LAW,
        "engine/tables.py",
        "bound_table",
        "    return BoundTable(*_read_only(noise.astype(np.uint64), thresholds, tail_bounds))\n",
        "    return BoundTable(*_read_only(noise.astype(np.uint64) // 2, thresholds, tail_bounds))\n",
    ),
    Break(
        _LAW,
        "engine/draws.py",
        "fixed_point",
        "    return FixedPoint(steps, shift, unit << back >> _DIGITS, back)\n",
        "    return FixedPoint(steps, shift, 2 * (unit << back >> _DIGITS), back)\n",
    ),
    Break(
        _LAW,
        "engine/draws.py",
        "_contenders",
        "    return ranked + (near - 1) + (steep - 1)\n",
        "    return ranked\n",
    ),
    Break(
        _LAW,
        "engine/contenders.py",
        "largest",
        "    np.multiply(values, valid, out=values)\n    return members, values\n",
        "    np.multiply(values, 0, out=values)\n    return members, values\n",
    ),
    Break(
        _LAW,
        "engine/contenders.py",
        "contenders",
        "    find = _by_noise if draws.noise.size else _by_keys\n",
        "    find = _by_noise if draws.noise.size else _by_keys\n    level = level // 2\n",
    ),
    Break(
        _LAW,
        "engine/arrays.py",
        "top_places",
        "    chosen, equal = np.greater(values, level), np.equal(values, level)\n",
        "    chosen, equal = np.less(values, level), np.equal(values, level)\n",
    ),
    Break(
        _LAW,
        "engine/draws.py",
        "draw_slots",
        "    return _integers(random_lanes(count * bits_each // 64, bits), bits_each)\n",
        "    first = random_lanes(count * bits_each // 64, bits)\n"
        "    first[1:] = first[:1]\n"
        "    return _integers(first, bits_each)\n",
    ),
    Break(
        _LAW,
        "engine/draws.py",
        "known",
        "        if not self.words.size:\n",
        "        slots = slots[:1] * len(slots)\n        if not self.words.size:\n",
    ),
    Break(
        _LAW,
        "engine/draws.py",
        "logs",
        "        return [logs[place] for place in picked(self.which, candidates)]\n",
        "        return [(2 * logs[p][0], 2 * logs[p][1]) for p in picked(self.which, candidates)]\n",
    ),
    Break(_LAW, "engine/laws.py", "minus_logs", " + s + (square >> 1)\n", " + s\n"),
    # ------------------------------------------------------------------------- C1: scalar tier
    Break(
        _LAW,
        "spec/rankings.py",
        "combine_exponential",
        "key=lambda i: (noisy[i], noise.ranks[i]), reverse=True)",
        "key=lambda i: (noisy[i], noise.ranks[i]))",
    ),
    Break(
        _LAW,
        "spec/samplers.py",
        "_gumbel_cell",
        "    return -(-uniform.log()).log() / _nats(noise_rate, precision)\n",
        "    return -(-uniform.log()).log() * _nats(noise_rate, precision)\n",
    ),
    Break(
        _LAW,
        "spec/samplers.py",
        "uniform_attempt",
        "    return value if value < n else None\n",
        "    return value % n\n",
    ),
    Break(
        _LAW,
        "spec/samplers.py",
        "_bernoulli_exp_unit",
        "            return k % 2 == 0\n",
        "            return k % 2 == 1\n",
    ),
    Break(
        _LAW,
        "spec/samplers.py",
        "geometric_exp",
        "            return (remainder + denominator * quotient) // numerator\n",
        "            return 1 + (remainder + denominator * quotient) // numerator\n",
    ),
    Break(
        _LAW,
        "spec/samplers.py",
        "laplace_attempt",
        "    if negative and value == 0:\n",
        "    if False:\n",
    ),
    Break(
        _LAW,
        "spec/samplers.py",
        "discrete_gaussian",
        "        value = gaussian_attempt(bits, sigma_squared)\n"
        "        if value is not None:\n            return value\n",
        "        value = gaussian_attempt(bits, sigma_squared)\n"
        "        if value is not None:\n            return value + 1\n",
    ),
    Break(
        _LAW, "spec/samplers.py", "permutation", "    return order\n", "    return sorted(order)\n"
    ),
    Break(
        _LAW,
        "spec/rankings.py",
        "combine_continuous",
        "        if difference < width or (gaps and least != most):\n",
        "        if gaps and least != most:\n",
    ),
    Break(
        _LAW,
        "spec/rankings.py",
        "combine_continuous",
        "        least = (difference - width) * parts // whole\n",
        "        least = difference * parts // whole\n",
    ),
    # ---------------------------------------------------------- C1: numbers, bits, other engines
    Break(
        _LAW,
        "engine/geometric.py",
        "geometric",
        "            np.add(part, digits[:-1], out=part)\n    return result\n",
        "            np.add(part, digits[:-1], out=part)\n    return result + 1\n",
    ),
    Break(
        _LAW,
        "engine/single.py",
        "_whole",
        "            return low\n",
        "            return low + 1\n",
    ),
    Break(
        _LAW,
        "exact/interval.py",
        "log",
        '        return self._rounded("log", (self.lower,), (self.upper,))\n',
        '        return self._rounded("log", (self.upper + 1,), (self.upper + 1,))\n',
    ),
    Break(
        _LAW,
        "exact/interval.py",
        "power",
        "        return (-power).exp()\n",
        "        return (-power - power).exp()\n",
    ),
    Break(
        _LAW,
        "randomness/bits.py",
        "_fill",
        "            for start in range(0, len(view), request):\n"
        "                self.source.fill(view[start : start + request])\n",
        "            for start in range(0, len(view), request):\n"
        "                self.source.fill(view[start : start + request])\n"
        "            view[len(view) // 2 :] = bytes(len(view) - len(view) // 2)\n",
    ),
    Break(
        _LAW,
        "randomness/bits.py",
        "take",
        "        value = self._stock >> self._held\n",
        "        value = (self._stock >> self._held) | (count > 0)\n",
    ),
    Break(
        _BOTH,
        "exact/interval.py",
        "_rounded",
        "getattr(up, name)(*most)",
        "getattr(down, name)(*most)",
    ),
    Break(_BOTH, "engine/gaussian.py", "threshold", "Fraction(1 - 2 * d, 2)", "Fraction(-d)"),
    Break(
        _BOTH,
        "mechanisms/quantiles.py",
        "powers",
        "factors.least(distance - before) >> precision",
        "factors.least(distance - least) >> precision",
    ),
    Break(_LAW, "mechanisms/keys.py", "draw_thresholds", 'side="right"', 'side="left"'),
    # -------------------------------------------------------------- C1, C2: sessions and lists
    Break(
        _BOTH,
        "mechanisms/sessions.py",
        "compare",
        "    if high < least:\n        return BELOW\n",
        "    if low >= least:\n        return BELOW\n    low = high = abs(low)\n",
    ),
    Break(
        _BOTH,
        "mechanisms/sessions.py",
        "_answer",
        "        distance = terms.denominator * terms.cut(value)\n",
        "        distance = 2 * terms.denominator * terms.cut(value)\n",
    ),
    Break(
        _BOTH,
        "mechanisms/unknown.py",
        "gumbel_offset",
        "    return max(0, -(-whole.numerator // whole.denominator))\n",
        "    return max(0, -(-whole.numerator // whole.denominator) // 2)\n",
    ),
    Break(
        _BOTH,
        "mechanisms/unknown.py",
        "laplace_offset",
        "    return high\n",
        "    return high // 2\n",
    ),
    Break(
        _BOTH,
        "mechanisms/unknown.py",
        "_above_bottom",
        "        if label is not None and count > bottom\n",
        "        if label is not None and count >= bottom - 2\n",
    ),
    Break(
        _BOTH,
        "mechanisms/unknown.py",
        "offset",
        "(1 << self.fineness) + gumbel_offset(",
        "gumbel_offset(",
    ),
    Break(
        _PRIVATE,
        "mechanisms/items.py",
        "check_cap",
        "cap is None or cap > most",
        "cap is not None and cap > most",
    ),
    Break(
        _PRIVATE,
        "mechanisms/unknown.py",
        "query",
        "min(len(found) + 1, k) - k",
        "min(len(found), k) - k",
    ),
    Break(
        _PRIVATE,
        "mechanisms/sessions.py",
        "guarantee",
        'PureDP(self.epsilon) if self.noise == "geometric" else LaplaceDominated(self.epsilon)',
        "LaplaceDominated(self.epsilon)",
    ),
    Break(
        _PRIVATE,
        "mechanisms/sessions.py",
        "read_terms",
        "NoiseRate(total * share / rise)",
        "NoiseRate(total / rise)",
    ),
    # -------------------------------------------------------------------------- C2: what is due
    Break(
        _BOTH,
        "scores/reading.py",
        "moves",
        "        return most, back if monotonic else most\n",
        "        return most / 2, back / 2 if monotonic else most / 2\n",
    ),
    Break(
        _BOTH,
        "mechanisms/table.py",
        "calibrate",
        "    noise_rate = dyadic_rate(rate) if law.rational else NoiseRate(rate)\n",
        "    rate *= 2\n    noise_rate = dyadic_rate(rate) if law.rational else NoiseRate(rate)\n",
    ),
    Break(
        _PRIVATE,
        "accounting/rate.py",
        "per_draw_epsilon",
        "    least = epsilon / count\n",
        "    least = 2 * epsilon / count\n",
    ),
    Break(
        _PRIVATE,
        "promises/guarantees.py",
        "zcdp",
        "        return _concentrated(self, lambda _, e: e + (-e).expm1())\n",
        "        return _concentrated(self, lambda _, e: (e + (-e).expm1()) / Interval.of(4, e.precision))\n",
    ),
    Break(
        _PRIVATE,
        "promises/guarantees.py",
        "pure",
        '        """epsilon-DP: the ratio of the two Laplace densities is at most e**epsilon."""\n'
        "        return PureDP(self.epsilon)\n",
        '        """epsilon-DP: the ratio of the two Laplace densities is at most e**epsilon."""\n'
        "        return PureDP(self.epsilon / 2)\n",
    ),
    Break(
        _PRIVATE,
        "accounting/composition.py",
        "_best",
        "    return Composition(ApproximateDP(best.value, delta), best.theorem, best.order, lower)\n",
        "    return Composition(ApproximateDP(best.value / 2, delta), best.theorem, best.order, lower)\n",
    ),
    Break(
        _PRIVATE,
        "accounting/composition.py",
        "_plain",
        "    return Composition(ZeroConcentratedDP(total(rhos)), CONCENTRATED)\n",
        "    return Composition(ZeroConcentratedDP(total(rhos) / 2), CONCENTRATED)\n",
    ),
    Break(
        _PRIVATE,
        "promises/guarantees.py",
        "delta",
        "-(less / (one + one)).expm1()",
        "-(less / (one + one + one + one)).expm1()",
    ),
    Break(
        _PRIVATE,
        "accounting/moments.py",
        "_moment",
        "        if isinstance(guarantee, BoundedRange):\n",
        "        if isinstance(guarantee, (BoundedRange, PureDP)):\n",
    ),
    Break(
        _PRIVATE, "accounting/pure.py", "at", "- self.count) // 2) - 1  #", "- self.count) // 2)  #"
    ),
    Break(_PRIVATE, "accounting/moments.py", "bound", " + root + root\n", " + root\n"),
    Break(
        _PRIVATE,
        "accounting/laws.py",
        "atoms",
        "missing.scaled(bits)[1]",
        "missing.scaled(bits)[0]",
    ),
    Break(
        _PRIVATE,
        "adapters/dp_accounting.py",
        "dp_events",
        "dp_event(each, accountant=accountant), count)",
        "dp_event(each, accountant=accountant), 1)",
    ),
    Break(
        _PRIVATE,
        "adapters/dp_accounting.py",
        "dp_event",
        "noise_parameter=at_least(cost), ",
        "noise_parameter=at_least(cost / 2), ",
    ),
    Break(
        _PRIVATE,
        "mechanisms/measure.py",
        "_read_law",
        "covered[1] / (2 * concentrated.rho)",
        "covered[1] / (4 * concentrated.rho)",
    ),
    Break(
        _PRIVATE,
        "mechanisms/keys.py",
        "_floor",
        "return (delta.numerator << bits) // ",
        "return (2 * delta.numerator << bits) // ",
    ),
    # How all rows are read follows from the first one: the grid, and with it the sensitivity.
    Break(
        _PRIVATE,
        "scores/candidates.py",
        "scores_on_grid",
        "        rows = self.rows\n",
        "        rows = self.rows\n"
        "        if self.is_matrix and isinstance(rows, tuple):\n"
        "            lies = all(each % float(reading.step) == 0 for each in rows[0].numbers())\n"
        "            finer = Reading(reading.step / 2, reading.on_grid, reading.error)\n"
        "            reading = reading if lies else finer\n",
    ),
    # ----------------------------------------------------------------------------- C3: reading
    Break(
        ("C3", "C2"),
        "scores/reading.py",
        "nearest",
        "    return (2 * above * q + p * below) // (2 * p * below)\n",
        "    return (above * q) // (p * below)\n",
    ),
    Break(
        ("C3",),
        "scores/numbers.py",
        "_integer_steps",
        "    np.multiply(scores_on_grid, near, out=scores_on_grid)\n",
        "    np.multiply(scores_on_grid, near, out=scores_on_grid)\n"
        "    np.right_shift(scores_on_grid, np.uint64(1), out=scores_on_grid)\n",
    ),
    Break(
        ("C3",), "scores/numbers.py", "in_order", "[int(minimize), ...]", "[int(not minimize), ...]"
    ),
    Break(
        ("C3", "C2"),
        "scores/numbers.py",
        "_behind",
        "    return [_LARGEST - min(abs(first - step), _LARGEST) for ",
        "    return [_LARGEST - min(abs(first - step) // 2, _LARGEST) for ",
    ),
    Break(
        ("C3",),
        "engine/rankings.py",
        "certified_order",
        "    gaps = None\n    if plan.ranked > plan.k:\n",
        "    half = precision / 2\n    gaps = None if half else None\n    if plan.ranked > plan.k:\n",
    ),
    Break(
        ("C3",),
        "engine/draws.py",
        "rate",
        "    return noise_rate.scaled(precision + GUARD)\n",
        "    float(precision)\n    return noise_rate.scaled(precision + GUARD)\n",
    ),
    Break(
        ("C3", "C2"),
        "scores/floats.py",
        "_dyadic",
        "    halves = float(np.ldexp(1, fineness + 1))\n",
        "    halves = float(np.ldexp(1, fineness))\n",
    ),
    Break(
        ("C3",),
        "scores/reals.py",
        "place_of",
        "else _finite(*ratio_of(number))\n",
        "else (2, Fraction(*ratio_of(number)))\n",
    ),
    Break(
        ("C3",),
        "exact/parameters.py",
        "plain",
        "issubclass(kind, FLOATS)",
        "issubclass(kind, float)",
    ),
    # ----------------------------------------------------------------------------- C4: one way
    Break(
        ("C4",),
        "engine/rankings.py",
        "combine",
        "    if draws.endless:\n        return None\n",
        "    if draws.endless or int(np.max(scores_on_grid)) % 2:\n        return None\n",
    ),
    Break(
        ("C4",),
        "engine/arrays.py",
        "top_places",
        "    missing = m - int(np.count_nonzero(chosen))\n",
        "    missing = m - int(np.count_nonzero(chosen))\n"
        "    if missing % 2:\n        np.sort(values)\n",
    ),
    Break(
        ("C4",),
        "release/call.py",
        "__enter__",
        "                self.values = self._read()\n                self.bits = Bits(self._source)\n",
        "                self.values = self._read()\n                self.bits = Bits(self._source)\n"
        "                self.bits.take(int(np.max(self.values)) % 2)\n",
    ),
    Break(
        ("C4",),
        "release/call.py",
        "__enter__",
        "                self.values = once_charged(self._read, self._said[2])\n",
        "                self.values = once_charged(self._read, self._said[2])\n"
        "                self.bits.take(int(np.max(self.values)) % 2)\n",
    ),
    Break(
        ("C4",),
        "mechanisms/sessions.py",
        "_answer",
        "        distance = terms.denominator * terms.cut(value)\n",
        "        distance = terms.denominator * terms.cut(value)\n        bits.take(value % 2)\n",
    ),
    Break(
        ("C4",),
        "engine/rows.py",
        "combine_rows",
        "    public.fixed_rate.apply(short)\n",
        "    if np.any(short):\n        public.fixed_rate.apply(short)\n",
    ),
    Break(
        ("C4",),
        "scores/floats.py",
        "float_steps",
        "    offset = best * (abs(above) * q >= p * below << 66)\n",
        "    offset = 0.0\n    if abs(above) * q >= p * below << 66:\n        offset = best\n",
    ),
    # ------------------------------------------------------------------------- C5, C6, C7: bits
    Break(
        ("C5",),
        "randomness/guard.py",
        "_attempt",
        "            problem = self._failed_test(taken, canary) if count and self.health else None\n",
        "            problem = None\n",
    ),
    Break(
        ("C5",),
        "randomness/guard.py",
        "_run",
        "            self.failed = True\n            raise SourceError(found)\n",
        "            raise SourceError(found)\n",
    ),
    Break(
        ("C5",),
        "randomness/guard.py",
        "_attempt",
        "            if self.vouched:\n                raise\n",
        "",
    ),
    Break(
        ("C5",),
        "randomness/guard.py",
        "fill",
        "            except BaseException:\n                wipe(view)\n                raise\n",
        "            except Exception:\n                pass\n",
    ),
    Break(
        ("C5",),
        "randomness/source.py",
        "default_source",
        "        if guard.born == generation() and (guard.unfit or not guard.failed):\n",
        "        if guard.born == generation():\n",
    ),
    Break(
        ("C5",),
        "randomness/bits.py",
        "exhausted",
        "    return SourceError(\n",
        "    return ValueError(\n",
    ),
    Break(
        ("C5",),
        "randomness/foreign.py",
        "with_system_bytes",
        "    return mixed(device, system, health=False)\n",
        "    return device\n",
    ),
    Break(
        ("C5",),
        "randomness/foreign.py",
        "draw",
        "            second.fill(theirs)\n",
        "            try:\n"
        "                second.fill(theirs)\n"
        "            except Exception:\n"
        "                pass\n",
    ),
    Break(
        ("C6",),
        "randomness/bits.py",
        "_check_usable",
        "        if generation() != self._process:\n",
        "        if False:\n",
    ),
    Break(
        ("C6",),
        "randomness/guard.py",
        "generation",
        "    return _forks, os.getpid()\n",
        "    return 0, 0\n",
    ),
    Break(
        ("C6",),
        "randomness/source.py",
        "_openssl_bytes",
        "            return xored(taken, fresh) if few else taken\n",
        "            import hashlib, threading\n"
        "            places = globals().setdefault('_PLACES', {})\n"
        "            thread = threading.get_ident()\n"
        "            places[thread] = places.get(thread, 0) + 1\n"
        "            return hashlib.shake_256(b'%d' % places[thread]).digest(count)\n",
    ),
    Break(
        ("C6",),
        "randomness/guard.py",
        "_attempt",
        "        if not self.fork_safe and generation() != self.born:\n",
        "        if False:\n",
    ),
    Break(
        ("C7",),
        "randomness/guard.py",
        "is_own",
        "    return _OWN.get(id(type(value))) is type(value)\n",
        "    return hasattr(value, 'fill')\n",
    ),
    Break(
        ("C7",),
        "randomness/source.py",
        "require_production",
        '    return os.environ.get(_VARIABLE, "") != ""\n',
        "    return False\n",
    ),
    Break(
        ("C7",),
        "randomness/foreign.py",
        "_why_not",
        "    kind = type(value).__name__\n    if predictable_generator(value):\n",
        "    kind = type(value).__name__\n    return kind\n    if predictable_generator(value):\n",
    ),
    # -------------------------------------------------------------------------- C8, C9: ledger
    Break(
        ("C8",),
        "ledger/scope.py",
        "begin",
        "        pending = self.pay(",
        "        bits.take(8)\n        pending = self.pay(",
    ),
    Break(
        ("C8",),
        "ledger/sums.py",
        "exceeded",
        "    return [name for name, cap in caps.items() if after[name] > cap]\n",
        "    return []\n",
    ),
    Break(
        ("C8",),
        "ledger/sums.py",
        "add",
        "    return {name: _rounded(total[name] + price[name]) for name in total}\n",
        "    return {name: _rounded(price[name]) for name in total}\n",
    ),
    Break(
        ("C8",),
        "ledger/pending.py",
        "settled",
        "{name: str(n) for name, n in spent.items()}\n",
        "dict.fromkeys(spent, '0')\n",
    ),
    Break(
        ("C8",),
        "ledger/scope.py",
        "begin",
        "        pending = self.pay(Charge(*asked, seen.name, seen.production, seen.health, nonce))\n",
        '        pending = self.pay(Charge("release/1", *asked[1:], "", False, False, nonce))\n',
    ),
    Break(
        ("C8",),
        "release/call.py",
        "commit",
        "        receipt = self._pending.released(result.to_json())\n",
        "        try:\n"
        "            receipt = self._pending.released(result.to_json())\n"
        "        except LedgerError:\n"
        "            return result\n",
    ),
    Break(
        ("C8",),
        "ledger/replay.py",
        "_outcome",
        '        elif record["kind"] == "aborted" and record["reason"] == "input":\n',
        '        if record["kind"] == "aborted":\n'
        "            for name in charge.scopes:\n"
        "                was = self.scopes[name]\n"
        "                nothing = {each: 0 * amount for each, amount in was.spent.items()}\n"
        "                scopes[name] = Balance(was.budget, nothing)\n"
        '        if record["kind"] == "aborted" and record["reason"] == "input":\n',
    ),
    Break(
        ("C8",),
        "ledger/replay.py",
        "check_spent",
        "    if not used or any(n.denominator != 1 or n > there[name] for name, n in used.items()):\n",
        "    if not used or any(n.denominator != 1 for name, n in used.items()):\n",
    ),
    Break(
        ("C8", "C10"),
        "release/call.py",
        "once_charged",
        "        failed = ScoreError(unreadable)\n",
        "        raise\n",
    ),
    Break(
        ("C9",),
        "ledger/record.py",
        "record_hash",
        "    return hashlib.sha256(RECORD_DOMAIN + body.encode(",
        "    body = ''\n    return hashlib.sha256(RECORD_DOMAIN + body.encode(",
    ),
    Break(
        ("C9",),
        "ledger/record.py",
        "read_row",
        "    if record_hash(row.body) != row.hash:\n",
        "    if False:\n",
    ),
    Break(
        ("C9",),
        "ledger/replay.py",
        "read",
        "        if self.heads.wanted:\n",
        "        if False:\n",
    ),
    Break(
        ("C9",),
        "ledger/replay.py",
        "_check_time",
        "        if found is None or found[1] != clock:\n",
        "        if False:\n",
    ),
    Break(
        ("C8",),
        "ledger/pending.py",
        "aborted",
        "        if self._is_kept:\n",
        "        if False:\n",
    ),
    Break(
        ("C9",),
        "ledger/replay.py",
        "read",
        '        if record["seq"] != str(self.count) or record["previous"] != self.last:\n',
        "        if False:\n",
    ),
    Break(
        ("C9",),
        "audit/release.py",
        "_miscounted",
        "    if recorded == numbers and 0 not in numbers:\n",
        "    if True:\n",
    ),
    Break(
        ("C8",),
        "mechanisms/runs.py",
        "empty",
        "            return kind()\n",
        "            return error\n",
    ),
    # -------------------------------------------------------------------- C10, C11, C12: inputs
    Break(
        ("C10",),
        "scores/candidates.py",
        "__repr__",
        '        return f"<{self.size} candidates>"\n',
        '        return f"<{self.rows} candidates>"\n',
    ),
    Break(("C10",), "randomness/guard.py", "wipe", "    buffer[:] = bytes(len(buffer))\n", ""),
    Break(
        ("C10", "C5"),
        "release/call.py",
        "_wipe",
        "            values.fill(0)\n",
        "            pass\n",
    ),
    Break(
        ("C10",),
        "scores/numbers.py",
        "_no_number",
        "    name = type(value).__name__\n    if value is None:\n        return ScoreError(NULL)\n",
        "    name = repr(value)\n",
    ),
    Break(
        ("C10",),
        "scores/candidates.py",
        "numbers",
        "        cell = values.dtype.type.__name__\n",
        "        cell = values.dtype.str\n",
    ),
    Break(
        ("C10",),
        "scores/candidates.py",
        "read_candidates",
        "    return Candidates((column,), column.size, names, positions=brought is None)\n",
        "    return Candidates((column,), column.size, names)\n",
    ),
    Break(
        ("C10",),
        "release/call.py",
        "statement",
        "        return _stated(tuple(self.charge.parameters.items()), unit, neighbours, utc)\n",
        '        first = ("first", str(np.ravel(self.values)[0]))\n'
        "        return _stated((*self.charge.parameters.items(), first), unit, neighbours, utc)\n",
    ),
    Break(
        ("C10",),
        "randomness/foreign.py",
        "asked",
        "            raise SourceError(failure) from None\n",
        '            raise SourceError(f"{failure}: {error}") from None\n',
    ),
    Break(
        ("C10",),
        "scores/columns.py",
        "numbers_of",
        "        raise ScoreError(NULL)\n",
        '        raise ScoreError(f"{NULL}: {column}")\n',
    ),
    Break(
        ("C10",),
        "scores/candidates.py",
        "check_known",
        "    if type(scores) is not Counts:\n",
        '    if not hasattr(scores, "check_known"):\n',
    ),
    Break(
        ("C10",),
        "mechanisms/items.py",
        "read_items",
        '            "labels must be as many as the scores; write one label for each, in the same order"\n',
        '            f"labels must be as many as the scores, not {len(found)}"\n',
    ),
    Break(
        ("C10",),
        "mechanisms/items.py",
        "item",
        "    with suppress(Exception):\n        return _spelled(*_ratio(label))\n    return None\n",
        "    try:\n"
        "        return _spelled(*_ratio(label))\n"
        "    except Exception:\n"
        '        raise ParameterError(f"{label!r} is no item") from None\n',
    ),
    Break(
        ("C10",),
        "tables/duckdb.py",
        "ask",
        "        broken = _BROKEN in str(error) and _BROKEN not in failure\n",
        "        broken = _BROKEN in str(error) and _BROKEN not in failure\n"
        '        failure = f"{failure}: {error}"\n',
    ),
    Break(("C10",), "adapters/opendp.py", "function", "            pass\n", "            raise\n"),
    Break(
        ("C11",),
        "exact/parameters.py",
        "_check_size",
        "    if _bits(value) > MAX_BITS:\n",
        "    if False:\n",
    ),
    Break(
        ("C11",),
        "exact/parameters.py",
        "_parsed",
        "        if max(len(numerator), len(denominator)) > _MAX_DIGITS:\n            return _TOO_LONG\n",
        "",
    ),
    Break(
        ("C12", "C11"),
        "exact/parameters.py",
        "rational",
        "    if not signed and (number.numerator < 0 or (number.numerator == 0 and not zero)):\n",
        "    assert signed or number.numerator > 0\n    if False:\n",
    ),
    Break(
        ("C11",),
        "tables/files.py",
        "_header",
        "    if len(header) > _MOST_COLUMNS:\n",
        "    if False:\n",
    ),
    Break(
        ("C12",),
        "release/call.py",
        "commit",
        "        paid = self.charge.mechanism, self.charge.guarantee\n",
        "        import warnings\n\n"
        "        warnings.warn('released')\n"
        "        paid = self.charge.mechanism, self.charge.guarantee\n",
    ),
    # ------------------------------------------------------------------------------ C13: release
    Break(
        ("C13",),
        "tools/verify_release.py",
        "check_wheel",
        '    check_files(files, right, described)\n    check_metadata(files[f"{info}METADATA"], commit)\n',
        "",
    ),
    Break(
        ("C13",),
        "tools/verify_release.py",
        "check_sbom",
        "    if content == right:\n",
        "    if content:\n",
    ),
)
