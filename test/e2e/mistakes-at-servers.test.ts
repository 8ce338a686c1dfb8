import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { parse, stringify } from 'yaml';
import { type CaldavSandbox, startCaldavSandbox } from '../../sandbox/caldav/index.ts';
import type { ProxyFault } from '../../sandbox/kit/fault-proxy.ts';
import { freePort } from '../../tools/free-port.ts';
import { useRedis } from '../support/redis.ts';
import { type CrmWorld, startCrmWorld } from './support/crm-world.ts';
import { type Attempt, examinedBy, type Mistake, saidBy, testMistakes } from './support/mistakes.ts';
import { tenantFile } from './support/small-world.ts';

const redis = useRedis({ isStored: true });
const SETTINGS = 'clinic-mirror.yaml';
const TENANT = 'tenants/clinic-1.yaml';
const OWNER = 'doctor-2@clinic-1.example';
let world: CrmWorld;
let dav: CaldavSandbox;
/** A calendar that existed before the product. */
let calendarId = '';

beforeAll(async () => {
  [world, dav] = await Promise.all([
    startCrmWorld({
      ...{ redisUrl: redis.url, vendors: ['hubspot'], patients: 5, appointments: 10 },
      calendars: ['google-calendar', 'google-calendar'],
    }),
    startCaldavSandbox(),
  ]);
  await appendFile(join(world.configDir, SETTINGS), `dataDirectory: ${join(world.dir, 'kept')}\n`);
  calendarId = world.google.createCalendar(OWNER, 'Of the practice');
  world.env.TENANT_CLINIC_1__DAV = dav.password;
  const file = tenantFile(world, 'clinic-1');
  const { connections, targets, ...rest } = parse(await readFile(file, 'utf8'));
  targets['doctor-2'].settings.calendar = { id: calendarId };
  connections.room = { kind: 'caldav', username: dav.user, password: { env: 'TENANT_CLINIC_1__DAV' } };
  targets.room = {
    ...{ connector: 'caldav', connection: 'room', agendas: 'all' },
    settings: { calendar: { home: `${dav.url}${dav.homePath}`, create: 'Room' } },
  };
  await writeFile(file, stringify({ ...rest, connections, targets }));
  await world.logIn();
  await world.cycle();
});
afterAll(() => Promise.all([world.close(), dav.close()]));

function useBaseUrl(made: Attempt, baseUrl: string): Promise<void> {
  return made.edit(SETTINGS, ({ clinicClients }) => (clinicClients.main.baseUrl = baseUrl));
}

/** Has something else answer for the clinic until the row ends. */
function answerAll(made: Attempt, fault: ProxyFault, url = /^/): void {
  world.clinicProxy.add({ url, fault, times: 1_000 });
  made.afterwards(() => world.clinicProxy.clear());
}

const LOGINS: Mistake[] = [
  {
    name: 'client secret',
    ...examinedBy('doctor', async (made) => {
      made.env.CLINIC_CLIENT_SECRET = 'wrong';
      // The token that is kept ends meanwhile.
      const answer = { status: 401, headers: {}, body: '{}' };
      world.clinicProxy.add({ fault: { kind: 'answer', answer } });
      made.afterwards(() => world.clinicProxy.clear());
    }),
    where: /clinic-mirror\.yaml.*variable CLINIC_CLIENT_SECRET/,
    cause: /does not accept the client id or its secret/,
    next: /check clientId and clientSecret/,
  },
  {
    name: 'redirect URI',
    surface: 'login',
    make: (made) => made.runUntil(/Waiting/, 'login', 'clinic-1', 'clinic'),
    where: /for client clinic-mirror of clinic-mirror\.yaml/,
    cause: /refuses the redirect URL/,
    next: /register http:\/\/127\.0\.0\.1:\d+\/callback .*run this command again/,
  },
  {
    name: 'scope that was not granted',
    ...examinedBy('doctor', (made) =>
      made.edit(TENANT, ({ targets }) => (targets['doctor-1'].settings.calendar = { id: calendarId })),
    ),
    where: /connection doctor-1/,
    cause: /permissions are missing: https:\S+calendar\.events/,
    next: /clinic-mirror login clinic-1 doctor-1$/,
  },
  {
    name: 'CalDAV password',
    ...examinedBy('doctor', async ({ env }) => void Object.assign(env, { TENANT_CLINIC_1__DAV: 'wrong' })),
    where: /variable TENANT_CLINIC_1__DAV; see targets\.room\.settings in tenants\/clinic-1\.yaml/,
    cause: /refuses the user name and password of the connection "room"/,
    next: /correct the username .*or the password/,
  },
];

