import { type Comparison, compare } from '../../demo/compare.ts';
import { startDaemon } from '../../demo/daemon.ts';
import { waitUntilInSync } from '../../demo/watch.ts';
import { editTenant, endProcess, openScene, type Scene } from './scene.ts';
import { trafficOf } from './traffic.ts';

/** The cost of filling one Google calendar. */
export interface CalendarCost extends Comparison {
  tenant: string;
  target: string;
  /** HTTP requests of the first sync, counted at the proxy; token requests go elsewhere and are not among them. */
  requests: number;
  /** ceil(records / 50) + the calls that find and make the calendar and read what is in it. */
  allowed: number;
  /** HTTP requests of a cycle in which nothing changed. */
  quietRequests: number;
}

/** All calendars together. */
export interface CreatesResult {
  calendars: CalendarCost[];
  tokenRequests: number;
  /** From the daemon's start to the last calendar in sync. */
  seconds: number;
  ok: boolean;
}

/** About this many in each Google calendar. */
export const CREATES_PER_CALENDAR = 1_200;
/** Calls within one batch (https://developers.google.com/calendar/api/guides/batch). */
const BATCH_SIZE = 50;
/**
 * Requests of a first sync beside full batches: look for the calendar, make it, look again, read it; what Google refuses while a
 * user's 600 units of a minute are spent (twice for so many creates), and the rest of a batch that it refused in part.
 */
const OTHER_REQUESTS = 8;
/** Google takes 600 units a minute from one user, a unit for each create: so many take more than two minutes. */
const LONGEST_SYNC_MS = 420_000;

/** Fills one calendar of each tenant, then lets a quiet cycle pass, and counts requests. */
export async function runCreates(say: (text: string) => void): Promise<CreatesResult> {
  say(`First creates: starting a world with ${CREATES_PER_CALENDAR} appointments per calendar …`);
  // Of two agendas one goes to Google and one to CalDAV; some appointments are cancelled and not shown.
  const appointmentsPerTenant = Math.ceil(CREATES_PER_CALENDAR * 2.15);
  const scene = await openScene({ appointmentsPerTenant, agendasPerTenant: 2, say });
  try {
    for (const tenant of scene.world.clinicTenants.keys()) {
      await editTenant(scene.world, tenant, ({ targets }) => {
        for (const target of Object.values(targets)) target.paused = target.connector !== 'google-calendar';
      });
    }
    return await measure(scene, say);
  } finally {
    await scene.close();
  }
}

async function measure(scene: Scene, say: (text: string) => void): Promise<CreatesResult> {
  const { world } = scene;
  const targets = world.targets.filter(({ connector }) => connector === 'google-calendar');
  for (const { proxy } of targets) proxy.forget();
  const tokensBefore = world.google.counts.tokenRequests;
  const daemon = startDaemon(world);
  try {
    const seconds = await untilInSync(scene, daemon);
    const first = targets.map((target) => trafficOf(target).requests);
    for (const { proxy } of targets) proxy.forget();
    say('  a quiet cycle …');
    await untilInSync(scene, daemon);
    const calendars: CalendarCost[] = [];
    for (const [index, target] of targets.entries()) {
      const comparison = await compare(world, target);
      const cost = {
        tenant: target.tenant,
        target: target.target,
        ...comparison,
        requests: first[index] ?? 0,
        allowed: Math.ceil(comparison.records / BATCH_SIZE) + OTHER_REQUESTS,
        quietRequests: trafficOf(target).requests,
      };
      say(
        `  ${cost.tenant}/${cost.target}: ${cost.records} events with ${cost.requests} requests, ${cost.quietRequests} when quiet`,
      );
      calendars.push(cost);
    }
    return {
      calendars,
      tokenRequests: world.google.counts.tokenRequests - tokensBefore,
      seconds,
      ok: calendars.every(isCheapAndExact),
    };
  } finally {
    await endProcess(daemon);
  }
}

/** Targets that are paused here say so and are not waited for. */
async function untilInSync({ watch }: Scene, daemon: ReturnType<typeof startDaemon>): Promise<number> {
  const startedAt = Date.now();
  const active = {
    ...watch,
    async status() {
      const view = await watch.status();
      const tenants = view.tenants.map((tenant) => ({
        ...tenant,
        targets: tenant.targets.filter(({ connector }) => connector === 'google-calendar'),
      }));
      return { ...view, tenants };
    },
  };
  await waitUntilInSync(active, startedAt, () => {}, daemon.process, LONGEST_SYNC_MS);
  return (Date.now() - startedAt) / 1_000;
}

function isCheapAndExact({ requests, allowed, quietRequests, duplicates, missing, records }: CalendarCost): boolean {
  const isExact = duplicates === 0 && missing === 0 && records > 0;
  return isExact && requests <= allowed && quietRequests === 0;
}
