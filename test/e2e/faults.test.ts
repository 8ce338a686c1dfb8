import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { editTenantFile } from '../../demo/configuration.ts';
import { startCaldavSandbox } from '../../sandbox/caldav/index.ts';
import { connectors } from '../../src/connectors/registry.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { Credential } from '../../src/core/model/credentials.ts';
import type { Problem } from '../../src/core/model/problems.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/core/model/time.ts';
import { type Composition, compose } from '../../src/daemon/compose.ts';
import { pushTarget } from '../../src/engine/push.ts';
import { decideHold } from '../../src/features/holds/holds.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { remind } from '../../src/features/reminders/job.ts';
import { auditNow } from '../../src/operator/control/audit.ts';
import { requireTenant } from '../../src/operator/control/installation.ts';
import { createMetrics } from '../../src/operator/control/metrics.ts';
import { resumeTargets } from '../../src/operator/control/resume.ts';
import { status } from '../../src/operator/control/status.ts';
import { openStatuses } from '../../src/operator/control/statuses.ts';
import { loadConfiguration } from '../../src/settings/configuration-files.ts';
import { tenantVariable } from '../../src/settings/tenant-secrets.ts';
import { keys } from '../../src/state/keys.ts';
import { DAEMON_SEEN_LIFE_MS } from '../../src/state/redis.ts';
import { pullAfresh } from '../../src/tenant/pull.ts';
import type { OpenTarget, OpenTenant } from '../../src/tenant/tenant.ts';
import { FAULTS, type Fault } from '../../tools/fault-table.ts';
import { useRedis } from '../support/redis.ts';
import { timeOfTests } from '../support/redis-date.ts';
import { machineNow } from '../support/shifted-date.ts';
import { disagreements, readSurfaces, renderTold, type Told } from './support/agreement.ts';
import { type SmallWorld, startSmallWorld } from './support/small-world.ts';
import { isToldOnce, openSkins, operatorPort, SURFACES, shownOn } from './support/surfaces.ts';

/** The clinic and its two targets, each with a connection of the same name. */
const TENANT = 'clinic-1';
const GOOGLE = 'doctor-1';
const OUTLOOK = 'doctor-2';

const SIGNING = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
/** Nothing is sent there: no worker runs. */
const HOOK = { url: 'http://127.0.0.1:9/in', secrets: [{ env: 'TENANT_CLINIC_1__HOOK' }] };
const SIGNAL = new AbortController().signal;

/** Measured by the product's clock, which the test controls: a busy host takes seconds between two checks. */
const CONFIRM_REFUSAL_MS = 2 * MINUTE_MS;

/** A clinic without faults, and every surface for operators. */
interface FaultWorld {
  small: SmallWorld;
  composition: Composition;
  clinicId: string;
  agendaIds: readonly string[];
  /** Offset of the product's clock to the real clock. */
  ahead: { ms: number };
  /** The tenant with its current configuration. */
  tenant(): OpenTenant;
  /** One cycle to its end. */
  cycle(): Promise<void>;
  /** How many there were so far. */
  cycles(): number;
  /** Replaces fields of a stored credential. */
  rewrite(connection: string, change: (credential: Credential) => Partial<Credential>): Promise<void>;
  /** Reloads the files; tenants with faults are disabled. */
  reload(): Promise<void>;
  /** Changes the tenant's file. */
  edit(
    change: (file: {
      connections: Record<string, object>;
      targets: Record<string, { agendas: string[]; [field: string]: unknown }>;
    }) => void,
  ): Promise<void>;
  problems(): Promise<readonly Problem[]>;
  /** Returns the surfaces that show the sentence and the next action of a problem, with its code. */
  shownOn(problem: Problem): Promise<string[]>;
  /** Reads every surface at one time. */
  told(): Promise<Told>;
}

