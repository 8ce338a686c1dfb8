import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { HOUR_MS } from '../../../src/core/model/time.ts';
import { followAgain, listReceipts, previewForgetting } from '../../../src/features/forget/forget.ts';
import { PLAIN_COLUMNS } from '../../../src/operator/cli/output.ts';
import { renderForgetPreview, renderReceipt, renderReceipts } from '../../../src/operator/cli/render-decisions.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, NEVER } from '../../tenant/cycle.ts';
import { tryDyingCommands } from './dying-commands.ts';
import {
  counts,
  type ForgetWorld,
  forget,
  ID,
  leaveTraces,
  OTHER,
  openSynced,
  PATIENT,
  SILENT,
  TELLING,
  visit,
} from './forget-world.ts';

const redis = useRedis({ appendOnly: false });
const synced = () => openSynced(redis.connect());

describe('a patient who is forgotten', () => {
  test('leaves every target by erasures, and no other patient does', async () => {
    const world = await synced();
    expect(counts(world)).toEqual([5, 2, 5, 2]);
    for (const operations of Object.values(world.asked)) operations.length = 0;
    const receipt = await forget(world);
    expect(counts(world)).toEqual([2, 1, 2, 1]);
    const operations = Object.values(world.asked).flat();
    expect(operations).toHaveLength(8);
    expect(operations.every((one) => one.kind === 'delete' && one.erase === true)).toBe(true);
    expect(receipt.targets).toEqual(
      [
        { target: 'doctor', found: 3, erased: 3, reach: 'bin' },
        { target: 'contacts', found: 1, erased: 1, reach: 'wholly' },
        { target: 'visits', found: 3, erased: 3, reach: 'bin' },
        { target: 'bills', found: 1, erased: 1, reach: 'bin' },
      ].map((one) => ({ ...one, connector: 'model', waiting: 0, failed: 0, failure: null })),
    );
    expect(receipt.upcoming).toBe(2);
    expect(receipt.warnings).toEqual(['still-in-clinic', 'opt-outs-stay']);
  });

  test('stays out: later cycles, new appointments and audits bring nothing back', async () => {
    const world = await synced();
    await forget(world);
    world.clinic.appointments.set('visit-7731-new', visit('visit-7731-new', 72));
    await world.pass();
    await world.pass();
    expect(counts(world)).toEqual([2, 1, 2, 1]);
    expect(await world.tracesInRedis()).toEqual([]);
  });

  test('leaves no reply from the number of the reminders, and replies of others stay', async () => {
    const world = await synced();
    const { reminders } = world.tenant;
    const [entry] = (await reminders?.ledger.ofAppointment('visit-7731-a')) ?? [];
    const own = 'phone:mine';
    const claim = await reminders?.ledger.claim(entry?.id ?? '');
    if (claim == null || !('token' in claim)) throw new Error('no reminder is planned');
    const intent = { now: world.clock.now, maxPerHour: 9, isLimited: false, mayRepeat: false, recipient: own };
    expect(await reminders?.ledger.intend([{ claim, patientProof: '', locationProof: null }], intent)).toBe('go');
    const reply = { phone: '+393331234567', at: world.clock.now };
    await reminders?.replies.add({ ...reply, text: 'mine', message: 'SM1', recipient: own });
    await reminders?.replies.add({ ...reply, text: 'of another', message: 'SM2', recipient: 'phone:other' });
    await forget(world);
    expect(await reminders?.replies.list(world.clock.now)).toMatchObject([{ text: 'of another' }]);
  });

  test('is in no key and no value of Redis any more, names and telephone included', async () => {
    const world = await synced();
    await leaveTraces(world);
    const before = await world.tracesInRedis();
    const kinds = [...new Set(before.map((key) => key.replace(/^cm:\{[^}]*\}:/, '').split(':')[0]))].sort();
    const places = 'answer-link drifted journal links misses outbox outbox-due outbox-failing recent-objects';
    expect(kinds.join(' ')).toBe(
      `${places} reminder reminders-known reminders-of reminders-told reminders-wrong restorations unseen`,
    );
    const receipt = await forget(world);
    expect(await world.tracesInRedis()).toEqual([]);
    // Encrypted, so that no search finds it there.
    expect(JSON.stringify(await world.tenant.runs.list(50))).not.toContain('visit-7731');
    const { reminders, auditFindings: notes, ...rest } = receipt.state;
    expect(rest).toEqual({ journalLines: 3, pins: 1, holds: 1, answerLinks: 2, examples: 1 });
    expect(reminders).toBe(4);
    expect(notes).toBeGreaterThanOrEqual(4);
    expect(await world.tenant.holds.list()).toMatchObject([{ recordIds: ['visit-8842-a'] }]);
    const wrong = await world.tenant.reminders?.ledger.wrong(world.clock.now);
    expect(wrong?.map(({ appointmentId }) => appointmentId)).toEqual(['visit-8842-a']);
    expect((await world.tenant.journal.pinned('doctor', world.clock.now)).has('visit-8842-a')).toBe(true);
  });

  test('gets no reminder that was planned, nor one that is planned later; opt-outs stay', async () => {
    const world = await synced();
    const { reminders } = world.tenant;
    const hash = reminders?.optOuts.hashOf('phone', '+393337731773') ?? '';
    await reminders?.optOuts.add(hash, { source: 'operator', at: world.clock.now });
    expect(world.alarms.size).toBe(3);
    await forget(world);
    await world.pass();
    expect((await reminders?.ledger.open())?.map(({ appointmentId }) => appointmentId)).toEqual(['visit-8842-a']);
    expect(world.alarms.size).toBe(1);
    expect(await reminders?.optOuts.find(hash)).not.toBeNull();
  });

  test('is not named by later reports, although the row in the clinic can no longer be used', async () => {
    const world = await synced();
    await forget(world);
    const { readPatients } = world.clinic;
    world.clinic.readPatients = async (signal) => {
      const snapshot = await readPatients(signal);
      const unusable = [PATIENT, OTHER].map((recordId) => ({ recordId, code: 'wrong-type', field: 'email' }));
      return { ...snapshot, records: new Map(), unusable };
    };
    await world.pass();
    const [run] = await world.tenant.runs.list(1);
    expect(run?.unusableExamples.map(({ recordId }) => recordId)).toEqual([null, OTHER]);
    expect(await world.tracesInRedis()).toEqual([]);
  });

  test('has a receipt without content, that is kept; the tombstone is the same each time', async () => {
    const world = await synced();
    const first = await forget(world);
    world.clock.now += HOUR_MS;
    const second = await forget(world);
    expect(second.tombstone).toBe(first.tombstone);
    expect(second.receipt).not.toBe(first.receipt);
    expect(second.targets.map(({ found }) => found)).toEqual([0, 0, 0, 0]);
    const list = await listReceipts(world.installation, ID);
    expect(list.receipts).toEqual([first, second]);
    expect(renderReceipts({ ...list, publicKey: '' }).split('\n')).toHaveLength(6);
    expect(await world.tenant.tombstones.count()).toBe(1);
    for (const text of [JSON.stringify(first), renderReceipt(first)]) {
      for (const word of TELLING) expect(text).not.toContain(word);
    }
  });

  test('is followed again when the tombstone ends', async () => {
    const world = await synced();
    await forget(world);
    expect(await followAgain(world.installation, ID, PATIENT)).toEqual({ tenant: ID, changed: true });
    expect(world.installation.pulled).toEqual([ID]);
    await world.pass();
    expect(counts(world)).toEqual([5, 2, 5, 2]);
    expect(await followAgain(world.installation, ID, PATIENT)).toEqual({ tenant: ID, changed: false });
  });
});

