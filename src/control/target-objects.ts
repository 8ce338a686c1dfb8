import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import { MirrorError } from '../model/errors.ts';
import type { Item } from '../model/items.ts';
import type { Link } from '../model/operations.ts';
import { FactSearch } from '../model/patient-facts.ts';
import type { FieldChange } from '../model/plan-view.ts';
import type { Appointment, AppointmentStatus } from '../model/records.ts';
import type { Instant } from '../model/time.ts';
import type { Decision } from '../sync/diff.ts';
import type { Directory } from '../sync/project.ts';
import { eventRule } from '../sync/views.ts';

/** One record that a hold keeps back. */
export interface HeldItem {
  record: string;
  /** When it is: by the clinic, else as the target was last given it; null for what has no time, or of which neither tells. */
  startAt: Instant | null;
  /** By the clinic; null where its list does not tell of it now. */
  agenda: { id: string; name: string | null } | null;
  status: AppointmentStatus | null;
  /** What would change if the hold were approved now, as the target's policy allows it to be told; none where neither side tells. */
  fieldChanges: readonly FieldChange[];
}

/** Where no catalogue was read. */
export const NO_DIRECTORY: Directory = {
  agendas: new Map(),
  locations: new Map(),
  treatments: new Map(),
  patients: new Map(),
  pageUrl: null,
};

/** Members of a tenant that the decision on an event is computed from. */
export interface EventDecisionSource extends Pick<OpenTenant, 'clock' | 'configuration' | 'journal' | 'tombstones'> {}

/** What the calendar's rules say of an appointment, as a plan has them. */
export async function eventDecision(
  tenant: EventDecisionSource,
  target: OpenTarget,
  links: ReadonlyMap<string, Link>,
  directory: Directory,
): Promise<(appointment: Appointment) => Decision> {
  const pinned = await tenant.journal.pinned(target.id, tenant.clock());
  const isForgotten = await tenant.tombstones.load();
  const { language, zone } = tenant.configuration;
  const rule = eventRule(
    { target, pinned },
    { clinicReading: { directory }, isForgotten, locale: { language, zone }, facts: new FactSearch() },
  );
  return (appointment) =>
    rule(appointment, () => target.identity.key(appointment.id, links.get(appointment.id)?.idAttempt ?? 0));
}

/** Objects of one target that are asked for at once, for a person who looks: vendors are asked for each of them. Our choice. */
const MOST_ASKED = 100;

/**
 * What a target holds now for some of these records, the first hundred that it was given anything for. Writes nothing; a target that
 * can't be asked is an answer too.
 * @returns by record: null for nothing, `unread` where it was not asked, or the object can't be read
 */
export async function heldObjects(
  { links, targetStore }: Pick<OpenTenant, 'links' | 'targetStore'>,
  target: OpenTarget,
  recordIds: readonly string[],
  signal: AbortSignal,
): Promise<(recordId: string) => Item | null | 'unread'> {
  const storedLinks = await links.readSome(target.id, recordIds);
  const { container } = await targetStore.read(target.id);
  const asked = container === null ? [] : recordIds.filter((id) => storedLinks.has(id)).slice(0, MOST_ASKED);
  const records = new Map(asked.map((id) => [target.identity.key(id, storedLinks.get(id)?.idAttempt ?? 0), id]));
  const held = new Map<string, Item | null | 'unread'>();
  if (container !== null && asked.length > 0) {
    try {
      for (const id of asked) held.set(id, null);
      for (const { key, item } of await target.connector.find(container, [...records.keys()], signal)) {
        const id = records.get(key);
        if (id !== undefined) held.set(id, item ?? 'unread');
      }
    } catch {
      signal.throwIfAborted();
      held.clear();
    }
  }
  return (id) => held.get(id) ?? (storedLinks.has(id) && !held.has(id) ? 'unread' : null);
}

/**
 * Asks a target where people work with objects; addresses by remote id. A page is a help beside what is told: a target that can't be
 * asked now gives none.
 * @param container null while the target has none
 */
export async function pagesOf(
  { connector }: Pick<OpenTarget, 'connector'>,
  container: string | null,
  remoteIds: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  if (container === null || remoteIds.length === 0 || connector.pagesOf === undefined) return new Map();
  try {
    return await connector.pagesOf(container, [...new Set(remoteIds)], signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof MirrorError)) throw error;
    return new Map();
  }
}
