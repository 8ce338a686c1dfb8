import { MirrorError } from '../../model/errors.ts';
import { errors } from './errors.ts';
import { LARGE_XML_LENGTH } from './limits.ts';
import { child, childrenOf, DAV, parseXml, type XmlElement } from './xml.ts';

/** What the body of a refusal says, as far as it decides something; texts are matched and never passed on. */
export interface DavProblem {
  /**
   * Names of unmet conditions without namespace, such as `no-uid-conflict`.
   * @see RFC 4918 section 16
   * @see RFC 4791 section 5.3.2.1
   */
  conditions: readonly string[];
  /** The object that stands in the way, when the server names it. */
  href: string | null;
  /** Class and text of the exception that servers built on sabre/dav add. */
  detail: string;
}

const SABRE = '{http://sabredav.org/ns}';

/**
 * Conditions that say that a UID is taken: in this calendar, or in any of the account, as Cyrus (Fastmail),
 * Open-Xchange and Apple's server have it, Cyrus for events without guests too.
 * @see https://github.com/cyrusimap/cyrus-imapd/pull/2859
 * @see RFC 6638 section 3.2.4.1
 */
const UID_TAKEN = ['no-uid-conflict', 'unique-scheduling-object-resource'];

/**
 * Conditions that concern the account's room.
 * @see RFC 4331 section 6
 */
const NO_ROOM = ['quota-not-exceeded', 'sufficient-disk-space'];

/** Statuses that a write gets also where the calendar is gone, or may not be written. */
const OF_AN_ABSENT_CALENDAR = [403, 404, 405, 409, 410];

const IN_TRASH_BIN = /into the trashbin/i;

/** What stands among the conditions and is none: words for a person, and the header whose condition does not hold, which DAViCal names. */
const NO_CONDITION = /}(responsedescription|if-(none-)?match)$/;

/** Reads the body of a refusal, which may stand within a 207; anything unreadable, or as long as no refusal is, is a problem without details. */
export function readProblem(body: string): DavProblem {
  const error = errorIn(tryParse(body));
  if (error === undefined) return { conditions: [], href: null, detail: '' };
  const conditions = error.children.filter(({ name }) => !name.startsWith(SABRE) && !NO_CONDITION.test(name));
  return {
    conditions: conditions.map(({ name }) => name.slice(name.indexOf('}') + 1)),
    href: conditions.flatMap((condition) => childrenOf(condition, `${DAV}href`))[0]?.text.trim() ?? null,
    detail: `${child(error, `${SABRE}exception`)?.text ?? ''} ${child(error, `${SABRE}message`)?.text ?? ''}`,
  };
}

function errorIn(root: XmlElement | null): XmlElement | undefined {
  if (root?.name === `${DAV}error`) return root;
  const within = childrenOf(root ?? undefined, `${DAV}response`).map((response) => child(response, `${DAV}error`));
  return within.find((error) => error !== undefined);
}

function tryParse(body: string): XmlElement | null {
  if (body.length > LARGE_XML_LENGTH || !body.trimStart().startsWith('<')) return null;
  try {
    return parseXml(body);
  } catch {
    return null;
  }
}

/**
 * Whether a create was refused because its UID is taken: by a condition, or in the words of Nextcloud, whose trash bin keeps UIDs behind
 * a 400 or a database error.
 * @see https://github.com/nextcloud/server/issues/30096
 */
export function isUidConflict(status: number, { conditions, detail }: DavProblem): boolean {
  if (conditions.some((condition) => UID_TAKEN.includes(condition))) return true;
  if (status === 400) return /with uid already exists/i.test(detail);
  return status >= 500 && /UniqueConstraintViolation/i.test(detail);
}

/** Whether a refused write may be about the calendar rather than the object: it gives no reason. */
export function mayConcernCalendar(status: number, { conditions, detail }: DavProblem): boolean {
  return OF_AN_ABSENT_CALENDAR.includes(status) && conditions.length === 0 && !IN_TRASH_BIN.test(detail);
}

/** A refused write of one object, once 404 and 412 are dealt with. */
export function refusal(status: number, { conditions, detail }: DavProblem): MirrorError {
  if (conditions.includes('max-resource-size') || status === 413) return errors.make('item-too-large', { status });
  if (status === 403 && IN_TRASH_BIN.test(detail)) return errors.make('trash-bin-keeps-name', { status });
  if (conditions.some((condition) => NO_ROOM.includes(condition))) return errors.make('storage-full', { status });
  if (conditions.includes('need-privileges')) return errors.make('calendar-read-only', { status });
  // A reason that is not known here stops one object, never all of them.
  if (conditions.length > 0 && status < 500 && status !== 423) return errors.make('item-refused', { status });
  return errors.make(errors.kindOf({ status, body: undefined }), { status });
}

/** The error of a calendar that is not there. */
export function calendarGone({ isOwn }: { isOwn: boolean }, status: number): MirrorError {
  return errors.make(isOwn ? 'own-calendar-gone' : 'calendar-gone', { status });
}

/** A refused question about the calendar. */
export function readRefused(status: number): MirrorError {
  return status === 403 ? errors.make('calendar-forbidden', { status }) : unexpectedStatus(status);
}

/** Whether a question failed by what was asked for, and not by the calendar, the login or the connection. */
export function isUnreadable(error: unknown): error is MirrorError {
  return error instanceof MirrorError && error.code === 'unexpected-status';
}

/** An answer that the protocol does not foresee here. */
export function unexpectedStatus(status: number): MirrorError {
  return errors.make(status >= 500 ? 'unexpected-server-status' : 'unexpected-status', { status });
}
