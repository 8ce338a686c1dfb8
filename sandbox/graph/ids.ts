import { randomBytes } from 'node:crypto';

/** Shape of the ids of items and folders: long, case-sensitive base64 in the alphabet that is safe in a URL. */
const ID = /^AA[A-Za-z0-9_-]{60,}={0,2}$/;

/** A new id that changes when the item is moved. */
export function newRestId(): string {
  return `AAMkAG${randomBytes(84).toString('base64url')}AAA=`;
}

/** A new id that stays when the item is moved. */
export function newImmutableId(): string {
  return `AAkALgAAAAAAHYQDEapmEc2byACqAC-EWg0A${randomBytes(60).toString('base64url')}AAA=`;
}

/** A new id of a calendar: constant in both formats. */
export function newCalendarId(): string {
  return `AAMkAGCal${randomBytes(60).toString('base64url')}AAA=`;
}

/** Returns true if the text has the form of this server's ids. */
export function isId(id: string): boolean {
  return ID.test(id);
}

/** The iCalUId of a new event (MS-OXOCAL 2.2.1.27, GlobalObjectId in hex). */
export function newICalUId(): string {
  return `040000008200E00074C5B7101A82E008${randomBytes(40).toString('hex').toUpperCase()}`;
}

/** The change key of a version: opaque, and another one for each write. */
export function changeKeyOf(change: number): string {
  return Buffer.from(`CQAAABYAAAC ${String(change).padStart(12, '0')}`).toString('base64');
}

/** The `@odata.etag` of a version. */
export function etagOf(change: number): string {
  return `W/"${changeKeyOf(change)}"`;
}
