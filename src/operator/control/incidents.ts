import { MirrorError } from '../../core/model/errors.ts';
import { needsPerson, type Problem, type SERVER_AWAY } from '../../core/model/problems.ts';
import { shellWord } from '../../core/model/text.ts';
import type { Instant } from '../../core/model/time.ts';
import { OUTAGE_CODES } from '../../engine/lane.ts';
import { message, type Text } from '../../messages/message.ts';
import { type HostOutage, type OtherWork, PROBE_EVERY_MS } from '../../state/outages.ts';
import type { Installation } from './installation.ts';
import type { Incident, Retried, TargetStatus, TenantStatus } from './status-schemas.ts';

/** Target states that an unreachable server explains. */
const FOLDED: ReadonlySet<TargetStatus['reason']> = new Set(['backing-off', 'writes-failed', 'read-failed']);

/**
 * Returns the incidents of unreachable servers, for all interfaces. A server without waiting clinics is not an incident.
 * @param statuses examined tenants
 * @param options.isAlone the installation has a single tenant
 */
export function incidentsOf(
  outages: readonly HostOutage[],
  statuses: readonly TenantStatus[],
  now: Instant,
  { isAlone = false } = {},
): Incident[] {
  return outages.flatMap(({ host, code, texts, sinceAt, isReported, triedAt, works }) => {
    const reading = new Set(works.flatMap(({ tenant, target, other }) => (target === null && !other ? [tenant] : [])));
    const unread: string[] = [];
    const tenants = statuses.flatMap((status) => {
      const { tenant, paused, lastRun, targets } = status;
      const waiting = targets.filter(({ reason, outage }) => outage === host && reason !== 'paused');
      const isUnread = reading.has(tenant) && OUTAGE_CODES.has(lastRun?.error?.code ?? '');
      const isOther = works.some((work) => work.tenant === tenant && isWaiting(status, work.other));
      if (paused || (waiting.length === 0 && !isUnread && !isOther)) return [];
      if (isUnread) unread.push(tenant);
      return [{ tenant, waiting: waiting.reduce((sum, { pending }) => sum + pending, 0) }];
    });
    // A server that answers other work again fails this clinic only: the clinic's own problem has the cause.
    if (tenants.length === 0 || (!isReported && tenants.length === 1 && !isAlone)) return [];
    const nextTryAt = triedAt + PROBE_EVERY_MS;
    return [{ host, code, texts, sinceAt, nextTryAt: nextTryAt > now ? nextTryAt : null, tenants, unread }];
  });
}

/** Returns whether other work of a tenant waits. A channel or endpoint with an empty queue does not wait. */
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

/** Returns an incident as one problem of all its tenants. */
export function problemOf({ host, code, texts, sinceAt, nextTryAt, tenants }: Incident): Problem {
  const cause = texts === null ? null : causeIn(texts.message);
  const isInCode = cause === null || (typeof cause !== 'string' && cause.code === code);
  const report = isInCode ? message('server-away', { code }) : message('server-away.cause', { code, cause });
  return {
    ...needsPerson({
      tenant: null,
      subject: message('subject.server', { name: host }),
      code: 'server-away' satisfies typeof SERVER_AWAY,
      sentence: report,
      // A cause that only an operator can remove has its remedy; the daemon then retries by itself.
      next: texts?.remedy ?? `clinic-mirror retry ${shellWord(host)}`,
    }),
    ...{ health: 'retrying', sinceAt, nextTryAt, tenants },
    waiting: tenants.reduce((sum, { waiting }) => sum + waiting, 0),
  };
}

/** Returns the cause without the call and the host: the subject of the problem names the host. */
function causeIn(text: Text): Text {
  const isWrapped = typeof text !== 'string' && (text.code === 'about' || text.code === 'labelled');
  return isWrapped && text.values?.cause !== undefined ? causeIn(text.values.cause as Text) : text;
}

/** Returns whether the incident of a server already reports the problem of a target. */
export function isFolded(incidents: readonly Incident[], { reason, outage }: TargetStatus): boolean {
  return FOLDED.has(reason) && incidents.some(({ host }) => host === outage);
}

/**
 * Makes the daemon retry all waiting work for a server, including work that waits for another job's trial request.
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
  const tenants = [...new Set(works.map(({ tenant }) => tenant))].sort();
  return { host, tenants, targets: works.filter(({ target }) => target !== null).length };
}
