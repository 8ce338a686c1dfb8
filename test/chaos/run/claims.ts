import type { Status } from '../../../src/operator/control/status-schemas.ts';
import type { Defect } from '../judge/tally.ts';
import { judgeClaim } from '../judge/verdict.ts';
import type { Scene } from './scene.ts';

/** A status that hangs with Redis is no claim. */
const LOOK_MS = 2_000;

/**
 * Queries the status, reads those calendars that report "in sync", and compares the reports with the clinic's data. Skips reports as of a
 * time at which the clinic lied or a daemon's clock was wrong, and calendars that are no longer configured.
 */
export async function checkClaims(scene: Scene): Promise<Defect[]> {
  const { world, operator, touched, dismissed, lying, doubts } = scene;
  if (doubts.size > 0) return [];
  const before = await look(operator.status());
  if (before === null) return [];
  const defects: Defect[] = [];
  for (const calendar of world.targets) {
    const { tenant, target, rules, read } = calendar;
    const asOf = claimOf(before, tenant, target);
    if (asOf === null || dismissed.has(calendar)) continue;
    if (lying.some(({ from, to }) => asOf >= from - 5_000 && asOf <= to)) continue;
    const remote = await read();
    const readAt = Date.now();
    // What it said must hold while it is read: what is written meanwhile belongs to a claim to come.
    const after = await look(operator.status());
    if (after === null || claimOf(after, tenant, target) !== asOf) continue;
    const desk = world.tenants.get(tenant);
    if (desk === undefined) continue;
    const exceptions = { strangers: new Set<string>(), touched: touched.get(calendar) ?? new Set<string>() };
    const name = `${tenant}/${target}`;
    const found = judgeClaim({ name, history: desk.history, rules, asOf, readAt, remote, ...exceptions });
    // Only by its time: no log may contain patients' names.
    if (found.length > 0) world.note('false claim', { target: name, asOf: new Date(asOf).toISOString() });
    defects.push(...found);
  }
  return defects;
}

function claimOf({ tenants }: Status, tenant: string, target: string): number | null {
  const targets = tenants.find((each) => each.tenant === tenant)?.targets;
  const found = targets?.find((each) => each.target === target);
  return found?.sync === 'in-sync' ? found.inSyncAsOf : null;
}

async function look(asked: Promise<Status>): Promise<Status | null> {
  const late = new Promise<null>((resolve) => setTimeout(resolve, LOOK_MS, null));
  return Promise.race([asked.catch(() => null), late]);
}
