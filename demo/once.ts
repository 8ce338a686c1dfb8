import { renderTable } from '../src/operator/cli/table.ts';
import type { Status, TargetStatus } from '../src/operator/control/status-schemas.ts';
import { type ShownTarget, shownTargets } from './compare.ts';
import { type DaemonProcess, logInAll, runCli, startDaemon } from './daemon.ts';
import { openPatientDesk, type PatientChangeKind } from './patient-desk.ts';
import { openWatch, type Watch, waitUntilInSync } from './watch.ts';
import type { Dialect, World } from './world.ts';

/** Result of one target. */
export interface TargetResult {
  tenant: string;
  target: string;
  connector: string;
  records: number;
  created: number;
  updated: number;
  deleted: number;
  held: number;
  failed: number;
  remoteEvents: number;
  duplicates: number;
  missing: number;
  httpRequests: number;
}

/** Result of the demonstration. */
export interface DemoResult {
  dialect: Dialect;
  appointments: number;
  targets: TargetResult[];
  changes: {
    booked: number;
    moved: number;
    cancelled: number;
    registered: number;
    phonesChanged: number;
    consentsWithdrawn: number;
  };
  quietCycleWrites: number;
  /** Requests to the clinic over both tenants, those for tokens included. */
  clinicRequests: number;
  seconds: number;
}

const CHANGES_PER_TENANT = { booked: 30, moved: 30, cancelled: 12, checkedIn: 5 };
const PATIENT_CHANGES: Partial<Record<PatientChangeKind, number>> = {
  registered: 6,
  'phone-changed': 10,
  'consent-withdrawn': 4,
};
/** Longer than a quiet cycle and the comparison take. */
const QUIET_MS = 20_000;

/** First sync, a batch of changes at the front desk, a second cycle, a third quiet one; then both sides are compared. */
export async function runOnce(world: World, say: (text: string) => void, startedAt: number): Promise<DemoResult> {
  await logInAll(world, say);
  const watch = openWatch(world);
  const daemon = startDaemon(world);
  try {
    const report = reporter(say);
    say('First sync …');
    await waitUntilInSync(watch, Date.now(), report, daemon.process);
    const changes = { ...simulate(world), ...changePatients(world) };
    const { booked, moved, cancelled, registered, phonesChanged, consentsWithdrawn } = changes;
    say(`The front desk booked ${booked}, moved ${moved}, cancelled ${cancelled}; ${registered} patients are new,`);
    say(`${phonesChanged} have another telephone number, ${consentsWithdrawn} withdrew a consent. Second cycle …`);
    const scene = { world, watch, daemon, report };
    await untilNoneBegins(scene, await cycle(scene));
    const shown = shownTargets(world);
    const before = shown.map(writesOf);
    say('Nothing changes now. A quiet cycle …');
    const { view, startedAt: asOf } = await cycle(scene);
    const quietCycleWrites = shown.reduce((sum, target, index) => sum + writesOf(target) - (before[index] ?? 0), 0);
    say('Reading the targets and the clinic, and comparing …');
    const targets: TargetResult[] = [];
    for (const target of shown) targets.push(await resultOf(target, view, asOf));
    const appointments = world.clinic.tenants.reduce(
      (sum, { id }) => sum + [...world.clinic.appointments(id)].length,
      0,
    );
    const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
    const { dialect, clinic } = world;
    const clinicRequests = clinic.counts.value(`requests client:${clinic.clients[0]?.clientId}`);
    return { dialect, appointments, targets, changes, quietCycleWrites, clinicRequests, seconds };
  } finally {
    await watch.close();
    await daemon.stop();
  }
}

interface Scene {
  world: World;
  watch: Watch;
  daemon: DaemonProcess;
  report: (view: Status) => void;
}

/** A cycle that begins now. The daemon reads patients once a minute; who can't wait asks by `clinic-mirror sync`. */
async function cycle({ world, watch, daemon, report }: Scene): Promise<{ startedAt: number; view: Status }> {
  const startedAt = Date.now();
  const asked = Promise.all(world.crms.map(({ tenant }) => runCli(world, ['sync', tenant, '--json'])));
  const view = await waitUntilInSync(watch, startedAt, report, daemon.process);
  for (const { code, out, err } of await asked) {
    // A deletion must be seen in two reads: until then `sync` exits with 1, and the daemon confirms the deletion.
    if (code !== 0 && !isUnconfirmed(out)) throw new Error(`clinic-mirror sync failed: ${err}`);
  }
  return { startedAt, view };
}

/** Whether the result of `sync --json` contains records that are missing for the first time. */
function isUnconfirmed(out: string): boolean {
  if (out === '') return false;
  const { targets } = JSON.parse(out) as { targets: { unconfirmed: number }[] };
  return targets.some(({ unconfirmed }) => unconfirmed > 0);
}