/** Starts it; gone when the test ends. */
async function useFaultWorld(redisUrl: string): Promise<FaultWorld> {
  const small = await startSmallWorld({
    redisUrl,
    targets: ['google-calendar', 'outlook-calendar'],
    appointments: 16,
    target: { audit: { drift: 'report' }, guard: { cancelled: { share: 0.01, count: 1 } } },
    clinicClient: { budget: { requestsPerMinute: 6_000, burst: 500, requestsPerDay: 1_000_000 } },
    settings: {
      ...{ http: { port: 0 }, notifications: { url: 'http://127.0.0.1:9/' } },
      tokens: { confirmRefusalAfterSeconds: CONFIRM_REFUSAL_MS / SECOND_MS },
    },
    reminders: {
      ...{ quietHours: { from: '00:00', to: '00:00' }, minimumLeadMinutes: 0 },
      channels: { hook: { kind: 'webhook', settings: HOOK } },
      rules: { 'a-day': { before: 'P1D', channels: ['hook'] } },
    },
    triggers: { endpoints: { portal: { ...HOOK, events: ['report.available'] } } },
  });
  onTestFinished(() => small.close());
  const ahead = { ms: 0 };
  await asOneDaemonRuns(redisUrl, ahead);
  small.env.TENANT_CLINIC_1__HOOK = SIGNING;
  await small.logIn();
  const read = () => {
    const { configDir: dir, env } = small;
    return loadConfiguration({ dir, env, connectors, reminderChannels, mode: 'set-aside' });
  };
  const clock = () => Date.now() + ahead.ms;
  const composition = compose({ configuration: read(), log: silentLogger, priority: 'interactive', clock });
  onTestFinished(() => composition.close());
  return openFaultWorld(small, composition, ahead, read);
}

/** The clock of Redis follows the clock of the test, and a daemon has just been seen: neither is a fault of this world. */
async function asOneDaemonRuns(redisUrl: string, ahead: { ms: number }): Promise<void> {
  const ofTestsMs = Date.now() - machineNow();
  vi.spyOn(Redis.prototype, 'time').mockImplementation(function (this: Redis) {
    return timeOfTests(ofTestsMs + ahead.ms).call(this);
  } as typeof Redis.prototype.time);
  await seeDaemon(redisUrl);
}

/** Two intervals of this world are 20 seconds, which a busy machine needs for some faults. */
async function seeDaemon(redisUrl: string): Promise<void> {
  const connection = new Redis(redisUrl);
  await connection.set(keys.daemonSeen(), '1', 'PX', DAEMON_SEEN_LIFE_MS);
  connection.disconnect();
}

function openFaultWorld(
  small: SmallWorld,
  composition: Composition,
  ahead: { ms: number },
  read: () => Composition['configuration'],
): FaultWorld {
  const { installation } = composition;
  const statuses = openStatuses();
  const metrics = createMetrics(() => installation, { statuses });
  const skins = openSkins(composition, statuses);
  const [{ clinicId, agendaIds } = { clinicId: '', agendaIds: [] }] = small.tenants;
  let cycles = 0;
  const tenant = () => {
    const open = requireTenant(installation, TENANT);
    // Retries happen as soon as the rules allow.
    return Object.assign(open, { random: () => 0, missedForMs: 0 });
  };
  const world: FaultWorld = {
    ...{ small, composition, clinicId, agendaIds, ahead, tenant },
    cycles: () => cycles,
    async cycle() {
      cycles += 1;
      const open = tenant();
      await resumeTargets(open);
      await pullAfresh(open, () => {}, SIGNAL);
      for (const target of open.targets.values()) await drain(open, target);
    },
    async rewrite(connection, change) {
      const { credentials } = composition.composed.get(TENANT)!;
      const { [connection]: credential } = await credentials.readAll([connection]);
      await credentials.remove(connection);
      await credentials.restore({ [connection]: { ...credential!, ...change(credential!) } });
    },
    async reload() {
      await composition.takeUp(read(), SIGNAL);
    },
    async edit(change) {
      await editTenantFile(small.configDir, TENANT, change);
      await world.reload();
    },
    problems: async () => (await status(installation)).problems,
    shownOn: async (problem) => shownOn({ composition, metrics, ahead, ...(await skins) }, problem),
    async told() {
      // Expires the values computed for the previous query.
      ahead.ms += 6 * SECOND_MS;
      return readSurfaces({ composition, tenant: TENANT, operator: operatorPort(metrics), skins: await skins });
    },
  };
  return world;
}

