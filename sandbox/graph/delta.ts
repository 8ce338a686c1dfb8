import type { ApiAnswer } from '../kit/answer.ts';
import { calendarFor, type MailboxContext } from './call.ts';
import { GraphError, invalidRequest } from './errors.ts';
import { isInWindow, linkTo, readWindow, viewOf, type Window } from './event-list.ts';
import { idOf, toResource } from './event-resource.ts';
import type { LogEntry, StoredEvent } from './event-store.ts';
import type { Calendar, Mailbox } from './world.ts';

/** What a link of a delta round stands for. */
interface DeltaState {
  mailboxId: string;
  calendarId: string;
  window: Window;
  generation: number;
}

/** A delta round in progress. Each page reads its events when the client requests the page. */
interface Round extends DeltaState {
  /** Ids in the immutable format; `gone` is the last id of an event that the round reports as removed. */
  items: { immutableId: string; gone: string | undefined }[];
  /** The last change that the round includes. */
  until: number;
}

/** Where the next round begins. */
interface Bookmark extends DeltaState {
  since: number;
}

const UNSUPPORTED = ['$select', '$expand', '$filter', '$orderby', '$search', '$top', '$skip'];
const MOST_ROUNDS = 200;
/** How many changes a replay goes back. */
const REPLAYED = 3;

/** The delta rounds of `calendarView/delta`: opaque links, of which any may be followed again. */
export class DeltaFeed {
  readonly #rounds = new Map<string, Round>();
  #serial = 0;

  /** GET …/calendarView/delta. Throws GraphError 400, 404 syncStateNotFound or 410. */
  answer(context: MailboxContext): ApiAnswer {
    const { query } = context;
    const unsupported = [...query.keys()].find((name) => UNSUPPORTED.includes(name));
    if (unsupported !== undefined) {
      throw invalidRequest(`The query option '${unsupported}' is not supported with delta.`);
    }
    this.#playFaults(context);
    const skipToken = query.get('$skiptoken');
    if (skipToken !== null) {
      const [id = '', position = ''] = skipToken.split('.');
      const round = this.#rounds.get(id);
      return this.#page(context, id, checked(context, round), Number(position));
    }
    const deltaToken = query.get('$deltatoken');
    const round = deltaToken === null ? firstRound(context) : laterRound(context, deltaToken);
    return this.#page(context, this.#open(round), round, 0);
  }

  #open(round: Round): string {
    this.#serial += 1;
    const id = `r${this.#serial}`;
    this.#rounds.set(id, round);
    this.#rounds.delete(`r${this.#serial - MOST_ROUNDS}`);
    return id;
  }

  #page(context: MailboxContext, id: string, round: Round, position: number): ApiAnswer {
    const { settings } = context.world;
    const size = context.preferences.maxPageSize ?? settings.deltaPageSize;
    const from = settings.deltaReplays && position > 0 ? position - 1 : position;
    const end = position + size;
    const value = round.items.slice(from, end).map((item) => toItem(context, round, item));
    const replayed = settings.deltaReplays ? REPLAYED : 0;
    const { items, until, ...state } = round;
    const bookmark: Bookmark = { ...state, since: Math.max(0, until - replayed) };
    const next = this.#nextToken(context, { id, position, end, isLast: end >= items.length });
    const link =
      next === null
        ? { '@odata.deltaLink': linkTo(context, { $deltatoken: toToken(bookmark) }, false) }
        : { '@odata.nextLink': linkTo(context, { $skiptoken: next }, false) };
    return { status: 200, body: { value, ...link } };
  }

  /** Null at the end; the same place again, under another token, by the fault `delta-endless`. */
  #nextToken(context: MailboxContext, page: { id: string; position: number; end: number; isLast: boolean }) {
    if (context.faults.active('delta-endless', faultable(context))) {
      this.#serial += 1;
      return `${page.id}.${page.position}.${this.#serial}`;
    }
    return page.isLast ? null : `${page.id}.${page.end}`;
  }

  #playFaults(context: MailboxContext): void {
    const { faults, call, query } = context;
    const request = faultable(context);
    if (query.has('$skiptoken') && faults.active('delta-next-forbidden', request)) {
      throw new GraphError(403, 'ErrorAccessDenied', 'Access is denied. Check credentials and try again.');
    }
    if (faults.active('delta-gone', request)) {
      throw gone(call.url, call.origin);
    }
    if (faults.active('delta-state-not-found', request)) {
      throw stateNotFound();
    }
  }
}

