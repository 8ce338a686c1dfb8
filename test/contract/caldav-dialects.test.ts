import { DIALECT_NAMES } from '../../sandbox/caldav/index.ts';
import { DIALECT_COSTS, openDavDialect } from './caldav-dialect-target.ts';
import { CALDAV_SKIPS } from './caldav-skips.ts';
import { calendarCases } from './cases/index.ts';
import { describeConnector, describePersonsOwn } from './connector-contract.ts';

/** `caldav-sandbox.test.ts` and `caldav-sandbox-failures.test.ts` cover `standard`. */
const DIALECTS = DIALECT_NAMES.filter((name) => name !== 'standard');

/** Groups that `standard` covers: no dialect changes a text, a request or an answer of the proxy. */
const EQUAL = ['texts', 'how entries are shown', 'throttling and outages', 'authorization', 'privacy', 'notifications'];

const TAKES_ANY_TOKEN =
  'this server accepts any token and then lists all existing objects; the daily full read finds deleted ones';

const GROUPS = [...new Set(calendarCases.map(({ group }) => group))].filter((group) => !EQUAL.includes(group));

for (const dialect of DIALECTS) {
  const more: Record<string, string> =
    dialect === 'lenient' ? { 'an invalid cursor causes a complete read': TAKES_ANY_TOKEN } : {};
  describeConnector(`caldav-as-${dialect}`, () => openDavDialect(dialect), {
    skips: { ...CALDAV_SKIPS, ...more },
    groups: GROUPS,
  });
  // Without tags, a write reads the event first.
  if (DIALECT_COSTS[dialect].givesNoTags === true)
    describePersonsOwn(`caldav-as-${dialect}`, () => openDavDialect(dialect));
}
