import { shownTargets } from './compare.ts';
import { logInAll, startDaemon } from './daemon.ts';
import { bookThisWeek, openPages } from './pages.ts';
import { openPatientDesk } from './patient-desk.ts';
import { renderPicture } from './picture.ts';
import { openWatch } from './watch.ts';
import type { World } from './world.ts';

const REDRAW_MS = 1_000;
const FRONT_DESK_EVERY_MS = 1_500;
const PATIENT_DESK_EVERY_MS = 5_000;
const VISIBLE_BOOKING_EVERY_MS = 15_000;
const SHOWN_CHANGES = 8;
/** Descriptions of changes in the clinics, if different from the name of the change. */
const CHANGES: Readonly<Record<string, string>> = {
  checkedIn: 'checked in',
  registered: 'new patient',
  'phone-changed': 'new telephone',
  'consent-withdrawn': 'consent withdrawn',
  'consent-given': 'consent given',
};
const WIDEST_CHANGE = 'consent withdrawn'.length;

/** Viewer of a demonstration. */
export interface Onlooker {
  /** Prints a line of progress. */
  say(text: string): void;
  /** Prints the current table. */
  show(picture: string): void;
  /** Whether each table replaces all earlier output. */
  isOnScreen: boolean;
  /** When no more is to be seen. */
  leaves: Promise<void>;
}

/** Returns a viewer at a terminal or a pipe, who leaves with Ctrl-C. */
export function onlookerAt(stdout: NodeJS.WriteStream, say: Onlooker['say']): Onlooker {
  const isOnScreen = stdout.isTTY;
  return {
    ...{ say, isOnScreen },
    show: (picture) => stdout.write(isOnScreen ? `\u001b[2J\u001b[H${picture}\n` : `${picture}\n\n`),
    leaves: new Promise((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
    }),
  };
}

/** Runs until the viewer leaves: the front desks make changes, the daemon synchronises them, a table shows the data flow. */
export async function runLive(world: World, { say, show, isOnScreen, leaves }: Onlooker): Promise<number> {
  await logInAll(world, say);
  const watch = openWatch(world);
  const daemon = startDaemon(world);
  const pages = openPages(world, isOnScreen ? () => {} : say);
  const { changes, stop: stopPeople } = startPeople(world);
  const requests = new Map<string, number>();
  const draw = async () => {
    for (const { tenant, target, proxy } of shownTargets(world)) {
      const name = `${tenant}/${target}`;
      requests.set(name, (requests.get(name) ?? 0) + proxy.requests.length);
      proxy.forget();
    }
    const picture = renderPicture({ view: await watch.status(), requests, changes, pages: pages.places(), world });
    show(picture);
  };
  let timer: NodeJS.Timeout | null = null;
  let drawing: Promise<void> = Promise.resolve();
  const tick = () => {
    drawing = draw().finally(() => {
      if (timer !== null) timer = setTimeout(tick, isOnScreen ? REDRAW_MS : 10 * REDRAW_MS);
    });
    drawing.catch(() => {});
  };
  timer = setTimeout(tick, 0);
  await leaves;
  say('\nEnding …');
  await pages.close();
  clearTimeout(timer);
  timer = null;
  stopPeople();
  await drawing.catch(() => {});
  await watch.close();
  await daemon.stop();
  return 0;
}

/**
 * Simulates front desks that book and move, and patients who change their data. @returns the changes, newest first, and a function that
 * stops them
 */
function startPeople(world: World): { changes: readonly string[]; stop(): void } {
  const changes: string[] = [];
  const note = (tenant: string, kind: string, id: string) => {
    const what = (CHANGES[kind] ?? kind).padEnd(WIDEST_CHANGE);
    changes.unshift(`${new Date().toISOString().slice(11, 19)}Z  ${tenant.padEnd(9)}  ${what}  ${id}`);
    changes.length = Math.min(changes.length, SHOWN_CHANGES);
  };
  const tenants = new Map([...world.clinicTenants].map(([tenant, clinicId]) => [clinicId, tenant]));
  const stops = [
    world.clinic.startFrontDesk({
      everyMs: FRONT_DESK_EVERY_MS,
      onChange: ({ kind, tenantId, id }) => note(tenants.get(tenantId) ?? tenantId, kind, id),
    }),
    openPatientDesk(world).start({
      everyMs: PATIENT_DESK_EVERY_MS,
      onChange: ({ kind, tenant, id }) => note(tenant, kind, id),
    }),
  ];
  const [shown] = world.targets;
  const booking = setInterval(() => {
    const id = shown && bookThisWeek(world, shown);
    if (shown !== undefined && id !== null && id !== undefined) note(shown.tenant, 'booked', id);
  }, VISIBLE_BOOKING_EVERY_MS);
  return {
    changes,
    stop() {
      clearInterval(booking);
      for (const stop of stops) stop();
    },
  };
}
