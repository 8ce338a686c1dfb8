import type { MirrorError } from '../../model/errors.ts';
import { errors } from './errors.ts';
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

/** Conditions that speak of the object that was sent (RFC 4791 section 5.3.2.1). */
const DATA_CONDITION = /^(valid-|supported-|no-uid-conflict|max-|min-)/;

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
export function refusal(status: number, { conditions, detail }: DavProblem): MirrorError {
  if (conditions.includes('max-resource-size') || status === 413) return errors.make('item-too-large', { status });
  if (conditions.some((condition) => DATA_CONDITION.test(condition))) return errors.make('item-refused', { status });
  if (status === 403 && /into the trashbin/i.test(detail)) return errors.make('trash-bin-keeps-name', { status });
  return errors.make(errors.kindOf({ status, body: undefined }), { status });
}

/** A refused question about the calendar. */
export function readRefused(status: number): MirrorError {
  return status === 403 ? errors.make('calendar-forbidden', { status }) : unexpectedStatus(status);
}

/** An answer that the protocol does not foresee here. */
export function unexpectedStatus(status: number): MirrorError {
  return errors.make(status >= 500 ? 'unexpected-server-status' : 'unexpected-status', { status });
}
