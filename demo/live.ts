import { renderAge, renderTable } from '../src/cli/table.ts';
import type { Status } from '../src/control/status.ts';
import { shownTargets } from './compare.ts';
import { logIn, startDaemon } from './daemon.ts';
import { openWatch } from './watch.ts';
import type { World } from './world.ts';

const REDRAW_MS = 1_000;
const FRONT_DESK_EVERY_MS = 1_500;
const SHOWN_CHANGES = 12;
/** Connectors as people call them, short enough for the table. */
const VENDORS: Readonly<Record<string, string>> = {
  'google-calendar': 'Google',
  'outlook-calendar': 'Outlook',
  caldav: 'CalDAV',
  hubspot: 'HubSpot',
};
/** The changes that the front desk makes, in words. */
const CHANGES: Readonly<Record<string, string>> = { checkedIn: 'checked in' };

/** Runs until Ctrl-C: people at the front desk work, the daemon follows, a table shows what flows where. */
export async function runLive(world: World, say: (text: string) => void): Promise<number> {
  const interrupted = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
  for (const login of world.logins) {
    say(`Logging in: ${login.connection} of ${login.tenant} …`);
    await logIn(world, login);
  }
  const watch = openWatch(world);
  const daemon = startDaemon(world);
  const changes: string[] = [];
  const stopFrontDesk = world.clinic.startFrontDesk({
    everyMs: FRONT_DESK_EVERY_MS,
    onChange: ({ kind, tenantId, id }) => {
      const tenant = [...world.clinicTenants].find(([, clinicId]) => clinicId === tenantId)?.[0] ?? tenantId;
      const what = (CHANGES[kind] ?? kind).padEnd(10);
      changes.unshift(`${new Date().toISOString().slice(11, 19)}Z  ${tenant.padEnd(9)}  ${what}  ${id}`);
      changes.length = Math.min(changes.length, SHOWN_CHANGES);
    },
  });
  const requests = new Map<string, number>();
  const draw = async () => {
    for (const { tenant, target, proxy } of shownTargets(world)) {
      const name = `${tenant}/${target}`;
      requests.set(name, (requests.get(name) ?? 0) + proxy.requests.length);
      proxy.forget();
    }
    const picture = renderPicture(await watch.status(), requests, changes, world);
    process.stdout.write(process.stdout.isTTY ? `\u001b[2J\u001b[H${picture}\n` : `${picture}\n\n`);
  };
  let timer: NodeJS.Timeout | null = null;
  let drawing: Promise<void> = Promise.resolve();
  const tick = () => {
    drawing = draw().finally(() => {
      if (timer !== null) timer = setTimeout(tick, process.stdout.isTTY ? REDRAW_MS : 10 * REDRAW_MS);
    });
    drawing.catch(() => {});
  };
  timer = setTimeout(tick, 0);
  await interrupted;
  say('\nEnding …');
  clearTimeout(timer);
  timer = null;
  stopFrontDesk();
  await drawing.catch(() => {});
  await watch.close();
  await daemon.stop();
  return 0;
}

function renderPicture(
  view: Status,
  requests: ReadonlyMap<string, number>,
  changes: readonly string[],
  world: World,
): string {
  const columns = [
    { heading: 'clinic' },
    { heading: 'target' },
    { heading: 'at' },
    { heading: 'state' },
    ...['fresh', 'holds', 'waiting', 'created', 'updated', 'deleted', 'held', 'HTTP'].map((heading) => ({
      heading,
      right: true,
    })),
  ];
  const rows = view.tenants.flatMap(({ tenant, targets }) =>
    targets.map((target) => [
      tenant,
      target.target,
      VENDORS[target.connector] ?? target.connector,
      target.state,
      renderAge(target.inSyncAsOf, view.at),
      ...[target.links, target.pending, target.created, target.updated, target.deleted, target.held].map(String),
      String(requests.get(`${tenant}/${target.target}`) ?? 0),
    ]),
  );
  return [
    'clinic-mirror demo: two clinics, their front desks at work, and the calendars and contacts that follow',
    '',
    renderTable(columns, rows),
    '',
    'At the front desk just now:',
    ...changes.map((change) => `  ${change}`),
    '',
    `Configuration and log: ${world.dir}`,
    'Ctrl-C ends it.',
  ].join('\n');
}
