import {
  type RemoteReader,
  readCaldavEvents,
  readGoogleEvents,
  readOutlookEvents,
} from '../../../demo/read-targets.ts';
import type { GoogleSandbox } from '../../../sandbox/google/index.ts';
import type { GraphSandbox } from '../../../sandbox/graph/index.ts';
import { type FaultProxy, startFaultProxy } from '../../../sandbox/kit/fault-proxy.ts';
import { tenantVariable } from '../../../src/settings/tenant-secrets.ts';
import type { PrivateDavServer } from '../../../tools/dav-server.ts';

/** Every kind of calendar that a small world can have. */
export const FAMILIES = ['google-calendar', 'outlook-calendar', 'caldav'] as const;

/** A kind of calendar, by its connector. */
export type Family = (typeof FAMILIES)[number];

/** A CalDAV server that runs, a real one or the sandbox. */
export type DavServer = Pick<PrivateDavServer, 'url' | 'users' | 'homePathOf'>;

/** The servers of the calendars. */
export interface CalendarServers {
  google: GoogleSandbox;
  graph: GraphSandbox;
  davServer?: DavServer | undefined;
}

/** A calendar seen from outside, and what the tenant's file says of it. */
export interface BuiltTarget {
  /** Account at Google or mailbox at Microsoft; empty for CalDAV, which has no sign-in. */
  account: string;
  proxy: FaultProxy;
  read: RemoteReader;
  connection: object;
  settings: object;
}

const DAV_PASSWORD = 'small-dav-password';

/** The users of CalDAV servers that small worlds log in as. */
export const RADICALE_USERS = ['clinic-1', 'clinic-2'].map((name) => ({ name, password: DAV_PASSWORD }));

/** Makes the account of a target, and a proxy before its server. */
export function buildTarget(
  family: Family,
  tenant: string,
  name: string,
  servers: CalendarServers,
): Promise<BuiltTarget> {
  return BUILDERS[family](tenant, name, `Calendar of ${name}`, servers);
}

const BUILDERS: Record<
  Family,
  (tenant: string, name: string, summary: string, servers: CalendarServers) => Promise<BuiltTarget>
> = {
  async 'google-calendar'(tenant, name, summary, { google }) {
    const account = `${name}@${tenant}.example`;
    google.addAccount(account);
    const proxy = await startFaultProxy(google.calendarApiUrl);
    return {
      connection: { kind: 'google', client: 'main' },
      settings: { calendar: { create: summary }, rootUrl: proxy.url },
      account,
      proxy,
      read: () => readGoogleEvents(google, account, summary),
    };
  },
  async 'outlook-calendar'(tenant, name, summary, { graph }) {
    const account = `${name}@${tenant}.example`;
    graph.addMailbox(account);
    const proxy = await startFaultProxy(graph.graphUrl);
    return {
      connection: { kind: 'microsoft', client: 'main', directory: graph.tenantId },
      settings: { mailbox: 'me', calendar: { create: summary }, rootUrl: proxy.url },
      account,
      proxy,
      read: () => readOutlookEvents(graph, account, summary),
    };
  },
  async caldav(tenant, _name, summary, { davServer }) {
    if (davServer === undefined) throw new Error('a CalDAV target needs a server');
    const { url } = davServer;
    const homePath = davServer.homePathOf(tenant);
    const proxy = await startFaultProxy(url);
    return {
      connection: { kind: 'caldav', username: tenant, password: { env: tenantVariable(tenant, 'DAV_PASSWORD') } },
      settings: { calendar: { home: `${proxy.url}${homePath}`, create: summary } },
      account: '',
      proxy,
      read: () => readCaldavEvents(`${url}${homePath}`, { username: tenant, password: DAV_PASSWORD }),
    };
  },
};

/** Calendars of an earlier test would be recognised as calendars of clinic-mirror. */
export async function emptyDavServer({ url, users, homePathOf }: DavServer): Promise<void> {
  for (const { name, password } of users) {
    const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
    const home = `${url}${homePathOf(name)}`;
    const listing = await fetch(home, { method: 'PROPFIND', headers: { authorization, depth: '1' } });
    const ours = (await listing.text()).matchAll(/<(?:[\w-]+:)?href>([^<]*\/clinic-mirror-[^/<]*\/)</g);
    for (const [, href = ''] of ours)
      await fetch(new URL(href, home), { method: 'DELETE', headers: { authorization } });
  }
}
