import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { logIn, runCli } from '../../demo/daemon.ts';
import type { World } from '../../demo/world.ts';
import { listCalendars } from './calendars.ts';
import { compareAll, isExact, openScene, runOneCycle, type Scene, type Totals, unsettled } from './scene.ts';
import { trafficOf } from './traffic.ts';

/** How the logins come back after the state was lost. */
export type Return = 'restored-from-backup' | 'logged-in-again';

/** What the loss of all state came to. */
export interface FlushRun {
  logins: Return;
  /** Creations that the daemon asked for, counted on the wire. */
  creates: number;
  writes: number;
  /** Events that the targets hold now and did not before, by the targets' own lists; and the other way round. */
  appeared: number;
  disappeared: number;
  recoverySeconds: number;
  exitCode: number | null;
  unsettled: string[];
  totals: Totals;
  ok: boolean;
}

/** Both ways together. */
export interface FlushResult {
  runs: FlushRun[];
  ok: boolean;
}

/** Loses the whole state after a sync, twice; the next cycle must find everything again and write nothing. */
export async function runFlushes(say: (text: string) => void): Promise<FlushResult> {
  say('FLUSHALL: starting the world, first sync …');
  const scene = await openScene({ appointmentsPerTenant: 600, agendasPerTenant: 3, say });
  try {
    await runOneCycle(scene);
    const runs: FlushRun[] = [];
    for (const logins of ['restored-from-backup', 'logged-in-again'] as const) {
      const run = await flushOnce(scene, logins);
      say(`  ${logins}: ${run.creates} creates, ${run.writes} writes, ${run.ok ? 'exact' : 'WRONG'}`);
      runs.push(run);
    }
    return { runs, ok: runs.every(({ ok }) => ok) };
  } finally {
    await scene.close();
  }
}

async function flushOnce(scene: Scene, logins: Return): Promise<FlushRun> {
  const { world, redis } = scene;
  const before = await allEvents(world);
  const backups = logins === 'restored-from-backup' ? await backUp(world) : null;
  await redis.flushall();
  if (backups === null) for (const login of world.logins) await logIn(world, login);
  else await restore(world, backups);
  for (const { proxy } of world.targets) proxy.forget();
  const { seconds, view, exitCode } = await runOneCycle(scene);
  const after = await allEvents(world);
  const traffic = world.targets.map(trafficOf);
  const totals = await compareAll(world);
  const run = {
    logins,
    creates: traffic.reduce((sum, { creates }) => sum + creates, 0),
    writes: traffic.reduce((sum, { writes }) => sum + writes, 0),
    appeared: [...after].filter((id) => !before.has(id)).length,
    disappeared: [...before].filter((id) => !after.has(id)).length,
    recoverySeconds: seconds,
    exitCode,
    unsettled: unsettled(view),
    totals,
  };
  const untouched = run.creates + run.writes + run.appeared + run.disappeared === 0;
  return { ...run, ok: untouched && isExact(totals) && run.unsettled.length === 0 };
}

async function allEvents(world: World): Promise<Set<string>> {
  const ids = new Set<string>();
  for (const target of world.targets) {
    for (const calendar of await listCalendars(world, target)) {
      for (const id of await calendar.eventIds()) ids.add(`${target.tenant}/${target.target} ${id}`);
    }
  }
  return ids;
}

async function backUp(world: World): Promise<Map<string, string>> {
  const backups = new Map<string, string>();
  for (const tenant of world.clinicTenants.keys()) {
    backups.set(tenant, (await succeed(world, ['credentials', 'backup', tenant])).trim());
  }
  return backups;
}

async function restore(world: World, backups: ReadonlyMap<string, string>): Promise<void> {
  for (const [tenant, backup] of backups) {
    const file = join(world.dir, `${tenant}.backup`);
    await writeFile(file, backup);
    await succeed(world, ['credentials', 'restore', tenant, file]);
  }
}

async function succeed(world: World, args: readonly string[]): Promise<string> {
  const { code, out, err } = await runCli(world, args);
  if (code !== 0) throw new Error(`${args.slice(0, 3).join(' ')} ended with ${code}: ${err}`);
  return out;
}