/** Runs a target's lane while its jobs follow without delay. */
async function drain(tenant: OpenTenant, target: OpenTarget): Promise<void> {
  for (let turns = 0; turns < 5; turns += 1) {
    const { nextInMs } = await pushTarget(tenant, target, { stop: SIGNAL, abort: SIGNAL });
    if (nextInMs !== 0) return;
  }
}

const redis = useRedis();
const LIST = '/appointments\\?';

/** How a fault comes, and how it goes; a cycle follows where the table says that one finds it, or where it needs one to be gone. */
interface Play {
  induce(world: FaultWorld): unknown;
  mend(world: FaultWorld): unknown;
  /** Cycles until the fault is known to be gone. */
  goneAfter?: 'cycle';
}

const cycled = { goneAfter: 'cycle' } as const;
const tester = () => redis.connect();
const book = ({ small, clinicId, agendaIds }: FaultWorld, at = 0, start?: number) =>
  small.clinic.book(clinicId, { agendaId: agendaIds[at] ?? '', ...(start === undefined ? {} : { start }) });
const google = ({ small }: FaultWorld) => small.targets[0]!;
const logIn = (connection: string) => (world: FaultWorld) => world.small.logIn({ connections: [connection] });
const container = async ({ tenant }: FaultWorld) => (await tenant().targetStore.read(GOOGLE)).container ?? '';

/** What the target's server does to every request while something new is to be written there. */
function atGoogle(fault: Parameters<ReturnType<typeof google>['proxy']['add']>[0]['fault']): Play {
  return {
    induce(world) {
      google(world).proxy.add({ times: 1_000, fault });
      book(world);
    },
    mend: (world) => google(world).proxy.clear(),
    ...cycled,
  };
}

function atClinic(fault: Parameters<FaultWorld['small']['clinicProxy']['add']>[0]['fault']): Play {
  return {
    induce: ({ small }) => small.clinicProxy.add({ times: 1_000, fault }),
    mend: ({ small }) => small.clinicProxy.clear(),
    ...cycled,
  };
}

function inRows(fault: { kind: string; [detail: string]: unknown }): Play {
  return {
    induce: ({ small }) => small.clinic.faults.add({ match: { path: LIST }, fault }),
    mend: ({ small }) => small.clinic.faults.clear(),
    ...cycled,
  };
}

function revokeClinic({ small }: FaultWorld): void {
  small.clinic.revokeAccess(small.tenants[0]!.user.username, small.clinic.clients[0]?.clientId ?? '');
}

function revokeGoogle(world: FaultWorld): void {
  world.small.google.revokeConsent(google(world).account);
  book(world);
}

/** The first refusal is past, and the time has come to ask again. */
function refusedBefore(revoke: (world: FaultWorld) => void): Play['induce'] {
  return async (world) => {
    // Tokens of a moment ago are not asked for again.
    world.ahead.ms += MINUTE_MS;
    revoke(world);
    await world.cycle();
    world.ahead.ms += CONFIRM_REFUSAL_MS;
  };
}

function told(report: Parameters<FaultWorld['composition']['reloads']['write']>[0]): Play {
  return {
    induce: ({ composition }) => composition.reloads.write(report),
    mend: ({ composition }) => composition.reloads.write(null),
  };
}

function inRedis(key: string, value: string, before: string): Play {
  return { induce: () => tester().config('SET', key, value), mend: () => tester().config('SET', key, before) };
}

/** By the clock of Redis, which counts by it and has the date of the host. */
function used(field: (now: number) => string): Play {
  const place = ({ small }: FaultWorld) => keys.budget(`clinic-${small.clinic.clients[0]?.clientId}`).used;
  const counted = async () => field(Number(((await tester().call('TIME')) as string[])[0]) * SECOND_MS);
  return {
    induce: async (world) => void (await tester().hset(place(world), await counted(), '950000')),
    mend: async (world) => void (await tester().hdel(place(world), await counted())),
  };
}

