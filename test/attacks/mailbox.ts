import type { Connector } from '../../src/connectors/connector.ts';
import type { CalendarItem } from '../../src/core/model/items.ts';
import type { Operation, Outcome, RemoteItem } from '../../src/core/model/operations.ts';
import { createModelTarget, type ModelTarget } from '../tenant/model-target.ts';

/** An event of a mailbox. */
export interface MailboxEvent {
  id: string;
  calendar: string;
  ownerTag: string;
  key: string;
  sealedRecordId: string;
  item: CalendarItem;
  revision: number;
  version: number;
}

/**
 * Creates an in-memory mailbox of several calendars. As in Outlook, an event is addressed only by its id, in any calendar, and a client
 * that knows its version tag, or writes `*`, changes the event without a read.
 */
export function createMailbox() {
  const calendars = new Set<string>();
  const events = new Map<string, MailboxEvent>();
  let made = 0;

  function locate(calendar: string, operation: Operation): MailboxEvent | undefined {
    const { remoteId, versionTag } = operation.kind === 'create' ? { remoteId: null, versionTag: null } : operation;
    const named = events.get(remoteId ?? '');
    if (named !== undefined && (versionTag === '*' || versionTag === `v${named.version}`)) return named;
    return [...events.values()].find((event) => event.calendar === calendar && event.key === operation.key);
  }
  function carryOut(calendar: string, ownerTag: string, operation: Operation): Outcome {
    const { recordId, key, revision } = operation;
    const there = locate(calendar, operation);
    if (operation.kind === 'delete') {
      if (there !== undefined) events.delete(there.id);
      return { recordId, result: 'deleted', effect: there === undefined ? 'already-gone' : 'deleted' };
    }
    const { item, sealedRecordId } = operation;
    made += 1;
    const base = there ?? { id: `event-${made}`, calendar, ownerTag, version: 0 };
    const event = { ...base, key, sealedRecordId, item, revision, version: base.version + 1 };
    events.set(event.id, event);
    const effect = there === undefined ? 'created' : 'updated';
    return { recordId, result: 'written', effect, versionTag: `v${event.version}`, remoteId: event.id };
  }
  const remoteItem = ({ id, key, sealedRecordId, item, revision, version }: MailboxEvent): RemoteItem => ({
    ...{ key, sealedRecordId, remoteId: id, versionTag: `v${version}`, item, revision },
  });
  const shown = (calendar: string, ownerTag: string) =>
    [...events.values()].filter((event) => event.calendar === calendar && event.ownerTag === ownerTag).map(remoteItem);

  const connectorOf = (ownerTag: string): Connector => ({
    async prepare(known) {
      const calendar = known !== null && calendars.has(known) ? known : `calendar of ${ownerTag}`;
      calendars.add(calendar);
      return calendar;
    },
    apply: async (calendar, operations) => operations.map((operation) => carryOut(calendar, ownerTag, operation)),
    async *read(calendar) {
      yield shown(calendar, ownerTag);
    },
    find: async (calendar, keys) => shown(calendar, ownerTag).filter(({ key }) => keys.includes(key)),
    changes: async (calendar) => ({ scope: 'whole', items: shown(calendar, ownerTag), removed: [], cursor: null }),
  });
  return {
    /** Adds another user's calendar, which the connection may write. */
    addCalendar: (id: string) => void calendars.add(id),
    events: () => [...events.values()],
    /** A target's own calendar in it. */
    target: (): ModelTarget => ({ ...createModelTarget(), open: connectorOf }),
  };
}
