import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { readingVisits } from '../../../src/core/model/visits.ts';
import { explainReminders, previewDay } from '../../../src/features/reminders/reminders.ts';
import { renderReminderExplanation } from '../../../src/operator/cli/render-reminders.ts';
import { openInstallation } from '../../operator/control/open-installation.ts';
import { useRedis } from '../../support/redis.ts';
import { NEVER } from '../../tenant/cycle.ts';
import {
  ANSWER_FILE,
  answersOver,
  book,
  createReminderWorld,
  deskOf,
  ID,
  patientOf,
  type ReminderWorld,
} from './reminder-world.ts';

const redis = useRedis({ appendOnly: false });
const PATIENTS = ['p1', 'p2', 'p3'];

/** A group visit in two days, whose reminders are due in 24 hours. */
async function booked(options: Parameters<typeof createReminderWorld>[1] = {}): Promise<ReminderWorld> {
  const world = createReminderWorld(redis.connect(), options);
  world.clinic.patientList.push(patientOf('p2'), patientOf('p3'));
  change(world, PATIENTS);
  await world.cycle();
  return world;
}

function change(world: ReminderWorld, patientIds: string[], own: Parameters<typeof book>[3] = {}, inHours = 48): void {
  const several = patientIds.length > 1 ? { patientIds } : {};
  book(world, 'g', inHours, { patientId: patientIds[0] ?? null, ...several, ...own });
}

const told = ({ gateway }: ReminderWorld) => gateway.delivered.map(({ recipient }) => recipient.patientId).sort();
const wrong = async (world: ReminderWorld) => (await world.tenant.reminders?.ledger.wrong(world.now)) ?? [];

describe('a group visit with three patients', () => {
  test('is announced to each patient once, under the id of the clinic', async () => {
    const world = await booked();
    for (let day = 0; day < 3; day += 1) {
      change(world, PATIENTS.toReversed());
      await world.cycle();
      await world.advance(DAY_MS);
    }
    expect(told(world)).toEqual(PATIENTS);
    expect(new Set(world.gateway.delivered.map(({ appointment }) => appointment.id))).toEqual(new Set(['g']));
    expect(await wrong(world)).toEqual([]);
  });

  test('is not announced to a patient who leaves, nor twice to one who stays, and to one who comes', async () => {
    const world = await booked();
    world.clinic.patientList.push(patientOf('p4'));
    await world.advance(HOUR_MS);
    change(world, ['p4', 'p2', 'p3']);
    await world.cycle();
    await world.cycle();
    await world.advance(2 * DAY_MS);
    expect(told(world)).toEqual(['p2', 'p3', 'p4']);
  });

  test('is not announced to a patient who leaves between two cycles', async () => {
    const world = await booked();
    change(world, ['p1', 'p3']);
    await world.advance(2 * DAY_MS);
    expect(told(world)).toEqual(['p1', 'p3']);
    expect(await world.fate('g~patient:p2')).toBe('dropped vanished');
  });

  test('that grows from one patient to two is announced to each once', async () => {
    const world = createReminderWorld(redis.connect());
    world.clinic.patientList.push(patientOf('p2'));
    change(world, ['p1']);
    await world.cycle();
    change(world, ['p1', 'p2']);
    await world.cycle();
    await world.advance(2 * DAY_MS);
    expect(told(world)).toEqual(['p1', 'p2']);
    expect(await world.fate('g')).toBe('dropped excluded');
  });

  test('that moves or is cancelled is corrected for each patient who was reminded', async () => {
    const world = await booked();
    await world.advance(DAY_MS);
    expect(told(world)).toEqual(PATIENTS);
    change(world, PATIENTS, { updatedAt: world.now }, 47);
    await world.cycle();
    await world.advance(HOUR_MS);
    expect(told(world).slice(3)).toHaveLength(3);
    change(world, PATIENTS, { updatedAt: world.now, status: 'cancelled' }, 47);
    await world.cycle();
    await world.advance(HOUR_MS);
    const kinds = world.gateway.delivered.map(({ recipient, correction }) => `${recipient.patientId} ${correction}`);
    expect(kinds.sort()).toEqual(
      PATIENTS.flatMap((id) => ['cancelled', 'moved', 'null'].map((kind) => `${id} ${kind}`)),
    );
    expect(await wrong(world)).toEqual([]);
  });

  test('is reported as vanished to the desk for a patient who leaves after the reminder, not for the last one', async () => {
    const world = await booked();
    await world.advance(DAY_MS);
    change(world, ['p1']);
    for (let cycles = 0; cycles < 3; cycles += 1) {
      await world.cycle();
      await world.advance(15 * MINUTE_MS);
    }
    const listed = (await wrong(world)).map(({ appointmentId, reason }) => `${appointmentId} ${reason}`);
    expect(listed.sort()).toEqual(['g~patient:p2 vanished', 'g~patient:p3 vanished']);
    await world.advance(2 * DAY_MS);
    expect(told(world)).toEqual(PATIENTS);
  });

  test('that a reminded patient joins instead of another visit is told as one move', async () => {
    const world = createReminderWorld(redis.connect());
    world.clinic.patientList.push(patientOf('p2'), patientOf('p3'));
    book(world, 'x', 48);
    await world.cycle();
    await world.advance(DAY_MS);
    await world.cycle();
    expect(told(world)).toEqual(['p1']);
    book(world, 'x', 48, { status: 'cancelled', updatedAt: world.now });
    change(world, PATIENTS, { updatedAt: world.now }, 47);
    await world.cycle();
    await world.advance(HOUR_MS);
    const own = world.gateway.delivered.filter(({ recipient }) => recipient.patientId === 'p1');
    expect(own.map(({ appointment, correction }) => [appointment.id, correction])).toEqual([
      ['x', null],
      ['g', 'moved'],
    ]);
    expect(await wrong(world)).toEqual([]);
  });

  test('whose deleted record is readable is cancelled for each patient who was reminded', async () => {
    const world = await booked();
    await world.advance(DAY_MS);
    const deleted = world.clinic.appointments.get('g');
    world.clinic.appointments.delete('g');
    if (deleted === undefined) throw new Error('no visit');
    world.clinic.readAppointment = readingVisits(async () => ({ absent: true, deleted }));
    for (let cycles = 0; cycles < 3; cycles += 1) await world.cycle();
    await world.advance(HOUR_MS);
    expect(told(world)).toEqual(PATIENTS.flatMap((id) => [id, id]));
    expect(world.gateway.delivered.slice(3).map(({ correction }) => correction)).toEqual(Array(3).fill('cancelled'));
  });

  test('is announced once to the last patient if the others leave before', async () => {
    const world = await booked();
    change(world, ['p1']);
    for (let cycles = 0; cycles < 3; cycles += 1) await world.cycle();
    await world.advance(2 * DAY_MS);
    expect(told(world)).toEqual(['p1']);
  });

  test('is in the list of a day and in the explanation of each patient', async () => {
    const world = await booked();
    const installation = openInstallation({ tenants: [world.tenant] });
    const { reminders } = await previewDay(installation, ID, '2026-06-16', NEVER);
    const ids = PATIENTS.map((id) => `g~patient:${id}`);
    expect(reminders.map(({ appointment }) => appointment).sort()).toEqual(ids);
    const whole = await explainReminders(installation, ID, 'g', NEVER);
    expect(whole).toMatchObject({ rules: [{ excluded: 'several-patients' }], reminders: [] });
    expect(renderReminderExplanation(whole).replaceAll(/\s+/g, ' ')).toContain(
      'add ~patient: and the id of the patient',
    );
    expect((await explainReminders(installation, ID, 'g~patient:p3', NEVER)).reminders).toHaveLength(1);
  });
});