describe('during an erasure', () => {
  test('a change that is being written when the command comes leaves no line and no object', async () => {
    const world = await synced();
    world.clinic.appointments.set('visit-7731-a', visit('visit-7731-a', 33));
    let receipt: Promise<unknown> | null = null;
    world.calendar.beforeApply = async () => {
      world.calendar.beforeApply = () => {};
      receipt = forget(world, world.again());
      while ((await world.tenant.tombstones.count()) === 0 && !(await isLooking(world)))
        await new Promise(setImmediate);
    };
    world.clock.now += 60_000;
    await cycle(world.tenant);
    await receipt;
    expect(counts(world)).toEqual([2, 1, 2, 1]);
    expect(await world.tracesInRedis()).toEqual([]);
  });

  test('an appointment that is booked during the fetch from the clinic is also forgotten', async () => {
    const world = await synced();
    const { readInvoices } = world.clinic;
    world.clinic.readInvoices = async (...given) => {
      world.clinic.appointments.set('visit-7731-new', visit('visit-7731-new', 40));
      world.clinic.readInvoices = readInvoices;
      await world.pass(world.again());
      return readInvoices(...given);
    };
    const { targets } = await forget(world);
    expect(targets[0]).toMatchObject({ found: 4, erased: 4 });
    expect(await world.tracesInRedis()).toEqual([]);
  });
});

