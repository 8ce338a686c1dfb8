import { expect, test } from 'vitest';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { FAMILIES, RADICALE_USERS } from './support/small-targets.ts';
import { expectExact, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const radicale = useRadicale({ users: RADICALE_USERS });
const HOUR_MS = 3_600_000;

test('appointments around both changes of the clocks arrive at the right instants in every family', async () => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    davServer: radicale(),
    targets: FAMILIES,
    appointments: 20,
    clinic: { allowDoubleBooking: true },
    target: { window: { pastDays: 10, futureDays: 500 } },
  });
  const clinicId = world.tenants[0]?.clinicId ?? '';
  const [autumn, spring] = [nextLastSunday(9), nextLastSunday(2)];
  const timed = [
    [autumn + 0.5 * HOUR_MS, autumn + HOUR_MS], // the first 02:30 to the second 02:00
    [autumn + 1.5 * HOUR_MS, autumn + 2 * HOUR_MS], // the second 02:30 to 03:00
    [autumn - 3 * HOUR_MS, autumn + 6 * HOUR_MS], // the night across the longer night
    [autumn + 8 * HOUR_MS, autumn + 8.5 * HOUR_MS], // 09:00 on the day of the change
    [spring + 0.5 * HOUR_MS, spring + 1.5 * HOUR_MS], // 01:30 to 03:30 over the hour that isn't
    [spring + 7 * HOUR_MS, spring + 7.5 * HOUR_MS], // 09:00 on the day of the change
  ] as const;
  for (const agendaId of world.tenants[0]?.agendaIds ?? []) {
    for (const [start, end] of timed) world.clinic.book(clinicId, { agendaId, start, end });
    // Whole days: that of each change, 25 and 23 hours long, as Rome has them.
    const whole = { agendaId, allDay: true, patientId: null };
    world.clinic.book(clinicId, { ...whole, start: autumn - 2 * HOUR_MS, end: autumn + 23 * HOUR_MS });
    world.clinic.book(clinicId, { ...whole, start: spring - HOUR_MS, end: spring + 22 * HOUR_MS });
  }

  await world.cycle();

  await expectExact(world);
  const days = [autumn, spring].map((at) => ({ startAt: at, endAt: at + 24 * HOUR_MS }));
  for (const target of world.targets) {
    const events = await target.read();
    for (const [startAt, endAt] of timed) expect(events, target.target).toContainEqual({ startAt, endAt });
    for (const day of days) expect(events, target.target).toContainEqual(day);
  }
});

/** Midnight UTC of the next last Sunday of a month (0-11), an hour before the clocks of Europe change, a week ahead at least. */
function nextLastSunday(month: number): number {
  const now = Date.now();
  for (let year = new Date(now).getUTCFullYear(); ; year += 1) {
    const lastDay = new Date(Date.UTC(year, month + 1, 0));
    const at = Date.UTC(year, month, lastDay.getUTCDate() - lastDay.getUTCDay());
    if (at > now + 7 * 24 * HOUR_MS) return at;
  }
}
