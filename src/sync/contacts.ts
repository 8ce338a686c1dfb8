import type { PendingChange } from '../model/plan.ts';
import type { ContactsInput, CycleInput } from './cycle-input.ts';
import type { TargetPlan } from './target-plan.ts';

/** A target of contacts as activities and deals go by it, before or after it was planned. */
export interface Contacts extends ContactsInput {
  /** Whether its state was opened for this cycle. If not, it carries the names that it carries. */
  isOpen: boolean;
  /** Patients whose contacts wait for a person's decision, or stay by it. */
  held: ReadonlySet<string>;
  /** Patients whose contacts are about to be written. */
  coming: ReadonlySet<string>;
  /** Patients who were found to be gone: those found while others' records are planned come to it. */
  gone: Set<string>;
}

/** Targets of contacts by id, as of the last plan. */
export function contactsBefore({
  targets,
  unplannedContacts,
  holds,
  clinicReading,
}: CycleInput): Map<string, Contacts> {
  const open = targets.filter(({ target }) => target.stream === 'patients');
  const all = [
    ...open.map((one) => [one, true] as const),
    ...[...unplannedContacts.values()].map((one) => [one, false] as const),
  ];
  return new Map(
    all.map(([{ target, state, pinned }, isOpen]) => {
      const held = holds.filter((hold) => hold.target === target.id && hold.state !== 'approved');
      const gone = new Set(clinicReading.streams.patients?.gone.get(target.id));
      const contacts: Contacts = {
        ...{ target, state, pinned, isOpen, gone },
        held: new Set(held.flatMap(({ recordIds }) => recordIds)),
        coming: writtenSoon(state.pending.values()),
      };
      return [target.id, contacts];
    }),
  );
}

/** The same after it was planned. What waits already is still written, unless the plan gives it up. */
export function contactsAfter(before: Contacts, { passed, abandoned, held, refused }: TargetPlan): Contacts {
  const coming = writtenSoon(before.state.pending.values());
  for (const recordId of abandoned) coming.delete(recordId);
  for (const { recordId, wanted } of passed) if (wanted.want === 'present') coming.add(recordId);
  const withheld = [...Object.values(held).flat(), ...refused];
  return { ...before, held: new Set(withheld.map(({ recordId }) => recordId)), coming };
}

/** Records of changes that write something, and are not refused: those wait for other data, or for a person. */
function writtenSoon(changes: Iterable<Pick<PendingChange, 'recordId' | 'want' | 'parked'>>): Set<string> {
  return new Set(
    [...changes].flatMap(({ recordId, want, parked }) => (want === 'present' && !parked ? [recordId] : [])),
  );
}