// At more steps: dying-commands.test.ts.
test('after a command that dies at any step while the daemon continues, a second command completes the erasure', async () => {
  expect(await tryDyingCommands(redis, 47)).toBeGreaterThan(2);
});

/** The command waits for the lane, or is through. */
async function isLooking({ connection }: ForgetWorld): Promise<boolean> {
  return (await connection.exists('cm:{studio-rossi}:lease:plan')) === 1;
}

describe('a look before', () => {
  test('counts the objects to erase, and writes nothing', async () => {
    const world = await synced();
    const preview = await previewForgetting(world.installation, ID, PATIENT, { progress: SILENT, signal: NEVER });
    expect(preview).toMatchObject({ isForgotten: false, appointments: 3, invoices: 1, upcoming: 2, reminders: 2 });
    expect(preview.targets.map(({ target, linked, toLookFor }) => [target, linked, toLookFor])).toEqual([
      ['doctor', 3, 0],
      ['contacts', 1, 0],
      ['visits', 3, 0],
      ['bills', 1, 0],
    ]);
    expect(counts(world)).toEqual([5, 2, 5, 2]);
    expect(await world.tenant.tombstones.count()).toBe(0);
    const text = renderForgetPreview(preview);
    expect(text.replaceAll('\n', ' ')).toContain('Future appointments removed from calendars: 2');
    for (const word of TELLING) expect(text).not.toContain(word);
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(PLAIN_COLUMNS);
  });

  test('warns about a connection that must not read patients or invoices', async () => {
    const world = await synced();
    const refused = { actor: 'authorization', code: 'missing-claim', retry: 'never', status: 403 } as const;
    world.clinic.readPatient = () => Promise.reject(new MirrorError('refused', refused));
    world.clinic.readInvoices = () => Promise.reject(new MirrorError('refused', refused));
    const { warnings: notes, appointments } = await previewForgetting(world.installation, ID, PATIENT, {
      progress: SILENT,
      signal: NEVER,
    });
    expect([notes, appointments]).toEqual([['patient-unread', 'invoices-unread'], 3]);
  });

  test('a clinic that can’t be read ends the command before anything is written', async () => {
    const world = await synced();
    world.clinic.listError = new MirrorError('away', { actor: 'remote', code: 'server-error', retry: 'later' });
    await expect(forget(world)).rejects.toMatchObject({ code: 'server-error' });
    expect(await world.tenant.tombstones.count()).toBe(0);
    expect(counts(world)).toEqual([5, 2, 5, 2]);
  });

  test('a paused tenant is refused', async () => {
    const world = await synced();
    await expect(forget(world, world.again({ paused: true }))).rejects.toMatchObject({ code: 'tenant-paused' });
  });
});
