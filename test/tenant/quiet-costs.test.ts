import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { expect, test, vi } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, pull, targetOf } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget } from './model-target.ts';
import { openTenant } from './open-tenant.ts';

const redis = useRedis({ appendOnly: false });
/** What a cycle in which nothing changes may ask of Redis: for the tenant, and for each target. */
const COMMANDS = { tenant: 25, target: 4 };

/** A tenant in sync with appointments in two calendars, and the cost of one more cycle. */
async function costsOf(
  appointments: number,
  change: (clinic: ReturnType<typeof createModelClinic>) => void = () => {},
  { keeps = true }: { keeps?: boolean } = {},
) {
  const clinic = createModelClinic();
  for (let index = 0; index < appointments; index += 1) {
    const agendaId = index % 2 === 0 ? 'a1' : 'a2';
    clinic.appointments.set(`${index}`, appointmentOf(`${index}`, { inHours: 1 + (index % 500), agendaId }));
  }
  const connection = redis.connect();
  await connection.flushall();
  const targets = ['a1', 'a2'].map((id) => ({ id, model: createModelTarget(), configuration: { agendas: [id] } }));
  const tenant = openTenant({ redis: connection, clinic, targets, clock: () => NOW });
  /** As of a clinic that is too small for its appointments to be kept. */
  function makeAnew(): void {
    if (keeps) return;
    tenant.memory.appointments.invalidate();
    for (const [id, one] of clinic.appointments) clinic.appointments.set(id, structuredClone(one));
  }
  await cycle(tenant);
  for (let time = 0; time < 2; time += 1) {
    makeAnew();
    await pull(tenant);
  }
  change(clinic);
  makeAnew();
  const invalidations = ['a1', 'a2'].map((id) => vi.spyOn(targetOf(tenant, id).fingerprints, 'invalidate'));
  const identities = ['a1', 'a2'].map((id) => targetOf(tenant, id).identity);
  const [fingerprints, keys] = (['fingerprint', 'key'] as const).map((name) =>
    identities.map((identity) => vi.spyOn(identity, name)),
  );
  const commands = vi.spyOn(connection, 'sendCommand');
  const run = await pull(tenant);
  expect(run.error).toBeNull();
  const countOf = (spies: { mock: { calls: unknown[] } }[] = []) =>
    spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  const unchanged = run.targets.reduce((sum, one) => sum + one.unchanged, 0);
  const forgotten = countOf(invalidations);
  return {
    ...{ unchanged, forgotten, commands: commands.mock.calls.length },
    ...{ fingerprints: countOf(fingerprints), keys: countOf(keys) },
  };
}

test('a cycle without changes computes no name and no fingerprint, and sends equal numbers of Redis queries for many and few records', async () => {
  const [few, many] = [await costsOf(4), await costsOf(1_500)];
  expect([few.unchanged, many.unchanged]).toEqual([4, 1_500]);
  expect(many.commands).toBe(few.commands);
  for (const costs of [few, many]) expect(costs).toMatchObject({ fingerprints: 0, keys: 0 });
  expect(few.commands).toBeLessThanOrEqual(COMMANDS.tenant + 2 * COMMANDS.target);
});

test('it costs as little where no appointment is kept in between, and no table for them', async () => {
  const [kept, little] = [await costsOf(60), await costsOf(60, () => {}, { keeps: false })];
  expect(little).toEqual({ ...kept, forgotten: 2 });
  expect(little).toMatchObject({ unchanged: 60, fingerprints: 0, keys: 0 });
  expect(kept.forgotten).toBe(0);
  const changed = await costsOf(
    60,
    ({ appointments }) => appointments.set('4', appointmentOf('4', { inHours: 90, agendaId: 'a1' })),
    { keeps: false },
  );
  // Only the fingerprints of the changed calendar are computed.
  expect(changed.fingerprints).toBe(30);
});

test('what a cycle keeps of the clinic is gone with the next one that can not read it', async () => {
  const clinic = createModelClinic();
  clinic.appointments.set('1', appointmentOf('1'));
  const tenant = openTenant({
    redis: redis.connect(),
    clinic,
    targets: [{ model: createModelTarget() }],
    clock: () => NOW,
  });
  const invalidate = vi.spyOn(tenant.memory.appointments, 'invalidate');
  await pull(tenant);
  expect(invalidate).not.toHaveBeenCalled();
  clinic.listError = new MirrorError('x', { actor: 'remote', code: 'x', retry: 'later' });
  await pull(tenant);
  expect(invalidate).toHaveBeenCalled();
});

test('a cycle computes them for changed records only', async () => {
  const { fingerprints } = await costsOf(1_500, ({ appointments }) => {
    for (const id of ['3', '700', '1499']) appointments.set(id, appointmentOf(id, { inHours: 90, agendaId: 'a2' }));
  });
  // One calendar belonged to the other calendar, which forgets it without a computation.
  expect(fingerprints).toBe(3);
});

test('a cycle after one that wrote reads none of its links again, and hashes twice for each that changed', async () => {
  const clinic = createModelClinic();
  for (let index = 0; index < 300; index += 1) {
    clinic.appointments.set(`${index}`, appointmentOf(`${index}`, { inHours: 1 + index }));
  }
  const connection = redis.connect();
  await connection.flushall();
  const tenant = openTenant({ redis: connection, clinic, targets: [{ model: createModelTarget() }], clock: () => NOW });
  await cycle(tenant);
  await pull(tenant);
  const move = (id: string) => clinic.appointments.set(id, appointmentOf(id, { inHours: 400 }));
  move('7');
  await cycle(tenant);
  move('8');
  const commands = vi.spyOn(connection, 'sendCommand');
  const hashed = await keyedHashesOf(async () => {
    const run = await pull(tenant);
    expect(run.targets.map(({ unchanged }) => unchanged)).toEqual([299]);
  });
  const ofLinks = commands.mock.calls.filter(
    ([{ name, args }]) => name === 'hgetall' && `${args[0]}`.includes(':links:'),
  );
  expect(ofLinks).toEqual([]);
  // Its content as a whole, and its time: every other field is as of another appointment.
  expect(hashed).toBe(2);
});

/** Block and digest of SHA-256: the input of the outer hash of an HMAC. */
const OUTER_BYTES = 64 + 32;

/** How many keyed hashes something computes. */
async function keyedHashesOf(work: () => Promise<void>): Promise<number> {
  const spy = vi.spyOn(crypto, 'hash');
  syncBuiltinESMExports();
  try {
    await work();
    return spy.mock.calls.filter(([, input]) => ArrayBuffer.isView(input) && input.byteLength === OUTER_BYTES).length;
  } finally {
    spy.mockRestore();
    syncBuiltinESMExports();
  }
}