const CLINIC: Mistake[] = [
  {
    name: 'agenda id',
    ...examinedBy('doctor', (made) => made.edit(TENANT, ({ targets }) => (targets['doctor-1'].agendas = ['nowhere']))),
    where: /target doctor-1.*tenants\/clinic-1\.yaml/,
    cause: /lists no agenda nowhere; similar names: agd\d+/,
    next: /correct agendas/,
  },
  {
    name: 'base URL: path',
    ...examinedBy('doctor', (made) => useBaseUrl(made, `${world.clinicProxy.url}/wrong`)),
    where: /clinicClients\.main\.baseUrl in clinic-mirror\.yaml/,
    cause: /does not know this URL, status 404/,
    next: /check baseUrl .*pathPrefix/,
  },
  {
    name: 'base URL: port',
    ...examinedBy('doctor', async (made) => useBaseUrl(made, `http://127.0.0.1:${await freePort()}`)),
    where: /see clinicClients\.main\.baseUrl in clinic-mirror\.yaml/,
    cause: /the server refuses the connection: 127\.0\.0\.1:\d+/,
    next: /wait, or repeat the request; see/,
  },
  {
    name: 'base URL: name',
    ...examinedBy('doctor', (made) => useBaseUrl(made, 'https://clinic.invalid')),
    where: /clinicClients\.main\.baseUrl in clinic-mirror\.yaml/,
    cause: /the DNS knows no host clinic\.invalid/,
    next: /correct clinicClients\.main\.baseUrl/,
  },
  {
    name: 'HTML from a proxy',
    ...examinedBy('doctor', async (made) => answerAll(made, { kind: 'html' })),
    where: /clinicClients\.main\.baseUrl in clinic-mirror\.yaml/,
    cause: /the answer is an HTML page instead of JSON/,
    next: /open the configured URL in a browser/,
  },
  {
    name: 'page size too large',
    ...examinedBy('doctor', async (made) => {
      const body = JSON.stringify({ error: 'invalid_parameter', message: 'limit is at most 200' });
      const answer = { status: 400, headers: { 'content-type': 'application/json' }, body };
      answerAll(made, { kind: 'answer', answer }, /limit=5000/);
      await made.edit('profiles/documented.yaml', ({ paging }) => (paging.size = 5_000));
    }),
    where: /in profiles\/documented\.yaml/,
    cause: /does not accept the call, status 400 \(invalid_parameter\)/,
    next: /check paging\.size/,
  },
];

const TARGETS: Mistake[] = [
  {
    name: 'calendar read-only',
    ...saidBy('sync clinic-1', async (made) => {
      const [tenant] = world.tenants;
      world.google.setRole(calendarId, OWNER, 'reader');
      world.clinic.book(tenant?.clinicId ?? '', { agendaId: tenant?.agendaIds[1] ?? '' });
      made.afterwards(() => world.google.setRole(calendarId, OWNER, 'owner'));
    }),
    where: /see targets\.doctor-2 in tenants\/clinic-1\.yaml/,
    cause: /Google refused to change the calendar/,
    next: /give the connected account the permission to make changes/,
  },
  {
    name: 'calendar id changed',
    ...examinedBy('doctor', async (made) => {
      const other = world.google.createCalendar(OWNER, 'Another of the practice');
      await made.edit(TENANT, ({ targets }) => (targets['doctor-2'].settings.calendar = { id: other }));
    }),
    where: /correct targets\.doctor-2\.settings in tenants\/clinic-1\.yaml/,
    cause: /target doctor-2: clinic-mirror writes to the calendar \S+ until the next cycle, but the settings name \S+/,
    next: /run: clinic-mirror sync clinic-1/,
  },
  {
    name: 'variable of a tenant',
    ...examinedBy('doctor', async ({ env }) => void delete env.TENANT_CLINIC_1__DAV),
    where: /tenants\/clinic-1\.yaml line \d+, connections\.room\.password/,
    cause: /the environment variable TENANT_CLINIC_1__DAV is not set/,
    next: /set the variable .*export TENANT_CLINIC_1__DAV=.*then run: clinic-mirror config check/,
  },
  {
    name: 'calendar unknown',
    ...saidBy('sync clinic-1', (made) =>
      made.edit(TENANT, ({ targets }) => (targets['doctor-2'].settings.calendar = { id: 'nobody@group.example' })),
    ),
    where: /see targets\.doctor-2 in tenants\/clinic-1\.yaml/,
    cause: /doctor-2: the calendar was deleted, or the connected account has no access to it/,
    next: /check the calendar id/,
  },
  {
    name: 'CRM field missing',
    ...saidBy('sync clinic-1', async (made) => {
      const [hubspot] = world.vendors;
      made.afterwards(hubspot?.removeProperty('patients', 'standing') ?? (() => {}));
    }),
    where: /see targets\.hubspot-contacts in tenants\/clinic-1\.yaml/,
    cause: /the property does not exist in HubSpot: contacts\.clinic_standing/,
    next: /create the properties in HubSpot, or correct their names in the mapping/,
  },
  {
    name: 'calendar deleted',
    ...examinedBy('doctor', async () => world.google.deleteCalendar(calendarId)),
    where: /see targets\.doctor-2\.settings in tenants\/clinic-1\.yaml/,
    cause: /the calendar was deleted, or the connected account has no access to it/,
    next: /check the calendar id/,
  },
  {
    name: 'revoked token',
    ...examinedBy('doctor', async () => {
      world.google.revokeConsent('doctor-1@clinic-1.example');
      world.google.expireAccessTokens();
    }),
    where: /connection "doctor-1"/,
    cause: /the server refused the connection/,
    next: /clinic-mirror login clinic-1 doctor-1$/,
  },
];

testMistakes([...LOGINS, ...CLINIC, ...TARGETS], () => world);
