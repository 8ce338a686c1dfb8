import { beforeEach, describe, expect, test } from 'vitest';
import { compileAppointmentRows } from '../../src/clinic/read/appointment-rows.ts';
import type { Appointment } from '../../src/core/model/records.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { explain } from '../../src/operator/control/explain.ts';
import { profileOf, type WrittenProfile } from '../clinic/open-client.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { openInstallation } from '../operator/control/open-installation.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, NEVER, targetOf } from './cycle.ts';
import { type CrmWorld, joined, openCrmWorld, patientOf, stateOf } from './world.ts';

const redis = useRedis();

/** Appointments of another patient. */
const OTHERS = 40;

let world: CrmWorld;

beforeEach(() => {
  world = openCrmWorld(redis, { calendar: true });
  world.clinic.patientList.push(...['p1', 'p2', 'p3', 'p4', 'other'].map((id) => patientOf(id)));
  // So many that the guard allows the removal of one visit.
  for (let index = 0; index < OTHERS; index += 1)
    world.clinic.appointments.set(`${index}`, appointmentOf(`${index}`, { patientId: 'other', inHours: 30 + index }));
});

/** Books the visit as the clinic's row states it. */
function book(
  patients: readonly string[],
  changes: object = {},
  more: WrittenProfile['appointments'] = { each: ['patientId'] },
) {
  const map = compileAppointmentRows(profileOf({ appointments: { ...more, fields: { patientId: ['patients'] } } }));
  const [start, end] = [24, 25].map((hours) => new Date(NOW + hours * HOUR_MS).toISOString());
  const mapped = map({ id: 'g', agendaId: 'a1', patients, start, end, status: 'Booked', ...changes });
  world.clinic.appointments.set('g', (mapped as { record: Appointment }).record);
}

async function cycles(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    world.clock.now += 15 * MINUTE_MS;
    await cycle(world.tenant);
  }
}

/** Patients whose contacts have an activity, one entry for each activity. */
function visited(): string[] {
  const { identity } = targetOf(world.tenant, 'contacts');
  const names = new Map(['p1', 'p2', 'p3', 'p4'].map((id) => [identity.key(id, 0), id]));
  return joined(world.activities)
    .flatMap((key) => names.get(key ?? '') ?? [])
    .sort();
}

const events = () => world.calendar.objects().length - OTHERS;

describe('a group visit with three patients', () => {
  test('is one activity for each contact and one event, and a further cycle changes nothing', async () => {
    book(['p1', 'p2', 'p3']);
    await cycles(2);
    expect([visited(), events()]).toEqual([['p1', 'p2', 'p3'], 1]);
    for (const id of ['activities', 'doctor'])
      expect(await stateOf(world.tenant, id)).toMatchObject({ sync: 'in-sync', gaps: [] });
    const { operations } = world.activities.calls;
    const { lookups } = world.clinic.counts;
    book(['p3', 'p1', 'p2']);
    await cycles(2);
    expect(world.activities.calls.operations).toBe(operations);
    expect(world.clinic.counts.lookups).toBe(lookups);
  });

  test('loses the activity of a patient who leaves, and gets that of a patient who comes; the others stay', async () => {
    book(['p1', 'p2', 'p3']);
    await cycles(2);
    const keys = world.activities.objects().map(({ key }) => key);
    book(['p2', 'p3', 'p4']);
    await cycles(3);
    expect([visited(), events()]).toEqual([['p2', 'p3', 'p4'], 1]);
    const kept = world.activities.objects().filter(({ key }) => keys.includes(key));
    expect(kept).toHaveLength(OTHERS + 2);
    expect(await stateOf(world.tenant, 'activities')).toMatchObject({ sync: 'in-sync' });
  });

  test('loses all activities and the event when the clinic cancels it', async () => {
    book(['p1', 'p2', 'p3']);
    await cycles(2);
    book(['p1', 'p2', 'p3'], { status: 'Cancelled' });
    await cycles(1);
    expect([visited(), events()]).toEqual([[], 0]);
  });

  test.each<[string, () => void]>([
    ['is deleted', () => void world.clinic.appointments.delete('g')],
    [
      'is only reported as cancelled',
      () => {
        world.clinic.appointments.delete('g');
        world.clinic.tombstones.add('g');
      },
    ],
  ])('loses all activities and the event when it %s', async (_, change) => {
    book(['p1', 'p2', 'p3']);
    await cycles(2);
    change();
    await cycles(3);
    expect([visited(), events()]).toEqual([[], 0]);
  });

  test('keeps all activities while its row is unusable', async () => {
    book(['p1', 'p2', 'p3']);
    await cycles(2);
    world.clinic.unusable.add('g');
    await cycles(3);
    expect([visited(), events()]).toEqual([['p1', 'p2', 'p3'], 1]);
  });

  test('stays one event when a list omits it and its visits are found individually', async () => {
    book(['p1', 'p2', 'p3']);
    await cycles(2);
    world.clinic.unlisted.add('g');
    await cycles(3);
    expect([visited(), events()]).toEqual([['p1', 'p2', 'p3'], 1]);
  });

  test('is one activity again when one patient is left, and grows from one', async () => {
    book(['p1']);
    await cycles(2);
    expect(visited()).toEqual(['p1']);
    book(['p1', 'p2']);
    await cycles(3);
    expect(visited()).toEqual(['p1', 'p2']);
    book(['p2']);
    await cycles(3);
    expect([visited(), events()]).toEqual([['p2'], 1]);
  });

  test('is not in sync without the setting, and belongs to the first patient', async () => {
    book(['p1', 'p2', 'p3'], {}, {});
    await cycles(2);
    expect(visited()).toEqual(['p1']);
    const gaps = [{ code: 'values-unused', count: 1, what: ['patientId'], soon: [] }];
    expect(await stateOf(world.tenant, 'activities')).toMatchObject({ gaps });
  });

  test('explains where its activities are, and each of them', async () => {
    book(['p1', 'p2', 'p3']);
    await cycles(2);
    const installation = openInstallation({ tenants: [world.tenant] });
    const codesOf = async (id: string) => {
      const { targets } = await explain(installation, world.tenant.id, id, NEVER);
      return targets.map(({ target, decision: { code } }) => `${target} ${code}`);
    };
    expect(await codesOf('g')).toEqual(['activities several-patients', 'doctor shown']);
    expect((await codesOf('g~patient:p2'))[0]).toBe('activities of-contact');
    expect((await codesOf('g~patient:p4'))[0]).toBe('activities absent');
  });
});