function faultable({ call, caller }: MailboxContext): { method: string; path: string; client: string } {
  return { method: call.method, path: call.url, client: caller.account ?? caller.clientId };
}

/** Everything in the window. */
function firstRound(context: MailboxContext): Round {
  const { mailbox, world } = context;
  const calendar = calendarFor(context);
  const window = readWindow(context.query);
  const events = [...mailbox.events.inCalendar(calendar.id)].filter((event) => isInWindow(event, window));
  return {
    ...stateOf(mailbox, calendar, window),
    items: events.map(({ immutableId }) => ({ immutableId, gone: undefined })),
    until: world.lastChange,
  };
}

/** Returns the round of all writes since the link was made, including writes to events outside the window. */
function laterRound(context: MailboxContext, token: string): Round {
  const { mailbox, world, preferences } = context;
  const bookmark = checked(context, fromToken(token));
  const entries = mailbox.events.loggedSince(bookmark.since, bookmark.calendarId);
  if (!entries) {
    throw stateNotFound();
  }
  const { since, ...state } = bookmark;
  return { ...state, items: toItems(mailbox, bookmark, entries, preferences.immutableIds), until: world.lastChange };
}

function toItems(mailbox: Mailbox, state: DeltaState, entries: LogEntry[], immutableIds: boolean): Round['items'] {
  const latest = new Map<string, LogEntry>();
  for (const entry of entries) {
    const key = immutableIds ? entry.immutableId : entry.restId;
    latest.delete(key);
    latest.set(key, entry);
  }
  const { calendarId, window } = state;
  const items: Round['items'] = [];
  for (const [id, { immutableId, restId }] of latest) {
    const event = mailbox.events.get(immutableId);
    const isThere = event?.calendarId === calendarId && !event.isDeleted && (immutableIds || event.restId === restId);
    const isShown = isThere && isInWindow(event, window);
    items.push({ immutableId, gone: isShown ? undefined : id });
  }
  return items;
}

function toItem(context: MailboxContext, round: Round, item: Round['items'][number]): object {
  const event = context.mailbox.events.get(item.immutableId);
  const isShown = item.gone === undefined && event?.calendarId === round.calendarId && !event.isDeleted;
  return isShown ? toResource(event, viewOf(context)) : removed(item.gone ?? lastId(context, event, item.immutableId));
}

/** Returns the id of an event that was removed during its round. */
function lastId({ preferences }: MailboxContext, event: StoredEvent | undefined, immutableId: string): string {
  return event ? idOf(event, preferences.immutableIds) : immutableId;
}

function removed(id: string): object {
  return { '@odata.type': '#microsoft.graph.event', id, '@removed': { reason: 'deleted' } };
}

function stateOf(mailbox: Mailbox, calendar: Calendar, window: Window): DeltaState {
  return { mailboxId: mailbox.id, calendarId: calendar.id, window, generation: mailbox.deltaGeneration };
}

/** A link's state, when it is this mailbox's and this calendar's and still good. Throws GraphError 400, 404 or 410. */
function checked<State extends DeltaState>(context: MailboxContext, state: State | undefined): State {
  const { mailbox, call } = context;
  if (!state) {
    throw stateNotFound();
  }
  if (state.mailboxId !== mailbox.id || state.calendarId !== calendarFor(context).id) {
    throw new GraphError(400, 'syncStateInvalid', 'The sync state is invalid.');
  }
  if (state.generation !== mailbox.deltaGeneration) {
    throw mailbox.deltaEnd === 'gone' ? gone(call.url, call.origin) : stateNotFound();
  }
  return state;
}

function stateNotFound(): GraphError {
  return new GraphError(404, 'syncStateNotFound', 'The sync state generation is not found.');
}

function gone(url: string, origin: string): GraphError {
  const location = `${origin}${url.split('?', 1)[0]}`;
  return new GraphError(410, 'resyncRequired', 'Resync is required.', { headers: { location } });
}

function toToken(bookmark: Bookmark): string {
  return Buffer.from(JSON.stringify(bookmark)).toString('base64url');
}

function fromToken(token: string): Bookmark | undefined {
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString());
  } catch {
    return undefined;
  }
}
