import { beforeEach, describe, expect, test } from 'vitest';
import { toJson } from '../../../src/core/model/schemas.ts';
import { exportPatient } from '../../../src/features/forget/export.ts';
import { dumpRedis } from '../../e2e/support/dump-redis.ts';
import { openInstallation } from '../../operator/control/open-installation.ts';
import { useRedis } from '../../support/redis.ts';
import { NEVER } from '../../tenant/cycle.ts';
import { type ForgetWorld, forget, ID, leaveTraces, OTHER, openSynced, PATIENT, SILENT } from './forget-world.ts';

const redis = useRedis();
let world: ForgetWorld;

beforeEach(async () => {
  world = await openSynced(redis.connect());
});

const take = (installation = world.installation) =>
  exportPatient(installation, ID, PATIENT, { progress: SILENT, signal: NEVER });
type Named = { recordId: string };
const idsOf = (list: readonly Named[]) => list.map(({ recordId }) => recordId).sort();

describe('an export of a patient', () => {
  test('names each object of each target, the account and the container, and nothing of another patient', async () => {
    const account = { connection: 'calendar', account: 'doctor@example.org', obtainedAt: 7 };
    const { connection } = world.tenant.targets.get('doctor')?.configuration ?? { connection: '' };
    const installation = openInstallation({
      tenants: [world.tenant],
      connections: [{ ...account, connection } as never],
    });
    const found = await take(installation);
    expect(found.targets.map(({ target }) => target)).toEqual(['doctor', 'contacts', 'visits', 'bills']);
    const [doctor, contacts, , bills] = found.targets;
    expect(doctor).toMatchObject({ connection, account: 'doctor@example.org', connectedAt: 7 });
    expect(doctor?.container).toEqual(expect.any(String));
    expect(doctor?.sends).toEqual(['time', 'title: full']);
    expect(contacts?.sends).toEqual(['lastname', 'email', 'phone']);
    expect(idsOf(doctor?.objects ?? [])).toEqual(['visit-7731-a', 'visit-7731-b', 'visit-7731-c']);
    expect([idsOf(contacts?.objects ?? []), idsOf(bills?.objects ?? [])]).toEqual([[PATIENT], ['bill-7731']]);
    const places = new Set(world.calendar.objects().map(({ key }) => key));
    expect(doctor?.objects.every(({ remoteId }) => places.has(remoteId))).toBe(true);
    expect(JSON.stringify(found)).not.toMatch(/8842|Neri/);
  });

  test('contains queued content in clear, changes, pins, holds, messages and wrong information, each with its end', async () => {
    await leaveTraces(world);
    const before = await dumpRedis(world.connection);
    const found = await take();
    const doctor = found.targets.find(({ target }) => target === 'doctor');
    expect(doctor?.queued).toMatchObject([{ recordId: 'visit-7731-b', content: { title: 'Ottavia Zamboni' } }]);
    const object = doctor?.objects.find(({ recordId }) => recordId === 'visit-7731-a');
    expect(object?.changes[0]).toMatchObject({ effect: 'updated', expiresAt: expect.any(Number) });
    expect(object?.pinnedUntil).toBeGreaterThan(world.clock.now);
    expect(found.holds).toMatchObject([{ target: 'doctor', record: 'visit-7731-a', expiresAt: expect.any(Number) }]);
    expect(found.messages.map(({ state }) => state)).toContain('sent');
    expect(found.messages.every(({ expiresAt }) => expiresAt > world.clock.now)).toBe(true);
    expect(found.answerLinks).toBe(2);
    expect(found.wrongInformation).toMatchObject([{ appointmentId: 'visit-7731-a', channel: 'text' }]);
    expect(toJson(found)).not.toMatch(/8842|patientProof|:\s*1[78]\d{11}\b/);
    expect(await dumpRedis(world.connection)).toEqual(before);
  });

  test('contains replies and opt-outs of the contacts of the patient, not of others', async () => {
    const { reminders } = world.tenant;
    const at = world.clock.now;
    for (const [message, phone] of [
      ['SM1', '+393337731773'],
      ['SM2', '+393338842884'],
    ] as const) {
      const recipient = reminders?.optOuts.hashOf('phone', phone) ?? '';
      await reminders?.replies.add({ phone, text: message, at, message, recipient });
      await reminders?.optOuts.add(recipient, { source: 'reply', at });
    }
    const found = await take();
    expect(found.replies).toMatchObject([{ phone: '+393337731773', text: 'SM1', at }]);
    expect(found.optOuts).toEqual([{ kind: 'phone', source: 'reply', at, expiresAt: null }]);
  });

  test('of a forgotten patient is empty and says so', async () => {
    await forget(world);
    const found = await take();
    expect(found).toMatchObject({ isForgotten: true, targets: [], messages: [], answerLinks: 0, holds: [] });
    expect(JSON.stringify(found)).not.toContain(OTHER);
  });
});
