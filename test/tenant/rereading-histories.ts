import fc from 'fast-check';
import { expect } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { changedSince, openRememberingClinic, type Row, withEtags } from '../clinic/remembering-clinic.ts';
import type { TestRedis } from '../support/redis.ts';
import { type Tries, tryCases } from '../support/tried.ts';
import { cycle, targetOf, wholeCycle } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget, type ModelTarget } from './model-target.ts';
import { openTenant, type TenantChoice } from './open-tenant.ts';

export const WHOLE_EVERY_MS = 30 * MINUTE_MS;
const WIDE_LIMITS = {
  vanished: { share: 1, count: 1_000 },
  cancelled: { share: 1, count: 1_000 },
  holdExpiresAfterHours: 1,
};

export type Clinic = Awaited<ReturnType<typeof openRememberingClinic>>;

/** A clinic with ETags, a change filter, or both; twelve of its appointments never change. */
export async function openClinic({ etags = true, filter = true } = {}): Promise<Clinic> {
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

export function put({ world }: Clinic, id: string, { inHours, agendaId = 'a1', status = 'Booked' }: Change): void {
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

export function startProcess(
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

/** Checks in random histories that calendars equal those of full fetches, and that deleted records are removed in the end. */
export async function tryRereadings(redis: TestRedis, tries: Tries, wished?: string): Promise<void> {
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
    tries,
    wished,
  );
}
