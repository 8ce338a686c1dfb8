import { describe, expect, test } from 'vitest';
import { PLAIN_COLUMNS } from '../../../src/cli/output.ts';
import { renderForgetPreview, renderReceipt, renderReceipts } from '../../../src/cli/render-decisions.ts';
import { jobHandlers } from '../../../src/composition/job-handlers.ts';
import { status } from '../../../src/control/status.ts';
import { followAgain, forgetPatient, listReceipts, previewForgetting } from '../../../src/features/forget/forget.ts';
import type { OpenTenant } from '../../../src/jobs/tenant.ts';
import { MirrorError } from '../../../src/model/errors.ts';
import { DAY_MS, HOUR_MS } from '../../../src/model/time.ts';
import { keys } from '../../../src/state/keys.ts';
import { openInstallation } from '../../control/open-installation.ts';
import { crashingRedis } from '../../jobs/crashing-redis.ts';
import { cycle, NEVER, pull, targetOf } from '../../jobs/cycle.ts';
import type { ModelTarget } from '../../jobs/model-target.ts';
import { useRedis } from '../../support/redis.ts';
import {
  type ForgetWorld,
  leaveTraces,
  OTHER,
  ofOther,
  openForgetWorld,
  PATIENT,
  ring,
  TELLING,
  visit,
} from './forget-world.ts';

const redis = useRedis({ appendOnly: false });
const ID = 'studio-rossi';
const SILENT = () => {};
const SIGNALS = { stop: NEVER, abort: NEVER };

async function synced(): Promise<ForgetWorld> {
  const world = openForgetWorld(redis.connect());
  await world.pass();
  return world;
}

const forget = (world: ForgetWorld, tenant?: OpenTenant) =>
  forgetPatient(tenant === undefined ? world.installation : openInstallation({ tenants: [tenant] }), ID, PATIENT, {
    progress: SILENT,
    signals: SIGNALS,
  });

const MODELS = (world: ForgetWorld): [string, ModelTarget][] => [
  ['doctor', world.calendar],
  ['contacts', world.contacts],
  ['visits', world.visits],
  ['bills', world.bills],
];
const counts = (world: ForgetWorld) => MODELS(world).map(([, model]) => model.objects().length);

