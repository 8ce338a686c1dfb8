import { expect, onTestFinished, test } from 'vitest';
import { startCaldavSandbox } from '../../sandbox/caldav/index.ts';
import type { ProxyFault } from '../../sandbox/kit/fault-proxy.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../src/core/model/time.ts';
import { status } from '../../src/operator/control/status.ts';
import type { AuditView } from '../../src/operator/control/status-schemas.ts';
import { DavHands } from '../connectors/caldav/dav-hands.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { start } from './support/daemons.ts';
import { RADICALE_USERS } from './support/small-targets.ts';
import type { SmallWorld } from './support/small-world.ts';
import { EXACT, expectExact, logged, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const TENANT = 'clinic-1';
const TARGET = 'room-1';
const ALWAYS = Number.POSITIVE_INFINITY;

/** Without ETags an update queries the events first; one query lists all events of a batch. */
test.each(['with', 'without'] as const)(
  'a server %s ETags that answers 404 for an absent event gets every change and keeps its calendars',
  async (tags) => {
    const { world, clinicId, proxy, hands } = await openAbrupt(tags);
    const watched = watch(world);
    start(world);
    await watched.untilInSync();
    await expectExact(world);
    const { pathOf } = watched;
    const [untouched = '', refused = '', ...visits] = watched.visits();
    const [moved, cancelled] = [visits.slice(0, 20), visits.slice(20, 25)];

    for (const id of [untouched, ...moved.slice(3, 8), ...cancelled.slice(0, 2)]) {
      expect((await hands.send('DELETE', await pathOf(id))).status).toBe(204);
    }
    for (const id of moved) world.clinic.move(clinicId, id);
    for (const id of cancelled) world.clinic.cancel(clinicId, id);
    for (let count = 0; count < 5; count += 1) world.clinic.book(clinicId);
    await watched.untilInSync();
    expect(await world.compareAll()).toMatchObject([{ ...EXACT, missing: 1 }]);

    const found = { code: 0, failure: null, checked: await watched.links(), edited: 0 };
    expect(await watched.audit()).toMatchObject({ ...found, removed: 1 });
    await watched.untilInSync();
    await expectExact(world);
    expect(await watched.audit()).toMatchObject({ ...found, removed: 0 });
    expect(writesThatFailed(world)).toBe(0);
    expect(watched.problems).toEqual(new Set());

    proxy.add({ method: /PUT/, url: new RegExp(await pathOf(refused)), times: ALWAYS, fault: answered(422) });
    world.clinic.move(clinicId, refused);
    world.clinic.book(clinicId);
    await watched.untilItWaitsForADay(refused);
    proxy.clear();
    expect(await world.cli('sync', TENANT)).toMatchObject({ code: 0 });
    await expectExact(world);
    expect(watched.problems).toEqual(new Set(['writes-failed']));

    proxy.add({ method: /./, times: ALWAYS, fault: answered(503) });
    expect(await watched.audit()).toMatchObject({ code: 1, failure: { code: 'server-unavailable' } });
    proxy.clear();
    const isLookedAt = async () => (await watched.audit()).code === 0;
    await waitFor(isLookedAt, { what: 'the audit to run again', intervalMs: 300 });
  },
);

function answered(status: number): ProxyFault {
  return { kind: 'answer', answer: { status, headers: {}, body: '' } };
}

/** A clinic with one calendar at such a server. */
async function openAbrupt(tags: 'with' | 'without') {
  const [user] = RADICALE_USERS;
  const account = { user: TENANT, password: user?.password ?? '' };
  const quirks = { putTags: tags === 'with' ? 'strong' : 'none' } as const;
  const sandbox = await startCaldavSandbox({ dialect: 'abrupt', quirks, ...account });
  onTestFinished(() => sandbox.close());
  const { url, homePath, authorization: login } = sandbox;
  const world = await useSmallWorld({
    redisUrl: redis.url,
    davServer: { url, users: RADICALE_USERS.slice(0, 1), homePathOf: () => homePath },
    targets: ['caldav'],
    appointments: 60,
    target: { audit: { drift: 'repair' } },
    // What is audited is audited by the command.
    settings: { schedule: { pullEverySeconds: 10, auditEverySeconds: (7 * DAY_MS) / SECOND_MS } },
  });
  const { proxy } = world.targets[0]!;
  if (tags === 'without') {
    const answer = <Answer extends { body: string | Buffer }>(given: Answer) => ({
      ...given,
      body: String(given.body).replaceAll(/<d:getetag>.*?<\/d:getetag>/g, ''),
    });
    proxy.add({ method: /REPORT|PROPFIND/, times: ALWAYS, fault: { kind: 'rewrite', answer } });
  }
  return { world, proxy, clinicId: world.tenants[0]!.clinicId, hands: new DavHands({ url, homePath, login }) };
}

/** Operator commands and observations during the run of the daemon. */
function watch(world: SmallWorld) {
  const { installation, queues } = world.open();
  const tenant = installation.tenants.get(TENANT)!;
  const seen = new Set<string>();
  const look = async () => {
    await queues.pullNow(TENANT);
    const { problems, tenants } = await status(installation, TENANT);
    for (const { code, subject } of problems) if (subject === `target ${TARGET}`) seen.add(code);
    return tenants[0]!.targets[0]!;
  };
  return {
    /** All codes that `status` has shown for the target. */
    problems: seen,
    async untilInSync() {
      const since = Date.now();
      const isInSync = async () => {
        const { sync, inSyncAsOf } = await look();
        if (sync === 'in-sync' && (inSyncAsOf ?? 0) >= since) return true;
        throw new Error(`the target is ${sync}; problems: ${[...seen].join(', ')}`);
      };
      await waitFor(isInSync, { what: 'the target to be in sync', intervalMs: 300 });
    },
    async untilItWaitsForADay(recordId: string) {
      const waits = async () => {
        const entry = (await tenant.outbox.pending(TARGET)).get(recordId);
        await look();
        return entry?.parked === true && entry.dueAt > Date.now() + DAY_MS - HOUR_MS;
      };
      await waitFor(waits, { what: 'the refusal', intervalMs: 300 });
    },
    async pathOf(recordId: string) {
      const { container } = await tenant.targetStore.read(TARGET);
      const key = tenant.targets.get(TARGET)?.identity.key(recordId, 0);
      return `${new URL(container ?? '').pathname}${key}.ics`;
    },
    async links() {
      return (await tenant.links.read(TARGET)).size;
    },
    /** What the command finds, its exit code among it; asked again while the daemon itself is at the target. */
    audit: () =>
      waitFor(
        async () => {
          const { code, out } = await world.cli('audit', TENANT, '--json');
          const [target] = (JSON.parse(out) as AuditView).targets;
          const isBusy = code === 1 && target?.drift === null && target.failure === null;
          return isBusy ? null : { code, failure: target?.failure, ...target?.drift };
        },
        { what: 'the audit', intervalMs: 300 },
      ),
    /** Upcoming ones, that people come to. */
    visits() {
      const all = [...world.clinic.appointments(world.tenants[0]!.clinicId)];
      const upcoming = all.filter(
        ({ start, status: standing, deleted, patientId, allDay }) =>
          start > Date.now() + HOUR_MS && standing !== 'Cancelled' && !deleted && patientId !== null && !allDay,
      );
      return upcoming.map(({ id }) => id);
    },
  };
}

/** By the daemon's log. */
function writesThatFailed(world: SmallWorld): number {
  return logged(world, 'daemon wrote to a target').reduce((sum, { failed }) => sum + Number(failed), 0);
}
