import { message } from '../../messages/message.ts';
import { MirrorError } from './errors.ts';

/**
 * Checks whether an id can be one segment of a URL path. URL parsers remove `.` and `..`, also in their encoded forms, and an empty segment
 * names the whole collection.
 */
export function isPathSegment(id: string): boolean {
  return id !== '' && id !== '.' && id !== '..' && id.isWellFormed();
}

/**
 * Encodes an id as one segment of a URL path.
 * @throws MirrorError `contract`, code `bad-id`, for an id that would lead to another URL
 */
export function pathSegment(id: string): string {
  if (isPathSegment(id)) return encodeURIComponent(id);
  throw badId();
}

/** Returns the error of an id that would lead to another URL. */
export function badId(): MirrorError {
  return new MirrorError(message('bad-id'), { actor: 'contract', code: 'bad-id', retry: 'never', concerns: 'item' });
}
