import type { Scene } from '../run/scene.ts';
import type { ClinicDesk } from '../world/tenants.ts';
import { type Fault, fault } from './fault.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const SECOND_MS = 1_000;

/** The desk that a script numbers. */
export function deskOf({ world }: Scene, tenant: number): ClinicDesk {
  const desks = [...world.tenants.values()];
  return desks[tenant % desks.length] as ClinicDesk;
}

/** What is peculiar about single appointments. */
export const RECORD_FAULTS: Readonly<Record<string, Fault>> = {
  flap: fault({
    group: 'records',
    weight: 2,
    draw: (draw) => ({
      tenant: draw.upTo(2),
      first: draw.upTo(20),
      many: draw.between(1, 5),
      rounds: draw.between(1, 3),
      hard: draw.chance(0.5),
      awaits: draw.between(10, 120),
    }),
    async play(scene, { tenant, first, many, rounds, hard, awaits }) {
      const desk = deskOf(scene, tenant);
      const ahead = desk.ahead();
      const some = Array.from({ length: Math.min(many, ahead.length) }, (_, i) => ahead[(first + i) % ahead.length]);
      const set = (away: boolean) =>
        desk.do((clinic) => {
          for (const { id = '' } of some.map((one) => one ?? { id: '' })) {
            if (hard) clinic.plant(desk.tenantId, 'appointments', id, { deletedAt: away ? clinic.clock() : null });
            else clinic.setStatus(desk.tenantId, id, away ? 'Cancelled' : 'Booked');
          }
        });
      const flapping = (async () => {
        for (let round = 0; round < rounds; round += 1) {
          set(true);
          await scene.wake();
          await scene.passed(awaits);
          set(false);
          await scene.wake();
          await scene.passed(awaits);
        }
        scene.count('flap');
      })();
      return { lasts: flapping };
    },
  }),
  edge: fault({
    group: 'records',
    draw: (draw) => ({
      tenant: draw.upTo(2),
      agenda: draw.upTo(3),
      days: draw.pick([12, 30, 75]),
      beganDaysAgo: draw.pick([2, 9, 13]),
      cancelled: draw.chance(0.6),
    }),
    async play(scene, { tenant, agenda, days, beganDaysAgo, cancelled }) {
      const desk = deskOf(scene, tenant);
      const start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - beganDaysAgo * DAY_MS;
      const { id } = desk.book(desk.agendaIds[agenda] ?? '', start, start + days * DAY_MS);
      scene.count('edge');
      await scene.wake();
      return {
        cease() {
          if (cancelled) desk.do((clinic) => clinic.cancel(desk.tenantId, id));
        },
      };
    },
  }),
  'comes-back': fault({
    group: 'records',
    draw: (draw) => ({ tenant: draw.upTo(2), which: draw.upTo(20), hard: draw.chance(0.5) }),
    async play(scene, { tenant, which, hard }) {
      const desk = deskOf(scene, tenant);
      const ahead = desk.ahead();
      const { id } = ahead[which % ahead.length] ?? { id: '' };
      desk.do((clinic) => (hard ? clinic.remove(desk.tenantId, id, 'hard') : clinic.cancel(desk.tenantId, id)));
      scene.count('comes-back');
      scene.atEnd(() =>
        desk.do((clinic) =>
          hard
            ? clinic.plant(desk.tenantId, 'appointments', id, { deletedAt: null })
            : clinic.setStatus(desk.tenantId, id, 'Booked'),
        ),
      );
      return {};
    },
  }),
  // A waiting list: the appointment exists without a start, and may get one again.
  'no-start': fault({
    group: 'records',
    draw: (draw) => ({
      tenant: draw.upTo(2),
      which: draw.upTo(20),
      returns: draw.pick(['soon', 'end', 'never']),
      moved: draw.chance(0.5),
    }),
    async play(scene, { tenant, which, returns, moved }) {
      const desk = deskOf(scene, tenant);
      const ahead = desk.ahead();
      const one = ahead[which % Math.max(1, ahead.length)];
      if (one === undefined) return {};
      const { id, start, end } = one;
      desk.do((clinic) => clinic.putOnWaitingList(desk.tenantId, id, true));
      scene.count('no-start');
      await scene.wake();
      const giveStart = () =>
        desk.do((clinic) => {
          if (moved) clinic.move(desk.tenantId, id, { start: start + DAY_MS, end: end + DAY_MS });
          clinic.putOnWaitingList(desk.tenantId, id, false);
        });
      if (returns === 'end') scene.atEnd(giveStart);
      return { ...(returns === 'soon' ? { cease: giveStart } : {}) };
    },
  }),
  reminder: fault({
    group: 'records',
    draw: (draw) => ({ tenant: draw.upTo(2), agenda: draw.upTo(3), aheadMs: draw.between(1_500, 7_000) }),
    async play(scene, { tenant, agenda, aheadMs }) {
      const desk = deskOf(scene, tenant);
      desk.book(desk.agendaIds[agenda] ?? '', Math.ceil((Date.now() + HOUR_MS + aheadMs) / SECOND_MS) * SECOND_MS);
      scene.count('reminder');
      await scene.wake();
      return { lasts: scene.after(aheadMs, () => {}) };
    },
  }),
};
