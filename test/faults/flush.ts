import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { logIn, runCli } from '../../demo/daemon.ts';
import type { World } from '../../demo/world.ts';
import { listCalendars } from './calendars.ts';
import type { Crm, CrmResults } from './crm/crms.ts';
import { openScene, runOneCycle, type Scene, type Totals } from './scene.ts';
import { crmTrafficOf, trafficOf } from './traffic.ts';

/** How the logins come back after the state was lost. */
export type Return = 'restored-from-backup' | 'logged-in-again';

/** What the loss of all state came to. */
export interface FlushRun {
  logins: Return;
  /** Creations in calendars that the daemon asked for, counted on the wire. */
  creates: number;
  writes: number;
  /** Rows that the daemon wrote to CRMs, counted on the wire. */
  crmWrites: number;
  /** Contacts that have no address since somebody else has it: the daemon may offer each its address once more. */
  withheldAddresses: number;
  /** Events and records that the targets hold now and did not before, by the targets' own lists; and the other way round. */
  appeared: number;
  disappeared: number;
  recoverySeconds: number;
  exitCode: number | null;
  unsettled: string[];
  totals: Totals;
  crm: CrmResults;
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
  const scene = await openScene({ appointmentsPerTenant: 600, agendasPerTenant: 3, crm: true, say });
  try {
    await runOneCycle(scene);
    const runs: FlushRun[] = [];
    for (const logins of ['restored-from-backup', 'logged-in-again'] as const) {
      const run = await flushOnce(scene, logins);
      say(
        `  ${logins}: ${run.creates} creates, ${run.writes} writes, ${run.crmWrites} rows to CRMs, ${run.ok ? 'exact' : 'WRONG'}`,
      );
      runs.push(run);
    }
    return { runs, ok: runs.every(({ ok }) => ok) };
  } finally {
    await scene.close();
  }
}

async function flushOnce(scene: Scene, logins: Return): Promise<FlushRun> {
  const { world, crms, redis } = scene;
  const before = await allIds(scene);
  const backups = logins === 'restored-from-backup' ? await backUp(world) : null;
  await redis.flushall();
  if (backups === null) for (const login of world.logins) await logIn(world, login);
  else await restore(world, backups);
  for (const { proxy } of [...world.targets, ...crms]) proxy.forget();
  const { seconds, exitCode, unsettled, totals, crm, exact } = await runOneCycle(scene);
  const after = await allIds(scene);
  const traffic = world.targets.map(trafficOf);
  const run = {
    logins,
    creates: traffic.reduce((sum, { creates }) => sum + creates, 0),
    writes: traffic.reduce((sum, { writes }) => sum + writes, 0),
    crmWrites: crms.reduce((sum, each) => sum + crmTrafficOf(each), 0),
    withheldAddresses: crms.reduce((sum, each) => sum + withheldAddresses(each, world), 0),
    appeared: [...after].filter((id) => !before.has(id)).length,
    disappeared: [...before].filter((id) => !after.has(id)).length,
    recoverySeconds: seconds,
    exitCode,
    unsettled,
    totals,
    crm,
  };
  const untouched = run.creates + run.writes + run.appeared + run.disappeared === 0;
  return { ...run, ok: untouched && run.crmWrites <= 2 * run.withheldAddresses && exact };
}

/** Contacts of ours without an address whose patients have one. */
function withheldAddresses({ clinicId, holdings }: Crm, { clinic }: World): number {
  const withAddress = new Set(
    [...clinic.patients(clinicId)].flatMap((each) => (each.email === null ? [] : each.lastName)),
  );
  const ours = holdings().contacts.filter(({ isOurs }) => isOurs);
  return ours.filter(({ values }) => values.email === null && withAddress.has(values.lastName ?? '')).length;
}

async function allIds({ world, crms }: Scene): Promise<Set<string>> {
  const ids = new Set<string>();
  for (const target of world.targets) {
    for (const calendar of await listCalendars(world, target)) {
      for (const id of await calendar.eventIds()) ids.add(`${target.tenant}/${target.target} ${id}`);
    }
  }
  for (const { vendor, ourIds } of crms) for (const id of ourIds()) ids.add(`${vendor} ${id}`);
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
