import { MirrorError } from '../../core/model/errors.ts';
import type { Item } from '../../core/model/items.ts';
import type { Link } from '../../core/model/operations.ts';
import { FactSearch } from '../../core/model/patient-facts.ts';
import type { FieldChange } from '../../core/model/plan-view.ts';
import type { Appointment, AppointmentStatus } from '../../core/model/records.ts';
import type { Clock, Instant } from '../../core/model/time.ts';
import type { Directory } from '../../domain/project.ts';
import { eventRule } from '../../domain/views.ts';
import type { Decision } from '../../engine/diff.ts';
import type { ErasedPersons, LinkTable, PinTable, TargetTable } from '../../engine/store.ts';
import type { TenantConfiguration } from '../../settings/configuration.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';

/** A record on hold. */
export interface HeldItem {
  record: string;
  /** Start time from the clinic, or from the last write; null for records without a time, or if unknown. */
  startAt: Instant | null;
  /** Agenda from the clinic; null if the clinic's present list lacks the record. */
  agenda: { id: string; name: string | null } | null;
  status: AppointmentStatus | null;
  /** Changes that an approval now would make, with fields that the target's policy may show; empty if neither side is known. */
  fieldChanges: readonly FieldChange[];
}

/** Directory without a catalogue. */
export const NO_DIRECTORY: Directory = {
  agendas: new Map(),
  locations: new Map(),
  treatments: new Map(),
  patients: new Map(),
  pageUrl: null,
};

/** Members of a tenant that the decision on an event is computed from. */
export interface EventDecisionSource {
  clock: Clock;
  configuration: TenantConfiguration;
  journal: PinTable;
  tombstones: { load(): Promise<ErasedPersons> };
}

/** Returns the calendar's decision on an appointment, as in a plan. */
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

/** Largest number of objects fetched from a target for a view, because vendors require a request per object. Project choice. */
const MOST_ASKED = 100;

/**
 * Fetches present objects of a target, for the first hundred written records. Writes nothing. An unreachable target is a valid result.
 * @returns by record: null without an object, `unread` for an object not fetched or unreadable
 */
export async function heldObjects(
  { links, targetStore }: { links: LinkTable; targetStore: TargetTable },
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
 * Returns page URLs by remote id. Pages are optional: an unreachable target has no pages.
 * @param container null while the target has no container
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
