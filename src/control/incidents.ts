import { OUTAGE_CODES } from '../jobs/outages.ts';
import { message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import { needsPerson, type Problem, type SERVER_AWAY } from '../model/problems.ts';
import { shellWord } from '../model/text.ts';
import type { Instant } from '../model/time.ts';
import { type HostOutage, type OtherWork, PROBE_EVERY_MS } from '../state/outages.ts';
import type { Installation } from './installation.ts';
import type { Incident, TargetStatus, TenantStatus } from './status-view.ts';

/** What a target can't do while its server is away. */
const FOLDED: ReadonlySet<TargetStatus['state']> = new Set(['resting', 'failing', 'stale']);

/** Which servers are away, as all surfaces tell it. One that none of the clinics waits for any more is none. @param tenants that are looked at */
export function incidentsOf(
  outages: readonly HostOutage[],
  tenants: readonly TenantStatus[],
  now: Instant,
): Incident[] {
  return outages.flatMap(({ host, code, sinceAt, triedAt, works }) => {
    const reading = new Set(works.flatMap(({ tenant, target, other }) => (target === null && !other ? [tenant] : [])));
    const unread: string[] = [];
    const clinics = tenants.flatMap((status) => {
      const { tenant, paused, lastRun, targets } = status;
      const waiting = targets.filter(({ state, outage }) => outage === host && state !== 'paused');
      const isUnread = reading.has(tenant) && OUTAGE_CODES.has(lastRun?.error?.code ?? '');
      const isOther = works.some((work) => work.tenant === tenant && isWaiting(status, work.other));
      if (paused || (waiting.length === 0 && !isUnread && !isOther)) return [];
      if (isUnread) unread.push(tenant);
      return [{ tenant, waiting: waiting.reduce((sum, { pending }) => sum + pending, 0) }];
    });
    if (clinics.length === 0) return [];
    const nextTryAt = triedAt + PROBE_EVERY_MS;
    return [{ host, code, sinceAt, nextTryAt: nextTryAt > now ? nextTryAt : null, clinics, unread }];
  });
}

/** Whether other work of a tenant still waits: a channel or an endpoint with nothing to hand over does not. */
function isWaiting({ connections, reminders, triggers }: TenantStatus, other: OtherWork | undefined): boolean {
  switch (other?.kind) {
    case 'channel':
      return (reminders?.waiting ?? 0) > 0;
    case 'endpoint':
      return (triggers?.waiting ?? 0) > 0 && triggers?.closed.every(({ endpoint }) => endpoint !== other.id) === true;
    case 'connection':
      return connections.some(({ connection, state }) => connection === other.id && state !== 'needs-login');
    default:
      return false;
  }
}

/** An incident as one problem of all its clinics. */
export function problemOf({ host, code, sinceAt, nextTryAt, clinics }: Incident): Problem {
  const report = message('server-away', { code });
  return {
    ...needsPerson({
      tenant: null,
      subject: message('subject.server', { name: host }),
      code: 'server-away' satisfies typeof SERVER_AWAY,
      sentence: report,
      next: `clinic-mirror retry ${shellWord(host)}`,
    }),
    ...{ health: 'retrying', sinceAt, nextTryAt, clinics },
    waiting: clinics.reduce((sum, { waiting }) => sum + waiting, 0),
  };
}

/** Whether what is the matter with a target, or with the reading of its clinic, is told with the server that is away. */
export function isFolded(incidents: readonly Incident[], { state, outage }: TargetStatus): boolean {
  return FOLDED.has(state) && incidents.some(({ host }) => host === outage);
}

/** What came of a try. */
export interface Retried {
  host: string;
  /** That try it now. */
  clinics: string[];
  targets: number;
}

/**
 * Has all that waits for a server try it now, in the daemon: what waits longer than the one that tries for all others, too.
 * @param isWanted by tenant
 * @throws MirrorError `settings`, code `server-not-away`
 */
export async function retryHost(
  { outages }: Pick<Installation, 'outages'>,
  host: string,
  isWanted: (tenant: string) => boolean,
): Promise<Retried> {
  const works = await outages.tryNow(host, isWanted);
  if (works.length === 0) {
    throw new MirrorError(message('server-not-away'), {
      actor: 'settings',
      code: 'server-not-away',
      retry: 'never',
      remedy: message('server-not-away.remedy'),
    });
  }
  const clinics = [...new Set(works.map(({ tenant }) => tenant))].sort();
  return { host, clinics, targets: works.filter(({ target }) => target !== null).length };
}
