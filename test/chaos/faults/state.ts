import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { loginsInUse, type Scene } from '../run/scene.ts';
import { loneRedis } from '../world/processes.ts';
import { PLANTED } from '../world/tenants.ts';
import { type Fault, fault } from './fault.ts';
import { deskOf } from './records.ts';

const HOUR_MS = 3_600_000;
const SECOND_MS = 1_000;
/** A reminder is planned, and that is on the disk of Redis, before it is due. */
const PLANNED_AHEAD_MS = 5_000;
const LONGEST_SENDING_MS = 20_000;
/** A daemon that is not refused would be at work by then. */
const WRONG_KEY_MS = 2_500;

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
  await loneRedis(world.redis).keepCopy();
  const isSent = async () => world.sms.messages().length > before.sent;
  if (Date.now() >= dueAt || !(await until(isSent, dueAt + LONGEST_SENDING_MS * pace))) return;
  scene.doubt('state-back');
  await loneRedis(world.redis).goBack();
  scene.count('redis-back-reminder');
}

interface Emptied {
  /** The host is lost, with the daemons and their data outside Redis. */
  whole: boolean;
  /** Whether the backup is found, before the daemons run or after a number of awaits; otherwise operators reconnect. */
  backup: boolean;
  early: boolean;
  awaits: number;
}

/** Redis is emptied, and people do what the operator's guide says. */
async function playEmptied(scene: Scene, { whole, backup, early, awaits }: Emptied): Promise<void> {
  const { world, operator } = scene;
  const tenants = [...world.tenants.keys()];
  const backups = await Promise.all(tenants.map(async (tenant) => ({ tenant, text: await operator.backup(tenant) })));
  scene.doubt('state-back');
  // Tokens may be renewed between the backup and the loss; an old one is worth nothing then.
  for (const login of loginsInUse(scene)) scene.revoked.add(login);
  if (whole) {
    await Promise.all(world.daemons.map((daemon) => daemon.kill()));
    await rm(world.dataDirectory, { recursive: true, force: true });
  }
  await loneRedis(world.redis).empty();
  scene.count('redis-emptied');
  const restore = async () => {
    if (backup) for (const { tenant, text } of backups) await operator.restore(tenant, text);
    else for (const login of loginsInUse(scene)) await operator.logIn(login);
    // No patient was forgotten and no one opted out here: without a backup, an operator confirms that.
    if (!backup) for (const tenant of tenants) await operator.acceptLoss(tenant);
  };
  if (early) await restore();
  scene.start();
  await scene.wake();
  await scene.passed(awaits);
  if (!early) await restore();
}

/** Returns whether each tenant has an object in a calendar: before that, the installation belongs to the first key that is used. */
async function isInstalled({ world }: Scene): Promise<boolean> {
  const held = new Set<string>();
  for (const { tenant, read } of world.targets) {
    if ((await read()).some(({ title }) => PLANTED.test(title))) held.add(tenant);
  }
  return held.size === world.tenants.size;
}

/** Starts a daemon with another identity key, which must have no effect. */
async function playWrongKey(
  scene: Scene,
  { daemon, emptied, awaits }: { daemon: number; emptied: boolean; awaits: number },
) {
  const { world, operator } = scene;
  if (!(await isInstalled(scene))) return;
  const place = world.daemons[daemon % world.daemons.length];
  if (emptied) {
    await Promise.all(world.daemons.map((each) => each.kill()));
    scene.doubt('state-back');
    await loneRedis(world.redis).empty();
  } else await place?.stop();
  place?.start({ CLINIC_MIRROR_IDENTITY_KEY: randomBytes(32).toString('base64') });
  scene.count('wrong-identity-key');
  await scene.unlessQuiet(scene.after(WRONG_KEY_MS * scene.pace, () => scene.passed(awaits)));
  await place?.kill();
  if (emptied) for (const login of loginsInUse(scene)) await operator.logIn(login);
  scene.start();
}

/** What happens to the state at a moment that matters. */
export const STATE_FAULTS: Readonly<Record<string, Fault>> = {
  'redis-emptied': fault({
    ...{ group: 'redis', isOfLoneRedis: true },
    draw: (draw) => ({
      ...{ whole: draw.chance(0.4), backup: draw.chance(0.6), early: draw.chance(0.5) },
      awaits: draw.between(20, 300),
    }),
    async play(scene, given) {
      return { lasts: playEmptied(scene, given) };
    },
  }),
  'wrong-identity-key': fault({
    ...{ group: 'config', isOfLoneRedis: true },
    draw: (draw) => ({ daemon: draw.upTo(4), emptied: draw.chance(0.4), awaits: draw.between(20, 150) }),
    async play(scene, given) {
      return { lasts: playWrongKey(scene, given) };
    },
  }),
  'redis-back-reminder': fault({
    ...{ group: 'redis', isOfLoneRedis: true },
    draw: (draw) => ({ tenant: draw.upTo(2), agenda: draw.upTo(3) }),
    async play(scene, given) {
      return { lasts: playReminderBack(scene, given) };
    },
  }),
};
