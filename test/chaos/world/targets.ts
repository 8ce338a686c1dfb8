import type { GoogleSandbox } from '../../../sandbox/google/index.ts';
import type { GraphSandbox } from '../../../sandbox/graph/index.ts';
import type { FaultProxy, ProxiedRequest } from '../../../sandbox/kit/fault-proxy.ts';
import { eventsOf } from '../../../sandbox/kit/icalendar.ts';
import { tenantVariable } from '../../../src/settings/tenant-secrets.ts';
import type { PrivateDavServer } from '../../../tools/dav-server.ts';
import { basic, type ReadTarget, readCaldav, readGoogle, readGraph } from '../judge/read.ts';
import { type Removal, watchRemovals } from '../judge/removals.ts';
import type { TargetRules } from '../judge/rules.ts';
import type { Service } from './awaits.ts';

/** A calendar that the daemons follow, seen from outside. */
export interface CalendarTarget {
  tenant: string;
  /** Its id in the tenant file; changes when it is renamed. */
  target: string;
  service: 'google' | 'graph' | 'caldav';
  /** Account or mailbox; the home's address for CalDAV. */
  account: string;
  rules: TargetRules;
  read: ReadTarget;
  removals: Removal[];
}

/** Told of a request before the server sees it; what it gives is told when the server is done. */
export type Watch = (request: ProxiedRequest) => Promise<(() => Promise<void>) | null>;

/** Opens a gate before a server. */
export type OpenGate = (service: Service, server: string, watch?: Watch) => Promise<FaultProxy>;

/** Servers that calendars lie at. */
export interface CalendarServers {
  google: GoogleSandbox;
  graph: GraphSandbox;
  radicale: PrivateDavServer | null;
  openGate: OpenGate;
}

/** A calendar, and what the tenant file says of it. */
export interface BuiltTarget {
  calendar: Pick<CalendarTarget, 'service' | 'account' | 'read' | 'removals'>;
  connector: string;
  connection: object;
  settings: object;
  /** Null where nobody has to log in. */
  login: { kind: 'google' | 'microsoft'; username: string } | null;
}

/** Begins every surname of a patient, and nothing else. */
export const PLANTED = /Qzx[ab]\d{4}/;
const READS = /^(GET|HEAD|OPTIONS|PROPFIND|REPORT)$/;

/** A doctor's calendar at Google. */
export async function googleTarget(tenant: string, name: string, servers: CalendarServers): Promise<BuiltTarget> {
  const { google, openGate } = servers;
  const account = `${name}@${tenant}.example`;
  google.addAccount(account);
  const read = () => readGoogle(google.calendarApiUrl, google.issueAccessToken(account));
  const removals: Removal[] = [];
  const note = noteIn(removals, tenant, account);
  const seen = async () => (await read()).map(({ id, title }) => ({ id, surnames: surnamesIn(title) }));
  const watch: Watch = async ({ method }) => (READS.test(method) ? null : watchRemovals(seen, note));
  const gate = await openGate('google', google.calendarApiUrl, watch);
  return {
    calendar: { service: 'google', account, read, removals },
    connector: 'google-calendar',
    connection: { kind: 'google', client: 'main' },
    settings: { calendar: { create: `${name} (clinic)` }, rootUrl: gate.url },
    login: { kind: 'google', username: account },
  };
}

/** A doctor's calendar in a mailbox. */
export async function graphTarget(tenant: string, name: string, servers: CalendarServers): Promise<BuiltTarget> {
  const { graph, openGate } = servers;
  const account = `${name}@${tenant}.example`;
  graph.addMailbox(account);
  const own = graph.defaultCalendar(account);
  const read = () => readGraph(graph.graphUrl, graph.issueAccessToken(account), own);
  const removals: Removal[] = [];
  const seen = async () =>
    graph
      .calendars(account)
      .flatMap(({ id: calendar }) => (calendar === own ? [] : graph.events(account, calendar)))
      .map(({ id, subject }) => ({ id: String(id), surnames: surnamesIn(String(subject)) }));
  const note = noteIn(removals, tenant, account);
  const watch: Watch = async ({ method }) => (READS.test(method) ? null : watchRemovals(seen, note));
  const gate = await openGate('graph', graph.graphUrl, watch);
  return {
    calendar: { service: 'graph', account, read, removals },
    connector: 'outlook-calendar',
    connection: { kind: 'microsoft', client: 'main', directory: graph.tenantId },
    settings: { mailbox: 'me', calendar: { create: `${name} (clinic)` }, rootUrl: gate.url },
    login: { kind: 'microsoft', username: account },
  };
}

/** A room's calendar at the CalDAV server. */
export async function caldavTarget(tenant: string, name: string, servers: CalendarServers): Promise<BuiltTarget> {
  const { radicale, openGate } = servers;
  if (radicale === null) throw new Error('there is no CalDAV server');
  const login = radicale.users.find((user) => user.name === tenant) ?? { name: tenant, password: '' };
  const credentials = { username: login.name, password: login.password };
  const account = `${radicale.url}/${tenant}/`;
  const removals: Removal[] = [];
  const note = noteIn(removals, tenant, account);
  const markedAt = async (url: string) => {
    const answer = await fetch(`${radicale.url}${url}`, { headers: { authorization: basic(credentials) } });
    const text = await answer.text();
    const events = answer.ok && text.startsWith('BEGIN:VCALENDAR') ? eventsOf(text) : [];
    return events.map(({ title }) => ({ id: url, surnames: surnamesIn(title) }));
  };
  const watch: Watch = async ({ method, url }) =>
    method === 'DELETE' ? watchRemovals(() => markedAt(url), note) : null;
  const gate = await openGate('caldav', radicale.url, watch);
  return {
    calendar: { service: 'caldav', account, read: () => readCaldav(account, credentials), removals },
    connector: 'caldav',
    connection: { kind: 'caldav', username: tenant, password: { env: tenantVariable(tenant, 'DAV_PASSWORD') } },
    settings: { calendar: { home: `${gate.url}/${tenant}/`, create: `${name} (clinic)` } },
    login: null,
  };
}

function noteIn(removals: Removal[], tenant: string, account: string): (surname: string) => void {
  return (surname) => void removals.push({ at: Date.now(), tenant, account, surname });
}

function surnamesIn(title: string): string[] {
  return PLANTED.exec(title)?.slice(0, 1) ?? [];
}
