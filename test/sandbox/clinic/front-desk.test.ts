import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type ClinicSandbox,
  type SimulatedChange,
  startClinicSandbox,
  type TrueAppointment,
} from '../../../sandbox/clinic/index.ts';
import { call, firstTenant, frontDeskToken, NOW } from './support.ts';

let sandbox: ClinicSandbox;
let tenantId: string;

beforeAll(async () => {
  sandbox = await startClinicSandbox({ tenants: 2, appointments: 1500, now: NOW, seed: 7 });
  tenantId = firstTenant(sandbox).id;
});

afterAll(() => sandbox.close());

function truth(of = sandbox): Map<string, TrueAppointment> {
  return new Map([...of.appointments(tenantId)].map((appointment) => [appointment.id, appointment]));
}

function idsOf(changes: readonly SimulatedChange[], ...kinds: SimulatedChange['kind'][]): string[] {
  return changes.filter((change) => kinds.includes(change.kind)).map((change) => change.id);
}

test('makes exactly the requested changes, to different appointments, and reports them', () => {
  const before = truth();
  const changes = sandbox.simulate(tenantId, { booked: 40, moved: 60, cancelled: 50, checkedIn: 10 });
  const after = truth();

  expect(changes).toHaveLength(160);
  expect(new Set(changes.map((change) => change.id)).size).toBe(160);
  const changed = [...after.values()].filter(
    (appointment) => JSON.stringify(appointment) !== JSON.stringify(before.get(appointment.id)),
  );
  expect(changed.map((appointment) => appointment.id).sort()).toEqual(changes.map((change) => change.id).sort());

  for (const id of idsOf(changes, 'booked')) {
    expect(before.has(id)).toBe(false);
    expect(after.get(id)).toMatchObject({ status: 'Booked', deleted: false, patientId: expect.any(String) });
  }
  const moved = idsOf(changes, 'moved');
  expect(moved).toHaveLength(60);
  for (const id of moved) expect(after.get(id)?.start).not.toBe(before.get(id)?.start);
  const otherAgenda = moved.filter((id) => after.get(id)?.agendaId !== before.get(id)?.agendaId);
  expect(otherAgenda.length).toBeGreaterThan(0);
  expect(otherAgenda.length).toBeLessThan(60);
  for (const id of idsOf(changes, 'cancelled'))
    expect(after.get(id)).toMatchObject({ status: 'Cancelled', deleted: false });
  for (const id of idsOf(changes, 'removed')) expect(after.get(id)?.deleted).toBe(true);
  expect(idsOf(changes, 'cancelled').length).toBeGreaterThan(0);
  expect(idsOf(changes, 'removed').length).toBeGreaterThan(0);
  expect(idsOf(changes, 'checkedIn')).toHaveLength(10);
  for (const id of idsOf(changes, 'checkedIn')) expect(after.get(id)?.status).toBe('CheckedIn');
});

test('never double books', () => {
  sandbox.simulate(tenantId, { booked: 100, moved: 100 });
  const occupied = [...truth().values()].filter((one) => !one.deleted && one.status !== 'Cancelled');
  for (const own of Map.groupBy(occupied, (appointment) => appointment.agendaId).values()) {
    own.sort((one, other) => one.start - other.start);
    for (const [index, one] of own.entries()) expect(one.start).toBeGreaterThanOrEqual(own[index - 1]?.end ?? 0);
  }
});

test('the same seed does the same work', async () => {
  const options = { tenants: 1, appointments: 300, now: NOW, seed: 5 };
  const [one, other] = [await startClinicSandbox(options), await startClinicSandbox(options)];
  try {
    const work = { booked: 5, moved: 5, cancelled: 5, checkedIn: 5 };
    expect(one.simulate(firstTenant(one).id, work)).toEqual(other.simulate(firstTenant(other).id, work));
  } finally {
    await one.close();
    await other.close();
  }
});

test('refuses before the first change when there is too little to change', () => {
  const before = truth();
  expect(() => sandbox.simulate(tenantId, { booked: 1, cancelled: 100_000 })).toThrow(RangeError);
  expect(() => sandbox.simulate('none', { booked: 1 })).toThrow(RangeError);
  expect(truth()).toEqual(before);
});

test('works automatically until it is stopped', async () => {
  const changes: SimulatedChange[] = [];
  const stop = sandbox.startFrontDesk({ everyMs: 2, onChange: (change) => changes.push(change) });
  await expect.poll(() => changes.length).toBeGreaterThan(20);
  stop();
  const done = changes.length;
  const token = await frontDeskToken(sandbox);
  expect((await call(sandbox, token, 'GET', '/v2/userinfo')).status).toBe(200);
  expect(changes).toHaveLength(done);
  expect(new Set(changes.map((change) => change.tenantId)).size).toBe(2);
});
