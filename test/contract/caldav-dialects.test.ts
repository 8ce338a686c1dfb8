import { DIALECT_NAMES, type DialectName, startCaldavSandbox } from '../../sandbox/caldav/index.ts';
import { type DavCosts, openDavTarget } from '../connectors/caldav/dav-target.ts';
import { CALDAV_SKIPS } from './caldav-skips.ts';
import { calendarCases } from './cases/index.ts';
import type { OwnTarget } from './cases/persons-own.ts';
import { describeConnector, describePersonsOwn } from './connector-contract.ts';

/** Radicale behaves as `standard` (`caldav.test.ts`). */
const DIALECTS = DIALECT_NAMES.filter((name) => name !== 'standard');

/** What the ways of a server cost in requests. */
const COSTS: Readonly<Record<Exclude<DialectName, 'standard'>, DavCosts>> = {
  cyrus: {},
  xandikos: {},
  icloud: { givesNoTags: true },
  lenient: { givesNoTags: true },
  abrupt: {},
};

/** Groups that Radicale covers: no dialect changes a text, a request or an answer of the proxy. */
const EQUAL = ['texts', 'how entries are shown', 'throttling and outages', 'authorization', 'privacy', 'notifications'];

const TAKES_ANY_TOKEN =
  'this server accepts any token and then lists all existing objects; the daily full read finds deleted ones';

const GROUPS = [...new Set(calendarCases.map(({ group }) => group))].filter((group) => !EQUAL.includes(group));

for (const dialect of DIALECTS) {
  const more: Record<string, string> =
    dialect === 'lenient' ? { 'an invalid cursor causes a complete read': TAKES_ANY_TOKEN } : {};
  describeConnector(`caldav-as-${dialect}`, () => openDialect(dialect), {
    skips: { ...CALDAV_SKIPS, ...more },
    groups: GROUPS,
  });
  // Without tags, a write reads the event first.
  if (COSTS[dialect].givesNoTags === true) describePersonsOwn(`caldav-as-${dialect}`, () => openDialect(dialect));
}

async function openDialect(dialect: keyof typeof COSTS): Promise<OwnTarget> {
  const sandbox = await startCaldavSandbox({ dialect });
  const { url, homePath, authorization } = sandbox;
  const target = await openDavTarget({ url, homePath, login: authorization }, COSTS[dialect]);
  return {
    ...target,
    async close() {
      await target.close();
      await sandbox.close();
    },
  };
}