describe('a link for the answer of one patient', () => {
  test.each<[string, string[], object]>([
    ['a visit for each patient', ['p1', 'p2'], { patientIds: ['p1', 'p2'] }],
    ['only the first patient used', ['p1'], { cut: ['patientId'] }],
  ])('is not part of a message about a group visit with %s', async (_, patients, own) => {
    const connection = redis.connect();
    const world = createReminderWorld(connection, { file: ANSWER_FILE, answers: answersOver(connection) });
    world.clinic.patientList.push(patientOf('p2'));
    change(world, patients, own);
    await world.cycle();
    await world.advance(DAY_MS);
    expect(told(world)).toEqual(patients);
    expect(world.gateway.delivered.map(({ content }) => content.link)).toEqual(patients.map(() => null));
  });

  test('changes nothing if other patients were added to the visit since', async () => {
    const connection = redis.connect();
    const world = createReminderWorld(connection, { file: ANSWER_FILE, answers: answersOver(connection) });
    change(world, ['p1']);
    await world.cycle();
    await world.advance(DAY_MS);
    const token = world.gateway.delivered[0]?.content.link?.url.split('/').at(-1) ?? '';
    const desk = deskOf({ ...openInstallation({ tenants: [world.tenant] }), clock: () => world.now }, connection);
    for (const own of [{}, { patientIds: undefined as never, cut: ['patientId' as const] }]) {
      change(world, ['p1', 'p2'], own);
      for (const answer of ['cancelled', 'confirmed']) {
        const { form } = await desk.show(token);
        expect(await desk.take(token, { answer, proof: form?.proof ?? '' })).toMatchObject({ says: 'not-offered' });
      }
    }
    expect(world.clinic.appointments.get('g')?.status).toBe('booked');
    expect(world.clinic.counts.writes).toBe(0);
  });
});
