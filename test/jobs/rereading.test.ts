import fc from 'fast-check';
import { expect, test } from 'vitest';
import { renderStatus } from '../../src/cli/render-status.ts';
import { status } from '../../src/control/status.ts';
import { pullTenant } from '../../src/jobs/pull.ts';
import type { OpenTenant } from '../../src/jobs/tenant.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/model/time.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import { changedSince, openRememberingClinic, type Row, withEtags } from '../clinic/remembering-clinic.ts';
import { openInstallation } from '../control/open-installation.ts';
import { useRedis } from '../support/redis.ts';
import { type Tries, tryCases } from '../support/tried.ts';
import { cycle, NEVER, targetOf, wholeCycle } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget, type ModelTarget } from './model-target.ts';
import { openTenant, type TenantChoice } from './open-tenant.ts';

/** REREADINGS=2000 runs more histories; without it, a busy host runs fewer. */
const HISTORIES: Tries = { least: 8, most: 15, forMs: 60_000 };
const WHOLE_EVERY_MS = 30 * MINUTE_MS;
const WIDE_LIMITS = {
  vanished: { share: 1, count: 1_000 },
  cancelled: { share: 1, count: 1_000 },
  holdExpiresAfterHours: 1,
};

const redis = useRedis({ appendOnly: false });

type Clinic = Awaited<ReturnType<typeof openRememberingClinic>>;

/** A clinic with ETags, a change filter, or both; twelve of its appointments never change. */
async function openClinic({ etags = true, filter = true } = {}): Promise<Clinic> {
  const clinic = await openRememberingClinic(
    filter ? { appointments: { rereading: { changedSince: { parameter: 'updatedSince' } } } } : {},
  );
  if (etags) clinic.world.answer = withEtags();
  clinic.world.listed = changedSince;
  for (let index = 0; index < 12; index += 1) put(clinic, `stays-${index}`, { inHours: 30 + index });
  return clinic;
}

interface Change {
  inHours: number;
  agendaId?: string;
  status?: string;
}

function put({ world }: Clinic, id: string, { inHours, agendaId = 'a1', status = 'Booked' }: Change): void {
  const startAt = world.now + inHours * HOUR_MS;
  const at = (instant: number) => new Date(instant).toISOString();
  const row: Row = {
    id,
    agendaId,
    status,
    patientId: 'p',
    start: at(startAt),
    end: at(startAt + HOUR_MS),
    updatedAt: at(world.now),
  };
  world.rows = [...world.rows.filter((one) => one.id !== id), row];
}

interface Process {
  tenant: OpenTenant;
  models: ModelTarget[];
}

function startProcess(
  connection: RedisClient,
  { client, world }: Clinic,
  id: string,
  models = [createModelTarget(), createModelTarget()],
  more: TenantChoice['targets'] = [],
): Process {
  const targets = models.map((model, index) => ({
    id: `doctor-${index + 1}`,
    model,
    configuration: { agendas: [`a${index + 1}`], guard: WIDE_LIMITS },
  }));
  const source = {
    ...createModelClinic(),
    readAppointments: (query: Parameters<OpenTenant['clinic']['readAppointments']>[0], signal: AbortSignal) =>
      client.readAppointments('t', query, signal),
    readAppointment: (record: string, signal: AbortSignal) => client.readAppointment('t', record, signal),
  };
  const tenant = openTenant({
    redis: connection,
    id,
    clinic: source,
    targets: [...targets, ...more],
    clock: () => world.now,
  });
  return { tenant, models };
}

/** What each calendar shows, by record. */
function shownBy({ tenant, models }: Process): Map<string, string>[] {
  return models.map((model, index) => {
    const { identity } = targetOf(tenant, `doctor-${index + 1}`);
    const { objects } = model;
    return new Map(
      objects().map(({ sealedRecordId, item }) => [
        identity.recordIdOf(sealedRecordId ?? '') ?? '',
        JSON.stringify(item),
      ]),
    );
  });
}

/** Requests for lists, and bytes that came with them, of one cycle. */
async function costsOf(clinic: Clinic, tenant: OpenTenant): Promise<{ requests: number; bytes: number }> {
  const costs = { requests: 0, bytes: 0 };
  const { answer } = clinic.world;
  clinic.world.answer = (usual, request) => {
    const given = answer(usual, request);
    costs.requests += 1;
    costs.bytes += given.json === undefined ? 0 : JSON.stringify(given.json).length;
    return given;
  };
  expect(await pullTenant(tenant, NEVER)).toMatchObject({ error: null });
  clinic.world.answer = answer;
  return costs;
}

test('a cycle without changes fetches no byte from a clinic that reports unmodified lists', async () => {
  await using clinic = await openClinic({ filter: false });
  const { tenant } = startProcess(redis.connect(), clinic, 'quiet');
  const first = await costsOf(clinic, tenant);
  clinic.world.now += 5 * MINUTE_MS;
  await cycle(tenant);
  clinic.world.now += 5 * MINUTE_MS;
  expect(await costsOf(clinic, tenant)).toEqual({ requests: first.requests, bytes: 0 });
  put(clinic, 'stays-11', { inHours: 50 });
  const { bytes } = await costsOf(clinic, tenant);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(first.bytes / 2);
});