describe('a patient who is forgotten', () => {
  test('leaves every target by erasures, and nobody else does', async () => {
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

  test('is in no key and no value of Redis any more, names and telephone included', async () => {
    const world = await synced();
    await leaveTraces(world);
    const before = await world.tracesInRedis();
    const kinds = [...new Set(before.map((key) => key.replace(/^cm:\{[^}]*\}:/, '').split(':')[0]))].sort();
    const places = 'answer-link drifted journal links misses outbox outbox-due outbox-failing reminder';
    expect(kinds.join(' ')).toBe(`${places} reminders-of reminders-told reminders-wrong restorations unseen`);
    const receipt = await forget(world);
    expect(await world.tracesInRedis()).toEqual([]);
    // Sealed, so that no search finds it there.
    expect(JSON.stringify(await world.tenant.runs.list(50))).not.toContain('visit-7731');
    const { reminders, warnings: notes, ...rest } = receipt.state;
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
    expect(await listReceipts(world.installation, ID)).toEqual([first, second]);
    expect(renderReceipts({ receipts: [first, second] }).split('\n')).toHaveLength(4);
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

describe('what no link tells of', () => {
  test('is looked for by its name and erased: objects that left the window long ago', async () => {
    const world = await synced();
    world.clock.now += 30 * DAY_MS;
    await world.pass();
    expect([...(await world.tenant.links.read('doctor')).keys()]).toEqual([]);
    expect(world.calendar.objects()).toHaveLength(5);
    const { targets } = await forget(world);
    expect(targets[0]).toMatchObject({ target: 'doctor', found: 3, erased: 3 });
    expect(world.calendar.objects()).toHaveLength(2);
  });

  test('is erased although it was deleted before: the bin may hold it', async () => {
    const world = await synced();
    world.clinic.appointments.set('visit-7731-a', visit('visit-7731-a', 30, { status: 'cancelled' }));
    await world.pass();
    expect((await world.tenant.links.readSome('doctor', ['visit-7731-a'])).size).toBe(0);
    for (const operations of Object.values(world.asked)) operations.length = 0;
    const { targets, upcoming } = await forget(world);
    expect(world.asked.doctor?.map(({ recordId }) => recordId).sort()).toEqual([
      'visit-7731-a',
      'visit-7731-b',
      'visit-7731-c',
    ]);
    expect([targets[0]?.found, upcoming]).toEqual([2, 1]);
  });

  test('is erased where the target burnt a name and took another', async () => {
    const world = openForgetWorld(redis.connect());
    world.calendar.burnsKeys = true;
    await world.pass();
    world.clinic.appointments.set('visit-7731-a', visit('visit-7731-a', 30, { status: 'cancelled' }));
    await world.pass();
    world.clinic.appointments.set('visit-7731-a', visit('visit-7731-a', 30));
    await world.pass();
    const link = (await world.tenant.links.readSome('doctor', ['visit-7731-a'])).get('visit-7731-a');
    expect(link?.idAttempt).toBe(1);
    world.clock.now += 30 * DAY_MS;
    await world.pass();
    await forget(world);
    expect(world.calendar.objects()).toHaveLength(2);
  });

  test('is told by the CRM where the clinic has no such patient any more', async () => {
    const world = await synced();
    const { clinic } = world;
    clinic.patientList.splice(0, 1);
    for (const id of [...clinic.appointments.keys()]) if (id.includes('7731')) clinic.appointments.delete(id);
    clinic.invoiceList.splice(0, 1);
    const { targets, warnings: notes } = await forget(world);
    expect(targets.map(({ target, found, erased }) => [target, found, erased])).toEqual([
      // The CRM tells which appointments were the patient's, and so the calendar's are known.
      ['doctor', 3, 3],
      ['contacts', 1, 1],
      ['visits', 3, 3],
      ['bills', 1, 1],
    ]);
    expect(notes).toContain('clinic-has-no-patient');
  });

  test('is told by the address in a reminder, unless the appointment is somebody else’s by now', async () => {
    const world = await synced();
    await ring(world);
    expect(world.gateway.delivered.map(({ appointment }) => appointment.id).sort()).toEqual([
      'visit-7731-a',
      'visit-7731-b',
      'visit-8842-a',
    ]);
    world.clinic.appointments.set('visit-7731-a', { ...ofOther('visit-7731-a', 30), id: 'visit-7731-a' });
    await world.pass();
    const { targets, state } = await forget(world);
    expect(targets[0]).toMatchObject({ target: 'doctor', found: 2, erased: 2 });
    expect(state.answerLinks).toBe(2);
    const kept = await world.tenant.reminders?.ledger.ofAppointment('visit-7731-a');
    expect(kept).toHaveLength(1);
  });
});

describe('a target that can’t be reached', () => {
  test('is reported, keeps its work in the outbox, and the next cycles end it without a trace', async () => {
    const world = await synced();
    world.calendar.wholeTargetError = new MirrorError('away', {
      actor: 'remote',
      code: 'server-error',
      retry: 'later',
      retryAfterMs: HOUR_MS,
    });
    const installation = openInstallation({ tenants: [world.again()] });
    const receipt = await forgetPatient(installation, ID, PATIENT, { progress: SILENT, signals: SIGNALS });
    expect(receipt.targets[0]).toMatchObject({ found: 3, erased: 0, waiting: 3, failed: 0, failure: 'server-error' });
    expect(receipt.warnings).toEqual(expect.arrayContaining(['target-not-searched', 'erasures-wait']));
    expect(installation.pulled).toEqual([ID]);
    expect(counts(world)).toEqual([5, 1, 2, 1]);
    expect(renderReceipt(receipt)).toContain('kept back: server-error');
    world.calendar.wholeTargetError = null;
    world.clock.now += 2 * HOUR_MS;
    await world.pass();
    expect(counts(world)).toEqual([2, 1, 2, 1]);
    expect(await world.tracesInRedis()).toEqual([]);
    expect((await forget(world)).targets[0]).toMatchObject({ found: 0, waiting: 0, failure: null });
  });

  test('has what it refuses counted as failed, and no cycle gives it up although its time has passed', async () => {
    const world = await synced();
    world.calendar.fault = ({ recordId }) => (recordId === 'visit-7731-c' ? 'refused' : null);
    expect((await forget(world)).targets[0]).toMatchObject({ found: 3, erased: 2, waiting: 0, failed: 1 });
    world.clock.now += 30 * DAY_MS;
    await world.pass();
    expect(await world.tenant.outbox.pendingOf('doctor', 'visit-7731-c')).toMatchObject({ reason: 'forgotten' });
    world.calendar.fault = () => null;
    world.clock.now += 2 * DAY_MS;
    await world.pass();
    expect(world.calendar.objects()).toHaveLength(2);
  });

  test('is worked on although it is paused', async () => {
    const world = await synced();
    const doctor = targetOf(world.tenant);
    doctor.configuration = { ...doctor.configuration, paused: true };
    expect((await forget(world)).targets[0]).toMatchObject({ found: 3, erased: 3 });
  });

  test('is worked on by the daemon although it is paused, is told meanwhile, and gets nothing else', async () => {
    const world = await synced();
    const doctor = targetOf(world.tenant);
    world.clinic.appointments.set('visit-8842-c', ofOther('visit-8842-c', 33));
    await pull(world.tenant);
    doctor.configuration = { ...doctor.configuration, paused: true };
    world.calendar.wholeTargetError = new MirrorError('away', {
      ...{ actor: 'remote', code: 'server-error', retry: 'later', retryAfterMs: HOUR_MS },
    });
    expect((await forget(world)).targets[0]).toMatchObject({ waiting: 3 });
    const told = async () => (await status(world.installation)).problems.filter(({ code }) => code === 'erasures-wait');
    expect(await told()).toMatchObject([{ subject: 'target doctor', needs: 'time', waiting: 3 }]);
    world.calendar.wholeTargetError = null;
    world.clock.now += 2 * HOUR_MS;
    const woken: unknown[] = [];
    const composition = {
      configuration: { unchecked: new Set() },
      installation: { tenants: new Map([[ID, world.tenant]]) },
      queues: { wake: async (...asked: unknown[]) => void woken.push(asked) },
      whileOpen: (_: string, work: () => Promise<void>) => work(),
    };
    const { push } = jobHandlers(composition as never);
    await push({ tenant: ID, target: 'doctor' }, SIGNALS as never);
    expect(counts(world)[0]).toBe(2);
    expect(await told()).toEqual([]);
    expect((await world.tenant.outbox.counts('doctor')).pending).toBe(1);
    const { operations } = world.calendar.calls;
    await push({ tenant: ID, target: 'doctor' }, SIGNALS as never);
    expect(world.calendar.calls.operations).toBe(operations);
  });

  describe.each([false, true])('whose record is not as we wrote it (paused: %s)', (paused) => {
    async function forged(): Promise<ForgetWorld> {
      const world = await synced();
      world.clock.now += 30 * DAY_MS;
      await world.pass();
      expect((await world.tenant.links.read('doctor')).size).toBe(0);
      const doctor = targetOf(world.tenant);
      doctor.configuration = { ...doctor.configuration, paused };
      const place = keys.target(ID, 'doctor');
      await world.connection.hdel(place, 'proof');
      await world.connection.hset(place, { container: 'calendar-1' });
      return world;
    }

    test('is searched, and what no link tells of is erased', async () => {
      const world = await forged();
      const { targets, warnings: notes } = await forget(world);
      expect(targets[0]).toMatchObject({ found: 3, erased: 3 });
      expect(notes).not.toContain('target-not-searched');
      expect(world.calendar.objects()).toHaveLength(2);
    });

    test('is told while it is away, and its erasures wait', async () => {
      const world = await forged();
      if (!paused) await world.tenant.targetStore.invalidate('doctor');
      world.calendar.wholeTargetError = new MirrorError('away', {
        actor: 'remote',
        code: 'server-error',
        retry: 'later',
        retryAfterMs: HOUR_MS,
      });
      const { targets, warnings: notes } = await forget(world);
      expect(targets[0]).toMatchObject({ waiting: 3, failure: 'server-error' });
      expect(notes).toEqual(expect.arrayContaining(['target-not-searched', 'erasures-wait']));
      world.calendar.wholeTargetError = null;
      world.clock.now += DAY_MS;
      expect((await forget(world)).targets[0]).toMatchObject({ waiting: 0, failed: 0 });
      expect(world.calendar.objects()).toHaveLength(2);
    });
  });

  test('that nothing was ever written to is asked nothing', async () => {
    const world = openForgetWorld(redis.connect());
    const { targets } = await forget(world);
    expect(targets.map(({ found }) => found)).toEqual([0, 0, 0, 0]);
    expect(MODELS(world).map(([, { calls }]) => calls.prepare)).toEqual([0, 0, 0, 0]);
  });
});

describe('what is under way meanwhile', () => {
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

  test('an appointment that is booked while the clinic is read is forgotten as well', async () => {
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

test('a command that dies at any place, and a daemon that goes on after it, leave nothing that a second one does not end', async () => {
  const connection = redis.connect();
  let died = 0;
  // Every ninth command of some 200, the last one carried out every other time.
  for (let commandsLeft = 5; commandsLeft < 400; commandsLeft += 9) {
    await connection.flushall();
    const world = openForgetWorld(connection);
    await world.pass();
    await ring(world);
    const tenant = world.again({ redis: crashingRedis(connection, commandsLeft, commandsLeft % 2 === 0) });
    const first = await forget(world, tenant).catch(() => null);
    if (first === null) died += 1;
    const leases = await connection.keys('cm:{studio-rossi}:lease:*');
    if (leases.length > 0) await connection.del(...leases);
    await world.pass();
    const second = await forget(world);
    expect(counts(world), `after ${commandsLeft} commands`).toEqual([2, 1, 2, 1]);
    expect(second.targets.every(({ waiting, failed }) => waiting + failed === 0)).toBe(true);
    expect(await world.tracesInRedis(), `after ${commandsLeft} commands`).toEqual([]);
    if (first !== null) break;
  }
  expect(died).toBeGreaterThan(5);
});

/** The command waits for the lane, or is through. */
async function isLooking({ connection }: ForgetWorld): Promise<boolean> {
  return (await connection.exists('cm:{studio-rossi}:lease:plan')) === 1;
}

describe('a look before', () => {
  test('counts what would go, and writes nothing', async () => {
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
    expect(text.replaceAll('\n', ' ')).toContain('2 appointments to come leave the calendars');
    for (const word of TELLING) expect(text).not.toContain(word);
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(PLAIN_COLUMNS);
  });

  test('tells of a login that may not read patients or invoices', async () => {
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
