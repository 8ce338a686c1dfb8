import { runCli } from './daemon.ts';
import type { DemoTarget, World } from './world.ts';

/** A sign-in URL is valid for ten minutes. */
const NEW_ADDRESS_EVERY_MS = 9 * 60_000;
const ASK_AGAIN_MS = 500;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The daemon's pages, as a newcomer opens them. */
export interface DemoPages {
  /** What to open, in this order; nothing before the daemon answers. */
  places(): { name: string; url: string }[];
  close(): Promise<void>;
}

/**
 * Waits in the background until the daemon serves its pages, and keeps a valid sign-in URL.
 * @param say receives each new URL
 */
export function openPages(world: World, say: (text: string) => void): DemoPages {
  const { pagesUrl } = world;
  let signIn: string | null = null;
  const ending = new AbortController();
  const follow = async () => {
    if (pagesUrl === null) return;
    await untilAnswered(`${pagesUrl}/healthz`, ending.signal);
    while (!ending.signal.aborted) {
      signIn = await signInAddress(world);
      say(`The pages, signed in by one click: ${signIn}`);
      await pauseFor(NEW_ADDRESS_EVERY_MS, ending.signal);
    }
  };
  const following = follow().catch((error: unknown) => say(`The pages can not be opened: ${String(error)}`));
  return {
    places() {
      if (signIn === null) return [];
      const week = weekAddress(world);
      const overview = { name: 'the Overview, signed in by one click', url: signIn };
      return [overview, ...(week === null ? [] : [{ name: 'then: bookings come into a calendar', url: week }])];
    },
    async close() {
      ending.abort();
      await following;
    },
  };
}

/** Returns a URL that signs in the owner. @throws Error with the command's output */
export async function signInAddress(world: Pick<World, 'configDir' | 'env'>): Promise<string> {
  const { code, out, err } = await runCli(world, ['access', 'sign-in']);
  if (code !== 0) throw new Error(err);
  return out.trim();
}

/** The page of the week in which bookings are seen to come. */
function weekAddress({ pagesUrl, targets }: Pick<World, 'pagesUrl' | 'targets'>): string | null {
  const [shown] = targets;
  if (pagesUrl === null || shown === undefined) return null;
  return `${pagesUrl}/tenants/${shown.tenant}/targets/${shown.target}/week`;
}

/** Books a visit this week, or tomorrow. @returns its id; null if the agenda is full */
export function bookThisWeek({ clinic, clinicTenants }: World, { tenant, agendaIds }: DemoTarget): string | null {
  const [agendaId] = agendaIds;
  const now = new Date(clinic.clock());
  // Sunday is the last day of a week.
  const daysLeft = (7 - now.getUTCDay()) % 7;
  const day = now.setUTCHours(7, 0, 0, 0) + DAY_MS * (1 + Math.floor(Math.random() * Math.max(1, daysLeft)));
  const start = day + Math.floor(Math.random() * 20) * (HOUR_MS / 2);
  try {
    const booking = { ...(agendaId === undefined ? {} : { agendaId }), start, end: start + HOUR_MS / 2 };
    return clinic.book(clinicTenants.get(tenant) ?? '', booking).id;
  } catch {
    return null;
  }
}

async function untilAnswered(url: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const answer = await fetch(url).catch(() => null);
    if (answer?.ok) return;
    await pauseFor(ASK_AGAIN_MS, signal);
  }
}

function pauseFor(durationMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, durationMs);
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}