test('a cycle without changes sends one query to a clinic that reports changes, however many pages it has', async () => {
  const costs = [];
  for (const more of [0, 120]) {
    await using clinic = await openClinic({ etags: false });
    for (let index = 0; index < more; index += 1) put(clinic, `more-${index}`, { inHours: 40 });
    clinic.world.now += HOUR_MS;
    put(clinic, 'newest', { inHours: 30 });
    const { tenant } = startProcess(redis.connect(), clinic, `changes-${more}`);
    await wholeCycle(tenant);
    clinic.world.now += 5 * MINUTE_MS;
    costs.push(await costsOf(clinic, tenant));
  }
  expect(costs[1]).toEqual(costs[0]);
  expect(costs[0]).toMatchObject({ requests: 1 });
});

test('a deleted record is removed once a full fetch misses it a second time; status reports the time of that knowledge', async () => {
  await using clinic = await openClinic();
  const { world } = clinic;
  const { tenant, models } = startProcess(redis.connect(), clinic, 'deletes');
  const startedAt = world.now;
  await wholeCycle(tenant);
  world.now += 5 * MINUTE_MS;
  world.rows.shift();
  put(clinic, 'new', { inHours: 20 });
  await cycle(tenant);
  expect(models[0]?.objects()).toHaveLength(13);
  const told = await status(openInstallation({ tenants: [tenant] }));
  expect(renderStatus(told).replaceAll(/\s+/g, ' ')).toContain('changes since the last full read');
  expect(told.tenants[0]?.targets[0]).toMatchObject({ sync: 'in-sync', inSyncAsOf: startedAt });
  world.now = startedAt + WHOLE_EVERY_MS;
  await cycle(tenant);
  // A process that missed a record fetches everything until the record is decided.
  world.now += MINUTE_MS;
  expect(await pullTenant(tenant, NEVER)).toMatchObject({ snapshot: { completeness: 'complete' } });
  await cycle(tenant);
  expect(models[0]?.objects()).toHaveLength(12);
});

test('a requested cycle fetches everything', async () => {
  await using clinic = await openClinic();
  const { tenant } = startProcess(redis.connect(), clinic, 'asked');
  await wholeCycle(tenant);
  clinic.world.now += MINUTE_MS;
  expect(await pullTenant(tenant, NEVER)).toMatchObject({ snapshot: { completeness: 'changes' } });
  clinic.asked();
  const asked = await pullTenant(tenant, NEVER, { asked: true });
  expect(asked).toMatchObject({ snapshot: { completeness: 'complete' } });
  expect(new Set(clinic.asked())).toEqual(new Set([null]));
});

test('a first cycle that had to query names first fetches everything after them too', async () => {
  await using clinic = await openClinic();
  const targets = [{ model: createModelTarget(), configuration: { title: 'full' as const } }];
  const { tenant } = startProcess(redis.connect(), clinic, 'names', [], targets);
  expect(await pullTenant(tenant, NEVER)).toMatchObject({ snapshot: { completeness: 'complete' } });
  expect(tenant.memory.lacksNames).toBe(true);
});

type Step =
  | ({ do: 'put'; id: string } & Change)
  | { do: 'delete'; id: string }
  | { do: 'wait'; minutes: number }
  | { do: 'cycle'; asked: boolean }
  | { do: 'restart' };

const ids = fc.constantFrom('a', 'b', 'c', 'd');
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      ...{ do: fc.constant('put' as const), id: ids },
      // A window of 7 days before and 60 days after; the values lie around its edges.
      inHours: fc.oneof(fc.integer({ min: -24, max: 48 }), fc.constantFrom(-169, -168, 1_439, 1_440, 1_441, 2_000)),
      agendaId: fc.constantFrom('a1', 'a2', 'a3'),
      status: fc.constantFrom('Booked', 'Booked', 'Cancelled'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), id: ids }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), minutes: fc.integer({ min: 0, max: 40 }) }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('cycle' as const), asked: fc.constantFrom(false, false, true) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
);

test('in any history calendars equal those of full fetches; deleted records are removed in the end', async () => {
  const connection = redis.connect();
  await tryCases(
    'rereadings',
    fc.asyncProperty(
      fc.array(steps, { minLength: 8, maxLength: 25, size: 'max' }),
      fc.constantFrom({ etags: true }, { filter: true }, { etags: true, filter: true }),
      async (history, { etags = false, filter = false }: { etags?: boolean; filter?: boolean }) => {
        await connection.flushall();
        await using clinic = await openClinic({ etags, filter });
        let sparing = startProcess(connection, clinic, 'sparing');
        const reading = startProcess(connection, clinic, 'reading');
        const both = async (asked: boolean) => {
          await (asked ? wholeCycle : cycle)(sparing.tenant);
          reading.tenant.memory.appointments.invalidate();
          await cycle(reading.tenant);
        };
        for (const step of history) {
          if (step.do === 'put') put(clinic, step.id, step);
          if (step.do === 'delete') clinic.world.rows = clinic.world.rows.filter(({ id }) => id !== step.id);
          if (step.do === 'wait') clinic.world.now += step.minutes * MINUTE_MS;
          if (step.do === 'restart') sparing = startProcess(connection, clinic, 'sparing', sparing.models);
          if (step.do === 'cycle') {
            await both(step.asked);
            const there = clinic.world.rows.map(({ id }) => id);
            const of = (shown: Map<string, string>[]) => shown.map((one) => there.map((id) => one.get(id)));
            expect(of(shownBy(sparing))).toEqual(of(shownBy(reading)));
          }
        }
        clinic.world.now += WHOLE_EVERY_MS;
        for (let last = 0; last < 3; last += 1) await both(false);
        expect(shownBy(sparing)).toEqual(shownBy(reading));
      },
    ),
    HISTORIES,
    process.env.REREADINGS,
  );
});
