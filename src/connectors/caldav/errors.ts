import { MirrorError } from '../../model/errors.ts';
import { child, childrenOf, DAV, parseXml, type XmlElement } from './xml.ts';

/** What the body of a refusal says, as far as it decides something; texts are matched and never passed on. */
export interface DavProblem {
  /** Names of unmet conditions without namespace, such as `no-uid-conflict` (RFC 4918 section 16, RFC 4791 section 5.3.2.1). */
  conditions: readonly string[];
  /** The object that stands in the way, when the server names it. */
  href: string | null;
  /** Class and text of the exception that servers built on sabre/dav add. */
  detail: string;
}

const SABRE = '{http://sabredav.org/ns}';

/** Codes of errors that concern one item; all others concern the whole target. One broken connection says little. */
const ITEM_CODES = new Set([
  'connection-failed',
  'changed-meanwhile',
  'item-refused',
  'item-too-large',
  'item-locked',
  'server-error',
  'trash-bin-keeps-name',
  'bad-xml',
]);

/** Conditions that speak of the object that was sent (RFC 4791 section 5.3.2.1). */
const DATA_CONDITION = /^(valid-|supported-|no-uid-conflict|max-|min-)/;

/** Whether the operations after one that failed so may still be tried. */
export function concernsOneItem(error: MirrorError): boolean {
  return ITEM_CODES.has(error.code);
}

/** Reads the body of a refusal; anything unreadable is a problem without details. */
export function readProblem(body: string): DavProblem {
  const root = tryParse(body);
  if (root?.name !== `${DAV}error`) return { conditions: [], href: null, detail: '' };
  return {
    conditions: root.children.map(({ name }) => name.slice(name.indexOf('}') + 1)),
    href: root.children.flatMap((condition) => childrenOf(condition, `${DAV}href`))[0]?.text.trim() ?? null,
    detail: `${child(root, `${SABRE}exception`)?.text ?? ''} ${child(root, `${SABRE}message`)?.text ?? ''}`,
  };
}

function tryParse(body: string): XmlElement | null {
  if (!body.trimStart().startsWith('<')) return null;
  try {
    return parseXml(body);
  } catch {
    return null;
  }
}

/**
 * Whether a create was refused because its UID is taken: by the condition of RFC 4791, or in the words of Nextcloud,
 * whose trash bin keeps UIDs (https://github.com/nextcloud/server/issues/30096) behind a 400 or a database error.
 */
export function isUidConflict(status: number, problem: DavProblem): boolean {
  if (problem.conditions.includes('no-uid-conflict')) return true;
  if (status === 400) return /with uid already exists/i.test(problem.detail);
  return status >= 500 && /UniqueConstraintViolation/i.test(problem.detail);
}

/** A refused write of one object, once 404 and 412 are dealt with. */
export function refusal(status: number, problem: DavProblem): MirrorError {
  if (problem.conditions.includes('max-resource-size') || status === 413) {
    return itemError('the server finds the event too large', 'item-too-large', status);
  }
  if (problem.conditions.some((condition) => DATA_CONDITION.test(condition))) return itemRefused(status);
  if (status >= 500 && status !== 501 && status !== 507) return serverError(status);
  switch (status) {
    case 400:
    case 404:
    case 409:
    case 410:
    case 415:
    case 422:
      return itemRefused(status);
    case 412:
      return changedMeanwhile();
    case 423:
      return new MirrorError('the event is locked', { actor: 'remote', code: 'item-locked', retry: 'later', status });
    case 403:
      return forbidden(problem, status);
    case 507:
      return new MirrorError('the server has no room left', {
        actor: 'settings',
        code: 'storage-full',
        retry: 'later',
        status,
        remedy: 'make room in the account that holds the calendar',
      });
    default:
      return unexpectedStatus(status);
  }
}

function forbidden(problem: DavProblem, status: number): MirrorError {
  // https://github.com/nextcloud/server/issues/42582: a name deleted before can't be moved to the trash bin again.
  if (/into the trashbin/i.test(problem.detail)) {
    return new MirrorError("the server's trash bin stands in the way of a delete", {
      actor: 'settings',
      code: 'trash-bin-keeps-name',
      retry: 'later',
      status,
      remedy: "empty the calendar's trash bin",
    });
  }
  return readOnly(status);
}

/** The login may read the calendar and not write it. */
export function readOnly(status?: number): MirrorError {
  return new MirrorError('the calendar may not be written', {
    actor: 'settings',
    code: 'calendar-read-only',
    retry: 'never',
    remedy: 'give the login the right to write, or configure another calendar',
    ...(status === undefined ? {} : { status }),
  });
}

function itemRefused(status: number): MirrorError {
  return itemError('the server refuses the event', 'item-refused', status);
}

function itemError(message: string, code: string, status: number): MirrorError {
  return new MirrorError(message, { actor: 'contract', code, retry: 'never', status });
}

/** Somebody else wrote between our look and our write, twice. */
export function changedMeanwhile(): MirrorError {
  return new MirrorError('the event changed between reading and writing', {
    actor: 'conflict',
    code: 'changed-meanwhile',
    retry: 'now',
    status: 412,
  });
}

/** The server failed on one request; a write may have been carried out. */
export function serverError(status: number): MirrorError {
  return new MirrorError('the server failed', {
    actor: 'remote',
    code: 'server-error',
    retry: 'later',
    ambiguous: true,
    status,
  });
}

/** The calendar is not there (any more). */
export function calendarGone(status: number): MirrorError {
  return new MirrorError('the calendar is not there', {
    actor: 'settings',
    code: 'calendar-gone',
    retry: 'never',
    status,
    remedy: 'restore the calendar or configure another one',
  });
}

/** There is nothing at the address where calendars should be made. */
export function homeMissing(): MirrorError {
  return new MirrorError('the home of the calendars is not there', {
    actor: 'settings',
    code: 'calendar-home-missing',
    retry: 'never',
    status: 404,
    remedy: 'configure "home: discover" with the server, or the address that holds the calendars of this login',
  });
}

/** The configured address is no calendar for events. */
export function notACalendar(): MirrorError {
  return new MirrorError('the address is not that of a calendar for events', {
    actor: 'settings',
    code: 'not-a-calendar',
    retry: 'never',
    remedy: "configure the address of the calendar itself, as the server's settings show it for CalDAV",
  });
}

/** A refused question about the calendar. */
export function readRefused(status: number): MirrorError {
  if (status !== 403) return unexpectedStatus(status);
  return new MirrorError('the calendar may not be read', {
    actor: 'settings',
    code: 'calendar-forbidden',
    retry: 'never',
    status,
    remedy: 'give the login the right to read and write the calendar',
  });
}

/** An answer that the protocol does not foresee here. */
export function unexpectedStatus(status: number): MirrorError {
  return new MirrorError('the server gave an unexpected status', {
    actor: status >= 500 ? 'remote' : 'contract',
    code: 'unexpected-status',
    retry: 'later',
    status,
  });
}

/** The same error for the operations after the one that met it: they were not sent, so nothing about them is in doubt. */
export function notSent(error: MirrorError): MirrorError {
  const { actor, code, retry, retryAfterMs, status, remedy } = error;
  return new MirrorError(error.message, {
    actor,
    code,
    retry,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(status === undefined ? {} : { status }),
    ...(remedy === undefined ? {} : { remedy }),
  });
}
