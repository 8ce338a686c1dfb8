import type { Scene } from '../run/scene.ts';
import { type Fault, fault } from './fault.ts';
import { deskOf } from './records.ts';

const HOUR_MS = 3_600_000;
const SECOND_MS = 1_000;
/** A reminder is planned, and that is on the disk of Redis, before it is due. */
const PLANNED_AHEAD_MS = 5_000;
const LONGEST_SENDING_MS = 20_000;

/** The state goes back to a moment before a reminder was sent. */
async function playReminderBack(scene: Scene, { tenant, agenda }: { tenant: number; agenda: number }) {
  const { world, operator, pace } = scene;
  const desk = deskOf(scene, tenant);
  const until = async (holds: () => Promise<boolean>, endsAt: number) => {
    while (!(await holds().catch(() => false))) {
      if (Date.now() > endsAt) return false;
      await scene.after(50, () => {});
    }
    return true;
  };
  const waiting = async () =>
    (await operator.status()).tenants.reduce((sum, { reminders }) => sum + (reminders?.waiting ?? 0), 0);
  const before = { waiting: await waiting().catch(() => 0), sent: world.sms.messages().length };
  const dueAt = Math.ceil((Date.now() + PLANNED_AHEAD_MS * pace) / SECOND_MS) * SECOND_MS;
  desk.book(desk.agendaIds[agenda] ?? '', dueAt + HOUR_MS);
  await scene.wake();
  if (!(await until(async () => (await waiting()) > before.waiting, dueAt))) return;
  await world.redis.keepCopy();
  const isSent = async () => world.sms.messages().length > before.sent;
  if (Date.now() >= dueAt || !(await until(isSent, dueAt + LONGEST_SENDING_MS * pace))) return;
  scene.doubt('state-back');
  await world.redis.goBack();
  scene.count('redis-back-reminder');
}

/** What happens to the state at a moment that matters. */
export const STATE_FAULTS: Readonly<Record<string, Fault>> = {
  'redis-back-reminder': fault({
    group: 'redis',
    draw: (draw) => ({ tenant: draw.upTo(2), agenda: draw.upTo(3) }),
    async play(scene, given) {
      return { lasts: playReminderBack(scene, given) };
    },
  }),
};
