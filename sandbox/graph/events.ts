import type { ApiAnswer } from '../kit/answer.ts';
import { calendarFor, checkIfMatch, checkQuery, jsonBody, type MailboxContext } from './call.ts';
import { GraphError, invalidRequest, irresolvableConflict, itemNotFound, malformedId } from './errors.ts';
import { type EventBody, parseEventBody, requestText } from './event-fields.ts';
import { selected, viewOf } from './event-list.ts';
import { idOf, toResource } from './event-resource.ts';
import type { StoredEvent } from './event-store.ts';
import { changeEvent, createEvent, purgeEvent, softDeleteEvent } from './event-writes.ts';
import { etagOf, isId } from './ids.ts';

/** GET …/events/{id}. Throws GraphError. */
export function getEvent(context: MailboxContext): ApiAnswer {
  checkQuery(context.query, ['$select', '$expand']);
  return { status: 200, ...shown(context, eventFor(context)) };
}

/** POST …/events. A transactionId that was used before makes nothing. Throws GraphError. */
export function postEvent(context: MailboxContext): ApiAnswer {
  const { world, mailbox } = context;
  checkQuery(context.query, []);
  const calendar = calendarFor(context);
  const body = parseEventBody(jsonBody(context));
  if (body.transactionId !== undefined) {
    const repeated = repeatedEvent(context, body, body.transactionId);
    if (repeated) {
      return { status: 201, ...shown(context, repeated) };
    }
    refuseDuplicate(context, body.transactionId);
  }
  const event = createEvent(world, mailbox, calendar.id, body);
  return { status: 201, ...shown(context, event) };
}

/** PATCH …/events/{id}: changes what is given. Throws GraphError. */
export function patchEvent(context: MailboxContext): ApiAnswer {
  const { world, mailbox, call } = context;
  checkQuery(context.query, []);
  const event = eventFor(context);
  const body = parseEventBody(jsonBody(context));
  if (body.transactionId !== undefined) {
    throw invalidRequest("The property 'transactionId' can only be set when the event is created.");
  }
  refuseOnConflict(context);
  checkIfMatch(call, etagOf(event.change));
  return { status: 200, ...shown(context, changeEvent(world, mailbox, event, body)) };
}

/** DELETE …/events/{id}: into Deleted Items. Throws GraphError. */
export function deleteEvent(context: MailboxContext): ApiAnswer {
  const event = eventFor(context);
  refuseOnConflict(context);
  checkIfMatch(context.call, etagOf(event.change));
  softDeleteEvent(context.world, context.mailbox, event);
  return { status: 204 };
}

/** POST …/events/{id}/permanentDelete: removes the event permanently. Throws GraphError. */
export function permanentlyDeleteEvent(context: MailboxContext): ApiAnswer {
  if (!context.world.settings.permanentDelete) {
    throw new GraphError(400, 'BadRequest', "Resource not found for the segment 'permanentDelete'.");
  }
  const event = eventFor(context);
  refuseOnConflict(context);
  checkIfMatch(context.call, etagOf(event.change));
  purgeEvent(context.world, context.mailbox, event);
  return { status: 204 };
}

/** The event of the path; below a calendar it must lie there. Throws GraphError 400 or 404. */
function eventFor(context: MailboxContext): StoredEvent {
  const { mailbox, parameters } = context;
  const id = parameters.eventId ?? '';
  if (!isId(id)) {
    throw malformedId();
  }
  const event = mailbox.events.get(id);
  const elsewhere = parameters.calendarId !== undefined && event?.calendarId !== calendarFor(context).id;
  if (!event || event.isDeleted || elsewhere) {
    throw itemNotFound();
  }
  return event;
}

function shown(context: MailboxContext, event: StoredEvent): Omit<ApiAnswer, 'status'> {
  const resource = toResource(event, viewOf(context));
  const { origin } = context.call;
  const body = {
    '@odata.context': `${origin}/v1.0/$metadata#users('${context.mailbox.id}')/events/$entity`,
    ...selected(resource, context.query.get('$select')),
  };
  return { headers: { etag: resource['@odata.etag'] }, body };
}

/** Returns the event that an equal request created, in its current state. The real service showed this behaviour. */
function repeatedEvent(
  { world, mailbox }: MailboxContext,
  body: EventBody,
  transactionId: string,
): StoredEvent | undefined {
  const event = mailbox.events.get(mailbox.events.madeBy(transactionId) ?? '');
  const isRepeated = world.settings.repeatedTransaction === 'answered' && event?.createdAs === requestText(body);
  return isRepeated ? event : undefined;
}

/** Throws GraphError 400 or 409, whichever is configured or due. */
function refuseDuplicate({ world, mailbox, preferences }: MailboxContext, transactionId: string): void {
  const { duplicateTransactionStatus, duplicateNamesEvent, rememberTransactionIds } = world.settings;
  const immutableId = mailbox.events.madeBy(transactionId);
  if (immutableId === undefined) {
    return;
  }
  const existing = mailbox.events.get(immutableId);
  const isShown = existing !== undefined && !existing.isDeleted;
  if (!isShown && !rememberTransactionIds) {
    return;
  }
  world.counts.add('duplicateTransactions');
  const turn = world.counts.value('duplicateTransactions') % 2 === 1 ? 409 : 400;
  const status = duplicateTransactionStatus === 'alternating' ? turn : duplicateTransactionStatus;
  const message = "The TransactionId was already used to create a different event. It can't be used again.";
  throw new GraphError(status, 'ErrorDuplicateTransactionId', message, {
    annotations:
      duplicateNamesEvent && isShown ? { '@event.existingEventId': idOf(existing, preferences.immutableIds) } : {},
  });
}

/** The server's own conflicts, which come without If-Match too: fault `conflict`. Throws GraphError 412. */
function refuseOnConflict({ faults, call, caller }: MailboxContext): void {
  const client = caller.account ?? caller.clientId;
  if (faults.active('conflict', { method: call.method, path: call.url, client })) {
    throw irresolvableConflict();
  }
}
