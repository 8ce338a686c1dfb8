import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { parse, stringify } from 'yaml';
import { type Comparison, compare } from '../../demo/compare.ts';
import { type DaemonProcess, logIn, startDaemon } from '../../demo/daemon.ts';
import { openWatch, type Watch } from '../../demo/watch.ts';
import { type DemoTarget, startWorld, type World } from '../../demo/world.ts';
import type { Status } from '../../src/control/status.ts';
import { listCalendars } from './calendars.ts';
import { addCrms, areExact, type Crm, type CrmResults, judgeAll } from './crm/crms.ts';
import { untilInSync } from './until-in-sync.ts';

/** A world with everybody logged in, the daemon not yet started. */
export interface Scene {
  world: World;
  /** None unless they are asked for. */
  crms: readonly Crm[];
  watch: Watch;
  redis: Redis;
  close(): Promise<void>;
}

/** How large a scene is. */
export interface SceneOptions {
  appointmentsPerTenant: number;
  agendasPerTenant: number;
  /** Each tenant also has a CRM. */
  crm?: boolean;
  say: (text: string) => void;
}

/** What the targets of one kind came to. */
export interface KindTotals extends Comparison {
  targets: number;
  /** Calendars of ours beyond the one that each target needs. */
  extraCalendars: number;
}

/** Totals by kind of calendar. */
export type Totals = Record<DemoTarget['connector'], KindTotals>;

/** A cycle in which nothing was in the daemon's way, and how both sides stand after it. */
export interface CycleResult {
  seconds: number;
  exitCode: number | null;
  /** Targets that are not in sync, with their state. */
  unsettled: string[];
  totals: Totals;
  crm: CrmResults;
  /** Whether the daemon ended as it should and all targets show exactly what the clinic shows. */
  exact: boolean;
}

/** A lease that a killed process held ends after this. */
const LEASE_TTL_MS = 2_000;
/** Shortest that the settings allow; the cycles that count begin with the daemon's start. */
const PULL_EVERY_SECONDS = 10;
export const SYNC_TIMEOUT_MS = 120_000;

/** Starts servers, writes the configuration and logs everybody in. */
export async function openScene({ say, crm = false, ...size }: SceneOptions): Promise<Scene> {
  const world = await startWorld({
    ...size,
    patientsPerTenant: 150,
    pullEverySeconds: PULL_EVERY_SECONDS,
    leaseTtlMs: LEASE_TTL_MS,
    notice: say,
  });
  const crms = crm ? await addCrms(world) : [];
  for (const tenant of world.clinicTenants.keys()) await editTenant(world, tenant, withoutGuard);
  for (const login of world.logins) await logIn(world, login);
  const watch = openWatch(world);
  const redis = new Redis(world.redis.url);
  return {
    world,
    crms,
    watch,
    redis,
    async close() {
      redis.disconnect();
      await watch.close();
      await Promise.all(crms.map((each) => each.close()));
      await world.close();
    },
  };
}

interface TenantFile {
  targets: Record<string, { connector: string; guard?: object; paused?: boolean }>;
}

/** Changes a tenant's file; a daemon that starts later reads it so. */
export async function editTenant(world: World, tenant: string, edit: (file: TenantFile) => void): Promise<void> {
  const path = join(world.configDir, 'tenants', `${tenant}.yaml`);
  const file = parse(await readFile(path, 'utf8')) as TenantFile;
  edit(file);
  await writeFile(path, stringify(file));
}

/** Many runs within an hour remove more than a clinic does in one; what the guard keeps back is tested elsewhere. */
function withoutGuard(file: TenantFile): void {
  for (const target of Object.values(file.targets)) {
    target.guard = { vanished: { share: 1, count: 1_000_000 }, cancelled: { share: 1, count: 1_000_000 } };
  }
}

/** Starts the daemon, waits until every target shows what the clinic shows since then, stops it, and compares both sides. */
export async function runOneCycle(scene: Scene): Promise<CycleResult> {
  const startedAt = Date.now();
  const daemon = startDaemon(scene.world);
  try {
    const view = await untilInSync(scene.watch, startedAt, daemon.process, SYNC_TIMEOUT_MS);
    const seconds = (Date.now() - startedAt) / 1_000;
    const exitCode = await daemon.stop();
    const problems = unsettled(view, startedAt);
    const totals = await compareAll(scene.world);
    const crm = judgeAll(scene.crms, scene.world, startedAt);
    const exact = isExact(totals) && areExact(crm) && problems.length === 0 && exitCode === 0;
    return { seconds, exitCode, unsettled: problems, totals, crm, exact };
  } finally {
    await endProcess(daemon);
  }
}

/** Ends a daemon that may have ended already. */
export async function endProcess(daemon: DaemonProcess): Promise<void> {
  if (daemon.process.exitCode === null && daemon.process.signalCode === null) await daemon.kill();
}

/** Names of targets that were not in sync at a time after `since`, with their state. */
function unsettled(view: Status, since: number): string[] {
  return view.tenants.flatMap(({ tenant, targets }) =>
    targets
      .filter(({ state, inSyncAsOf }) => state !== 'in-sync' || (inSyncAsOf ?? 0) < since)
      .map(({ target, state, trouble }) => `${tenant}/${target} ${state} ${trouble?.code ?? ''}`.trim()),
  );
}

/** Reads every target by its own protocol and compares it with the clinic. */
async function compareAll(world: World): Promise<Totals> {
  const totals: Totals = { 'google-calendar': noTotals(), 'outlook-calendar': noTotals(), caldav: noTotals() };
  for (const target of world.targets) {
    const sum = totals[target.connector];
    const found = await compare(world, target);
    sum.targets += 1;
    sum.extraCalendars += (await listCalendars(world, target)).length - 1;
    for (const name of ['records', 'remoteEvents', 'duplicates', 'missing'] as const) sum[name] += found[name];
  }
  return totals;
}

function noTotals(): KindTotals {
  return { targets: 0, records: 0, remoteEvents: 0, duplicates: 0, missing: 0, extraCalendars: 0 };
}

/** Whether all targets show exactly what the clinic shows. */
function isExact(totals: Totals): boolean {
  return Object.values(totals).every(
    ({ duplicates, missing, extraCalendars }) => duplicates === 0 && missing === 0 && extraCalendars === 0,
  );
}

/** Makes every target new: what the daemon wrote there is removed, and what it knows of it, logins excepted, is forgotten. */
export async function forgetTargets({ world, crms, redis }: Scene): Promise<void> {
  for (const target of world.targets) {
    for (const calendar of await listCalendars(world, target)) await calendar.remove();
    await forgetState(redis, target.tenant, target.target);
  }
  for (const { tenant, targets, removeOurs } of crms) {
    removeOurs();
    for (const target of Object.keys(targets)) await forgetState(redis, tenant, target);
  }
}

async function forgetState(redis: Redis, tenant: string, target: string): Promise<void> {
  const kinds = 'links|outbox|outbox-due|outbox-failing|target|deletions';
  const ours = new RegExp(`^cm:\\{${tenant}\\}:(${kinds}):${target}(:|$)`);
  const keys = (await redis.keys(`cm:{${tenant}}:*`)).filter((key) => ours.test(key));
  if (keys.length > 0) await redis.del(...keys);
}
