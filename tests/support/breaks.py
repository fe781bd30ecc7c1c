"""The code that keeps each claim, and ways to break it: every named test must then fail.

`make claims` writes the places into docs/claims.md; `tools/execute_claims.py` makes each break in a
copy of the repository and runs the evidence of its claims there.  Evidence counts once some break
of its claim makes it fail.
"""

from __future__ import annotations

from mutants import Break

_BY_CLAIMS = {
    "C1 C2": (
        ("engine/rankings.py:certified_order", ", reverse=True", ""),
        ("engine/laws.py:upper_ends", "noise >> cut", "noise >> cut + 1"),
        ("exact/interval.py:_rounded", "getattr(up", "getattr(down"),
        ("engine/gaussian.py:threshold", "1 - 2 * d, 2", "-d"),
        ("mechanisms/quantiles.py:powers", "distance - before", "distance - least"),
        (
            "mechanisms/sessions.py:compare",
            "high < least:\n        return BELOW",
            "low >= least:\n        return BELOW\n    low = high = abs(low)",
        ),
        ("mechanisms/sessions.py:_answer", "distance = ", "distance = 2 * "),
        ("mechanisms/unknown.py:gumbel_offset", "denominator)", "denominator) // 2"),
        ("mechanisms/unknown.py:laplace_offset", "range(high)", "range(high // 2)"),
        ("mechanisms/unknown.py:_above_bottom", "count > bottom", "count >= bottom - 2"),
        ("mechanisms/unknown.py:offset", "(1 << self.fineness) + ", ""),
        (
            "scores/reading.py:moves",
            ", back if monotonic else most",
            " / 2, back / 2 if monotonic else most / 2",
        ),
        ("mechanisms/table.py:calibrate", "    noise_rate", "    rate *= 2\n    noise_rate"),
        ("accounting/cost.py:unordered", "(4 * range_)", "(2 * range_)"),
    ),
    "C1": (
        ("engine/rows.py:combine_rows", "(np.int64)", "(np.int64) // 2"),
        (
            "engine/rows.py:noisy_max_rows",
            "count), bits)",
            "count), bits)\n        words[:, 1:] = words[:, :1]",
        ),
        ("engine/tables.py:read_noise", "values, index)", "values, index) // 2"),
        ("engine/tables.py:bound_table", "(np.uint64)", "(np.uint64) // 2"),
        ("engine/tables.py:keys", "np.uint64(2))", "np.uint64(1))"),
        ("engine/draws.py:fixed_point", "unit << back >> _DIGITS", "2 * (unit << back >> _DIGITS)"),
        ("engine/draws.py:_contenders", " + (near - 1) + (steep - 1)", ""),
        ("engine/contenders.py:largest", "values, valid", "values, 0"),
        (
            "engine/contenders.py:contenders",
            "else _by_keys",
            "else _by_keys\n    level = level // 2",
        ),
        ("engine/arrays.py:top_places", "np.greater", "np.less"),
        (
            "engine/draws.py:draw_slots",
            "return _integers(random_lanes(count * bits_each // 64, bits)",
            "first = random_lanes(count * bits_each // 64, bits)\n"
            "    first[1:] = first[:1]\n"
            "    return _integers(first",
        ),
        (
            "engine/draws.py:known",
            "if not self.words",
            "slots = slots[:1] * len(slots)\n        if not self.words",
        ),
        ("engine/draws.py:logs", "[e * ln_2() - log for", "[2 * (e * ln_2() - log) for"),
        ("engine/laws.py:minus_logs", " + (square >> 1)", ""),
        ("spec/rankings.py:combine_exponential", ", reverse=True", ""),
        ("samplers.py:_gumbel_cell", ").log() /", ").log() *"),
        ("samplers.py:uniform_attempt", "if value < n else None", "% n"),
        ("samplers.py:_bernoulli_exp_unit", "k % 2 == 0", "k % 2 == 1"),
        ("samplers.py:geometric_exp", "return (remainder", "return 1 + (remainder"),
        ("samplers.py:laplace_attempt", "negative and value == 0", "False"),
        ("samplers.py:discrete_gaussian", "bits, sigma_squared))", "bits, sigma_squared)) + 1"),
        ("samplers.py:permutation", "return order", "return sorted(order)"),
        (
            "spec/rankings.py:combine_continuous",
            "difference < width or (gaps and least != most)",
            "gaps and least != most",
        ),
        ("spec/rankings.py:combine_continuous", "(difference - width)", "difference"),
        ("engine/geometric.py:geometric", "return result", "return result + 1"),
        ("engine/single.py:_whole", "return low", "return low + 1"),
        ("exact/interval.py:log", "lower,), (self.upper", "upper + 1,), (self.upper + 1"),
        ("exact/interval.py:power", "return (-power", "return (-power - power"),
        (
            "randomness/bits.py:_fill",
            "request])",
            "request])\n            view[len(view) // 2 :] = bytes(len(view) - len(view) // 2)",
        ),
        (
            "randomness/bits.py:take",
            "self._stock >> self._held",
            "(self._stock >> self._held) | (count > 0)",
        ),
        ("audit/code.py:code_digest", "_encoded(code)", "code.co_name.encode()"),
        (
            "mechanisms/select.py:in_order",
            "(*ranking.indices, last).index(last)",
            "len(ranking.indices)",
        ),
        ("spec/rankings.py:permute_and_flip", "best - scores[i]", "best"),
        ("mechanisms/keys.py:draw_thresholds", 'side="right', 'side="left'),
    ),
    "C2": (
        ("mechanisms/items.py:check_cap", "is None or", "is not None and"),
        ("mechanisms/unknown.py:query", "found) + 1", "found)"),
        (
            "mechanisms/sessions.py:guarantee",
            'PureDP(self.epsilon) if self.noise == "geometric" else ',
            "",
        ),
        ("mechanisms/sessions.py:read_terms", "total * share ", "total "),
        ("accounting/rate.py:per_draw_epsilon", "least = epsilon", "least = 2 * epsilon"),
        (
            "promises/guarantees.py:zcdp",
            "e + (-e).expm1(",
            "(e + (-e).expm1()) / Interval.of(4, e.precision",
        ),
        (
            "promises/guarantees.py:pure",
            'contains 0."""\n        return PureDP(self.epsilon)',
            'contains 0."""\n        return PureDP(self.epsilon / 2)',
        ),
        (
            "accounting/composition.py:_best",
            "return Composition(ApproximateDP(best.value, delta), best.theorem, best.order,",
            "return Composition(ApproximateDP(best.value / 2, delta), best.theorem, best.order,",
        ),
        ("accounting/composition.py:_plain", "total(rhos)", "total(rhos) / 2"),
        ("promises/guarantees.py:profile", "-(less / 2", "-(less / 4"),
        ("accounting/moments.py:_moment", "BoundedRange", "(BoundedRange, PureDP)"),
        ("accounting/pure.py:tails", "// 2) - 1", "// 2)"),
        ("accounting/moments.py:bound", "root + root", "root"),
        ("accounting/laws.py:atoms", "scaled(bits)[1", "scaled(bits)[0"),
        ("adapters/dp_accounting.py:dp_events", "(each), count", "(each), 1"),
        ("adapters/dp_accounting.py:dp_event", "at_least(cost", "at_least(cost / 2"),
        ("mechanisms/measure.py:of", "size / (2", "size / (4"),
        (
            "accounting/optimum/bracket.py:at",
            "masses.infinite - (-total >> bits)",
            "masses.infinite + (total >> bits)",
        ),
        ("accounting/optimum/concentrated.py:_log_delta", "- x * s", "- 2 * x * s"),
        ("accounting/optimum/curve.py:one_more", "lower * _DOWN", "2 * lower * _DOWN"),
        ("accounting/optimum/fixed.py:_shift", "return rounded_up(shift)", "return Fraction(0)"),
        (
            "accounting/optimum/pairs.py:product",
            "[-(-w >> bits) for w in weights] if upper",
            "[w >> bits for w in weights] if upper",
        ),
        ("accounting/optimum/upper.py:on", "TAIL + (kinds // FEW_KINDS).bit_length()", "TAIL"),
        ("accounting/optimum/upper.py:problem_of", "<= LARGEST", "<= 16 * LARGEST"),
        ("accounting/sums.py:sum_of_deltas", "1 - _kept(deltas)", "(1 - _kept(deltas)) / 2"),
        ("accounting/bounds.py:known_bounds", "sure = are_pure", "sure = not are_pure"),
        ("scores/reading.py:exactly_one", "len(named) != 1", "len(named) > 2"),
        ("adapters/pipeline_dp.py:_pair", "item(user_of(row))", "str(user_of(row))"),
        ("mechanisms/groups.py:plan_known", "k, changed)", "k, 1)"),
        ("mechanisms/items.py:merged", "value > largest.get(name, 0)", "name not in largest"),
        ("mechanisms/keys.py:_risen", "bits) + delta", "bits) + 2 * delta"),
        ("mechanisms/select.py:in_scores", "gap * above", "2 * gap * above"),
        (
            "mechanisms/select.py:calibrate_base2",
            "-Interval.of(factor, bits).log()",
            "-Interval.of(factor, bits).log() / 2",
        ),
        ("mechanisms/stated.py:planned", "each / (k * range_)", "each / range_"),
        ("mechanisms/table.py:dyadic_rate", "Fraction(high, 2**64)", "Fraction(low, 2**64)"),
        ("mechanisms/unknown.py:_largest_first", "(-pair[1], pair[0])", "-pair[1]"),
        (
            "mechanisms/unknown.py:plan_with_counts",
            "ZeroConcentratedDP(rho), moved",
            "ZeroConcentratedDP(2 * rho), moved",
        ),
        ("mechanisms/unknown.py:plan_with_counts", "odds(part), con", "odds(4 * part), con"),
        ("release/call.py:read_ledger", 'monotonic and scope.neighbours == "replace_one"', "False"),
        ("scores/counts.py:check_known", "        check_unit(self.unit, unit)", "        return"),
        ("tables/frames.py:_text", "item(cell)", "str(cell)"),
        ("tables/sql.py:counts_of_groups", '"1" if contributions is None', '"1" if groups'),
        ("tables/sql.py:counts_of_items", "_CAPPED if capped", "_COUNTED if capped"),
        (
            "tables/sql.py:spelled",
            "_FLOAT.format(cell=wide",
            '_FLOAT.replace("%nan", "%no").format(cell=wide',
        ),
        ("mechanisms/keys.py:_floor", "return (delta", "return (2 * delta"),
        ("mechanisms/weighted_keys.py:_planned", "total.delta / 2", "total.delta"),
        (
            "scores/candidates.py:scores_on_grid",
            "dtype=np.uint64)",
            "dtype=np.uint64)\n"
            "        if self.is_matrix and isinstance(rows := self.rows, tuple):\n"
            "            lies = all(each % float(reading.step) == 0 for each in rows[0].numbers())\n"
            "            finer = Reading(reading.step / 2, reading.on_grid, reading.error)\n"
            "            reading = reading if lies else finer",
        ),
    ),
    "C3 C2": (
        ("scores/reading.py:nearest", "2 * above * q + p * below) // (2 * ", "above * q) // ("),
        ("scores/numbers.py:_behind", "first - step)", "first - step) // 2"),
        ("scores/floats.py:_dyadic", "fineness + 1", "fineness"),
    ),
    "C3": (
        (
            "scores/numbers.py:_integer_steps",
            "near, out=scores_on_grid)",
            "near, out=scores_on_grid)\n"
            "    np.right_shift(scores_on_grid, np.uint64(1), out=scores_on_grid)",
        ),
        ("scores/numbers.py:in_order", "[int(minimize", "[int(not minimize"),
        (
            "engine/rankings.py:certified_order",
            "gaps = None",
            "half = precision / 2\n    gaps = None if half else None",
        ),
        ("scores/floats.py:_dyadic", "_ROUNDER + 1", "_ROUNDER"),
        ("engine/draws.py:rate", "return noise_rate", "float(precision)\n    return noise_rate"),
        ("scores/reals.py:place_of", "_finite(*ratio_of(number", "(2, Fraction(*ratio_of(number)"),
        ("exact/parameters.py:plain", "kind, FLOATS", "kind, float"),
    ),
    "C4": (
        (
            "engine/rankings.py:combine",
            "draws.endless",
            "draws.endless or int(np.max(scores_on_grid)) % 2",
        ),
        (
            "engine/arrays.py:top_places",
            "(chosen))",
            "(chosen))\n    if missing % 2:\n        np.sort(values)",
        ),
        (
            "release/call.py:__enter__",
            ")\n                self.bits = Bits(self._source)",
            ")\n"
            "                self.bits = Bits(self._source)\n"
            "                self.bits.take(int(np.max(self.values)) % 2)",
        ),
        (
            "release/call.py:__enter__",
            "_said[2])",
            "_said[2])\n                self.bits.take(int(np.max(self.values)) % 2)",
        ),
        (
            "mechanisms/sessions.py:_answer",
            "cut(value)",
            "cut(value)\n        bits.take(value % 2)",
        ),
        (
            "engine/rows.py:combine_rows",
            "    public.fixed_rate",
            "    if np.any(short):\n        public.fixed_rate",
        ),
        (
            "scores/floats.py:float_steps",
            "best * (abs(above) * q >= p * below << 66)",
            "0.0\n    if abs(above) * q >= p * below << 66:\n        offset = best",
        ),
    ),
    "C5": (
        (
            "randomness/guard.py:_attempt",
            "self._failed_test(taken, canary) if count and self.health else ",
            "",
        ),
        ("randomness/guard.py:_run", "self.failed = True\n            ", ""),
        (
            "randomness/guard.py:_attempt",
            "            if self.vouched:\n                raise\n",
            "",
        ),
        (
            "randomness/guard.py:fill",
            "BaseException:\n                wipe(view)\n                raise",
            "Exception:\n                pass",
        ),
        ("randomness/source.py:default_source", " and (guard.unfit or not guard.failed)", ""),
        ("randomness/bits.py:exhausted", "return SourceError", "return ValueError"),
        (
            "randomness/foreign.py:with_system_bytes",
            "mixed(device, system, health=False)",
            "device",
        ),
        (
            "randomness/foreign.py:draw",
            "second.fill(theirs)",
            "try:\n"
            "                second.fill(theirs)\n"
            "            except Exception:\n"
            "                pass",
        ),
    ),
    "C6": (
        ("randomness/bits.py:_check_usable", "generation() != self._process", "False"),
        ("randomness/guard.py:generation", "_forks, os.getpid()", "0, 0"),
        (
            "randomness/source.py:_openssl_bytes",
            "return xored(taken, fresh) if few else taken",
            "import hashlib, threading\n"
            "            places = globals().setdefault('_PLACES', {})\n"
            "            thread = threading.get_ident()\n"
            "            places[thread] = places.get(thread, 0) + 1\n"
            "            return hashlib.shake_256(b'%d' % places[thread]).digest(count)",
        ),
        (
            "randomness/guard.py:_attempt",
            "not self.fork_safe and generation() != self.born",
            "False",
        ),
    ),
    "C7": (
        (
            "randomness/guard.py:is_own",
            "_OWN.get(id(type(value))) is type(value",
            "hasattr(value, 'fill'",
        ),
        ("randomness/source.py:require_production", 'os.environ.get(_VARIABLE, "") != ""', "False"),
        ("randomness/foreign.py:_why_not", ".__name__\n    ", ".__name__\n    return kind\n    "),
    ),
    "C8": (
        ("ledger/scope.py:begin", "pending =", "bits.take(8)\n        pending ="),
        ("ledger/budget.py:ways", " if after[name] <= cap", ""),
        ("ledger/budget.py:add", "total[name] + ", ""),
        (
            "ledger/scope.py:settled",
            "{name: str(n) for name, n in spent.items()}",
            "dict.fromkeys(spent, '0')",
        ),
        (
            "ledger/scope.py:begin",
            "charge, observed(bits.source)",
            'replace(charge, mechanism="release/1"), Observed("", "no", "not tested")',
        ),
        (
            "release/call.py:commit",
            "receipt = self._pending.released(result.to_json())",
            "try:\n"
            "            receipt = self._pending.released(result.to_json())\n"
            "        except LedgerError:\n"
            "            return result",
        ),
        (
            "ledger/replay.py:_outcome",
            'elif record["kind"] == "aborted',
            'if record["kind"] == "aborted":\n'
            "            for name in charge.scopes:\n"
            "                was = self.scopes[name]\n"
            "                nothing = {each: 0 * amount for each, amount in was.spent.items()}\n"
            "                scopes[name] = Balance(was.budget, nothing)\n"
            '        if record["kind"] == "aborted',
        ),
        ("ledger/replay.py:check_spent", "or n > there[name] ", ""),
        ("ledger/scope.py:aborted", "self._has_answer", "False"),
        ("mechanisms/runs.py:empty", "return kind()", "return error"),
        (
            "audit/release.py:_differs",
            'return _differences(own, again, "its record says")',
            "return None",
        ),
        ("ledger/stores/file.py:_held", "self._lock(file, fcntl.LOCK_EX)", "pass"),
        ("mechanisms/unknown.py:__init__", "scope is not None", "False"),
    ),
    "C8 C10": (("release/call.py:in_one_sentence", "failed = ScoreError(unreadable)", "raise"),),
    "C9": (
        ("ledger/record.py:record_hash", "return hashlib", "body = ''\n    return hashlib"),
        ("ledger/record.py:read_row", "record_hash(row.body) != row.hash", "False"),
        ("ledger/replay.py:read", "self.wanted.get(self.count, row.hash)", "row.hash"),
        ("ledger/replay.py:_check_time", "found is None or found[1] != clock", "False"),
        (
            "ledger/replay.py:read",
            'record["seq"] != str(self.count) or record["previous"] != self.last',
            "False",
        ),
        ("audit/release.py:_miscounted", "recorded == numbers", "True"),
        ("ledger/balance.py:of", "made.as_record() != content", "False"),
        ("ledger/balance.py:stating", "self._copy(self.terms, stated)", "self"),
        (
            "ledger/signing.py:is_signed",
            "not its signature\n        return False",
            "\n        return True",
        ),
        ("ledger/balance.py:charged", "cost.keys() != balance.spent.keys()", "False"),
        ("ledger/balance.py:charged", 'charge["after"] != exact_texts(after)', "False"),
        ("ledger/balance.py:charged", "not allows(balance.budget.caps, cost, after)", "False"),
        ("ledger/budget.py:understated", "stated[name] < least", "stated[name] != least"),
        ("ledger/stores/memory.py:write", "generation() != self._born", "False"),
        ("ledger/stores/memory.py:append", "self.new.append", "self._rows.append"),
        ("ledger/book.py:_add", "if not reading.fits(checker):", "if False:"),
        (
            "audit/release.py:_planned",
            "return _differences",
            "own = again\n    return _differences",
        ),
        ("audit/theorems.py:drawn", "count(',') + 1:b", "count(','):b"),
        ("audit/theorems.py:drawn", "prod(numbers", "sum(numbers"),
    ),
    "C10": (
        ("scores/candidates.py:__repr__", "self.size", "self.rows"),
        ("randomness/guard.py:wipe", "    buffer[:] = bytes(len(buffer))\n", ""),
        (
            "scores/numbers.py:_no_number",
            "type(value).__name__\n    if value is None:\n        return ScoreError(NULL",
            "repr(value",
        ),
        ("scores/candidates.py:numbers", "type.__name__", "str"),
        ("scores/candidates.py:read_candidates", ", positions=brought is None", ""),
        (
            "release/call.py:header",
            "Provenance.of(tuple(charge.parameters.items()",
            'Provenance.of((*charge.parameters.items(), ("first", str(np.ravel(self.values)[0]))',
        ),
        (
            "randomness/guard.py:_attempt",
            'return "the source failed while drawing bytes"',
            'return f"the source failed while drawing bytes: {error}"',
        ),
        ("scores/columns.py:numbers_of", "ScoreError(NULL", 'ScoreError(f"{NULL}: {column}"'),
        (
            "scores/candidates.py:check_known",
            "type(scores) is not Counts",
            'not hasattr(scores, "check_known")',
        ),
        (
            "mechanisms/items.py:read_items",
            '"labels must contain one label for each count, in the same order',
            'f"labels must be as many as the scores, not {len(found)}',
        ),
        (
            "mechanisms/items.py:item",
            "with suppress(Exception):\n        return _spelled(*_ratio(label))\n    return",
            "try:\n"
            "        return _spelled(*_ratio(label))\n"
            "    except Exception:\n"
            '        raise ParameterError(f"{label!r} is no item") from',
        ),
        (
            "tables/duckdb.py:ask",
            "in failure",
            'in failure\n        failure = f"{failure}: {error}"',
        ),
        ("adapters/opendp.py:function", "            pass", "            raise"),
    ),
    "C10 C5": (("release/call.py:_wipe", "values.fill(0)", "pass"),),
    "C11": (
        ("exact/parameters.py:_check_size", "_bits(value) > MAX_BITS", "False"),
        (
            "exact/parameters.py:_parsed",
            "        if max(len(numerator), len(denominator)) > _MAX_DIGITS:\n"
            "            return _TOO_LONG\n",
            "",
        ),
        ("tables/files.py:header_of", "len(header) > _MOST_COLUMNS", "False"),
    ),
    "C12 C11": (
        (
            "exact/parameters.py:rational",
            "if not signed and (number.numerator < 0 or (number.numerator == 0 and not zero))",
            "assert signed or number.numerator > 0\n    if False",
        ),
    ),
    "C12": (
        (
            "release/call.py:commit",
            "        paid = self",
            "        import warnings\n\n        warnings.warn('released')\n        paid = self",
        ),
    ),
    "C13": (
        (
            "tools/verify_release.py:check_wheel",
            "    check_files(files, right, described)\n"
            '    check_metadata(files[f"{info}METADATA"], commit)\n',
            "",
        ),
        ("tools/verify_release.py:check_sbom", "content == right", "content"),
    ),
}
"""Place, text and other text of the breaks of these claims."""

BREAKS = tuple(
    Break(*each, claims=tuple(claims.split()))
    for claims, places in _BY_CLAIMS.items()
    for each in places
)
