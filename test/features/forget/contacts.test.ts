import { beforeEach, describe, expect, test } from 'vitest';
import type { MirrorError } from '../../../src/core/model/errors.ts';
import { contactsOf, formsOf } from '../../../src/features/forget/contacts.ts';
import { forgetPatient, previewForgetting } from '../../../src/features/forget/forget.ts';
import { useRedis } from '../../support/redis.ts';
import { NEVER } from '../../tenant/cycle.ts';
import { patientOf } from '../reminders/reminder-world.ts';
import { type ForgetWorld, ID, openSynced, PATIENT, ring, SIGNALS, SILENT } from './forget-world.ts';

const redis = useRedis();

describe('contacts', () => {
  test('are compared without case, spaces and prefix of the country', () => {
    expect(formsOf({ kind: 'email', address: ' Ottavia@Example.org ' })).toEqual(['ottavia@example.org']);
    expect(formsOf({ kind: 'phone', address: '333 773 1773' })).toEqual(['+393337731773']);
    expect(formsOf({ kind: 'phone', address: '0171 2345678' }, 'DE')).toEqual(['+491712345678']);
  });

  test('that are no address and no number have no form', () => {
    expect([formsOf({ kind: 'email', address: 'ottavia' }), formsOf({ kind: 'phone', address: '12' })]).toEqual([
      [],
      [],
    ]);
  });

  test('of a patient are the address and every number of both fields', () => {
    const patient = { email: 'a@b.it', mobilePhone: '3337731773', phone: '06 69812345 / 333 7731774' };
    expect(contactsOf(patient).map(({ address }) => address)).toEqual([
      ...['a@b.it', '+393337731773', '+390669812345', '+393337731774'],
    ]);
  });
});

describe('by an address or number', () => {
  const PHONE = { kind: 'phone', address: '333 773 1773' } as const;
  const MAIL = { kind: 'email', address: 'Ottavia@Example.org' } as const;
  let world: ForgetWorld;

  beforeEach(async () => {
    world = await openSynced(redis.connect());
  });

  const preview = (who: typeof PHONE | typeof MAIL) =>
    previewForgetting(world.installation, ID, who, { progress: SILENT, signal: NEVER });
  const erase = (who: typeof PHONE | typeof MAIL) =>
    forgetPatient(world.installation, ID, who, { progress: SILENT, signals: SIGNALS });
  /** Sends the patient's reminders. */
  async function tell(): Promise<string> {
    const ledger = world.tenant.reminders?.ledger;
    await ring(world);
    const entry = (await ledger?.ofAppointment('visit-7731-a'))?.[0];
    if (entry === undefined) throw new Error('no reminder was sent');
    return entry.id;
  }

  test.each([PHONE, MAIL])('forgets the one patient with this $kind, as by id', async (who) => {
    expect(await preview(who)).toMatchObject({ patients: [PATIENT], appointments: 3, invoices: 1 });
    const receipt = await erase(who);
    expect(receipt.targets.map(({ erased }) => erased)).toEqual([3, 1, 3, 1]);
    expect(await world.tracesInRedis()).toEqual([]);
    expect((await world.tenant.tombstones.load())(PATIENT)).toBe(true);
    expect(JSON.stringify(receipt)).not.toMatch(/ottavia|3337731773/i);
  });

  test('lists several patients and erases none; the error names no patient', async () => {
    world.clinic.patientList.push(patientOf('pat-9', { phone: '06 69812345 / 333 7731773' }));
    expect(await preview(PHONE)).toMatchObject({ patients: [PATIENT, 'pat-9'], appointments: 0, targets: [] });
    const error = await erase(PHONE).catch((thrown: MirrorError) => thrown);
    expect(error).toMatchObject({ code: 'contact-ambiguous' });
    expect(JSON.stringify([error, String(error)])).not.toMatch(/pat-|7731773/);
    expect(await world.tenant.tombstones.count()).toBe(0);
  });

  test('also finds the patient who received a message and has another number now', async () => {
    await tell();
    for (const patient of world.clinic.patientList) Object.assign(patient, { mobilePhone: '3330000000' });
    expect((await preview(PHONE)).patients).toEqual([PATIENT]);
  });

  test('erases messages of a patient whom the clinic no longer has; the opt-out stays', async () => {
    const id = await tell();
    const { reminders } = world.tenant;
    const hash = reminders?.optOuts.hashOf('phone', '+393337731773') ?? '';
    await reminders?.optOuts.add(hash, { source: 'reply', at: world.clock.now });
    world.clinic.patientList.splice(0, 1);
    for (const name of [...world.clinic.appointments.keys()].filter((one) => one.startsWith('visit-7731')))
      world.clinic.appointments.delete(name);
    expect(await preview(PHONE)).toMatchObject({ patients: [], reminders: 2, answerLinks: 2 });
    const receipt = await erase(PHONE);
    expect(receipt).toMatchObject({ tombstone: null, targets: [], state: { reminders: 2, answerLinks: 2 } });
    expect(await reminders?.ledger.read(id)).toBeNull();
    expect(await reminders?.optOuts.find(hash)).not.toBeNull();
    await expect(erase(PHONE)).rejects.toMatchObject({ code: 'contact-unknown' });
  });

  test('that nobody has, or that is none, is refused', async () => {
    for (const address of ['333 0000001', 'x'])
      await expect(preview({ ...PHONE, address } as never)).rejects.toMatchObject({ code: 'contact-unknown' });
  });
});
