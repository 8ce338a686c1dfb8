import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type DaemonProcess, startDaemon } from '../../demo/daemon.ts';
import { startSmsSandbox } from '../../sandbox/sms/index.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/core/model/time.ts';
import { freePort } from '../../tools/free-port.ts';
import { useRedis } from '../support/redis.ts';
import { useShiftedTime } from '../support/shifted-time.ts';
import { waitFor } from '../support/wait-for.ts';
import { startSmallWorld } from './support/small-world.ts';

const redis = useRedis();
/** From the bookings to the reminders, a day before the appointments. */
const AHEAD_MS = 10 * MINUTE_MS;

/** A clinic that reminds by SMS a day before, its daemon as a process, and a patient for each appointment. */
async function remindingDaemon(corrections = {}) {
  let daemon: DaemonProcess | undefined;
  const time = useShiftedTime(redis, (offsetMs) => {
    writeFileSync(join(world.dir, 'clock'), `${offsetMs}`);
    daemon?.process.kill('SIGUSR2');
  });
  const [sms, port] = await Promise.all([startSmsSandbox(), freePort()]);
  onTestFinished(() => sms.close());
  const base = `http://127.0.0.1:${port}`;
  const settings = {
    accountSid: sms.accountSid,
    from: sms.from,
    authToken: { env: 'TENANT_CLINIC_1__SMS_TOKEN' },
    server: sms.url,
  };
  const world = await startSmallWorld({
    redisUrl: redis.url,
    appointments: 12,
    clinic: { agendas: 2, allowDoubleBooking: true },
    target: { agendas: 'all' },
    settings: { http: { port, publicUrl: base } },
    reminders: {
      quietHours: { from: '00:00', to: '00:00' },
      minimumLeadMinutes: 0,
      // A cancellation would wait for a new appointment.
      rescheduleWithinMinutes: 0,
      channels: { text: { kind: 'sms', settings } },
      rules: { 'day-before': { before: 'P1D', channels: ['text'], corrections } },
    },
  });
  onTestFinished(() => world.close());
  const clock = new URL('../support/shifted-daemon.ts', import.meta.url).href;
  Object.assign(world.env, {
    TENANT_CLINIC_1__SMS_TOKEN: sms.authToken,
    CLOCK_OFFSET_FILE: join(world.dir, 'clock'),
    NODE_OPTIONS: `${process.env.NODE_OPTIONS} --import=${clock}`,
  });
  await world.logIn();
  const clinicId = world.tenants[0]?.clinicId ?? '';
  const patients = [...new Set([...world.clinic.appointments(clinicId)].flatMap(({ patientId }) => patientId ?? []))];
  const started = startDaemon(world);
  daemon = started;
  onTestFinished(() => started.kill());
  await waitFor(async () => (await fetch(base)).status === 404, { what: 'the daemon to listen', intervalMs: 100 });
  return { world, time, sms, clinicId, patients };
}

test('the last message that a patient got is true after each move and each cancellation', async () => {
  const { world, time, sms, clinicId, patients } = await remindingDaemon();
  const start = Date.now() + DAY_MS + AHEAD_MS;
  const [back, inside, gone] = patients.slice(0, 3).map((patientId, index) => {
    const phone = `+39333123456${index}`;
    world.clinic.plant(clinicId, 'patients', patientId, { mobilePhone: phone, phone });
    return { phone, id: world.clinic.book(clinicId, { start: start + index * SECOND_MS, patientId }).id };
  }) as { phone: string; id: string }[];
  if (back === undefined || inside === undefined || gone === undefined) throw new Error('too few patients');
  const texts = ({ phone }: { phone: string }) => sms.messages(phone).map(({ body }) => body);
  const pull = () => world.opened().installation.pullNow('clinic-1');
  const ledger = world.opened().installation.tenants.get('clinic-1')?.reminders?.ledger;
  const arrive = (count: number, of: { phone: string }) =>
    waitFor(() => texts(of).length === count, { what: `message ${count}`, intervalMs: 200 });

  await pull();
  await waitFor(async () => (await ledger?.openCount()) === 3, { what: 'the reminders to be planned' });
  await time.leap(AHEAD_MS + 5 * SECOND_MS);
  for (const one of [back, inside, gone]) await arrive(1, one);

  world.clinic.move(clinicId, back.id, { start: start + HOUR_MS });
  world.clinic.move(clinicId, inside.id, { start: start - HOUR_MS });
  world.clinic.cancel(clinicId, gone.id);
  await pull();
  await arrive(2, inside);
  await arrive(2, gone);
  // The reminder of the new time comes an hour later.
  await waitFor(async () => (await ledger?.openCount()) === 1, { what: 'the reminder of the new time to be planned' });
  await time.leap(HOUR_MS);
  await arrive(2, back);
  world.clinic.move(clinicId, back.id, { start });
  await pull();
  await arrive(3, back);

  const clockOf = (at: number) =>
    new Intl.DateTimeFormat('it', { hour: '2-digit', minute: '2-digit', timeZone: 'Europe/Rome' }).format(at);
  expect(texts(back)[1]).toContain(clockOf(start + HOUR_MS));
  expect(texts(back)[2]).toMatch(new RegExp(`${clockOf(start + HOUR_MS)}.*${clockOf(start)}`, 's'));
  // It began a second after the first one, perhaps in the next minute.
  const insideFrom = clockOf(start + SECOND_MS);
  expect(texts(inside)[1]).toMatch(new RegExp(`${insideFrom}.*${clockOf(start - HOUR_MS)}`, 's'));
  expect(texts(gone)[1]).toMatch(/cancelled|annullato/);
  await pull();
  await waitFor(async () => (await ledger?.wrong(Date.now()))?.length === 0, {
    what: 'the list of wrong reminders to be empty',
  });
  expect((await world.cli('status', 'clinic-1')).out).not.toContain('misinformed');
  expect(sms.messages()).toHaveLength(7);
});

test('if the rule forbids corrections, status lists the appointments with a wrong reminder', async () => {
  const { world, time, sms, clinicId, patients } = await remindingDaemon({ moved: false, cancelled: false });
  const start = Date.now() + DAY_MS + AHEAD_MS;
  const [moved = '', gone = ''] = patients.slice(0, 2).map((patientId, index) => {
    const phone = `+39333123456${index}`;
    world.clinic.plant(clinicId, 'patients', patientId, { mobilePhone: phone, phone });
    return world.clinic.book(clinicId, { start: start + index * SECOND_MS, patientId }).id;
  });
  const { installation } = world.opened();
  const ledger = installation.tenants.get('clinic-1')?.reminders?.ledger;
  await installation.pullNow('clinic-1');
  await waitFor(async () => (await ledger?.openCount()) === 2, { what: 'the reminders to be planned' });
  await time.leap(AHEAD_MS + 5 * SECOND_MS);
  await waitFor(() => sms.messages().length === 2, { what: 'both reminders', intervalMs: 200 });
  world.clinic.move(clinicId, moved, { start: start - HOUR_MS });
  world.clinic.cancel(clinicId, gone);
  await installation.pullNow('clinic-1');
  await waitFor(async () => (await ledger?.wrong(Date.now()))?.length === 2, { what: 'both to be noted' });
  const { out } = await world.cli('status', 'clinic-1');
  for (const id of [moved, gone]) expect(out).toContain(`appointment ${id}`);
  expect(out).toContain('corrections-off');
  expect(sms.messages()).toHaveLength(2);
});
