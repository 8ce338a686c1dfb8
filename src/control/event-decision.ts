import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import type { Link } from '../model/operations.ts';
import { FactSearch } from '../model/patient-facts.ts';
import type { Appointment } from '../model/records.ts';
import type { Decision } from '../sync/diff.ts';
import type { Directory } from '../sync/project.ts';
import { eventRule } from '../sync/views.ts';

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
    rule(appointment, () => target.identity.key(appointment.id, links.get(appointment.id)?.epoch ?? 0));
}