const PLAYS: Record<keyof typeof FAULTS, Play> = {
  'the clinic connection has no sign-in': {
    induce: ({ composition }) => composition.composed.get(TENANT)?.credentials.remove('clinic'),
    mend: logIn('clinic'),
    goneAfter: 'cycle',
  },
  'the clinic refused the connection once': { induce: revokeClinic, mend: logIn('clinic'), ...cycled },
  'the clinic connection was revoked': { induce: refusedBefore(revokeClinic), mend: logIn('clinic'), ...cycled },
  'a calendar connection was refused once': { induce: revokeGoogle, mend: logIn(GOOGLE), ...cycled },
  'a calendar connection was revoked': { induce: refusedBefore(revokeGoogle), mend: logIn(GOOGLE), ...cycled },
  'a connection lacks a permission': {
    induce: ({ rewrite }) => rewrite(GOOGLE, () => ({ grantedScopes: ['openid', 'email'] })),
    mend: logIn(GOOGLE),
  },
  'an account is not confirmed': {
    induce: ({ rewrite }) => rewrite(GOOGLE, ({ tokens }) => ({ tokens: { ...tokens, isUnconfirmed: true } })),
    mend: ({ rewrite }) => rewrite(GOOGLE, ({ tokens }) => ({ tokens: { ...tokens, isUnconfirmed: false } })),
  },
  'the user left the clinic': {
    induce: ({ small, clinicId }) => small.clinic.leaveTenant(small.tenants[0]!.user.username, clinicId),
    async mend({ small, clinicId }) {
      const [{ user } = { user: { username: '' } }] = small.tenants;
      const permissions = ['agenda.read', 'agenda.write', 'patients.read', 'treatments.read', 'invoices.read'] as const;
      small.clinic.setPermissions(user.username, clinicId, permissions);
      await small.logIn({ connections: ['clinic'] });
    },
    goneAfter: 'cycle',
  },
  'a connection expires soon': {
    induce: ({ rewrite }) =>
      rewrite(GOOGLE, ({ obtainedAt }) => ({
        isEndFixed: true,
        refreshExpiresAt: obtainedAt + 30 * SECOND_MS + DAY_MS,
        obtainedAt: obtainedAt - 6 * DAY_MS,
      })),
    mend: logIn(GOOGLE),
  },
  'a connection cannot be renewed': {
    induce: ({ rewrite }) => rewrite(OUTLOOK, ({ obtainedAt }) => ({ refreshedAt: obtainedAt - 85 * DAY_MS })),
    mend: logIn(OUTLOOK),
  },
  'a calendar was deleted': {
    async induce(world) {
      world.small.google.deleteCalendar(await container(world));
      book(world);
    },
    ...cycled,
    async mend(world) {
      await world.cycle();
      // A replaced calendar is reported for three days; the test skips them.
      await world.tenant().targetStore.write(GOOGLE, { replacedAt: null });
    },
  },
  'a calendar is read-only': {
    async induce(world) {
      world.small.google.setRole(await container(world), google(world).account, 'reader');
      book(world);
    },
    ...cycled,
    mend: async (world) => world.small.google.setRole(await container(world), google(world).account, 'owner'),
  },
  'a vendor asks to slow down': {
    ...atGoogle({
      kind: 'answer',
      answer: { status: 429, headers: { 'retry-after': '600', 'content-type': 'application/json' }, body: '{}' },
    }),
    mend(world) {
      google(world).proxy.clear();
      world.ahead.ms += 11 * MINUTE_MS;
    },
  },
  'the daily quota of a vendor is used up': {
    induce(world) {
      world.small.google.faults.add({ fault: { kind: 'daily-limit' } });
      book(world);
    },
    mend({ small, ahead }) {
      small.google.faults.clear();
      ahead.ms += HOUR_MS;
    },
    ...cycled,
  },
  'a vendor is unreachable': atGoogle({ kind: 'cut' }),
  'a sign-in page answers instead of a vendor': atGoogle({ kind: 'html' }),
  'a vendor answers with errors': atGoogle({ kind: 'answer', answer: { status: 503, headers: {}, body: '' } }),
  'one event is refused': {
    induce(world) {
      world.small.google.faults.add({
        match: { method: 'POST', path: '/events' },
        fault: { kind: 'status', status: 400 },
      });
      book(world);
    },
    async mend({ small, tenant, ahead }) {
      small.google.faults.clear();
      await tenant().outbox.hurry(GOOGLE, Date.now() + ahead.ms);
    },
    ...cycled,
  },
  'a cycle would remove too much': {
    induce({ small, clinicId, agendaIds }) {
      const ours = [...small.clinic.appointments(clinicId)].filter(
        ({ agendaId, status, start, deleted }) =>
          agendaId === agendaIds[0] && status !== 'Cancelled' && !deleted && start > Date.now() + HOUR_MS,
      );
      for (const { id } of ours.slice(0, 4)) small.clinic.cancel(clinicId, id);
    },
    async mend({ tenant, composition }) {
      for (const { id } of await tenant().holds.list()) {
        await decideHold(composition.installation, { tenant: TENANT, hold: id, decision: 'approved' });
      }
    },
    goneAfter: 'cycle',
  },
  'an event was edited by hand': {
    async induce(world) {
      const calendar = await container(world);
      const [event] = world.small.google.events(calendar);
      world.small.google.editByHand(calendar, String(event!.id), { summary: 'Golf' });
      await auditNow(world.composition.installation, TENANT, () => {}, SIGNAL);
    },
    async mend(world) {
      const calendar = await container(world);
      const edited = world.small.google.events(calendar).find(({ summary }) => summary === 'Golf');
      const other = world.small.google.events(calendar).find(({ summary }) => summary !== 'Golf');
      world.small.google.editByHand(calendar, String(edited!.id), { summary: other!.summary });
      await auditNow(world.composition.installation, TENANT, () => {}, SIGNAL);
    },
    goneAfter: 'cycle',
  },
  'a tenant file names an unknown agenda': {
    induce: ({ edit }) => edit(({ targets }) => targets[GOOGLE]?.agendas.push('no-such-agenda')),
    mend: ({ edit }) => edit(({ targets }) => targets[GOOGLE]?.agendas.pop()),
    ...cycled,
  },
  'a clinic record cannot be read': inRows({ kind: 'bad-rows', variants: ['impossible-time'] }),
  'the list of the clinic lacks records': inRows({ kind: 'truncate-list', keep: 3, trueTotal: false }),
  'the list of the clinic is incomplete': inRows({ kind: 'truncate-list', keep: 3, trueTotal: true }),
  'the clinic is unreachable': atClinic({ kind: 'cut' }),
  'a sign-in page answers instead of the clinic': atClinic({ kind: 'html' }),
  'the clinic answers with errors': atClinic({ kind: 'answer', answer: { status: 503, headers: {}, body: '' } }),
  'the clinic does not know the URL': atClinic({
    kind: 'answer',
    answer: { status: 404, headers: { 'content-type': 'application/json' }, body: '{}' },
  }),
  'a tenant file has faults': {
    async induce({ small, reload }) {
      const { writeFile } = await import('node:fs/promises');
      await writeFile(`${small.configDir}/tenants/broken.yaml`, 'name: 7\n');
      await reload();
    },
    async mend({ small, reload }) {
      const { rm } = await import('node:fs/promises');
      await rm(`${small.configDir}/tenants/broken.yaml`);
      await reload();
    },
  },
  'a changed file is refused': told({
    refused: [{ tenant: TENANT, sinceAt: Date.now(), faults: [], more: 0 }],
    awaitsRestart: [],
  }),
  'a changed setting requires a restart': told({ refused: [], awaitsRestart: ['redis'] }),
  'an action requires approval by a second operator': {
    induce({ composition, ahead }) {
      const at = Date.now() + ahead.ms;
      const by = { kind: 'os-user', name: 'ada', id: 'uid:1', claimed: null } as const;
      const request = { id: 'f'.repeat(43), verb: 'forget', what: {}, by, at, expiresAt: at + HOUR_MS } as const;
      return composition.acts.approvalsOf(TENANT).store.put(request);
    },
    mend: ({ composition }) => composition.acts.approvalsOf(TENANT).store.take('f'.repeat(43)),
  },
  'Redis may evict keys': inRedis('maxmemory-policy', 'allkeys-lru', 'noeviction'),
  'Redis does not write to disk': inRedis('appendonly', 'no', 'yes'),
  'alerts cannot be delivered by webhook': {
    induce: ({ composition }) =>
      composition.alerts.write('webhook', {
        memory: null,
        failure: { code: 'webhook-gone', sinceAt: Date.now() },
      }),
    mend: ({ composition }) => composition.alerts.retainOnly([]),
  },
  'a reminder channel is closed': {
    induce: ({ tenant }) => tenant().reminders!.ledger.closeChannel('hook', { code: 'webhook-gone', at: Date.now() }),
    mend: ({ tenant }) => tenant().reminders!.ledger.reopenChannel('hook'),
  },
  'no message told a patient of an appointment': {
    async induce(world) {
      const { tenant, ahead, cycle } = world;
      const { id } = book(world, 0, Date.now() + ahead.ms + DAY_MS + 30 * MINUTE_MS);
      await cycle();
      const { ledger } = tenant().reminders!;
      // The channel is open again before anyone looks, so that only the message is missing.
      await ledger.closeChannel('hook', { code: 'webhook-gone', at: Date.now() });
      ahead.ms += 31 * MINUTE_MS;
      const [planned] = await ledger.ofAppointment(id);
      await remind(tenant(), planned!.id, { stop: SIGNAL, abort: SIGNAL });
      await ledger.reopenChannel('hook');
    },
    mend({ small, clinicId }) {
      const [last] = [...small.clinic.appointments(clinicId)].slice(-1);
      small.clinic.cancel(clinicId, last!.id);
    },
    ...cycled,
  },
  'a trigger endpoint is closed': {
    induce: ({ tenant }) => tenant().triggers!.store.close('portal', { code: 'webhook-gone', at: Date.now() }),
    mend: ({ tenant }) => tenant().triggers!.store.reopen('portal'),
  },
  'a certificate expires soon': {
    induce: ({ composition }) =>
      composition.certificates.write([
        {
          kind: 'certificate',
          of: 'dav.example:443',
          beganAt: Date.now() - 85 * DAY_MS,
          endsAt: Date.now() + 5 * DAY_MS,
        },
      ]),
    mend: ({ composition }) => composition.certificates.write([]),
  },
  'the request budget of a client is short': used((now) => `hour:${Math.floor(now / HOUR_MS)}`),
  'the daily quota of an account is short': used((now) => `day:${Math.floor(now / DAY_MS)}:${TENANT}`),
  'vendor notifications cannot be renewed': {
    async induce(world) {
      const { tenant, ahead } = world;
      const now = Date.now() + ahead.ms;
      const { store } = tenant().notifications;
      const { configuration } = tenant().targets.get(GOOGLE)!;
      const { connector, connection } = configuration;
      const at = { heardSinceAt: now - DAY_MS, renewAt: now - HOUR_MS, expiresAt: now + HOUR_MS };
      const kept = { settings: {}, container: await container(world), address: 'http://127.0.0.1:9/', handle: 'h' };
      const current = { id: randomUUID(), connector, connection, ...kept, ...at };
      const failure = { code: 'forbidden', sinceAt: now - HOUR_MS, retryAt: now };
      const lease = await tenant().leases.tryTake('subscriptions');
      await store.write(GOOGLE, { current, closing: [], failure }, lease!);
      await lease!.release();
    },
    async mend({ tenant }) {
      const lease = await tenant().leases.tryTake('subscriptions');
      await tenant().notifications.store.write(GOOGLE, { current: null, closing: [], failure: null }, lease!);
      await lease!.release();
    },
  },
  'a calendar server keeps no mark of an event': {
    async induce({ small, edit, agendaIds }) {
      const password = small.env[tenantVariable(TENANT, 'DAV_PASSWORD')]!;
      const server = await startCaldavSandbox({ user: TENANT, password, quirks: { keeps: 'nothing' } });
      onTestFinished(() => server.close());
      const url = `${server.url}${server.addCalendar('clinic')}`;
      await edit(({ connections, targets }) => {
        const env = tenantVariable(TENANT, 'DAV_PASSWORD');
        connections.room = { kind: 'caldav', username: TENANT, password: { env } };
        targets.room = {
          ...{ connector: 'caldav', connection: 'room', agendas: [agendaIds[0]!] },
          ...{ window: { pastDays: 10, futureDays: 200 }, settings: { calendar: { url } } },
        };
      });
    },
    mend: ({ edit }) =>
      edit(({ connections, targets }) => {
        delete connections.room;
        delete targets.room;
      }),
  },
  'changes arrive faster than clinic-mirror writes': {
    async induce(world) {
      book(world);
      await pullAfresh(world.tenant(), () => {}, SIGNAL);
      world.ahead.ms += 2 * HOUR_MS;
      await pullAfresh(world.tenant(), () => {}, SIGNAL);
    },
    mend() {},
    goneAfter: 'cycle',
  },
  'no daemon runs cycles': {
    induce({ ahead }) {
      ahead.ms += 3 * HOUR_MS;
    },
    mend() {},
    goneAfter: 'cycle',
  },
};