/** Contacts show the next visit, so they change when a visit starts: waits for visits that start soon, and for the writes. */
async function untilNoneBegins(scene: Scene, last: { startedAt: number }): Promise<void> {
  const { clinic, clinicTenants, crms } = scene.world;
  const starts = crms.flatMap(({ tenant }) =>
    [...clinic.appointments(clinicTenants.get(tenant) ?? '')].map(({ start }) => start),
  );
  for (let since = last.startedAt; ; ) {
    const soon = starts.filter((start) => start >= since && start <= Date.now() + QUIET_MS);
    if (soon.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, Math.max(...soon) - Date.now() + 100));
    since = (await cycle(scene)).startedAt;
  }
}

function changePatients(
  world: World,
): Pick<DemoResult['changes'], 'registered' | 'phonesChanged' | 'consentsWithdrawn'> {
  const desk = openPatientDesk(world);
  const done = world.crms.flatMap(({ tenant }) =>
    Object.entries(PATIENT_CHANGES).flatMap(([kind, count]) =>
      Array.from({ length: count }, () => desk.change(tenant, kind as PatientChangeKind)),
    ),
  );
  const count = (kind: PatientChangeKind) => done.filter((change) => change?.kind === kind).length;
  return {
    registered: count('registered'),
    phonesChanged: count('phone-changed'),
    consentsWithdrawn: count('consent-withdrawn'),
  };
}

function simulate(world: World): Pick<DemoResult['changes'], 'booked' | 'moved' | 'cancelled'> {
  const done = world.clinic.tenants.flatMap(({ id }) => world.clinic.simulate(id, CHANGES_PER_TENANT));
  const count = (...kinds: string[]) => done.filter(({ kind }) => kinds.includes(kind)).length;
  return { booked: count('booked'), moved: count('moved'), cancelled: count('cancelled', 'removed') };
}

function writesOf({ proxy, isWrite }: ShownTarget): number {
  return proxy.requests.filter(isWrite).length;
}

async function resultOf(target: ShownTarget, view: Status, asOf: number): Promise<TargetResult> {
  const seen = statusOf(view, target);
  const { records, remoteEvents, duplicates, missing } = await target.compare(asOf);
  return {
    tenant: target.tenant,
    target: target.target,
    connector: target.connector,
    records,
    created: seen.created,
    updated: seen.updated,
    deleted: seen.deleted,
    held: seen.held,
    failed: seen.failing,
    remoteEvents,
    duplicates,
    missing,
    httpRequests: target.proxy.requests.length,
  };
}

function statusOf(view: Status, { tenant, target }: ShownTarget): TargetStatus {
  const found = view.tenants.find((each) => each.tenant === tenant)?.targets.find((each) => each.target === target);
  if (found === undefined) throw new Error(`the daemon knows no target ${target} of ${tenant}`);
  return found;
}

/** One line whenever the picture changed, at most one a second. */
function reporter(say: (text: string) => void): (view: Status) => void {
  let last = '';
  let lastAt = 0;
  return (view) => {
    const targets = view.tenants.flatMap((tenant) => tenant.targets);
    const sum = (pick: (target: TargetStatus) => number) => targets.reduce((total, target) => total + pick(target), 0);
    const line = `  ${sum(({ links }) => links)} objects in ${targets.length} targets, ${sum(({ pending }) => pending)} changes waiting, ${sum(({ failing }) => failing)} failing`;
    if (line === last || performance.now() - lastAt < 1_000) return;
    last = line;
    lastAt = performance.now();
    say(line);
  };
}

/** Renders the result as a table. */
export function renderResult(result: DemoResult): string {
  const headings = ['should', 'has', 'double', 'missing', 'created', 'updated', 'deleted', 'held', 'failed', 'HTTP'];
  const columns = [{ heading: 'target' }, ...headings.map((heading) => ({ heading, right: true }))];
  const rows = result.targets.map((each) => [
    `${each.tenant}/${each.target}`,
    ...[each.records, each.remoteEvents, each.duplicates, each.missing, each.created, each.updated].map(String),
    ...[each.deleted, each.held, each.failed, each.httpRequests].map(String),
  ]);
  const { booked, moved, cancelled, registered, phonesChanged, consentsWithdrawn } = result.changes;
  return [
    renderTable(columns, rows),
    '',
    `${result.appointments} appointments in the clinic, which speaks ${result.dialect}; ${booked} booked, ${moved} moved, ${cancelled} cancelled meanwhile.`,
    `${registered} new patients, ${phonesChanged} new telephone numbers, ${consentsWithdrawn} consents withdrawn.`,
    `Writes in the quiet cycle: ${result.quietCycleWrites}. Requests to the clinic: ${result.clinicRequests}. ${result.seconds} seconds in all.`,
  ].join('\n');
}
