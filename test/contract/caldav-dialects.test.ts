import { DIALECT_NAMES, type DialectName, startCaldavSandbox } from '../../sandbox/caldav/index.ts';
import { type DavCosts, openDavTarget } from '../connectors/caldav/dav-target.ts';
import { CALDAV_SKIPS } from './caldav-skips.ts';
import type { OwnTarget } from './cases/persons-own.ts';
import { describeConnector, describePersonsOwn } from './connector-contract.ts';

/** What the ways of a server cost in requests. */
const COSTS: Readonly<Record<DialectName, DavCosts>> = {
  standard: {},
  cyrus: {},
  xandikos: {},
  icloud: { givesNoTags: true },
  lenient: { givesNoTags: true },
  abrupt: {},
};

const TAKES_ANY_TOKEN =
  'this server accepts any token and then lists all existing objects; the daily full read finds deleted ones';

for (const dialect of DIALECT_NAMES) {
  const more: Record<string, string> =
    dialect === 'lenient' ? { 'an invalid cursor causes a complete read': TAKES_ANY_TOKEN } : {};
  describeConnector(`caldav-as-${dialect}`, () => openDialect(dialect), { skips: { ...CALDAV_SKIPS, ...more } });
  describePersonsOwn(`caldav-as-${dialect}`, () => openDialect(dialect));
}

async function openDialect(dialect: DialectName): Promise<OwnTarget> {
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