test('each fault has one sentence in every interface within a cycle, and disappears after its repair', async () => {
  // Without this setting a write may wait a second for the disk.
  await tester().config('SET', 'appendfsync', 'always');
  const world = await useFaultWorld(redis.url);
  await world.cycle();
  expect(await world.problems()).toEqual([]);
  const seen: Record<string, unknown> = {};
  const rows: string[] = [];
  const expected: Record<string, unknown> = {};
  for (const [name, play] of Object.entries(PLAYS) as [keyof typeof FAULTS, Play][]) {
    const fault: Fault = FAULTS[name];
    // A problem with an action for the operator states the action.
    if (fault.health === 'action-required') expect(fault.next, name).not.toBeNull();
    const { known: _known, ...said } = fault;
    expected[name] = { ...said, shownOn: [...SURFACES], others: [], left: [], isToldOnce: true, differ: [] };
    await seeDaemon(redis.url);
    await play.induce(world);
    if (fault.known !== undefined) await world.cycle();
    const problems = await world.problems();
    const problem = problems.find(({ code }) => code === fault.code) ?? problems[0];
    const shownOn = problem === undefined ? [] : await world.shownOn(problem);
    const during = await world.told();
    rows.push(renderTold(name, during));
    const told = isToldOnce(problems, Date.now());
    await play.mend(world);
    if (play.goneAfter === 'cycle') await world.cycle();
    const after = await world.told();
    const differ = [...disagreements(during), ...disagreements(after).map((each) => `after: ${each}`)];
    const left = codesOf(await world.problems());
    const others = codesOf(problems).filter((code) => code !== problem?.code);
    seen[name] = {
      ...(problem === undefined ? {} : shapeOf(problem)),
      shownOn,
      others,
      left,
      isToldOnce: told,
      differ,
    };
  }
  if (process.env.SURFACES_TABLE === '1') console.info(rows.join('\n'));
  expect(seen).toEqual(expected);
});

function codesOf(problems: readonly Problem[]): string[] {
  return problems.map(({ code }) => code);
}

/** Ids of accounts and numbers of rows are others each time. */
function shapeOf({ code, health, sentence, next }: Problem) {
  const plain = sentence
    .replace(/\S+ \(\d+\)/, '<account>')
    .replace(/\d+ (row|record)s?\b/, '<n> $1s')
    .replace(/127\.0\.0\.1:\d+/, '<host>');
  const step = next?.replace(/127\.0\.0\.1:\d+/, '<host>').replace(/\bapt\w+$/, '<appointment>') ?? null;
  return { code, health, sentence: plain, next: step };
}
