import { type DialectName, startCaldavSandbox } from '../../sandbox/caldav/index.ts';
import { type DavCosts, openDavTarget } from '../connectors/caldav/dav-target.ts';
import type { OwnTarget } from './cases/persons-own.ts';

/** What the ways of a server cost in requests. */
export const DIALECT_COSTS: Readonly<Record<DialectName, DavCosts>> = {
  standard: {},
  cyrus: {},
  xandikos: {},
  icloud: { givesNoTags: true },
  lenient: { givesNoTags: true },
  abrupt: {},
};

/** Opens a target at the CalDAV sandbox, which behaves like a server of this dialect. */
export async function openDavDialect(dialect: DialectName): Promise<OwnTarget> {
  const sandbox = await startCaldavSandbox({ dialect });
  const { url, homePath, authorization } = sandbox;
  const target = await openDavTarget({ url, homePath, login: authorization }, DIALECT_COSTS[dialect]);
  return {
    ...target,
    async close() {
      await target.close();
      await sandbox.close();
    },
  };
}
